//! Finds an agent by its card and calls the agent over any binding.
//!
//! [`Client::connect`] parses a reference ([`AgentRef`]), finds the card ([`Resolver`]), chooses an interface and
//! creates the connection for its binding. A connection, a client and an engine are all a
//! [`Caller`](nuncio_model::Caller), which takes a call and returns a reply. A [`Watch`] is a stream that resumes after
//! a broken connection.
//!
//! ```no_run
//! # async fn example() -> Result<(), nuncio_client::ClientError> {
//! let client = nuncio_client::Client::connect("127.0.0.1:8080").await?;
//! println!("{:?}", client.send("hello").await?);
//! # Ok(()) }
//! ```

mod ambiguous;
mod builder;
mod choose;
mod client;
mod error;
mod failure;
mod http;
mod poll;
mod probe;
mod reference;
mod remote;
mod resolve;
mod settings;
mod transport;
mod trust;
mod watch;

pub use builder::ClientBuilder;
pub use choose::interface_address;
pub use client::{Client, IntoSendMessage};
pub use error::{CardNotFound, ClientError};
pub use failure::{Cause, Failure, PeerCode};
pub use nuncio_auth::Credential;
pub use nuncio_http::redact;
pub use nuncio_model::card::{Binding, UnknownBinding};
pub use nuncio_wire::{FileBytes, Version};
pub use poll::Poll;
pub use probe::speaks_tls;
pub use reference::{AgentRef, InvalidReference, is_loopback};
pub use remote::RemoteAgent;
pub use resolve::{Resolved, Resolver};
pub use settings::{HttpSettings, Reconnect, Timeouts};
pub use trust::InvalidOrigin;
pub use watch::{Cursor, End, Watch};
