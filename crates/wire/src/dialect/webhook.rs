//! What the fields of a webhook are called before 1.0, where they stand elsewhere.

use nuncio_model::Method;

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
