//! `google.protobuf.Timestamp`: seconds since 1970, and nanoseconds.

use nuncio_model::Timestamp;

use super::{
    fault::Fault,
    field::Item,
    message::{Message, message},
    reader::{Reader, Wire},
    writer,
};

#[derive(Default)]
struct Parts {
    seconds: i64,
    nanos: i32,
}

message! {
    Parts {
        1 seconds: implicit,
        2 nanos: implicit,
    }
}

impl Item for Timestamp {
    const WIRE: Wire = Wire::Length;

    fn write(&self, to: &mut Vec<u8>) {
        let (seconds, nanos) = self.into_parts();
        writer::nested(to, |to| Parts { seconds, nanos }.write_fields(to));
    }

    fn read(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        let mut parts = Parts::default();
        parts.read(from)?;
        *self = (0..1_000_000_000)
            .contains(&parts.nanos)
            .then(|| Self::from_parts(parts.seconds, parts.nanos))
            .flatten()
            .ok_or_else(|| Fault::invalid("is not a time between the years 1 and 9999"))?;
        Ok(())
    }
}
