//! Requests of JSON-RPC and of gRPC.

use std::collections::BTreeMap;

use nuncio_model::ErrorKind;
use nuncio_wire::{
    Version, Versions, dialect,
    jsonrpc::{self, Incoming},
    negotiate,
};
use serde_json::value::RawValue;

use crate::{call, check};

/// The body of a JSON-RPC request: the envelope, and the params, read in each version with this method.
pub(crate) fn jsonrpc(input: &[u8]) {
    let incoming = match jsonrpc::parse_request(input) {
        Ok(incoming) => incoming,
        Err((id, error)) => {
            assert!(matches!(error.kind(), ErrorKind::Parse | ErrorKind::InvalidRequest), "{error:?}");
            return answered(&id, &error);
        }
    };
    envelope(&incoming);
    // The last of repeated members counts. The returned id must equal the sent id, digit by digit.
    let members: BTreeMap<String, &RawValue> = serde_json::from_slice(input).expect("a request is an object");
    let (sent, taken) = (members.get("id"), incoming.id.as_ref());
    assert_eq!(taken.map_or("null".to_owned(), ToString::to_string), sent.map_or("null", |id| id.get()));
    let Incoming { method, params, .. } = incoming;
    let parameters = negotiate::parameters(&method, params);
    assert!(parameters.extensions.len() <= negotiate::MAX_EXTENSIONS);
    // Params are read in the received form, and also without members that do not belong to the params.
    for params in [params, parameters.params.as_deref()].into_iter().flatten() {
        in_all_versions(&method, params);
    }
}

/// A refusal must reach the client with the id of its request.
fn answered(id: &jsonrpc::Id, error: &nuncio_model::Error) {
    let newest = dialect(Version::LATEST).jsonrpc();
    let mut to = Vec::new();
    jsonrpc::write_error(newest, id, error, &mut to);
    let (back, answer) = jsonrpc::parse_response(newest, &to).expect("a refusal can be read");
    assert_eq!(&back, id);
    let received = answer.expect_err("a refusal is an error");
    assert_eq!((received.kind(), received.message()), (error.kind(), error.message()));
}

/// An envelope must be the same after writing and reading.
fn envelope(incoming: &Incoming<'_>) {
    let Some(id) = &incoming.id else { return };
    let written = jsonrpc::write_request(id, &incoming.method, incoming.params);
    let back = jsonrpc::parse_request(&written).expect("a request can be read again");
    assert_eq!(back.id.as_ref(), Some(id));
    assert_eq!(back.method, incoming.method);
    assert_eq!(back.params.map(RawValue::get), incoming.params.map(RawValue::get));
}

fn in_all_versions(method: &str, params: &RawValue) {
    for version in Version::ALL {
        let rpc = dialect(*version).jsonrpc();
        let meant = Versions::default().for_method(Some(version.as_str()), method);
        let Some(operation) = rpc.method(method) else {
            let kind = meant.expect_err("a version has no such method").kind();
            assert!(matches!(kind, ErrorKind::VersionNotSupported | ErrorKind::MethodNotFound));
            continue;
        };
        assert_eq!(meant.expect("a version has this method").dialect.dialect().version(), *version);
        let read = || rpc.decode_call(operation, Some(params));
        let write = |call: &_| call::params(rpc, call);
        let decode = |bytes: &[u8]| call::from_params(rpc, operation, bytes);
        call::read("a call of JSON-RPC", *version, &read, &write, &decode);
    }
}

/// The operation, and the protobuf message of its request.
pub(crate) fn grpc(input: &[u8]) {
    let Some((method, message)) = check::method(input) else { return };
    for version in Version::ALL {
        let Some(grpc) = dialect(*version).grpc().filter(|grpc| grpc.path(method).is_some()) else { continue };
        let write = |call: &_| {
            let mut to = Vec::new();
            grpc.encode_call(call, &mut to).map(|()| to)
        };
        let decode = |bytes: &[u8]| grpc.decode_call(method, bytes);
        call::read("a call of gRPC", *version, &|| decode(message), &write, &decode);
    }
}
