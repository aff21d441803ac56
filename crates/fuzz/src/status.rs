//! The end of a gRPC call: its status with details, in headers or trailers.

use http::{HeaderMap, HeaderValue};
use nuncio_model::Error;
use nuncio_wire::{
    Version, dialect,
    proto::{self, metadata},
};

/// A code, with details in protobuf.
pub(crate) fn details(input: &[u8]) {
    let Some((code, details)) = input.split_first() else { return };
    let error = proto::decode_status(i32::from(*code % 18), "", Some(details));
    forwarded(&error);
    let status = proto::encode_status(&error);
    let decoded = proto::decode_status(status.code, status.message, Some(&status.details));
    assert_eq!((decoded.kind(), decoded.message()), (error.kind(), error.message()));
    assert_eq!(decoded.field_violations(), error.field_violations());
}

/// The values of the headers, one per line: status, message, details, timeout.
pub(crate) fn metadata(input: &[u8]) {
    let mut lines = input.split(|byte| *byte == b'\n');
    let mut headers = HeaderMap::new();
    for name in [metadata::STATUS, metadata::MESSAGE, metadata::DETAILS] {
        if let Some(value) = lines.next().and_then(|line| HeaderValue::from_bytes(line).ok()) {
            headers.insert(name, value);
        }
    }
    if let Some(Err(error)) = metadata::read_outcome(&headers) {
        forwarded(&error);
    }
    if let Some(timeout) =
        lines.next().and_then(|line| std::str::from_utf8(line).ok()).and_then(metadata::parse_timeout)
    {
        let written = metadata::format_timeout(timeout);
        assert_eq!(metadata::parse_timeout(&written), Some(timeout), "{written}");
    }
}

/// An error must be the same after it was forwarded, in the form of each version.
fn forwarded(error: &Error) {
    for grpc in Version::ALL.iter().filter_map(|version| dialect(*version).grpc()) {
        let through = |error: &Error| {
            let mut headers = HeaderMap::new();
            grpc.write_error(error, &mut headers);
            metadata::read_outcome(&headers).expect("an outcome").expect_err("an error")
        };
        let decoded = through(error);
        let again = through(&decoded);
        assert_eq!((again.kind(), again.message()), (decoded.kind(), decoded.message()), "of {error:?}");
    }
}
