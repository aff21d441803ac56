//! The messages of `grpc.health.v1`, by which load balancers ask whether a server is well.

use nuncio_model::Error;

use super::{
    fault::Fault,
    message::{Message, decode, message},
    reader::Side,
};

/// The full name of the service.
pub const SERVICE: &str = "grpc.health.v1.Health";
/// The path of the call that asks once.
pub const CHECK: &str = "/grpc.health.v1.Health/Check";
/// The path of the call that asks to be told of changes.
pub const WATCH: &str = "/grpc.health.v1.Health/Watch";

/// How a service is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// It takes calls.
    Serving = 1,
    /// It takes none, or no new ones.
    NotServing = 2,
    /// There is no such service; for `Watch` alone.
    ServiceUnknown = 3,
}

#[derive(Default)]
struct HealthCheckRequest {
    service: String,
}

#[derive(Default)]
struct HealthCheckResponse {
    status: i32,
}

message! {
    HealthCheckRequest {
        1 service: implicit,
    }

    HealthCheckResponse {
        1 status: implicit,
    }
}

/// Reads the name of the service that is asked about; empty for the whole server.
///
/// # Errors
///
/// `Parse` for bytes that are no such message.
pub fn decode_request(bytes: &[u8]) -> Result<String, Error> {
    let request = decode::<HealthCheckRequest>(bytes, Side::Request).map_err(Fault::into_request_error)?;
    Ok(request.service)
}

/// Appends an answer.
pub fn encode_response(health: Health, to: &mut Vec<u8>) {
    HealthCheckResponse { status: health as i32 }.write_fields(to);
}
