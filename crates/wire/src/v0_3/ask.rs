//! The plans that execute a call with the calls of a 0.2 or 0.3 peer.

use std::sync::Arc;

use nuncio_model::{
    Call, Caller, Error, Reply, Request, StreamEvent, StreamResponse,
    op::{GetTaskRequest, SendMessageRequest},
};

use super::{
    habits::Habits,
    stream::{Chained, TaskFirst, without_history},
};
use crate::dialect::{
    Plan,
    join::{Joined, join},
    no_list, wrong_reply,
};

pub(super) fn ask<'a>(habits: &Habits, mut request: Request, peer: &'a dyn Caller) -> Plan<'a> {
    match &mut request.call {
        Call::ListTasks(_) => return Plan::Steps(Box::pin(std::future::ready(Err(no_list())))),
        Call::GetTask(get) => {
            let without_history = get.history_length == Some(0);
            get.history_length = habits.asked_history(get.history_length);
            if without_history {
                return Plan::Steps(Box::pin(trimmed(request, peer)));
            }
        }
        Call::SendMessage(send) => {
            let without_history = take_no_history(send);
            if without_history {
                return Plan::Steps(Box::pin(trimmed(request, peer)));
            }
        }
        Call::SendStreamingMessage(send) => {
            let without_history = take_no_history(send);
            return Plan::Steps(Box::pin(stream(without_history, request, peer)));
        }
        Call::SubscribeToTask(_) => return Plan::Steps(Box::pin(subscribe(request, peer))),
        _ => {}
    }
    Plan::Direct(request)
}

/// Whether the call requests no history. The length of zero is then removed from the call, because peers understand
/// zero as "all history".
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
        Reply::Events(events) => Reply::Events(TaskFirst::of(events, without_history)),
        other => other,
    })
}

/// A subscription of 1.0 begins with the task. If the stream of the peer does not begin with the task, or has no event
/// yet, the task is read. Only a peer that supports resumption is asked to continue after the last event.
async fn subscribe(mut request: Request, peer: &dyn Caller) -> Result<Reply, Error> {
    if request.is_resumption() {
        return peer.call(request).await;
    }
    request.last_event = None;
    let Call::SubscribeToTask(subscribe) = &request.call else { return Err(wrong_reply(request.call.method())) };
    let get = GetTaskRequest { tenant: subscribe.tenant.clone(), ..GetTaskRequest::new(subscribe.id.clone()) };
    let get = Request { extensions: request.extensions.clone(), ..Request::new(request.scope.clone(), get) };
    let events = match peer.call(request).await? {
        Reply::Events(events) => events,
        other => return Ok(other),
    };
    Ok(Reply::Events(match join(events, async { peer.call(get).await }).await? {
        Joined::Begun(events) => events,
        Joined::Read(task, events) => {
            let first = StreamEvent::new(None, StreamResponse::Task(*task));
            Chained::of(vec![Arc::new(first)], Some(events))
        }
    }))
}
