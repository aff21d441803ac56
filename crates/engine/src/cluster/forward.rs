//! Sends messages and cancels to the node that owns a task, as commands, and follows each command to its end.

use std::sync::Arc;

use nuncio_limit::{Failures, Permit};
use nuncio_model::Error;
use tokio::{
    select,
    time::{Instant, sleep},
};

use super::{
    Body,
    remote_call::{RemoteCall, Wanted},
};
use crate::{
    bus::Topic,
    conversation::{Refused, start},
    inbox::{Control, TurnProgress},
    limits::WRITE_AGAIN,
    registry::TaskRef,
    shared::Shared,
    store::{Cluster, Command, CommandId, Enqueued, StoreError},
};

/// The number of attempts to cancel a command if the store did not report whether the command was stored.
const CANCEL_ATTEMPTS: usize = 60;

/// Sends a control message to the owner of the task.
pub(crate) fn forward(shared: &Arc<Shared>, task_ref: TaskRef, control: Control) {
    let Some(body) = body_of(&control) else { return };
    let shared = Arc::clone(shared);
    Shared::spawn(async move {
        let left = shared.members.left().clone();
        select! {
            () = send(&shared, &task_ref, control, &body) => {}
            () = left.cancelled() => {}
        }
    });
}

/// The command for a control message; `None` if the owner of the task gets the message without a command from here.
fn body_of(control: &Control) -> Option<Body> {
    match control {
        // The message came by a command, which waits for the new owner; a second command would duplicate the message.
        Control::Message(incoming) if incoming.came_by().is_some() => None,
        Control::Cancel(cancel) if cancel.by_command => None,
        Control::Message(incoming) => Some(Body::Message {
            request: Box::new((*incoming.request).clone()),
            extensions: incoming.extensions.to_vec(),
        }),
        Control::Cancel(_) => Some(Body::Cancel),
        // The owner does these by itself.
        Control::Settle(..)
        | Control::Expire(..)
        | Control::Fail(_)
        | Control::Leave
        | Control::Lost
        | Control::Command(..)
        | Control::PendingCommands => None,
    }
}

/// Sends the control message, and retries while the task has no owner and cannot run here.
async fn send(shared: &Arc<Shared>, task_ref: &TaskRef, mut control: Control, body: &Body) {
    while let Some(unsent) = send_once(shared, task_ref, control, body).await {
        sleep(shared.limits.poll_interval).await;
        control = unsent;
    }
}

/// Sends the control message once. Returns the message if it must be sent again.
async fn send_once(shared: &Arc<Shared>, task_ref: &TaskRef, mut control: Control, body: &Body) -> Option<Control> {
    let cluster = shared.store.cluster()?;
    let (body, place) = match (body.encode(), place(shared, task_ref, &mut control)) {
        (Ok(body), Ok(place)) => (body, place),
        (Err(error), _) | (_, Err(error)) => return refuse(control, error),
    };
    let command = Command { id: id(&mut control), scope: task_ref.scope.clone(), task: task_ref.id.clone(), body };
    match enqueue(shared, cluster, &command).await {
        Ok(Enqueued::Stored(node)) => shared.members.publish(Topic::Node(node), &task_ref.id, 0),
        Ok(Enqueued::Waits) => {}
        Ok(Enqueued::NoOwner) => {
            if keeps_command(shared, &mut control, &command.id) {
                // The runner of this node reserves a place if the message must wait.
                drop(place);
                let Refused { control, error } = *take_over(shared, task_ref, control).err()?;
                let is_kept = matches!(control, Control::Cancel(_)) && !shared.turns.are_draining();
                return if is_kept { Some(control) } else { refuse(control, error) };
            }
        }
        Ok(Enqueued::NoTask) => return refuse(control, Error::task_not_found(task_ref.id.as_str())),
        Err(error) => {
            control.refuse(error.into());
            cancel(shared, cluster, &command).await;
            return None;
        }
    }
    shared.members.listen(shared, Topic::of(&task_ref.id)).await;
    let progress = match &control {
        Control::Message(incoming) => incoming.progress.clone(),
        _ => TurnProgress::new(),
    };
    progress.forward();
    let remote_call = Arc::new(RemoteCall::new(command.id, progress, place));
    task_ref.lock().remote_calls.push(Arc::clone(&remote_call));
    remote_call.follow(shared, cluster, task_ref, Wanted::of(control)).await;
    task_ref.lock().remote_calls.retain(|it| !Arc::ptr_eq(it, &remote_call));
    if let Err(error) = cluster.delete(&remote_call.command).await {
        tracing::warn!(task = %task_ref.id, error = &error as &dyn std::error::Error, "cluster: cannot delete a finished command; the store keeps the command for a day");
    }
    None
}

fn refuse(control: Control, error: Error) -> Option<Control> {
    control.refuse(error);
    None
}

/// Reserves a place in the limit of queued messages, if this is a message.
fn place(shared: &Shared, task_ref: &TaskRef, control: &mut Control) -> Result<Option<Permit>, Error> {
    match control {
        Control::Message(incoming) => match incoming.place.take() {
            None => shared.queued.take(&task_ref.scope.principal, 1).map(Some),
            place => Ok(place),
        },
        _ => Ok(None),
    }
}

/// The id of the command. A message that was sent before keeps the id, so that no message has two commands.
fn id(control: &mut Control) -> CommandId {
    let before = match control {
        Control::Message(incoming) => {
            incoming.unsent = None;
            incoming.command.take()
        }
        _ => None,
    };
    before.unwrap_or_else(CommandId::generate)
}

/// Enqueues a command. If the store does not answer, the call is repeated with the same id for as long as a commit is
/// retried; a command that is stored already stays unchanged.
async fn enqueue(shared: &Shared, cluster: &dyn Cluster, command: &Command) -> Result<Enqueued, StoreError> {
    let (mut failures, mut failed) = (Failures::default(), None);
    loop {
        let error = match cluster.enqueue(command).await {
            Err(error) if error.is_transient() => error,
            outcome => return outcome,
        };
        if failed.get_or_insert_with(Instant::now).elapsed() >= shared.limits.commit_retry {
            return Err(error);
        }
        tracing::debug!(task = %command.task, error = &error as &dyn std::error::Error, "cluster: cannot enqueue a command; retrying");
        sleep(failures.next_delay(&WRITE_AGAIN)).await;
    }
}

/// Cancels a command that may be stored: the client got an error and can send another message.
async fn cancel(shared: &Shared, cluster: &dyn Cluster, command: &Command) {
    for _ in 0..CANCEL_ATTEMPTS {
        match cluster.cancel(&command.id).await {
            Err(error) if error.is_transient() => sleep(shared.limits.poll_interval).await,
            _ => return,
        }
    }
    tracing::warn!(task = %command.task, "cluster: cannot cancel a command whose client got an error; the command may be executed");
}

/// Keeps the command with its message: if the store has the command after all, the commit with the message acknowledges
/// it. Returns `false` if a runner of this node already processes the command.
fn keeps_command(shared: &Shared, control: &mut Control, command: &CommandId) -> bool {
    let Control::Message(incoming) = control else { return true };
    incoming.unsent = shared.members.take(command);
    incoming.command = incoming.unsent.as_ref().map(|guard| guard.command().clone());
    incoming.unsent.is_some()
}

/// Runs the task on this node, because the task has no owner.
pub(super) fn take_over(shared: &Arc<Shared>, task_ref: &TaskRef, control: Control) -> Result<(), Box<Refused>> {
    if let Some(runner) = start(shared, task_ref, control)? {
        runner.detach();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use nuncio_model::{Message, op::SendMessageRequest};
    use tokio::sync::oneshot;

    use super::*;
    use crate::inbox::{Cancel, Incoming};

    /// A node that lost a task sends the messages of its own clients. The store has the messages that came by commands.
    #[test]
    fn what_came_by_a_command_is_not_sent_by_another() {
        for (command, is_sent) in [(Some(CommandId::generate()), false), (None, true)] {
            let mut incoming = Incoming::new(SendMessageRequest::new(Message::user("more")), Arc::default());
            incoming.command = command;
            assert_eq!(matches!(body_of(&Control::Message(incoming)), Some(Body::Message { .. })), is_sent);
        }
        for by_command in [true, false] {
            let cancel = Cancel { refused: oneshot::channel().0, by_command };
            assert_eq!(matches!(body_of(&Control::Cancel(cancel)), Some(Body::Cancel)), !by_command);
        }
    }
}
