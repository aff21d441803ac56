//! The client with correct agents and with faulty agents.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod ambiguous;
mod calls;
mod credentials;
mod cursor;
mod cuts;
mod fake;
mod interfaces;
mod matrix;
mod mounts;
mod nesting;
mod older;
mod races;
mod remote;
mod resend;
mod resolve;
mod server;
mod silence;
mod statuses;
mod tls;
mod unclear;
mod unknown_state;
mod watch;
