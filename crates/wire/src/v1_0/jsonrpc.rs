//! JSON-RPC of 1.0 (section 9 "JSON-RPC Protocol Binding"). Methods have the names of operations. Params and results
//! are the messages of the operations.

use nuncio_model::{Call, Error, ErrorKind, Method, Reply, Validate};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{V1_0, aliases, call, json_events, reply};
use crate::{
    dialect::{Dialect, JsonRpcDialect},
    json, status,
};

#[derive(Debug)]
pub(super) struct JsonRpc;

json_events!(JsonRpc);

impl JsonRpcDialect for JsonRpc {
    fn dialect(&self) -> &'static dyn Dialect {
        &V1_0
    }

    fn method(&self, name: &str) -> Option<Method> {
        Method::from_name(name).or_else(|| aliases::method(name))
    }

    fn method_name(&self, method: Method) -> Option<&'static str> {
        Some(method.name())
    }

    fn decode_call(&self, method: Method, params: Option<&RawValue>) -> Result<Call, Error> {
        json::every_param(params.map_or("{}", RawValue::get), |params| {
            let call = call::read(method, &call::Source::Params(params))?;
            call.validate()?;
            Ok(call)
        })
    }

    fn encode_call(&self, call: &Call) -> Result<Box<RawValue>, Error> {
        Ok(call::write(call))
    }

    fn encode_reply(&self, method: Method, reply: &Reply, to: &mut Vec<u8>) -> Result<(), Error> {
        reply::write(method, reply, to)
    }

    fn decode_reply(&self, method: Method, result: &[u8]) -> Result<Reply, Error> {
        reply::read(method, result)
    }

    fn encode_error(&self, error: &Error, to: &mut Vec<u8>) {
        #[derive(Serialize)]
        struct ErrorObject<'a> {
            code: i32,
            message: &'a str,
            #[serde(skip_serializing_if = "Vec::is_empty")]
            data: Vec<status::DetailJson<'a>>,
        }
        let details = status::details(error);
        let data = details.iter().map(status::DetailJson).collect();
        json::write(&ErrorObject { code: status::row(error.kind()).jsonrpc, message: error.message(), data }, to);
    }

    fn kind_of_code(&self, code: i64) -> Option<ErrorKind> {
        status::kind_of_jsonrpc(code)
    }
}
