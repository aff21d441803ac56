//! An agent on a port: JSON-RPC, HTTP+JSON, gRPC and the agent card together (sections 8 to 11).
//!
//! `listen` accepts a connection, and its requests pass the layers of `stack`. The `binding` of a request decodes the
//! request into a `Call` with the dialects of `nuncio-wire`. `service` gives the call to the agent at the request's
//! place (`mount`). No code here names an operation or a version.
//!
//! ```no_run
//! use nuncio_engine::{Agent, AgentError, Engine, Turn};
//! use nuncio_server::Server;
//!
//! struct Echo;
//!
//! impl Agent for Echo {
//!     async fn run(&self, turn: Turn) -> Result<(), AgentError> {
//!         let text = turn.message().text();
//!         turn.complete(text).await
//!     }
//! }
//!
//! # async fn serve() -> Result<(), nuncio_server::BindError> {
//! let server = Server::builder(Engine::builder(Echo).build()).bind("127.0.0.1:8080").await?;
//! server.serve(std::future::pending()).await;
//! # Ok(())
//! # }
//! ```

mod address;
mod answers;
mod binding;
mod body;
mod browser;
mod builder;
mod calls;
mod card;
mod clients;
mod cors;
mod drain;
mod error;
mod frame;
mod head;
mod health;
mod landing;
mod limits;
mod listen;
mod load;
mod logins;
mod mount;
mod read;
mod server;
mod service;
mod sse;
mod stack;
mod tenants;

pub use browser::{AllowedHost, AllowedHostError};
pub use builder::Builder;
pub use card::{GrpcUrl, GrpcUrlError, PublicUrl, PublicUrlError};
pub use error::BindError;
pub use limits::Limits;
pub use mount::{Mount, MountError};
pub use nuncio_limit::Rate;
pub use nuncio_model::card::Binding;
pub use nuncio_wire::{FileBytes, Version, Versions};
pub use server::Server;
pub use tenants::{InvalidTenant, Tenants};
