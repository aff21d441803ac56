//! `CancelTask` (section 3.1.5 "Cancel Task").

use std::sync::Arc;

use nuncio_limit::not_now;
use nuncio_model::{Error, ErrorKind, Reply, Scope, Task, TaskId, TaskState, op::CancelTaskRequest};
use tokio::{select, sync::oneshot};

use crate::{
    conversation::start,
    inbox::{Cancel, Control},
    reader::{self, LogReader},
    shared::Shared,
};

pub(super) async fn call(shared: &Arc<Shared>, scope: Scope, call: CancelTaskRequest) -> Result<Reply, Error> {
    let task_ref = shared.attach(&scope, &call.id).await?;
    let (reader, task, _) = LogReader::from_now(task_ref.clone());
    if task.state().is_terminal() {
        if shared.cancel_is_idempotent && task.state() == TaskState::Canceled {
            return Ok(Reply::Task(task));
        }
        return Err(not_cancelable(&task));
    }
    let (refused, told) = oneshot::channel();
    let runner = start(shared, &task_ref, Control::Cancel(Cancel { refused, by_command: false }))?;
    let waiting = async {
        select! {
            biased;
            ended = reader.ended() => ended,
            told = told => match told {
                Ok(error) => Err(error),
                // The runner keeps the cancel until the task has ended.
                Err(_) => reader::ended(&task_ref.lock()).unwrap_or_else(|| Err(let_go())),
            },
        }
    };
    let outcome = match runner {
        Some(runner) => runner.with(waiting).await,
        None => waiting.await,
    };
    let task = outcome.map_err(|error| in_doubt(&call.id, error))?;
    if task.state() == TaskState::Canceled { Ok(Reply::Task(task)) } else { Err(not_cancelable(&task)) }
}

/// Removes the facts about a stored message from an error. They warn a client not to send a message again, and do not
/// apply to a cancel.
fn in_doubt(id: &TaskId, error: Error) -> Error {
    if error.kind() != ErrorKind::Unavailable || !error.metadata().contains_key("taskId") {
        return error;
    }
    not_now(&format!("it is not known whether task {id} will be canceled; cancel it again"))
        .with_metadata("taskId", id.as_str())
        .with_source(error)
}

fn let_go() -> Error {
    not_now("the task was let go of before it was canceled; try again")
}

fn not_cancelable(task: &Task) -> Error {
    Error::new(ErrorKind::TaskNotCancelable, format!("task {} is already {}", task.id, task.state().short()))
        .with_metadata("taskId", task.id.as_str())
}
