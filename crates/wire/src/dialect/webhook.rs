//! The names of webhook fields in versions before 1.0, if the names differ.

#[cfg(any(feature = "v0-2", feature = "v0-3"))]
use nuncio_model::FieldViolation;
use nuncio_model::Method;

/// The prefix of the fields of a webhook in a message of 1.0.
const IN_MESSAGE: &str = "configuration.taskPushNotificationConfig.";

/// Removes the violation for an absent scheme: before 1.0 a webhook has a list of schemes, which can be empty.
#[cfg(any(feature = "v0-2", feature = "v0-3"))]
pub(crate) fn forgive_scheme(violations: &mut Vec<FieldViolation>) {
    violations.retain(|it| it.field.strip_prefix(IN_MESSAGE).unwrap_or(&it.field) != "authentication.scheme");
}

/// The name of a field of 1.0 in a version that has webhooks under the name `alone`, or under `in_message` for the
/// webhook of a message. `None` for other fields.
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
