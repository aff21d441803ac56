//! Webhooks that are nested one level deeper than in 1.0.

use nuncio_model::{Error, Leniency, PushConfigId, TaskPushNotificationConfig};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json;

/// The maximum nesting of a webhook: `config` of the release candidate, which contains `pushNotificationConfig`.
const DEEPEST: usize = 2;

#[derive(Deserialize)]
struct Wrapper<'a> {
    #[serde(borrow, rename = "pushNotificationConfig")]
    #[serde(alias = "push_notification_config", alias = "config")]
    inner: Option<&'a RawValue>,
    #[serde(rename = "configId", alias = "config_id")]
    id: Option<PushConfigId>,
}

/// Unwraps the webhook inside a configuration without an address: `{"taskId":…,"pushNotificationConfig":{"url":…}}`.
/// Outer members win. Without an inner webhook, the configuration is unchanged.
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
