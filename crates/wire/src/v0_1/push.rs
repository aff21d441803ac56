//! Push notification configurations: one per task, named by the task (P-1).

use nuncio_model::{AuthenticationInfo, TaskId, TaskPushNotificationConfig};
use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap};

/// Writes a task's configuration; one without an address is none.
pub(super) struct TaskPushOut<'a>(pub(super) &'a TaskPushNotificationConfig);

impl Serialize for TaskPushOut<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let config = self.0;
        let mut map = to.serialize_map(Some(2))?;
        map.serialize_entry("id", config.task_id.as_ref().unwrap_or(&TaskId::default()))?;
        map.serialize_entry("pushNotificationConfig", &Some(PushOut(config)).filter(|_| !config.url.is_empty()))?;
        map.end()
    }
}

/// Writes a configuration without its task.
pub(super) struct PushOut<'a>(pub(super) &'a TaskPushNotificationConfig);

impl Serialize for PushOut<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let config = self.0;
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("url", &config.url)?;
        if let Some(token) = &config.token {
            map.serialize_entry("token", token)?;
        }
        if let Some(authentication) = &config.authentication {
            map.serialize_entry("authentication", &AuthenticationOut(authentication))?;
        }
        map.end()
    }
}

struct AuthenticationOut<'a>(&'a AuthenticationInfo);

impl Serialize for AuthenticationOut<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let AuthenticationInfo { scheme, credentials } = self.0;
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("schemes", &Some(scheme).filter(|it| !it.is_empty()).into_iter().collect::<Vec<_>>())?;
        if let Some(credentials) = credentials {
            map.serialize_entry("credentials", credentials)?;
        }
        map.end()
    }
}

/// Reads a task's configuration.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskPushIn {
    pub(super) id: Option<Box<str>>,
    pub(super) push_notification_config: Option<PushIn>,
}

/// Reads a configuration without its task.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct PushIn {
    pub(super) url: Option<String>,
    token: Option<String>,
    authentication: Option<AuthenticationIn>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct AuthenticationIn {
    schemes: Option<Schemes>,
    credentials: Option<String>,
}

#[derive(Deserialize)]
#[serde(expecting = "a list of strings")]
#[serde(untagged)]
enum Schemes {
    One(String),
    Several(Vec<String>),
}

impl PushIn {
    /// The configuration. Of several schemes the first counts.
    pub(super) fn into_config(self) -> TaskPushNotificationConfig {
        let authentication = self.authentication.map(|it| AuthenticationInfo {
            scheme: match it.schemes {
                Some(Schemes::One(scheme)) => scheme,
                Some(Schemes::Several(schemes)) => schemes.into_iter().next().unwrap_or_default(),
                None => String::new(),
            },
            credentials: it.credentials.filter(|it| !it.is_empty()),
        });
        TaskPushNotificationConfig {
            url: self.url.unwrap_or_default(),
            token: self.token.filter(|it| !it.is_empty()),
            authentication,
            ..TaskPushNotificationConfig::default()
        }
    }
}
