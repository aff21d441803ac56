//! What the fields of a webhook are called before 1.0, where they stand elsewhere.

#[cfg(any(feature = "v0-2", feature = "v0-3"))]
use nuncio_model::FieldViolation;
use nuncio_model::Method;

/// The field of 1.0 behind a webhook of a message.
const IN_MESSAGE: &str = "configuration.taskPushNotificationConfig.";

/// Forgives a webhook that names no scheme to authenticate by: it has a list of them before 1.0, which may be empty.
#[cfg(any(feature = "v0-2", feature = "v0-3"))]
pub(crate) fn forgive_scheme(violations: &mut Vec<FieldViolation>) {
    violations.retain(|it| it.field.strip_prefix(IN_MESSAGE).unwrap_or(&it.field) != "authentication.scheme");
}

/// The name of a field that 1.0 names so, where a version has webhooks `alone` under this name, and those of a message
/// under the other. `None` for other fields.
pub(crate) fn field_name(method: Method, field: &str, alone: &str, in_message: &str) -> Option<String> {
    let (place, name) = match method {
        Method::CreateTaskPushNotificationConfig => (alone, field),
        Method::SendMessage | Method::SendStreamingMessage => (in_message, field.strip_prefix(IN_MESSAGE)?),
        _ => return None,
    };
    let name = match name {
        "authentication.scheme" => "authentication.schemes",
        "url" | "token" | "id" | "authentication" | "authentication.credentials" => name,
        _ => return None,
    };
    Some(format!("{place}.{name}"))
}
