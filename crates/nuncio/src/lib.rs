#![doc = include_str!("../../../README.md")]
#![allow(rustdoc::broken_intra_doc_links, reason = "the links of the README are the repository's")]

#[cfg(all(feature = "client", feature = "server"))]
mod local;

/// The examples of this document are tested, like the examples of the README.
#[cfg(all(doctest, feature = "client", feature = "server", feature = "versions"))]
#[doc = include_str!("../../../docs/versions.md")]
mod versions {}

// Common items of agents and callers are here; the other items are in the modules, one for each crate.

pub use nuncio_model::{
    AgentCard, Artifact, Error, ErrorKind, Message, Part, PartContent, Role, StreamEvent, StreamResponse, Task,
    TaskPushNotificationConfig, TaskState, TaskStatus, card::Binding,
};

#[cfg(feature = "client")]
pub use nuncio_client::{AgentRef, Client, ClientError, Credential, Cursor, RemoteAgent, Watch};
#[cfg(all(feature = "client", not(feature = "server")))]
pub use nuncio_client::{FileBytes, Version};
#[cfg(feature = "server")]
pub use nuncio_engine::{Agent, AgentError, ArtifactWriter, Engine, MemoryStore, TaskStore, Turn};
#[cfg(feature = "server")]
pub use nuncio_server::{FileBytes, Mount, Server, Version, Versions};
#[cfg(feature = "postgres")]
pub use nuncio_store::PostgresStore;
#[cfg(feature = "sqlite")]
pub use nuncio_store::SqliteStore;

#[cfg(all(feature = "client", feature = "server"))]
pub use local::local;

#[cfg(feature = "adapters")]
pub use nuncio_adapters as adapters;
#[cfg(feature = "server")]
pub use nuncio_auth as auth;
#[cfg(feature = "client")]
pub use nuncio_client as client;
#[cfg(feature = "server")]
pub use nuncio_engine as engine;
pub use nuncio_model as model;
#[cfg(feature = "schema")]
pub use nuncio_model::schema;
#[cfg(feature = "nats")]
pub use nuncio_nats as nats;
#[cfg(feature = "server")]
pub use nuncio_push as push;
#[cfg(feature = "server")]
pub use nuncio_server as server;
#[cfg(feature = "sqlite")]
pub use nuncio_store as store;
