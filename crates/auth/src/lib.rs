//! Authentication (section 7): authenticators for servers, credentials for clients.
//!
//! A server calls its [`Authenticator`] with the head of each request, before the server reads the body. The result is
//! a `Principal`, which becomes part of the call's scope. [`Tokens`] identifies callers by bearer tokens and API keys;
//! [`Open`] accepts all callers. A client has [`Credentials`], which are placed in requests as the agent's card
//! requires.
//!
//! No type of this crate shows a secret in its `Debug` form.

pub mod credentials;

mod authenticator;
mod error;
mod tokens;

pub use authenticator::{Authenticator, Declaration, Open};
pub use credentials::{Credential, Credentials};
pub use error::AuthError;
pub use tokens::{API_KEY_HEADER, TokenError, Tokens};
