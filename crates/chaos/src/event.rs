//! Accessors for events of a stream, limited to the needs of the checker.

use serde_json::Value;

const TERMINAL: [&str; 4] = ["TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED"];
const INTERRUPTED: [&str; 2] = ["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED"];

pub(crate) fn is_terminal(state: &str) -> bool {
    TERMINAL.contains(&state)
}

pub(crate) fn is_interrupted(state: &str) -> bool {
    INTERRUPTED.contains(&state)
}

/// The task, if the event is a whole task.
pub(crate) fn as_task(event: &Value) -> Option<&Value> {
    event.get("task")
}

/// The artifact update, if the event is one.
pub(crate) fn as_artifact(event: &Value) -> Option<&Value> {
    event.get("artifactUpdate")
}

/// The id of the event's task.
pub(crate) fn task_of(event: &Value) -> Option<&str> {
    let update = || event.get("statusUpdate").or_else(|| as_artifact(event))?.get("taskId");
    as_task(event).map_or_else(update, |task| task.get("id"))?.as_str()
}

/// The state in a status update or a task.
pub(crate) fn state_of(event: &Value) -> Option<&str> {
    let status = as_task(event).or_else(|| event.get("statusUpdate"))?.get("status")?;
    status.get("state")?.as_str()
}

/// The text of an artifact or a message.
pub(crate) fn text_of(parts_of: &Value) -> String {
    let parts = parts_of.get("parts").and_then(Value::as_array).into_iter().flatten();
    parts.filter_map(|part| part.get("text")?.as_str()).collect()
}
