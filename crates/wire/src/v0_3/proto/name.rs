//! The names of resources: `tasks/{task}`, and `tasks/{task}/pushNotificationConfigs/{config}`.

use nuncio_model::{Error, PushConfigId, TaskId};

const TASKS: &str = "tasks/";
const CONFIGS: &str = "/pushNotificationConfigs/";
/// The segment in the names of webhooks before 0.2.5.
const OLD_CONFIGS: &str = "/pushNotifications/";

/// The name of a task.
pub(super) fn of_task(task: &str) -> String {
    format!("{TASKS}{task}")
}

/// The name of a webhook.
pub(super) fn of_config(task: &str, config: &str) -> String {
    format!("{TASKS}{task}{CONFIGS}{config}")
}

/// The task in a field with a name. Fails with `InvalidParams`.
pub(super) fn task(field: &str, name: &str) -> Result<TaskId, Error> {
    match parse(name) {
        Some((task, _)) => Ok(task),
        None => Err(Error::invalid_params(field, "must be tasks/{task}")),
    }
}

/// The webhook in a field with a name. The id is empty if the name is the name of a task. Fails with `InvalidParams`.
pub(super) fn config(field: &str, name: &str) -> Result<(TaskId, PushConfigId), Error> {
    match parse(name) {
        Some((task, config)) => Ok((task, config.unwrap_or_default())),
        None => Err(Error::invalid_params(field, "must be tasks/{task}/pushNotificationConfigs/{config}")),
    }
}

/// The ids in a name, or `None` if the text is not a name. Ids can contain slashes.
pub(super) fn parse(name: &str) -> Option<(TaskId, Option<PushConfigId>)> {
    let name = name.strip_prefix(TASKS)?;
    let (task, config) = match [CONFIGS, OLD_CONFIGS].iter().find_map(|configs| name.split_once(configs)) {
        Some((task, config)) => (task, Some(config)),
        None => (name, None),
    };
    let config = config.filter(|config| !config.is_empty()).map(PushConfigId::from);
    (!task.is_empty()).then(|| (TaskId::from(task), config))
}
