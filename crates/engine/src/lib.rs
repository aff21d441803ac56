//! Agents, tasks and the event log.
//!
//! A [`Request`](nuncio_model::Request) enters [`Engine::call`], and a [`Reply`](nuncio_model::Reply) leaves it. One
//! *runner* per task polls the agent, checks each event against the [`lifecycle`], gives the event a sequence number,
//! and commits it to the [`store`]. Then the runner publishes the event to readers. This crate does not depend on
//! protocol versions, HTTP or SQL.

pub mod bus;
pub mod lifecycle;
pub mod store;

mod agent;
mod bugs;
mod capability;
mod channel;
mod cluster;
mod conversation;
mod dedup;
mod deleted;
mod early;
mod engine;
mod feed;
mod housekeeping;
mod idempotency;
mod ids;
mod in_flight;
mod inbox;
mod inline;
mod limits;
mod live;
mod nesting;
mod op;
mod precreate;
mod push;
mod reader;
mod reader_budget;
mod record;
mod recovery;
mod registry;
mod runner;
mod shared;
mod size;
mod turn;
mod turn_index;
mod turns;
mod values;
mod writer;

pub use agent::{Agent, AgentError, agent_fn};
pub use bus::EventBus;
pub use engine::{Engine, EngineBuilder};
pub use housekeeping::{Housekeeping, Retention, Swept};
pub use idempotency::Idempotency;
pub use limits::Limits;
pub use push::PushGuard;
pub use record::{Received, Record, Sent, Submitted};
pub use recovery::Recovered;
pub use store::{MemoryStore, StoreError, TaskStore};
pub use turn::{ArtifactWriter, Turn};
