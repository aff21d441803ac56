//! Responses from the view of a client: the operation of the call, and the response.

use http::StatusCode;
use nuncio_model::{Error, Reply, StreamResponse};
use nuncio_wire::{Version, dialect, jsonrpc, proto::frame, rest};

use crate::{card, check, event};

/// The body of a response of JSON-RPC.
pub(crate) fn jsonrpc(input: &[u8]) {
    let Some((method, body)) = check::method(input) else { return };
    for version in Version::ALL {
        let rpc = dialect(*version).jsonrpc();
        match jsonrpc::parse_response(rpc, body) {
            Err(error) => check::refused_answer(&error),
            Ok((id, Err(error))) => {
                let encode = |error: &Error| {
                    let mut to = Vec::new();
                    jsonrpc::write_error(rpc, &id, error, &mut to);
                    to
                };
                let decode = |bytes: &[u8]| {
                    jsonrpc::parse_response(rpc, bytes).expect("an error can be read").1.expect_err("an error")
                };
                forwarded(&error, encode, decode);
            }
            Ok((_, Ok(result))) if method.is_streaming() => {
                event::read("a reply of JSON-RPC", *version, rpc, result.get().as_bytes());
            }
            Ok((_, Ok(result))) => {
                let decode = |bytes: &[u8]| rpc.decode_reply(method, bytes);
                let write = |reply: &Reply, to: &mut Vec<u8>| rpc.encode_reply(method, reply, to);
                read("a reply of JSON-RPC", *version, result.get().as_bytes(), &decode, &write);
            }
        }
    }
}

/// The status and the body of a response of HTTP+JSON.
pub(crate) fn rest(input: &[u8]) {
    let Some((method, input)) = check::method(input) else { return };
    let Some((status, body)) = input.split_first() else { return };
    for version in Version::ALL {
        let Some(rest) = dialect(*version).rest() else { continue };
        let status = StatusCode::from_u16(400 + u16::from(status % 120)).expect("a status");
        forwarded(
            &rest::parse_error(status, body),
            |error| rest::write_error(rest, error).1,
            |bytes| rest::parse_error(status, bytes),
        );
        if method.is_streaming() {
            event::read("a reply of HTTP+JSON", *version, rest, body);
        } else {
            let decode = |bytes: &[u8]| rest.decode_reply(method, bytes);
            let write = |reply: &Reply, to: &mut Vec<u8>| rest.encode_reply(method, reply, to);
            read("a reply of HTTP+JSON", *version, body, &decode, &write);
        }
    }
}

/// The message of a reply of gRPC.
pub(crate) fn grpc(input: &[u8]) {
    let Some((method, message)) = check::method(input) else { return };
    for version in Version::ALL {
        let Some(grpc) = dialect(*version).grpc().filter(|grpc| grpc.path(method).is_some()) else { continue };
        if method.is_streaming() {
            event::read("a reply of gRPC", *version, grpc, message);
        } else {
            let decode = |bytes: &[u8]| grpc.decode_reply(method, bytes);
            let write = |reply: &Reply, to: &mut Vec<u8>| grpc.encode_reply(method, reply, to);
            read("a reply of gRPC", *version, message, &decode, &write);
        }
    }
}

/// An error from a peer must be the same after it was forwarded.
fn forwarded(error: &Error, encode: impl Fn(&Error) -> Vec<u8>, decode: impl Fn(&[u8]) -> Error) {
    let encoded = encode(error);
    let decoded = decode(&encoded);
    let again = decode(&encode(&decoded));
    assert_eq!(again.kind(), decoded.kind(), "an error changes on each forwarding: {}", check::shown(&encoded));
    assert_eq!(again.message(), decoded.message(), "an error changes on each forwarding: {}", check::shown(&encoded));
}

fn read(what: &str, version: Version, bytes: &[u8], decode: &dyn Fn(&[u8]) -> Result<Reply, Error>, write: Write<'_>) {
    let write = |reply: &Comparable| {
        let mut to = Vec::new();
        // Written as in a body, after existing bytes.
        frame::write(&mut to, usize::MAX, |to| write(&reply.0, to)).map(|()| to.split_off(frame::HEADER))
    };
    let decode = |bytes: &[u8]| decode(bytes).map(Comparable);
    let reply = match decode(bytes) {
        Ok(reply) => reply,
        Err(error) => return check::refused_answer(&error),
    };
    if matches!(reply.0, Reply::Message(_)) && version == Version::V0_1 {
        // This leniency accepts a message as an answer, but the version has no form to write such an answer. Its id is
        // generated at each reading.
        return assert!(decode(bytes).is_ok(), "{what} cannot be read twice");
    }
    if let (Comparable(Reply::Card(card)), true) = (&reply, version < Version::LATEST) {
        // Missing members of an older card get defaults, which are then part of the card.
        return card::shown(what, version, card);
    }
    check::settles(what, version, (reply, decode(bytes)), write, decode);
    if let Ok(Comparable(Reply::Task(task))) = decode(bytes) {
        event::written_in_all(&StreamResponse::Task((*task).clone()));
    }
}

/// Appends a reply to existing bytes.
type Write<'a> = &'a dyn Fn(&Reply, &mut Vec<u8>) -> Result<(), Error>;

/// A reply for comparisons; a stream is not read here.
struct Comparable(Reply);

impl PartialEq for Comparable {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Reply::Task(a), Reply::Task(b)) => a == b,
            (Reply::Message(a), Reply::Message(b)) => a == b,
            (Reply::Tasks(a), Reply::Tasks(b)) => a == b,
            (Reply::PushConfig(a), Reply::PushConfig(b)) => a == b,
            (Reply::PushConfigs(a), Reply::PushConfigs(b)) => a == b,
            (Reply::Card(a), Reply::Card(b)) => a == b,
            (Reply::Deleted, Reply::Deleted) => true,
            _ => false,
        }
    }
}

impl std::fmt::Debug for Comparable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
