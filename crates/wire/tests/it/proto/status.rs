//! Errors as `google.rpc.Status`.

use std::time::Duration;

use nuncio_model::{Detail, Error, ErrorKind};
use nuncio_wire::{
    proto::{decode_status, encode_status},
    status::TABLE,
};
use serde_json::{Value, json};

use super::oracle;

fn as_oracle_has_it(details: &[u8]) -> Value {
    let descriptor = oracle::POOL.get_message_by_name("google.rpc.Status").unwrap();
    oracle::to_json(&oracle::from_bytes(&descriptor, details))
}

#[test]
fn each_kind_survives_a_round_trip() {
    for row in TABLE {
        let status = encode_status(&Error::new(row.kind, "why").with_metadata("taskId", "t"));
        // Only an unknown method has another code than in HTTP+JSON errors.
        assert_eq!(status.code, if row.kind == ErrorKind::MethodNotFound { 12 } else { row.grpc });
        let error = decode_status(status.code, status.message, Some(&status.details));
        assert_eq!((error.kind(), error.message()), (row.kind, "why"));
        assert_eq!(error.metadata()["taskId"], "t");
    }
}

#[test]
fn details_have_the_standard_form() {
    let error = Error::invalid_params("message.parts", "must hold at least one part")
        .with_retry_after(Duration::from_millis(1500));
    assert_eq!(
        as_oracle_has_it(&encode_status(&error).details),
        json!({
            "code": 3,
            "message": "message.parts: must hold at least one part",
            "details": [
                {
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                    "reason": "INVALID_PARAMS",
                    "domain": "a2a-protocol.org",
                },
                {
                    "@type": "type.googleapis.com/google.rpc.BadRequest",
                    "fieldViolations": [{"field": "message.parts", "description": "must hold at least one part"}],
                },
                {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1.500s"},
            ],
        }),
    );
}

#[test]
fn the_retry_time_survives_a_round_trip() {
    let error = Error::new(ErrorKind::Unavailable, "later").with_retry_after(Duration::from_millis(1500));
    let status = encode_status(&error);
    let error = decode_status(status.code, "", Some(&status.details));
    assert_eq!(error.retry_after(), Some(Duration::from_millis(1500)));
    assert_eq!(error.message(), "later");
}

#[test]
fn a_detail_of_an_unknown_type_is_passed_on_unchanged() {
    let other = json!({"@type": "type.example/some.Thing", "value": "AQID"});
    let error = Error::task_not_found("t").with_peer_details(vec![Detail::Other(other.clone())]);
    let status = encode_status(&error);
    let read = decode_status(status.code, status.message, Some(&status.details));
    assert_eq!(read.peer_details().unwrap()[1], Detail::Other(other));
}

#[test]
fn a_code_alone_tells_the_kind() {
    for (code, kind) in
        [(5, ErrorKind::TaskNotFound), (12, ErrorKind::MethodNotFound), (16, ErrorKind::Unauthenticated)]
    {
        assert_eq!(decode_status(code, "m", None).kind(), kind);
        assert_eq!(decode_status(code, "m", Some(b"\xff")).kind(), kind);
    }
}
