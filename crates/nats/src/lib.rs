//! Carries the signals between nodes over NATS.
//!
//! [`NatsBroker`] is a [`Broker`](nuncio_engine::bus::Broker) for a [`RemoteBus`](nuncio_engine::bus::RemoteBus). Core
//! NATS is sufficient: signals need no persistence, because the store has the data.
//!
//! ```no_run
//! use nuncio_engine::bus::{EventBus, RemoteBus};
//! use nuncio_nats::{NatsBroker, NatsOptions};
//!
//! # async fn connect() -> Result<(), Box<dyn std::error::Error>> {
//! let options: NatsOptions = "nats://nuncio:secret@one.example,two.example/agents".parse()?;
//! let bus = RemoteBus::start(NatsBroker::new(options));
//! bus.check().await?;
//! # Ok(())
//! # }
//! ```

mod broker;
mod connection;
mod options;
mod subjects;
mod url;

pub use broker::NatsBroker;
pub use options::NatsOptions;
pub use url::NatsUrlError;
