//! Calls, however they came: what holds of one that was read.

use nuncio_model::{Call, Error, Method, TaskPushNotificationConfig};
use nuncio_wire::{JsonRpcDialect, Version, dialect};
use serde_json::value::RawValue;

use crate::check;

/// Params as a dialect of JSON-RPC writes them.
pub(crate) fn params(rpc: &dyn JsonRpcDialect, call: &Call) -> Result<Vec<u8>, Error> {
    rpc.encode_call(call).map(|params| Box::<str>::from(params).into_string().into_bytes())
}

/// Reads params that a dialect wrote.
pub(crate) fn from_params(rpc: &dyn JsonRpcDialect, method: Method, params: &[u8]) -> Result<Call, Error> {
    let params: &RawValue = serde_json::from_slice(params).map_err(Error::internal)?;
    rpc.decode_call(method, Some(params))
}

/// What was read of a call of a version, or why it was refused.
pub(crate) fn read(
    what: &str,
    version: Version,
    read: &dyn Fn() -> Result<Call, Error>,
    write: &dyn Fn(&Call) -> Result<Vec<u8>, Error>,
    decode: &dyn Fn(&[u8]) -> Result<Call, Error>,
) {
    let call = match read() {
        Ok(call) => call,
        Err(error) => return check::refused_call(&error),
    };
    check::settles(what, version, (call.clone(), read()), write, decode);
    if !is_open(&call) {
        let newest = dialect(Version::LATEST).jsonrpc();
        let decode = |bytes: &[u8]| from_params(newest, call.method(), bytes);
        let calls = (call.clone(), Ok(call.clone()));
        check::settles(&format!("{what}, then"), Version::LATEST, calls, |call| params(newest, call), decode);
    }
    for version in Version::ALL {
        written_in(*version, &call);
    }
}

/// Whether a call leaves open what 1.0 wants to be said: which webhook is meant, which 0.1 also takes away by setting
/// none, and by which scheme one authenticates, as older versions have a list of them.
fn is_open(call: &Call) -> bool {
    let send = match call {
        Call::GetTaskPushNotificationConfig(get) => return get.id.is_empty(),
        Call::CreateTaskPushNotificationConfig(config) => return config.url.is_empty() || names_no_scheme(config),
        Call::SendMessage(send) => send,
        Call::SendStreamingMessage(send) => &send.0,
        _ => return false,
    };
    let configuration = send.configuration.as_ref();
    configuration.and_then(|it| it.task_push_notification_config.as_ref()).is_some_and(names_no_scheme)
}

fn names_no_scheme(config: &TaskPushNotificationConfig) -> bool {
    config.authentication.as_ref().is_some_and(|it| it.scheme.is_empty())
}

/// A call of one version written in another: it may be that the version lacks it, and no more than that.
fn written_in(version: Version, call: &Call) {
    let dialect = dialect(version);
    let mut to = Vec::new();
    let written = [
        dialect.jsonrpc().encode_call(call).err(),
        dialect.rest().and_then(|rest| rest.encode_call(call).err()),
        dialect.grpc().and_then(|grpc| grpc.encode_call(call, &mut to).err()),
    ];
    written.iter().flatten().for_each(check::refused_call);
}
