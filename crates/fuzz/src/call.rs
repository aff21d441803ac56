//! Calls from any binding: the checks of a decoded call.

use nuncio_model::{Call, Error, Method, TaskPushNotificationConfig};
use nuncio_wire::{JsonRpcDialect, Version, dialect};
use serde_json::value::RawValue;

use crate::check;

/// The params of a call, as a JSON-RPC dialect writes them.
pub(crate) fn params(rpc: &dyn JsonRpcDialect, call: &Call) -> Result<Vec<u8>, Error> {
    rpc.encode_call(call).map(|params| Box::<str>::from(params).into_string().into_bytes())
}

/// Reads params written by a dialect.
pub(crate) fn from_params(rpc: &dyn JsonRpcDialect, method: Method, params: &[u8]) -> Result<Call, Error> {
    let params: &RawValue = serde_json::from_slice(params).map_err(Error::internal)?;
    rpc.decode_call(method, Some(params))
}

/// Checks the result of reading a call of a version: the call, or the refusal.
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

/// Whether a call omits values that 1.0 requires: the id of the webhook (0.1 also removes the webhook by setting none),
/// or a single authentication scheme (older versions have a list).
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

/// Writes a call of one version in another version. The only allowed error is a feature that the version lacks.
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
