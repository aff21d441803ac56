//! What the fields of a webhook are called before 1.0, where they stand elsewhere, and which of them need not be there.

use nuncio_model::{Call, FieldViolation, Method, Validate};

/// What is wrong with a call before 1.0, by the names of 1.0. A webhook has a list of schemes there, which may be empty.
pub(crate) fn violations(call: &Call) -> Vec<FieldViolation> {
    let mut violations = Vec::new();
    call.validate_at("", &mut violations);
    violations.retain(|it| !it.field.ends_with("authentication.scheme"));
    violations
}

/// The name of a field that 1.0 names so, where a version has webhooks `alone` under this name, and those of a message
/// under the other. `None` for other fields.
pub(crate) fn field_name(method: Method, field: &str, alone: &str, in_message: &str) -> Option<String> {
    let (place, name) = match method {
        Method::CreateTaskPushNotificationConfig => (alone, field),
        Method::SendMessage | Method::SendStreamingMessage => {
            (in_message, field.strip_prefix("configuration.taskPushNotificationConfig.")?)
        }
        _ => return None,
    };
    let name = match name {
        "authentication.scheme" => "authentication.schemes",
        "url" | "token" | "id" | "authentication" | "authentication.credentials" => name,
        _ => return None,
    };
    Some(format!("{place}.{name}"))
}
