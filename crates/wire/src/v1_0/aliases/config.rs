//! Webhooks that stand one level deeper than in 1.0.

use nuncio_model::{Error, Leniency, PushConfigId, TaskPushNotificationConfig};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json;

/// How deep a webhook may stand: `config` of the release candidate, and `pushNotificationConfig` in that.
const DEEPEST: usize = 2;

#[derive(Deserialize)]
struct Wrapper<'a> {
    #[serde(borrow, rename = "pushNotificationConfig")]
    #[serde(alias = "push_notification_config", alias = "config")]
    inner: Option<&'a RawValue>,
    #[serde(rename = "configId", alias = "config_id")]
    id: Option<PushConfigId>,
}

/// The webhook in what was read as one and has no address: `{"taskId":…,"pushNotificationConfig":{"url":…}}`. What
/// stands further out wins. Where there is none, it is as it was.
pub(in crate::v1_0) fn unwrap(
    mut config: TaskPushNotificationConfig,
    mut json: &str,
) -> Result<TaskPushNotificationConfig, Error> {
    for _ in 0..DEEPEST {
        let Wrapper { inner, id } = json::params(json)?;
        let Some(inner) = inner.map(RawValue::get) else { break };
        Leniency::NestedWebhook.note();
        let within: TaskPushNotificationConfig = json::params(inner)?;
        config = TaskPushNotificationConfig {
            tenant: config.tenant.or(within.tenant),
            id: config.id.or(id.filter(|id| !id.is_empty())).or(within.id),
            task_id: config.task_id.or(within.task_id),
            ..within
        };
        if !config.url.is_empty() {
            break;
        }
        json = inner;
    }
    Ok(config)
}
