//! Cards of every version.

#[cfg(all(feature = "v0-1", feature = "v0-2", feature = "v0-3"))]
mod losses;
#[cfg(all(feature = "v0-1", feature = "v0-2", feature = "v0-3"))]
mod older;
mod read;

use nuncio_model::AgentCard;
use nuncio_wire::card::decode;
use serde_json::Value;

use crate::spec;

/// The card in an example: the body of an HTTP answer, or the result of a call.
fn example(name: &str) -> Value {
    let example: Value = spec::file(&format!("examples/{name}.json"));
    let response = &example["response"];
    response.get("body").or_else(|| response.get("result")).unwrap().clone()
}

#[track_caller]
fn read(card: &Value) -> AgentCard {
    decode(card.to_string().as_bytes()).unwrap()
}

/// The interfaces of a card: URL, binding and version.
fn reached(card: &AgentCard) -> Vec<(&str, &str, &str)> {
    let interfaces = card.supported_interfaces.iter();
    interfaces.map(|it| (&*it.url, &*it.protocol_binding, &*it.protocol_version)).collect()
}
