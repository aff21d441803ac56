//! Limits on amounts and on time, in total and for each caller.
//!
//! A [`Gauge`] counts what is in use and refuses more than its [`Quota`]. A `Rate` (feature `rate`) bounds the requests
//! of a caller per second. Refusals name the limit and the time after which the caller can try again. A [`Backoff`] is
//! the schedule of attempts of an operation that fails; [`sleep`] has waits that may have no end.

mod backoff;
mod callers;
mod gauge;
mod hashing;
mod line_limit;
pub mod offload;
#[cfg(feature = "rate")]
mod rate;
mod refusals;
mod sampled;
pub mod sleep;

pub use backoff::{Backoff, Failures, Jitter};
pub use callers::Callers;
pub use gauge::{Gauge, Most, Permit, Quota};
pub use hashing::{Hashing, hashing};
pub use line_limit::{LINES_PER_SECOND, LineLimit};
#[cfg(feature = "rate")]
pub use rate::{Rate, Rates};
pub use refusals::{RETRY_AFTER, Refusals, not_now};
pub use sampled::Sampled;
