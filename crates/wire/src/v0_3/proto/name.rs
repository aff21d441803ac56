//! The names of resources: `tasks/{task}`, and `tasks/{task}/pushNotificationConfigs/{config}`.

use nuncio_model::{Error, PushConfigId, TaskId};

const TASKS: &str = "tasks/";
const CONFIGS: &str = "/pushNotificationConfigs/";
/// How the names of webhooks were before 0.2.5.
const OLD_CONFIGS: &str = "/pushNotifications/";

/// The name of a task.
pub(super) fn of_task(task: &str) -> String {
    format!("{TASKS}{task}")
}

/// The name of a webhook.
pub(super) fn of_config(task: &str, config: &str) -> String {
    format!("{TASKS}{task}{CONFIGS}{config}")
}

/// The task that a field names. Fails with `InvalidParams`.
pub(super) fn task(field: &str, name: &str) -> Result<TaskId, Error> {
    match parse(name) {
        Some((task, _)) => Ok(task),
        None => Err(Error::invalid_params(field, "must be tasks/{task}")),
    }
}

/// The webhook that a field names; without an id, as the only one of a task had none once, it has the task's.
/// Fails with `InvalidParams`.
pub(super) fn config(field: &str, name: &str) -> Result<(TaskId, PushConfigId), Error> {
    let (task, config) = parse(name)
        .ok_or_else(|| Error::invalid_params(field, "must be tasks/{task}/pushNotificationConfigs/{config}"))?;
    let config = config.unwrap_or_else(|| PushConfigId::from(task.as_str()));
    Ok((task, config))
}

/// The ids in a name, where it is one. Ids may have slashes in them.
pub(super) fn parse(name: &str) -> Option<(TaskId, Option<PushConfigId>)> {
    let name = name.strip_prefix(TASKS)?;
    let (task, config) = match [CONFIGS, OLD_CONFIGS].iter().find_map(|configs| name.split_once(configs)) {
        Some((task, config)) => (task, Some(config)),
        None => (name, None),
    };
    let config = config.filter(|config| !config.is_empty()).map(PushConfigId::from);
    (!task.is_empty()).then(|| (TaskId::from(task), config))
}
