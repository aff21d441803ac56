//! Protobuf, compared with the facts of the specification and with an independent implementation.

pub(crate) mod descriptor;
mod examples;
mod frames;
mod hostile;
mod metadata;
mod nesting;
pub(crate) mod oracle;
mod reflection;
pub(crate) mod round_trip;
mod status;
