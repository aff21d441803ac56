//! How a call is made of those that a peer of 0.2 or 0.3 knows.

use std::sync::Arc;

use nuncio_model::{
    Call, Caller, Error, EventStream, Reply, Request, StreamEvent, StreamResponse, Task, TaskId, TaskState, TaskStatus,
    op::{GetTaskRequest, SendMessageRequest},
};

use super::{
    call::no_list,
    habits::Habits,
    stream::{Chained, first},
};
use crate::dialect::Course;

pub(super) fn ask<'a>(habits: &Habits, mut request: Request, peer: &'a dyn Caller) -> Course<'a> {
    match &mut request.call {
        Call::ListTasks(_) => return Course::Steps(Box::pin(std::future::ready(Err(no_list())))),
        Call::GetTask(get) => {
            let without_history = get.history_length == Some(0);
            get.history_length = habits.asked_history(get.history_length);
            if without_history {
                return Course::Steps(Box::pin(trimmed(request, peer)));
            }
        }
        Call::SendMessage(send) => {
            let without_history = take_no_history(send);
            if without_history {
                return Course::Steps(Box::pin(trimmed(request, peer)));
            }
        }
        Call::SendStreamingMessage(send) => {
            let (task_id, without_history) = (send.message.task_id.clone(), take_no_history(send));
            let opening = Opening { task_id, without_history, exists: false };
            return Course::Steps(Box::pin(stream(opening, request, peer)));
        }
        Call::SubscribeToTask(subscribe) => {
            let opening = Opening { task_id: Some(subscribe.id.clone()), without_history: false, exists: true };
            return Course::Steps(Box::pin(stream(opening, request, peer)));
        }
        _ => {}
    }
    Course::Direct(request)
}

/// Whether the call wants no history; it is then not said, since peers take zero for all of it.
fn take_no_history(send: &mut SendMessageRequest) -> bool {
    let length = send.configuration.as_mut().map(|configuration| &mut configuration.history_length);
    length.and_then(|length| length.take_if(|length| *length == 0)).is_some()
}

async fn trimmed(request: Request, peer: &dyn Caller) -> Result<Reply, Error> {
    Ok(match peer.call(request).await? {
        Reply::Task(task) => Reply::Task(Arc::new(without_history(Arc::unwrap_or_clone(task)))),
        other => other,
    })
}

fn without_history(mut task: Task) -> Task {
    task.history.clear();
    task
}

/// How a stream must begin: with the task, or with the one message that it is.
struct Opening {
    /// The task, where the call names it.
    task_id: Option<TaskId>,
    /// Whether the caller wants no history.
    without_history: bool,
    /// Whether the task was there before the call.
    exists: bool,
}

async fn stream(opening: Opening, request: Request, peer: &dyn Caller) -> Result<Reply, Error> {
    let (scope, extensions, tenant) =
        (request.scope.clone(), request.extensions.clone(), request.call.tenant().cloned());
    let mut events = match peer.call(request).await? {
        Reply::Events(events) => events,
        other => return Ok(other),
    };
    let Some(event) = first(&mut events).await.transpose()? else { return Ok(Reply::Events(events)) };
    let event = match opening.adapt(event) {
        Ok(event) => return Ok(begun(vec![event], events)),
        Err(event) => event,
    };
    let Some(task_id) = opening.task_id.filter(|_| opening.exists) else {
        return Ok(begun(vec![task_of(&event), event], events));
    };
    let get = Request { extensions, ..Request::new(scope, GetTaskRequest { tenant, ..GetTaskRequest::new(task_id) }) };
    let task = match peer.call(get).await? {
        Reply::Task(task) => StreamEvent::new(None, StreamResponse::Task(Arc::unwrap_or_clone(task))),
        _ => return Err(crate::dialect::wrong_reply(nuncio_model::Method::GetTask)),
    };
    // The task, read after the event, has what a piece of an artifact adds to it already.
    let is_in_it = matches!(&event.response, StreamResponse::ArtifactUpdate(update) if update.append);
    let seen = std::iter::once(Arc::new(task)).chain((!is_in_it).then_some(event)).collect();
    Ok(begun(seen, events))
}

fn begun(seen: Vec<Arc<StreamEvent>>, rest: EventStream) -> Reply {
    Reply::Events(Chained::of(seen, Some(rest)))
}

impl Opening {
    /// The first event, if a stream may begin with it.
    fn adapt(&self, event: Arc<StreamEvent>) -> Result<Arc<StreamEvent>, Arc<StreamEvent>> {
        match &event.response {
            StreamResponse::Task(task) if self.without_history && !task.history.is_empty() => {
                let task = StreamResponse::Task(without_history(task.clone()));
                Ok(Arc::new(StreamEvent::new(event.sequence, task)))
            }
            StreamResponse::Task(_) | StreamResponse::Message(_) => Ok(event),
            StreamResponse::StatusUpdate(_) | StreamResponse::ArtifactUpdate(_) => Err(event),
        }
    }
}

/// The task that an event is the first of.
fn task_of(event: &StreamEvent) -> Arc<StreamEvent> {
    let (id, context_id) = match &event.response {
        StreamResponse::StatusUpdate(update) => (&update.task_id, &update.context_id),
        StreamResponse::ArtifactUpdate(update) => (&update.task_id, &update.context_id),
        StreamResponse::Task(_) | StreamResponse::Message(_) => {
            (&TaskId::default(), &nuncio_model::ContextId::default())
        }
    };
    let task = Task {
        id: id.clone(),
        context_id: Some(context_id.clone()).filter(|id| !id.is_empty()),
        status: TaskStatus { state: TaskState::Submitted, ..TaskStatus::default() },
        ..Task::default()
    };
    Arc::new(StreamEvent::new(None, StreamResponse::Task(task)))
}
