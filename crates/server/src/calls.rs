//! One log line for each call: method, version, binding, caller, task, duration and outcome. The line has no content of
//! the call.
//!
//! The target of the lines is `nuncio_server::calls`. If the target is off, a call costs one read of an atomic number.
//! The server writes at most [`nuncio_limit::LINES_PER_SECOND`] lines per second, so that a busy server does not fill
//! the disk. The next line reports the number of omitted lines.

use std::time::Instant;

use nuncio_limit::LineLimit;
use nuncio_model::{Call, Error, Principal, Reply, TaskId};
use nuncio_wire::Version;

use crate::service::{Answer, Outcome};

/// A call. Its line is written with its answer.
pub(crate) struct CallLine(Option<Box<CallFields>>);

struct CallFields {
    began: Instant,
    method: &'static str,
    version: Version,
    binding: &'static str,
    caller: Principal,
    task: Option<TaskId>,
}

impl CallLine {
    /// Starts the line of a call, if calls are logged and the limit of this second allows a line.
    pub(crate) fn begin(call: &Call, version: Version, binding: &'static str, caller: &Principal) -> Self {
        if !tracing::enabled!(tracing::Level::INFO) || !take_line() {
            return Self(None);
        }
        let method = call.method().name();
        let (began, caller, task) = (Instant::now(), caller.clone(), task_of(call));
        Self(Some(Box::new(CallFields { began, method, version, binding, caller, task })))
    }

    /// Writes the line.
    pub(crate) fn end(self, result: &Result<Answer, Error>) {
        let Some(fields) = self.0 else { return };
        let CallFields { began, method, version, binding, caller, task } = *fields;
        let answered = result.as_ref().ok().and_then(|answer| match &answer.outcome {
            Outcome::Reply(Reply::Task(task)) => Some(&task.id),
            _ => None,
        });
        let task = answered.or(task.as_ref()).map(tracing::field::display);
        let (outcome, reason) = match result {
            Ok(Answer { outcome: Outcome::Events(..), .. }) => ("stream".to_owned(), None),
            Ok(_) => ("ok".to_owned(), None),
            Err(error) => (format!("{:?}", error.kind()), Some(error.message())),
        };
        let (version, duration) = (version.as_str(), began.elapsed());
        tracing::info!(method, version, binding, caller = %caller, task, ?duration, outcome, reason, "call");
    }
}

/// The task that a call names.
fn task_of(call: &Call) -> Option<TaskId> {
    match call {
        Call::SendMessage(request) => request.message.task_id.clone(),
        Call::SendStreamingMessage(request) => request.message.task_id.clone(),
        Call::GetTask(request) => Some(request.id.clone()),
        Call::CancelTask(request) => Some(request.id.clone()),
        Call::SubscribeToTask(request) => Some(request.id.clone()),
        _ => None,
    }
}

/// Takes one of the lines of this second. The first call of a second logs the number of lines that the previous second
/// omitted.
fn take_line() -> bool {
    static LINES: LineLimit = LineLimit::new();
    let (is_free, omitted) = LINES.take();
    if omitted > 0 {
        tracing::info!(omitted, "omitted log lines of calls");
    }
    is_free
}
