//! Server-sent events, written by a server and read by a client (HTML standard, section 9.2; A2A sections 9.4.2, 11.7).

mod decode;
mod encode;

pub use decode::{Decoder, Event, TooLarge};
pub use encode::{escaped, write_comment, write_event, write_named, write_with};
