//! Webhooks, with the three forms that peers send in HTTP+JSON.

use nuncio_model::{
    AuthenticationInfo as ModelAuthentication, PushConfigId, TaskId, TaskPushNotificationConfig as Model,
};

use super::{json, message, name};

message! {
    TaskPushNotificationConfig {
        1 name: String = implicit "name",
        2 push_notification_config: PushNotificationConfig = always "pushNotificationConfig" | "push_notification_config",
    }

    PushNotificationConfig {
        1 id: PushConfigId = implicit "id",
        2 url: String = implicit "url",
        3 token: String = implicit "token",
        4 authentication: Option<AuthenticationInfo> = presence "authentication",
    }

    AuthenticationInfo {
        1 schemes: Vec<String> = repeated "schemes",
        2 credentials: String = implicit "credentials",
    }
}

impl From<&Model> for TaskPushNotificationConfig {
    fn from(config: &Model) -> Self {
        let task = config.task_id.as_ref().map_or("", TaskId::as_str);
        let id = config.id.as_ref().map_or("", PushConfigId::as_str);
        Self { name: name::of_config(task, id), push_notification_config: config.into() }
    }
}

impl From<TaskPushNotificationConfig> for Model {
    /// The id of the webhook itself wins over the id in its name.
    fn from(config: TaskPushNotificationConfig) -> Self {
        let mut model = Self::from(config.push_notification_config);
        if let Some((task_id, id)) = name::parse(&config.name) {
            model.id = model.id.or(id);
            model.task_id = Some(task_id);
        }
        model
    }
}

impl From<&Model> for PushNotificationConfig {
    fn from(config: &Model) -> Self {
        Self {
            id: config.id.clone().unwrap_or_default(),
            url: config.url.clone(),
            token: config.token.clone().unwrap_or_default(),
            authentication: config.authentication.as_ref().map(|authentication| AuthenticationInfo {
                schemes: filled(authentication.scheme.clone()).into_iter().collect(),
                credentials: authentication.credentials.clone().unwrap_or_default(),
            }),
        }
    }
}

impl From<PushNotificationConfig> for Model {
    /// If there are several schemes, the first wins.
    fn from(config: PushNotificationConfig) -> Self {
        Self {
            tenant: None,
            id: Some(config.id).filter(|id| !id.is_empty()),
            task_id: None,
            url: config.url,
            token: filled(config.token),
            authentication: config.authentication.map(|authentication| ModelAuthentication {
                scheme: authentication.schemes.into_iter().next().unwrap_or_default(),
                credentials: filled(authentication.credentials),
            }),
        }
    }
}

fn filled(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

json::object! {
    /// A webhook in the JSON forms that peers send: `{name, pushNotificationConfig}`, `{taskId,
    /// pushNotificationConfig}`, the members of `pushNotificationConfig` alone, or one of these as the `config` of
    /// `{parent, configId, config}`.
    AnyConfig {
        parent: Option<String> = "parent",
        config_id: Option<PushConfigId> = "configId" | "config_id",
        config: Option<Box<AnyConfig>> = "config",
        name: Option<String> = "name",
        task_id: Option<TaskId> = "taskId" | "task_id",
        push_notification_config: Option<PushNotificationConfig> = "pushNotificationConfig" | "push_notification_config",
        id: Option<PushConfigId> = "id",
        url: Option<String> = "url",
        token: Option<String> = "token",
        authentication: Option<AuthenticationInfo> = "authentication",
    }
}

impl From<AnyConfig> for Model {
    fn from(any: AnyConfig) -> Self {
        let AnyConfig { parent, config_id, config, name, task_id, push_notification_config, .. } = any;
        let mut model = match (config, push_notification_config) {
            (Some(config), _) => Self::from(*config),
            (None, Some(config)) => config.into(),
            (None, None) => PushNotificationConfig {
                id: any.id.unwrap_or_default(),
                url: any.url.unwrap_or_default(),
                token: any.token.unwrap_or_default(),
                authentication: any.authentication,
            }
            .into(),
        };
        model.id = config_id.filter(|id| !id.is_empty()).or(model.id);
        model.task_id = task_id.filter(|id| !id.is_empty()).or(model.task_id);
        for name in [name, parent].into_iter().flatten() {
            if let Some((task_id, id)) = name::parse(&name) {
                model.id = model.id.or(id);
                model.task_id = model.task_id.or(Some(task_id));
            }
        }
        model
    }
}
