//! Webhooks (sections 3.5.1, 4.3.3 and 13.2): a guard of their addresses, and delivery from the outbox of the task store.
//!
//! A [`Guard`] checks a webhook at its registration in `engine`, and again before each call. A [`Dispatcher`] reads pending
//! records from the store, sends them, and writes the result to the store. The store holds the whole state, so a restart
//! loses nothing. This crate does not depend on the HTTP server.

mod dispatcher;
mod guard;
mod retry;
mod signer;

pub use dispatcher::{Dispatcher, DispatcherBuilder, DispatcherError, Places};
pub use guard::Guard;
pub use nuncio_http::{Lookup, Refusal};
pub use retry::Retry;
pub use signer::{Attempt, RequestSigner};
