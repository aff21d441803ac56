//! Private servers for tests, with methods to apply faults. For tests, benchmarks and chaos only.
//!
//! Most tests need [`Postgres::shared`] and [`Nats::shared`]: the server in `NUNCIO_TEST_POSTGRES` or
//! `NUNCIO_TEST_NATS` (`./test` starts one of each for all tests), or else a server of this process.
//! [`Postgres::start`] and [`Nats::start`] always start a private server, which can be killed, paused and restarted.
//! [`Proxy`] runs between a client and a server and applies faults to the connections. A [`Disk`] is small enough to be
//! filled. [`tls`] has certificates, and [`bus`] has the required behaviour of every bus after such faults.
//!
//! No method needs an async runtime: each call blocks, usually for less than a second, and can be made from any thread.
//! A started server ends with its value, and at the latest with this process, at any kind of end.

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
