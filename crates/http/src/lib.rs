//! The outbound HTTP client of Nuncio.
//!
//! [`ClientSettings`] is the only place that builds a `reqwest::Client`. An [`AddressGuard`] refuses URLs and addresses
//! inside the network of the caller. [`redact`] keeps secrets out of logs and errors, and [`Fault`] says why a request
//! has no answer.

mod classify;
mod guard;
pub mod redact;
mod retry_after;
mod settings;

pub use classify::{Fault, FaultKind, innermost};
pub use guard::{AddressGuard, Lookup, Refusal};
pub use retry_after::retry_after;
pub use settings::{ClientSettings, Roots, SetupError};
