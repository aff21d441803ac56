//! The messages of `grpc.health.v1`. Load balancers use them to check the health of a server.

use nuncio_model::Error;

use super::{
    fault::Fault,
    message::{Message, decode, message},
    reader::Side,
};

/// The full name of the service.
pub const SERVICE: &str = "grpc.health.v1.Health";
/// The path of the call for a single check.
pub const CHECK: &str = "/grpc.health.v1.Health/Check";
/// The path of the call that streams changes.
pub const WATCH: &str = "/grpc.health.v1.Health/Watch";

/// The health of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// The service accepts calls.
    Serving = 1,
    /// The service accepts no calls, or no new calls.
    NotServing = 2,
    /// The service does not exist. Only for `Watch`.
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

/// Reads the name of the service in a health check. The name is empty for the whole server.
///
/// # Errors
///
/// `Parse` if the bytes are not this message.
pub fn decode_request(bytes: &[u8]) -> Result<String, Error> {
    let request = decode::<HealthCheckRequest>(bytes, Side::Request).map_err(Fault::into_request_error)?;
    Ok(request.service)
}

/// Appends the response.
pub fn encode_response(health: Health, to: &mut Vec<u8>) {
    HealthCheckResponse { status: health as i32 }.write_fields(to);
}
