//! Versions 0.2 and 0.3 in gRPC and HTTP+JSON, compared with the facts of 0.3 and with an independent implementation of
//! protobuf.

mod descriptor;
mod errors;
mod examples;
mod files;
mod hostile;
mod lenient;
mod paths;
#[cfg(feature = "v0-1")]
mod round_trip;

use http::Method as Verb;
use nuncio_model::{Call, Error, Method, Reply};
use nuncio_wire::{
    GrpcDialect, RestDialect, Version, dialect,
    rest::{self, Outgoing, Routed},
};
use prost_reflect::MessageDescriptor;

use crate::proto::oracle;

fn grpc() -> &'static dyn GrpcDialect {
    dialect(Version::V0_3).grpc().unwrap()
}

fn rest() -> &'static dyn RestDialect {
    dialect(Version::V0_3).rest().unwrap()
}

/// A message of `a2a.v1`.
fn message(name: &str) -> MessageDescriptor {
    oracle::POOL.get_message_by_name(&format!("a2a.v1.{name}")).unwrap_or_else(|| panic!("no message {name}"))
}

/// The call that a server reads over gRPC from the bytes of a client.
fn over_grpc(call: &Call) -> Result<Call, Error> {
    let mut bytes = Vec::new();
    grpc().encode_call(call, &mut bytes)?;
    grpc().decode_call(call.method(), &bytes)
}

/// The call that a server reads over HTTP+JSON from the request of a client.
fn over_rest(call: &Call) -> Result<Call, Error> {
    let Outgoing { method, path, body } = rest().encode_call(call)?;
    let (path, query) = path.split_once('?').map_or((&*path, None), |(path, query)| (path, Some(query)));
    let routed = rest().route(&method, path).unwrap();
    assert_eq!(routed.method, call.method());
    rest::decode_call(rest(), &routed, query, Some("application/json"), &body.unwrap_or_default())
}

/// The call that a server reads from a request.
fn request(verb: &Verb, path: &str, body: &str) -> Result<Call, Error> {
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let routed: Routed = rest().route(verb, path).unwrap();
    rest::decode_call(rest(), &routed, query, Some(rest().content_type()), body.as_bytes())
}

fn grpc_reply(method: Method, reply: &Reply) -> Vec<u8> {
    let mut bytes = Vec::new();
    grpc().encode_reply(method, reply, &mut bytes).unwrap();
    bytes
}

fn rest_reply(method: Method, reply: &Reply) -> Vec<u8> {
    let mut body = Vec::new();
    rest().encode_reply(method, reply, &mut body).unwrap();
    body
}
