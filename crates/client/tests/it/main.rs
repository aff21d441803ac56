//! The client against agents that behave, and agents that do not.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod again;
mod calls;
mod credentials;
mod cursor;
mod cuts;
mod doubt;
mod fake;
mod interfaces;
mod matrix;
mod mounts;
mod nesting;
mod older;
mod races;
mod remote;
mod resolve;
mod server;
mod silence;
mod statuses;
mod tls;
mod unclear;
mod unknown_state;
mod watch;
