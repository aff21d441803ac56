//! How a call is made of those that a peer of 0.2 or 0.3 knows.

use std::{future::poll_fn, pin::pin, sync::Arc, task::Poll};

use nuncio_model::{
    Call, Caller, Error, Method, Reply, Request, StreamEvent, StreamResponse,
    op::{GetTaskRequest, SendMessageRequest},
};

use super::{
    call::no_list,
    habits::Habits,
    stream::{Begun, Chained, may_be_first, without_history},
};
use crate::dialect::{Course, wrong_reply};

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
            let without_history = take_no_history(send);
            return Course::Steps(Box::pin(stream(without_history, request, peer)));
        }
        Call::SubscribeToTask(_) => return Course::Steps(Box::pin(subscribe(request, peer))),
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

async fn stream(without_history: bool, request: Request, peer: &dyn Caller) -> Result<Reply, Error> {
    Ok(match peer.call(request).await? {
        Reply::Events(events) => Reply::Events(Begun::of(events, without_history)),
        other => other,
    })
}

/// What came first of two things that are waited for.
enum First {
    Event(Option<Result<Arc<StreamEvent>, Error>>),
    Task(Result<Reply, Error>),
}

/// A stream of a task that is there begins with that task. A peer that does not show it is asked for it, also one that
/// has nothing to tell for the time being. Only one that is known to go on behind the last event is asked to.
async fn subscribe(mut request: Request, peer: &dyn Caller) -> Result<Reply, Error> {
    if request.is_resumption() {
        return peer.call(request).await;
    }
    request.last_event = None;
    let Call::SubscribeToTask(subscribe) = &request.call else { return Err(wrong_reply(request.call.method())) };
    let get = GetTaskRequest { tenant: subscribe.tenant.clone(), ..GetTaskRequest::new(subscribe.id.clone()) };
    let get = Request { extensions: request.extensions.clone(), ..Request::new(request.scope.clone(), get) };
    let mut events = match peer.call(request).await? {
        Reply::Events(events) => events,
        other => return Ok(other),
    };
    // Not begun unless it is needed.
    let mut reading = pin!(async { peer.call(get).await });
    let first = poll_fn(|cx| match events.as_mut().poll_next(cx) {
        Poll::Ready(event) => Poll::Ready(First::Event(event)),
        Poll::Pending => reading.as_mut().poll(cx).map(First::Task),
    });
    let seen = match first.await {
        First::Event(None) => Vec::new(),
        First::Event(Some(event)) => match event? {
            event if may_be_first(&event) => vec![event],
            // The task, read after the event, has what a piece of an artifact adds to it already.
            event if is_piece(&event) => vec![task_event(reading.await?)?],
            event => vec![task_event(reading.await?)?, event],
        },
        First::Task(task) => vec![task_event(task?)?],
    };
    Ok(Reply::Events(Chained::of(seen, Some(events))))
}

fn task_event(reply: Reply) -> Result<Arc<StreamEvent>, Error> {
    match reply {
        Reply::Task(task) => Ok(Arc::new(StreamEvent::new(None, StreamResponse::Task(Arc::unwrap_or_clone(task))))),
        _ => Err(wrong_reply(Method::GetTask)),
    }
}

fn is_piece(event: &StreamEvent) -> bool {
    matches!(&event.response, StreamResponse::ArtifactUpdate(update) if update.append)
}
