//! The traits of a version for each binding.

use std::fmt;

use bytes::Bytes;
use http::HeaderMap;
use nuncio_model::{Call, Error, ErrorKind, Method, Reply, StreamEvent, StreamResponse};
use serde_json::value::RawValue;

use super::{Dialect, sealed};
use crate::rest::{self, Outgoing, RouteError, Routed};

/// Converts the events of a stream to bytes and back.
pub trait Events: sealed::Sealed + fmt::Debug + Send + Sync {
    /// The slot of a [`StreamEvent`] that holds this encoding. Encodings share a slot only if their bytes are equal.
    fn slot(&self) -> usize;

    /// Writes one event of a stream.
    fn encode_event(&self, event: &StreamResponse, to: &mut Vec<u8>);

    /// The bytes of an event that all readers share. The first call encodes the event.
    ///
    /// Sharing is useful for an event with many readers. For one reader, [`encode_event`](Self::encode_event) writes
    /// directly into the frame.
    fn shared_event<'event>(&self, event: &'event StreamEvent) -> &'event Bytes {
        event.encoded(self.slot(), |event| {
            let mut to = Vec::with_capacity(512);
            self.encode_event(event, &mut to);
            // The copy has no spare capacity, because many events can be held in memory for some time.
            Bytes::copy_from_slice(&to)
        })
    }

    /// Reads one event of a stream. Fails with `InvalidAgentResponse`.
    fn decode_event(&self, bytes: &[u8]) -> Result<StreamResponse, Error>;
}

/// The methods, params, results and errors of JSON-RPC in a version. The envelope, [`jsonrpc`](crate::jsonrpc), is the
/// same for all versions.
pub trait JsonRpcDialect: Events {
    /// The version.
    fn dialect(&self) -> &'static dyn Dialect;

    /// Whether a request can omit `jsonrpc`, and can omit `id` although the client expects an answer.
    fn envelope_is_optional(&self) -> bool {
        false
    }

    /// Server: whether a refused streaming call is answered with a stream whose only event is the error.
    fn refuses_in_stream(&self) -> bool {
        false
    }

    /// The operation of a method. An operation can have several method names.
    fn method(&self, name: &str) -> Option<Method>;

    /// The method name of an operation, if the version has the operation.
    fn method_name(&self, method: Method) -> Option<&'static str>;

    /// Client: the location of an operation that the version offers outside JSON-RPC. The result is a suffix of the
    /// address. A `GET` of that URL returns the result as the body.
    fn beside(&self, method: Method) -> Option<&'static str> {
        let _ = method;
        None
    }

    /// Server: reads and checks the params of a call.
    ///
    /// Absent params count as an empty object. Fails with `InvalidParams`, which names the field by its JSON name.
    fn decode_call(&self, method: Method, params: Option<&RawValue>) -> Result<Call, Error>;

    /// Server: the name in this version of a field that an error of a 1.0 call names, if the name differs.
    fn field_name(&self, method: Method, field: &str) -> Option<String> {
        let _ = (method, field);
        None
    }

    /// Client: writes the params of a call. Fails with `UnsupportedOperation` if the version lacks a requested feature.
    fn encode_call(&self, call: &Call) -> Result<Box<RawValue>, Error>;

    /// Server: writes the result of a call. Not for streams: their events are written individually.
    ///
    /// Fails with `Internal` if the operation does not return this kind of reply. On failure `to` is unchanged.
    fn encode_reply(&self, method: Method, reply: &Reply, to: &mut Vec<u8>) -> Result<(), Error>;

    /// Client: reads the result of a call. Not for streams.
    ///
    /// Missing members get their defaults. Fails with `InvalidAgentResponse`.
    fn decode_reply(&self, method: Method, result: &[u8]) -> Result<Reply, Error>;

    /// Server: writes the `error` member of a response.
    fn encode_error(&self, error: &Error, to: &mut Vec<u8>);

    /// Client: the kind of an error from its code, used if the error has no other indication of its kind.
    fn kind_of_code(&self, code: i64) -> Option<ErrorKind>;
}

/// The paths, queries, bodies and errors of HTTP+JSON in a version (section 11 "HTTP+JSON/REST Protocol Binding").
pub trait RestDialect: Events {
    /// The version.
    fn dialect(&self) -> &'static dyn Dialect;

    /// The media type of bodies (section 11.1 "Protocol Requirements").
    fn content_type(&self) -> &'static str {
        rest::CONTENT_TYPE
    }

    /// Server: the operation of a path. `path` begins with `/` and has no query. The prefix under which the agent is
    /// mounted is already removed.
    fn route(&self, http_method: &http::Method, path: &str) -> Result<Routed, RouteError>;

    /// Server: whether a path belongs to this version and to no newer version. The path need not exist. An error before
    /// a call is known is written in the version that owns the path.
    fn owns(&self, path: &str) -> bool {
        let _ = path;
        false
    }

    /// Server: whether a caller that requests the extended card gets the public card if no extended card exists.
    fn falls_back_to_public_card(&self) -> bool {
        false
    }

    /// Server: reads and checks a call. The path wins over the body. If path and body name a tenant, the tenants must
    /// be equal.
    ///
    /// Fails with `Parse` if the body is not JSON, else with `InvalidParams`, which names the field.
    fn decode_call(&self, routed: &Routed, query: Option<&str>, body: &[u8]) -> Result<Call, Error>;

    /// Server: the name in this version of a field that an error of a 1.0 call names, if the name differs.
    fn field_name(&self, method: Method, field: &str) -> Option<String> {
        let _ = (method, field);
        None
    }

    /// Client: writes a call. Fails with `UnsupportedOperation` if the version lacks a requested feature.
    fn encode_call(&self, call: &Call) -> Result<Outgoing, Error>;

    /// Client: a second form of a call, for servers that interpret the specification differently and answer the first
    /// form with `status`. `None` if there is no second form.
    fn encode_again(&self, call: &Call, status: http::StatusCode) -> Option<Outgoing> {
        let _ = (call, status);
        None
    }

    /// Server: writes the body of a successful answer. The body of a deletion is `{}`, not `null` (section 3.1.10
    /// leaves the result to the implementation).
    ///
    /// Fails with `Internal` if the operation does not return this kind of reply. On failure `to` is unchanged.
    fn encode_reply(&self, method: Method, reply: &Reply, to: &mut Vec<u8>) -> Result<(), Error>;

    /// Client: reads the body of a successful answer. Not for streams.
    ///
    /// Missing members get their defaults. Fails with `InvalidAgentResponse`.
    fn decode_reply(&self, method: Method, body: &[u8]) -> Result<Reply, Error>;

    /// Writes the body of an error and returns the HTTP status. The status is `status` if HTTP has a more exact one
    /// (405 or 406, for example), else the status of the error's kind. [`rest::parse_error`] reads errors of all
    /// versions.
    fn encode_error(&self, error: &Error, status: Option<http::StatusCode>, to: &mut Vec<u8>) -> http::StatusCode;
}

/// The methods, messages and errors of gRPC in a version (section 10 "gRPC Protocol Binding"). The frames,
/// [`proto::frame`](crate::proto::frame), are the same for all versions.
pub trait GrpcDialect: Events {
    /// The version.
    fn dialect(&self) -> &'static dyn Dialect;

    /// The operation of a path, for example `/lf.a2a.v1.A2AService/GetTask`.
    fn method(&self, path: &str) -> Option<Method>;

    /// The path of an operation, if the version has the operation.
    fn path(&self, method: Method) -> Option<&'static str>;

    /// Server: whether a caller that requests the extended card gets the public card if no extended card exists.
    fn falls_back_to_public_card(&self) -> bool {
        false
    }

    /// Server: reads and checks the message of a call. Fails with `InvalidParams`, which names the field by its JSON
    /// name.
    fn decode_call(&self, method: Method, message: &[u8]) -> Result<Call, Error>;

    /// Server: the name in this version of a field that an error of a 1.0 call names, if the name differs.
    fn field_name(&self, method: Method, field: &str) -> Option<String> {
        let _ = (method, field);
        None
    }

    /// Client: appends the message of a call. Fails with `UnsupportedOperation` if the version lacks a requested
    /// feature.
    fn encode_call(&self, call: &Call, to: &mut Vec<u8>) -> Result<(), Error>;

    /// Server: appends the message of a reply. Not for streams: their events are written individually.
    ///
    /// Fails with `Internal` if the operation does not return this kind of reply. On failure `to` is unchanged.
    fn encode_reply(&self, method: Method, reply: &Reply, to: &mut Vec<u8>) -> Result<(), Error>;

    /// Client: reads the message of a reply. Not for streams. Fails with `InvalidAgentResponse`.
    fn decode_reply(&self, method: Method, message: &[u8]) -> Result<Reply, Error>;

    /// Server: writes an error into the headers or trailers that end a call.
    /// [`metadata::read_outcome`](crate::proto::metadata::read_outcome) reads errors of all versions.
    fn write_error(&self, error: &Error, to: &mut HeaderMap);
}
