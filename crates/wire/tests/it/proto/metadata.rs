//! Headers and trailers of gRPC.

use std::time::Duration;

use http::HeaderMap;
use nuncio_model::{Error, ErrorKind};
use nuncio_wire::proto::metadata::{
    DETAILS, MESSAGE, STATUS, format_timeout, is_grpc, parse_timeout, read_outcome, write_error,
};

#[test]
fn an_error_survives_trailers() {
    let error = Error::invalid_params("message.parts[0]", "50 % bär\nnext");
    let mut trailers = HeaderMap::new();
    write_error(&error, &mut trailers);
    assert_eq!(trailers[STATUS], "3");
    assert_eq!(trailers[MESSAGE], "message.parts[0]: 50 %25 b%C3%A4r%0Anext");
    assert!(!trailers[DETAILS].as_bytes().ends_with(b"="));
    let read = read_outcome(&trailers).unwrap().unwrap_err();
    assert_eq!((read.kind(), read.message()), (ErrorKind::InvalidParams, error.message()));
    assert_eq!(read.field_violations(), error.field_violations());
}

#[test]
fn a_message_too_long_for_a_header_is_truncated() {
    let mut trailers = HeaderMap::new();
    write_error(&Error::new(ErrorKind::Internal, "ü".repeat(10_000)), &mut trailers);
    let read = read_outcome(&trailers).unwrap().unwrap_err();
    assert_eq!(read.message(), "ü".repeat(1024));
    assert!(!trailers.contains_key(DETAILS));
}

#[test]
fn success_and_an_absent_outcome_are_distinguished() {
    let mut trailers = HeaderMap::new();
    assert!(read_outcome(&trailers).is_none());
    trailers.insert(STATUS, "0".parse().unwrap());
    assert!(matches!(read_outcome(&trailers), Some(Ok(()))));
    trailers.insert(STATUS, "x".parse().unwrap());
    assert_eq!(read_outcome(&trailers).unwrap().unwrap_err().kind(), ErrorKind::Internal);
}

#[test]
fn padded_details_of_other_servers_are_read() {
    let mut trailers = HeaderMap::new();
    write_error(&Error::task_not_found("t"), &mut trailers);
    let padded = |text: &str| format!("{text}{}", &"==="[..(4 - text.len() % 4) % 4]);
    let details = padded(trailers[DETAILS].to_str().unwrap());
    trailers.insert(DETAILS, details.parse().unwrap());
    assert_eq!(read_outcome(&trailers).unwrap().unwrap_err().metadata()["taskId"], "t");
}

#[test]
fn timeouts() {
    for (text, timeout) in [
        ("1H", Duration::from_hours(1)),
        ("2M", Duration::from_mins(2)),
        ("3S", Duration::from_secs(3)),
        ("4m", Duration::from_millis(4)),
        ("5u", Duration::from_micros(5)),
        ("99999999n", Duration::from_nanos(99_999_999)),
    ] {
        assert_eq!(parse_timeout(text), Some(timeout), "{text}");
        assert_eq!(parse_timeout(&format_timeout(timeout)), Some(timeout));
    }
    for text in ["", "S", "123456789S", "1", "1s", "-1S", "+1S", "1 S", "1é"] {
        assert_eq!(parse_timeout(text), None, "{text}");
    }
    assert_eq!(format_timeout(Duration::MAX), "99999999H");
}

#[test]
fn media_types() {
    for media_type in ["application/grpc", "application/grpc+proto", "Application/gRPC; charset=utf-8"] {
        assert!(is_grpc(media_type), "{media_type}");
    }
    for media_type in ["application/grpc+json", "application/grpc-web", "application/json", ""] {
        assert!(!is_grpc(media_type), "{media_type}");
    }
}
