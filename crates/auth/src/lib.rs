//! Who calls (section 7): authenticators for servers, credentials for clients.
//!
//! A server asks its [`Authenticator`] about the head of each request, before it reads a byte of the body, and gets a
//! `Principal`, which becomes part of the call's scope. [`Tokens`] knows callers by bearer tokens and API keys;
//! [`Open`] asks nobody. A client holds [`Credentials`] and has them placed where the agent's card wants them.
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
