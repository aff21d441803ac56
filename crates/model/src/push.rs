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
