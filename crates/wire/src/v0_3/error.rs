//! Errors in JSON-RPC of 0.2 and 0.3: `data` is an object of facts, and not a list of typed details.

use nuncio_model::Error;
use serde::Serialize;

use crate::{
    json,
    status::{self, Facts},
};

/// Writes the `error` member of a response.
pub(super) fn write(error: &Error, to: &mut Vec<u8>) {
    #[derive(Serialize)]
    struct ErrorObject<'a> {
        code: i32,
        message: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<Facts<'a>>,
    }
    json::write(
        &ErrorObject { code: status::row(error.kind()).jsonrpc, message: error.message(), data: Facts::of(error) },
        to,
    );
}
