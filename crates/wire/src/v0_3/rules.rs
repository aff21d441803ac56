//! What all bindings of 0.2 and 0.3 make of the model in the same way.

use nuncio_model::{Struct, TaskState, Value};

/// Marks data that was no object, which 0.3 does not have: it stands in an object as its `value`.
const WRAPPED: &str = "data_part_compat";
const VALUE: &str = "value";

/// Data as the object that 0.3 asks for; the part's metadata says where it was none.
pub(super) fn data_object(data: &Value, metadata: &mut Option<Struct>) -> Struct {
    if let Value::Object(object) = data {
        return object.clone();
    }
    metadata.get_or_insert_default().insert(WRAPPED.to_owned(), true.into());
    Struct::from_iter([(VALUE.to_owned(), data.clone())])
}

/// The data of an object; a mark among the metadata is taken off.
pub(super) fn data_value(mut object: Struct, metadata: &mut Option<Struct>) -> Value {
    let is_wrapped = object.len() == 1
        && object.contains_key(VALUE)
        && metadata.as_ref().is_some_and(|metadata| metadata.get(WRAPPED) == Some(&Value::Bool(true)));
    if !is_wrapped {
        return Value::Object(object);
    }
    if let Some(marked) = metadata {
        marked.remove(WRAPPED);
        if marked.is_empty() {
            *metadata = None;
        }
    }
    object.remove(VALUE).unwrap_or_default()
}

/// Whether a status ends the stream that it comes in.
pub(super) fn is_final(state: TaskState) -> bool {
    state.is_terminal() || state.is_interrupted()
}
