//! What a version must know of each binding.

use std::fmt;

use bytes::Bytes;
use http::HeaderMap;
use nuncio_model::{Call, Error, ErrorKind, Method, Reply, StreamEvent, StreamResponse};
use serde_json::value::RawValue;

use super::{Dialect, sealed};
use crate::rest::{self, Outgoing, RouteError, Routed};

/// The events of a stream as bytes.
pub trait Events: sealed::Sealed + fmt::Debug + Send + Sync {
    /// Where a [`StreamEvent`] keeps this encoding. No others have the same place, but those that write the same.
    fn slot(&self) -> usize;

    /// Writes one event of a stream.
    fn encode_event(&self, event: &StreamResponse, to: &mut Vec<u8>);

    /// One event of a stream as bytes that all of its readers share: encoded when the first asks.
    ///
    /// Worth it for an event with many readers; for one reader, [`encode_event`](Self::encode_event) writes straight
    /// into the frame.
    fn shared_event<'event>(&self, event: &'event StreamEvent) -> &'event Bytes {
        event.encoded(self.slot(), |event| {
            let mut to = Vec::with_capacity(512);
            self.encode_event(event, &mut to);
            // Kept for a while, and there may be many: without room to spare.
            Bytes::copy_from_slice(&to)
        })
    }

    /// Reads one event of a stream. Fails with `InvalidAgentResponse`.
    fn decode_event(&self, bytes: &[u8]) -> Result<StreamResponse, Error>;
}

/// How a version is spoken in JSON-RPC: methods, params, results and errors. The envelope, [`jsonrpc`](crate::jsonrpc),
/// is the same for all.
pub trait JsonRpcDialect: Events {
    /// The version.
    fn dialect(&self) -> &'static dyn Dialect;

    /// Whether a request may leave out `jsonrpc`, and `id` where it wants an answer all the same.
    fn envelope_is_optional(&self) -> bool {
        false
    }

    /// Server: whether a call for a stream is refused inside a stream, as its only event.
    fn refuses_in_stream(&self) -> bool {
        false
    }

    /// The operation of a method. One operation may have several names.
    fn method(&self, name: &str) -> Option<Method>;

    /// The name of an operation's method, where the version has the operation.
    fn method_name(&self, method: Method) -> Option<&'static str>;

    /// Client: where an operation is that the version has beside JSON-RPC: what follows the address, to be read with
    /// `GET`, and whose body is the result.
    fn beside(&self, method: Method) -> Option<&'static str> {
        let _ = method;
        None
    }

    /// Server: reads the params of a call and checks them.
    ///
    /// Absent params are an empty object. Fails with `InvalidParams` that names the field, in JSON names.
    fn decode_call(&self, method: Method, params: Option<&RawValue>) -> Result<Call, Error>;

    /// Server: what the version calls a field that a call of 1.0 was refused for, where it has another name for it.
    fn field_name(&self, method: Method, field: &str) -> Option<String> {
        let _ = (method, field);
        None
    }

    /// Client: writes the params of a call. Fails with `UnsupportedOperation` where the version lacks what it asks for.
    fn encode_call(&self, call: &Call) -> Result<Box<RawValue>, Error>;

    /// Server: writes the result of a call. Not for a stream, whose events are written one by one.
    ///
    /// Fails with `Internal` if the reply is not one that the operation gives; `to` is then as it was.
    fn encode_reply(&self, method: Method, reply: &Reply, to: &mut Vec<u8>) -> Result<(), Error>;

    /// Client: reads the result of a call. Not for a stream.
    ///
    /// Lenient: what is missing has its default. Fails with `InvalidAgentResponse`.
    fn decode_reply(&self, method: Method, result: &[u8]) -> Result<Reply, Error>;

    /// Server: writes the `error` member of a response.
    fn encode_error(&self, error: &Error, to: &mut Vec<u8>);

    /// Client: what a code means where nothing else says it.
    fn kind_of_code(&self, code: i64) -> Option<ErrorKind>;
}

/// How a version spells HTTP+JSON: paths, queries, bodies and errors (section 11).
pub trait RestDialect: Events {
    /// The version.
    fn dialect(&self) -> &'static dyn Dialect;

    /// What bodies are sent as (REST-1).
    fn content_type(&self) -> &'static str {
        rest::CONTENT_TYPE
    }

    /// Server: which operation a path means. `path` begins with `/` and has no query; what the agent is mounted under
    /// is cut off.
    fn route(&self, http_method: &http::Method, path: &str) -> Result<Routed, RouteError>;

    /// Server: whether a path is of this version and no newer one, also where nothing is at it. An error before a call
    /// is known is told as the version tells it.
    fn owns(&self, path: &str) -> bool {
        let _ = path;
        false
    }

    /// Server: whether a caller that asks for the extended card gets the public card where there is no extended one.
    fn falls_back_to_public_card(&self) -> bool {
        false
    }

    /// Server: reads and checks a call. The path wins over the body; a tenant in both must be the same (TENANT-3).
    ///
    /// Fails with `Parse` where the body is not JSON, else with `InvalidParams` that names the field.
    fn decode_call(&self, routed: &Routed, query: Option<&str>, body: &[u8]) -> Result<Call, Error>;

    /// Server: what the version calls a field that a call of 1.0 was refused for, where it has another name for it.
    fn field_name(&self, method: Method, field: &str) -> Option<String> {
        let _ = (method, field);
        None
    }

    /// Client: writes a call. Fails with `UnsupportedOperation` where the version lacks what it asks for.
    fn encode_call(&self, call: &Call) -> Result<Outgoing, Error>;

    /// Client: another way to make a call, for servers that answer the first with this status, because they read the
    /// specification otherwise. `None` where there is none.
    fn encode_again(&self, call: &Call, status: http::StatusCode) -> Option<Outgoing> {
        let _ = (call, status);
        None
    }

    /// Server: writes the body of a successful answer. That of a deletion is `{}` and not `null` (C-10).
    ///
    /// Fails with `Internal` if the reply is not one that the operation gives; `to` is then as it was.
    fn encode_reply(&self, method: Method, reply: &Reply, to: &mut Vec<u8>) -> Result<(), Error>;

    /// Client: reads the body of a successful answer. Not for a stream.
    ///
    /// Lenient: what is missing has its default. Fails with `InvalidAgentResponse`.
    fn decode_reply(&self, method: Method, body: &[u8]) -> Result<Reply, Error>;

    /// Writes the body of an error and gives its status: that of its kind, or `status` where HTTP has a finer one (405
    /// and 406 for example). Reading is [`rest::parse_error`], the same for all versions.
    fn encode_error(&self, error: &Error, status: Option<http::StatusCode>, to: &mut Vec<u8>) -> http::StatusCode;
}

/// How a version is spoken in gRPC: methods, messages and errors (section 10). The frames,
/// [`proto::frame`](crate::proto::frame), are the same for all.
pub trait GrpcDialect: Events {
    /// The version.
    fn dialect(&self) -> &'static dyn Dialect;

    /// The operation of a path, `/lf.a2a.v1.A2AService/GetTask` for example.
    fn method(&self, path: &str) -> Option<Method>;

    /// The path of an operation, where the version has the operation.
    fn path(&self, method: Method) -> Option<&'static str>;

    /// Server: whether a caller that asks for the extended card gets the public card where there is no extended one.
    fn falls_back_to_public_card(&self) -> bool {
        false
    }

    /// Server: reads the message of a call and checks it. Fails with `InvalidParams` that names the field, in JSON
    /// names.
    fn decode_call(&self, method: Method, message: &[u8]) -> Result<Call, Error>;

    /// Server: what the version calls a field that a call of 1.0 was refused for, where it has another name for it.
    fn field_name(&self, method: Method, field: &str) -> Option<String> {
        let _ = (method, field);
        None
    }

    /// Client: appends the message of a call. Fails with `UnsupportedOperation` where the version lacks what it asks
    /// for.
    fn encode_call(&self, call: &Call, to: &mut Vec<u8>) -> Result<(), Error>;

    /// Server: appends the message of a reply. Not for a stream, whose events are written one by one.
    ///
    /// Fails with `Internal` if the reply is not one that the operation gives; `to` is then as it was.
    fn encode_reply(&self, method: Method, reply: &Reply, to: &mut Vec<u8>) -> Result<(), Error>;

    /// Client: reads the message of a reply. Not for a stream. Fails with `InvalidAgentResponse`.
    fn decode_reply(&self, method: Method, message: &[u8]) -> Result<Reply, Error>;

    /// Server: writes an error into the headers or trailers that end a call. Reading is
    /// [`metadata::read_outcome`](crate::proto::metadata::read_outcome), the same for all versions.
    fn write_error(&self, error: &Error, to: &mut HeaderMap);
}
