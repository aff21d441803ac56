//! The independent implementation: protox compiles the `.proto` files of this project, and prost-reflect reads and
//! writes their messages.

use std::{path::Path, sync::LazyLock};

use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor};
use serde_json::Value;

/// All files in `proto/`.
pub(crate) static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
    let files = [
        "lf/a2a/v1/a2a.proto",
        "a2a/v1/a2a.proto",
        "google/rpc/status.proto",
        "google/rpc/error_details.proto",
        "grpc/health/v1/health.proto",
        "grpc/reflection/v1/reflection.proto",
    ];
    compiler().open_files(files).unwrap().descriptor_pool()
});

/// Compiles files of `proto/`.
pub(crate) fn compiler() -> protox::Compiler {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    let mut compiler = protox::Compiler::new([root]).unwrap();
    compiler.include_imports(true);
    compiler
}

/// A message of `lf.a2a.v1`.
pub(crate) fn message(name: &str) -> MessageDescriptor {
    POOL.get_message_by_name(&format!("lf.a2a.v1.{name}")).unwrap_or_else(|| panic!("no message {name}"))
}

/// The message with this JSON.
pub(crate) fn from_json(descriptor: &MessageDescriptor, json: &Value) -> DynamicMessage {
    DynamicMessage::deserialize(descriptor.clone(), json).unwrap()
}

/// The message with these bytes.
pub(crate) fn from_bytes(descriptor: &MessageDescriptor, bytes: &[u8]) -> DynamicMessage {
    DynamicMessage::decode(descriptor.clone(), bytes).unwrap()
}

/// The JSON of the message, with integers instead of numbers without a fraction, as in the model.
pub(crate) fn to_json(message: &DynamicMessage) -> Value {
    let mut json = serde_json::to_value(message).unwrap();
    whole_numbers(&mut json);
    json
}

fn whole_numbers(json: &mut Value) {
    match json {
        Value::Number(number) => {
            if let Some(double) = number.as_f64()
                && double.fract() == 0.0
                && double.abs() < 9e15
            {
                #[expect(clippy::cast_possible_truncation, reason = "the number is whole and small")]
                let whole = double as i64;
                *json = whole.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(members) => members.values_mut().for_each(whole_numbers),
        _ => {}
    }
}
