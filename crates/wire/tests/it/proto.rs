//! Protobuf, held against the specification's facts and against an independent implementation of protobuf.

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
