//! Versions 0.2 and 0.3 in JSON-RPC, and the plans that convert between their calls and the calls of 1.0.

mod ask;
mod caller;
mod calls;
mod errors;
mod examples;
mod join;
mod lenient;
#[cfg(all(feature = "v0-1", feature = "v0-2", feature = "v0-3"))]
mod losses;
pub(crate) mod schema;
mod serve;

use nuncio_model::{Call, Error, Method, StreamResponse};
use nuncio_wire::{JsonRpcDialect, Version, dialect};
use serde_json::{Value, value::RawValue};

fn v03() -> &'static dyn JsonRpcDialect {
    dialect(Version::V0_3).jsonrpc()
}

fn v02() -> &'static dyn JsonRpcDialect {
    dialect(Version::V0_2).jsonrpc()
}

fn v10() -> &'static dyn JsonRpcDialect {
    dialect(Version::V1_0).jsonrpc()
}

fn read(version: &dyn JsonRpcDialect, method: Method, params: &Value) -> Result<Call, Error> {
    version.decode_call(method, Some(&RawValue::from_string(params.to_string()).unwrap()))
}

fn written(version: &dyn JsonRpcDialect, event: &StreamResponse) -> Value {
    let mut to = Vec::new();
    version.encode_event(event, &mut to);
    crate::spec::json(&to)
}

fn event(version: &dyn JsonRpcDialect, json: &Value) -> StreamResponse {
    version.decode_event(json.to_string().as_bytes()).unwrap()
}
