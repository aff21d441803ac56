//! Webhooks (sections 3.5.1, 4.3.3 and 13.2): which may be called, and their calls, from the outbox of the task store.
//!
//! A [`Guard`] decides when a webhook is registered, in `engine`, and again when it is called. A [`Courier`] reads what
//! the store owes to whom, posts it, and notes in the store how that went: all of its state is there, so a restart
//! loses nothing. Neither knows anything of the HTTP server.

mod courier;
mod guard;
mod retry;
mod stamp;

pub use courier::{Courier, CourierBuilder, CourierError, Places};
pub use guard::Guard;
pub use nuncio_http::{Lookup, Refusal};
pub use retry::Retry;
pub use stamp::{Delivery, Stamp};
