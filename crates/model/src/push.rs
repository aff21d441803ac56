//! Push notification configurations (section 4.3).

use serde::{Deserialize, Deserializer, de::MapAccess};

use crate::{
    id::{PushConfigId, TaskId, Tenant},
    json::{Value, from_value, json_object},
};

json_object! {
    /// How a webhook is to be called: `Authorization: {scheme} {credentials}` (section 4.3.2).
    pub struct AuthenticationInfo {
        /// An HTTP authentication scheme, `Bearer` for example.
        pub scheme: String => required "scheme" | "schemes" via first_scheme,
        /// The credentials. A secret: `get` and `list` do not give it back.
        pub credentials: Option<String> => implicit "credentials",
    }
}

json_object! {
    /// A webhook for the updates of one task (section 4.3.1).
    pub struct TaskPushNotificationConfig {
        /// The tenant, where the interface has one.
        pub tenant: Option<Tenant> => implicit "tenant",
        /// Its id; the server makes one where the client gave none. An engine takes an empty one as that of the task.
        pub id: Option<PushConfigId> => implicit "id",
        /// The task; empty inside a `SendMessage`.
        pub task_id: Option<TaskId> => implicit "taskId" | "task_id",
        /// Where notifications are posted.
        pub url: String => required "url",
        /// Sent along as `X-A2A-Notification-Token`. A secret: `get` and `list` do not give it back.
        pub token: Option<String> => implicit "token",
        /// How to authenticate there.
        pub authentication: Option<AuthenticationInfo> => presence "authentication",
    }
}

impl AuthenticationInfo {
    /// Authenticates with this scheme, `Bearer` for example, and these credentials.
    pub fn new(scheme: impl Into<String>, credentials: impl Into<String>) -> Self {
        Self { scheme: scheme.into(), credentials: Some(credentials.into()) }
    }
}

impl TaskPushNotificationConfig {
    /// A webhook at this URL for the updates of this task. In a `SendMessage` the task may be empty.
    pub fn new(task_id: impl Into<TaskId>, url: impl Into<String>) -> Self {
        let task_id = Some(task_id.into()).filter(|id| !id.is_empty());
        Self { task_id, url: url.into(), ..Self::default() }
    }

    /// Names the configuration. Without a name the server makes one.
    pub fn with_id(mut self, id: impl Into<PushConfigId>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sends this token along, as `X-A2A-Notification-Token`.
    pub fn with_token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Authenticates at the webhook.
    pub fn with_authentication(mut self, authentication: AuthenticationInfo) -> Self {
        self.authentication = Some(authentication);
        self
    }
}

/// Earlier texts of 1.0 have `schemes`, a list (contradiction C-5); its first entry counts.
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
