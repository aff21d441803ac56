//! Server-sent events: a server writes them, a client reads them (HTML standard, section 9.2; A2A sections 9.4.2 and
//! 11.7).

mod decode;
mod encode;

pub use decode::{Decoder, Event, TooLarge};
pub use encode::{escaped, write_comment, write_event, write_named, write_with};
