//! Protobuf, held against the specification's facts and against an independent implementation of protobuf.

mod descriptor;
mod examples;
mod frames;
mod hostile;
mod metadata;
mod oracle;
mod reflection;
pub(crate) mod round_trip;
mod status;
