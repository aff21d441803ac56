//! The HTTP/2 headers and trailers of gRPC: status, message, details, timeout.

use std::time::Duration;

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use http::{HeaderMap, HeaderName, HeaderValue};
use nuncio_model::Error;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

#[cfg(any(feature = "v0-2", feature = "v0-3"))]
use super::status::encode_named_status;
use super::status::{Status, decode_status, encode_status};

/// The media type of gRPC with protobuf.
pub const CONTENT_TYPE: &str = "application/grpc";
/// The code of a finished call.
pub const STATUS: HeaderName = HeaderName::from_static("grpc-status");
/// The message for the peer, percent-encoded.
pub const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
/// A `google.rpc.Status` in base64.
pub const DETAILS: HeaderName = HeaderName::from_static("grpc-status-details-bin");
/// The time that the client waits.
pub const TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");
/// The compression of messages.
pub const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
/// The compressions that a peer accepts.
pub const ACCEPT_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");

/// Base64 without padding. Padding is accepted on reading.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_encode_padding(false).with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The characters to encode: all except printable ASCII, and the percent sign.
const MESSAGE_SET: &AsciiSet = &CONTROLS.add(b'%');

/// The maximum size of the message in bytes. Longer messages are cut, because peers limit the size of headers.
const MAX_MESSAGE: usize = 2048;

/// The maximum size of the details in bytes. Longer details are omitted, for the same reason.
const MAX_DETAILS: usize = 4096;

/// Whether a media type is gRPC with protobuf.
pub fn is_grpc(content_type: &str) -> bool {
    let Some((media_type, rest)) = content_type.trim_start().split_at_checked(CONTENT_TYPE.len()) else { return false };
    if !media_type.eq_ignore_ascii_case(CONTENT_TYPE) {
        return false;
    }
    let format = rest.split(';').next().unwrap_or_default().trim_end();
    format.is_empty() || format.eq_ignore_ascii_case("+proto")
}

/// Writes an error into the headers or trailers that end a call.
pub fn write_error(error: &Error, to: &mut HeaderMap) {
    write_status(encode_status(error), to);
}

/// Like [`write_error`], with the codes and messages of 0.2 and 0.3.
#[cfg(any(feature = "v0-2", feature = "v0-3"))]
pub(crate) fn write_named_error(error: &Error, to: &mut HeaderMap) {
    write_status(encode_named_status(error), to);
}

fn write_status(status: Status, to: &mut HeaderMap) {
    let Status { code, message, details } = status;
    to.insert(STATUS, HeaderValue::from(code));
    let message = &message[..message.floor_char_boundary(MAX_MESSAGE)];
    let message = utf8_percent_encode(message, MESSAGE_SET).to_string();
    if let Ok(message) = HeaderValue::try_from(message) {
        to.insert(MESSAGE, message);
    }
    let details = BASE64.encode(details);
    if details.len() <= MAX_DETAILS
        && let Ok(details) = HeaderValue::try_from(details)
    {
        to.insert(DETAILS, details);
    }
}

/// The outcome in the headers or trailers of a call, including the messages of 0.3 (`TaskNotFoundError: …`). `None` if
/// there is no status.
pub fn read_outcome(from: &HeaderMap) -> Option<Result<(), Error>> {
    let code = from.get(STATUS)?.to_str().ok().and_then(|code| code.trim().parse().ok()).unwrap_or(UNKNOWN);
    if code == 0 {
        return Some(Ok(()));
    }
    let message = from.get(MESSAGE).map(|message| percent_decode(message.as_bytes())).unwrap_or_default();
    let details = from.get(DETAILS).and_then(|details| BASE64.decode(details).ok());
    Some(Err(decode_status(code, message, details.as_deref())))
}

const UNKNOWN: i32 = 2;

fn percent_decode(message: &[u8]) -> String {
    percent_decode_str(&String::from_utf8_lossy(message)).decode_utf8_lossy().into_owned()
}

/// Reads `grpc-timeout`: up to eight digits and a unit, for example `100m`.
pub fn parse_timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let count: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_hours(count),
        "M" => Duration::from_mins(count),
        "S" => Duration::from_secs(count),
        "m" => Duration::from_millis(count),
        "u" => Duration::from_micros(count),
        "n" => Duration::from_nanos(count),
        _ => return None,
    })
}

/// Writes `grpc-timeout` in the finest unit for which eight digits suffice, rounded down.
pub fn format_timeout(timeout: Duration) -> String {
    let units = [
        (timeout.as_nanos(), 'n'),
        (timeout.as_micros(), 'u'),
        (timeout.as_millis(), 'm'),
        (timeout.as_secs().into(), 'S'),
        (u128::from(timeout.as_secs() / 60), 'M'),
        (u128::from(timeout.as_secs() / 3600), 'H'),
    ];
    let (count, unit) = units.into_iter().find(|(count, _)| *count < 100_000_000).unwrap_or((99_999_999, 'H'));
    format!("{count}{unit}")
}
