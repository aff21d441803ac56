//! Push notification configurations (section 4.3).

use serde::{Deserialize, Deserializer, de::MapAccess};

use crate::{
    id::{PushConfigId, TaskId, Tenant},
    json::{Value, from_value, json_object},
};

json_object! {
    /// The authentication at a webhook: `Authorization: {scheme} {credentials}` (section 4.3.2).
    pub struct AuthenticationInfo {
        /// An HTTP authentication scheme, for example `Bearer`.
        pub scheme: String => required "scheme" | "schemes" via first_scheme,
        /// The credentials. A secret: `get` and `list` omit this field.
        pub credentials: Option<String> => implicit "credentials",
    }
}

json_object! {
    /// A webhook for the updates of one task (section 4.3.1).
    pub struct TaskPushNotificationConfig {
        /// The tenant, if the interface has a tenant.
        pub tenant: Option<Tenant> => implicit "tenant",
        /// The id. The server creates an id if the field is absent; an empty id stands for the id of the task.
        pub id: Option<PushConfigId> => implicit "id",
        /// The task; empty within a `SendMessage`.
        pub task_id: Option<TaskId> => implicit "taskId" | "task_id",
        /// The URL of the webhook.
        pub url: String => required "url",
        /// The token, sent in the header `X-A2A-Notification-Token`. A secret: `get` and `list` omit this field.
        pub token: Option<String> => implicit "token",
        /// The authentication at the webhook.
        pub authentication: Option<AuthenticationInfo> => presence "authentication",
    }
}

impl AuthenticationInfo {
    /// Authentication with this scheme, for example `Bearer`, and these credentials.
    pub fn new(scheme: impl Into<String>, credentials: impl Into<String>) -> Self {
        Self { scheme: scheme.into(), credentials: Some(credentials.into()) }
    }
}

impl TaskPushNotificationConfig {
    /// A webhook at this URL for the updates of this task. Within a `SendMessage` the task can be empty.
    pub fn new(task_id: impl Into<TaskId>, url: impl Into<String>) -> Self {
        let task_id = Some(task_id.into()).filter(|id| !id.is_empty());
        Self { task_id, url: url.into(), ..Self::default() }
    }

    /// Sets the id of the configuration. Without an id, the server creates one.
    pub fn with_id(mut self, id: impl Into<PushConfigId>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets the token for the header `X-A2A-Notification-Token`.
    pub fn with_token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Sets the authentication at the webhook.
    pub fn with_authentication(mut self, authentication: AuthenticationInfo) -> Self {
        self.authentication = Some(authentication);
        self
    }
}

/// Reads `schemes`, a list in earlier texts of 1.0, and keeps the first entry (section 4.3.2, "AuthenticationInfo").
fn first_scheme<'de, A: MapAccess<'de>>(map: &mut A) -> Result<String, A::Error> {
    struct Scheme(String);
    impl<'de> Deserialize<'de> for Scheme {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            match Value::deserialize(from)? {
                Value::Array(schemes) => schemes.into_iter().next().map_or_else(|| Ok(String::new()), from_value),
                scheme => from_value(scheme),
            }
            .map(Self)
        }
    }
    Ok(map.next_value::<Option<Scheme>>()?.map_or_else(String::new, |scheme| scheme.0))
}
