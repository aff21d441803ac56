//! The servers that tests need, started privately, and ways to hurt them. For tests, benchmarks and chaos alone.
//!
//! [`Postgres::shared`] and [`Nats::shared`] are what most tests want: the server that `NUNCIO_TEST_POSTGRES` or
//! `NUNCIO_TEST_NATS` names (`./test` starts one of each for all tests), or else one of this process alone.
//! [`Postgres::start`] and [`Nats::start`] always start a server of the caller's own, which may be killed, paused and
//! restarted. [`Proxy`] stands between a client and a server and breaks what goes through it,
//! and a [`Disk`] is small enough to be filled. [`tls`] has certificates, and [`bus`] has what every bus must make of
//! such faults.
//!
//! Nothing of the servers needs a runtime: every call blocks, for less than a second, and may be made from anywhere.
//! What was started ends with its value, and at the latest with this process, however that ends.

mod blocking;
pub mod bus;
mod disk;
mod guard;
mod nats;
mod port;
mod postgres;
mod process;
mod program;
mod proxy;
mod server;
pub mod tls;

pub use disk::Disk;
pub use guard::Guard;
pub use nats::{Nats, NatsOptions};
pub use port::Port;
pub use postgres::{Database, Postgres, PostgresOptions};
pub use proxy::{Faults, Proxy};
pub use server::Server;
