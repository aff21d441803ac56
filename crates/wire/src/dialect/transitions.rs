//! Server: the history of statuses that cards of 0.1 promise with `capabilities.stateTransitionHistory`.
//!
//! The text of 0.1 has the flag, but no message for the history. A client asks for the history with a positive
//! `historyLength` of `tasks/get`, and the task of the answer has the statuses in its metadata under [`KEY`], oldest
//! first: `{"state": …, "timestamp": …}`. The messages of the statuses are in `history`.

use std::{collections::VecDeque, future::poll_fn, sync::Arc, task::Poll, time::Duration};

use nuncio_model::{
    Caller, Error, ErrorKind, EventStream, Reply, Request, Scope, StreamResponse, Struct, Task, TaskState, TaskStatus,
    Tenant, Value, op::SubscribeToTaskRequest,
};
use tokio::time::timeout;

/// The key of the statuses in the metadata of a task.
pub(crate) const KEY: &str = "https://nuncio.dev/a2a/state-transition-history";

/// The number of statuses in an answer.
const STATUSES: usize = 100;

/// The number of events of a task that are read for an answer.
const EVENTS: usize = 1_000;

/// The time for the events of an answer. A slow store must not delay `tasks/get`, because the statuses are an addition.
const READ_TIME: Duration = Duration::from_secs(2);

/// The number of statuses that a call of `tasks/get` with this `historyLength` asks for, if the call asks for statuses.
///
/// The largest number asks for all messages. Clients of Nuncio send this number if their caller has not set a length.
pub(crate) fn asked(history_length: Option<i32>) -> Option<usize> {
    let length = history_length.filter(|length| *length < i32::MAX)?;
    usize::try_from(length).ok().filter(|length| *length > 0).map(|length| length.min(STATUSES))
}

/// Reads the logs of tasks for the caller of a request.
pub(crate) struct Log<'a> {
    pub(crate) engine: &'a dyn Caller,
    pub(crate) scope: Scope,
    pub(crate) tenant: Option<Tenant>,
    pub(crate) extensions: Vec<Box<str>>,
}

fn entry(status: &TaskStatus, name: fn(TaskState) -> &'static str) -> Value {
    let mut entry = Struct::new();
    entry.insert("state".to_owned(), name(status.state).into());
    if let Some(timestamp) = &status.timestamp {
        entry.insert("timestamp".to_owned(), timestamp.to_string().into());
    }
    Value::Object(entry)
}

impl Log<'_> {
    /// Adds to a task the newest `most` of its statuses, each with the name that `name` gives its state. If the log is
    /// not kept, the history is the current status alone. If the agent does not stream, the task stays as it is, because
    /// the card does not promise the history.
    pub(crate) async fn add_statuses(
        &self,
        task: Arc<Task>,
        most: usize,
        name: fn(TaskState) -> &'static str,
    ) -> Arc<Task> {
        let Some(statuses) = self.statuses(&task, most).await else { return task };
        let statuses = statuses.iter().map(|status| entry(status, name)).collect();
        let mut task = Arc::unwrap_or_clone(task);
        task.metadata.get_or_insert_default().insert(KEY.to_owned(), Value::Array(statuses));
        Arc::new(task)
    }

    /// The statuses of a task; `None` if the agent does not stream.
    async fn statuses(&self, task: &Task, most: usize) -> Option<VecDeque<TaskStatus>> {
        let mut statuses = VecDeque::new();
        // If the time is over or the log is not stored, the answer has the statuses that were read before.
        let read = timeout(READ_TIME, self.read(task, most, &mut statuses)).await;
        if read.is_ok_and(|read| read.is_err_and(|error| is_without_streams(&error))) {
            return None;
        }
        // The log can have newer statuses than the task of the answer, older events only, or no events.
        match statuses.iter().rposition(|status| is_same(status, &task.status)) {
            Some(last) => statuses.truncate(last + 1),
            None => push(&mut statuses, &task.status, most),
        }
        Some(statuses)
    }

    /// Reads the statuses of a task from its log, up to the status that the task has now.
    async fn read(&self, task: &Task, most: usize, statuses: &mut VecDeque<TaskStatus>) -> Result<(), Error> {
        let (mut events, end) = self.open(task).await?;
        let mut is_current = false;
        for _ in 0..EVENTS {
            // The last record of a log can be a message, which is no event. Therefore `end` can be the number of no event,
            // and the next event comes when the agent emits it. After the current status, read only what is ready.
            let event = poll_fn(|cx| match events.as_mut().poll_next(cx) {
                Poll::Pending if is_current && end.is_some() => Poll::Ready(None),
                polled => polled,
            });
            let Some(event) = event.await.transpose()? else { break };
            let status = match &event.response {
                StreamResponse::Task(task) => Some(&task.status),
                StreamResponse::StatusUpdate(update) => Some(&update.status),
                StreamResponse::ArtifactUpdate(_) | StreamResponse::Message(_) => None,
            };
            if let Some(status) = status {
                push(statuses, status, most);
                is_current |= is_same(status, &task.status);
            }
            if end.is_some_and(|end| event.sequence.is_none_or(|at| at >= end)) {
                break;
            }
        }
        Ok(())
    }

    /// The events of a task from the beginning, and the number of the last record if the task has not ended.
    async fn open(&self, task: &Task) -> Result<(EventStream, Option<u64>), Error> {
        if task.state().is_terminal() {
            return Ok((self.subscribe(task, Some(0)).await?, None));
        }
        match self.subscribe(task, None).await {
            Ok(mut events) => {
                // The first event of a subscription is the task, with its place in the log.
                let first = poll_fn(|cx| events.as_mut().poll_next(cx)).await.transpose()?;
                let end = first.and_then(|event| event.sequence);
                let end = end.ok_or_else(|| Error::internal("the stream does not begin with the task"))?;
                let begin = end.saturating_sub(u64::try_from(EVENTS).unwrap_or(u64::MAX));
                Ok((self.subscribe(task, Some(begin)).await?, Some(end)))
            }
            // The task has ended meanwhile.
            Err(error) if error.kind() == ErrorKind::UnsupportedOperation && !is_without_streams(&error) => {
                Ok((self.subscribe(task, Some(0)).await?, None))
            }
            Err(error) => Err(error),
        }
    }

    async fn subscribe(&self, task: &Task, last_event: Option<u64>) -> Result<EventStream, Error> {
        let tenant = self.tenant.clone();
        let call = SubscribeToTaskRequest { tenant, ..SubscribeToTaskRequest::new(task.id.clone()) };
        let extensions = self.extensions.clone();
        let request = Request { extensions, last_event, ..Request::new(self.scope.clone(), call) };
        match self.engine.call(request).await? {
            Reply::Events(events) => Ok(events),
            _ => Err(Error::internal("the answer to SubscribeToTask is no stream")),
        }
    }
}

/// Whether an error says that the agent does not stream. The errors of a task name the task.
fn is_without_streams(error: &Error) -> bool {
    error.kind() == ErrorKind::UnsupportedOperation && !error.metadata().contains_key("taskId")
}

/// Adds a status that differs from the last one. Removes the oldest status if there are more than `most`.
fn push(statuses: &mut VecDeque<TaskStatus>, status: &TaskStatus, most: usize) {
    if statuses.back().is_none_or(|last| !is_same(last, status)) {
        statuses.push_back(status.clone());
    }
    if statuses.len() > most {
        statuses.pop_front();
    }
}

fn is_same(one: &TaskStatus, other: &TaskStatus) -> bool {
    one.state == other.state && one.timestamp == other.timestamp
}

#[cfg(test)]
mod tests {
    use super::asked;

    #[test]
    fn a_positive_length_asks_for_statuses() {
        for (length, expected) in [
            (None, None),
            (Some(0), None),
            (Some(-1), None),
            (Some(i32::MAX), None),
            (Some(3), Some(3)),
            (Some(4_000), Some(100)),
        ] {
            assert_eq!(asked(length), expected, "{length:?}");
        }
    }
}
