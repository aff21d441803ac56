//! What is wanted of a task that runs elsewhere goes there by command, and is followed until it has come to its end.

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

/// How often a command is taken back of which nobody knows whether it was left.
const WITHDRAWALS: usize = 60;

/// Sends what came for a runner to the node that has the task.
pub(crate) fn forward(shared: &Arc<Shared>, task_ref: TaskRef, control: Control) {
    let body = match &control {
        // The command by which it came waits for whoever has the task now; another would bring it twice.
        Control::Message(incoming) if incoming.came_by().is_some() => return,
        Control::Cancel(cancel) if cancel.by_command => return,
        Control::Message(incoming) => {
            Body::Message { request: Box::new((*incoming.request).clone()), extensions: incoming.extensions.to_vec() }
        }
        Control::Cancel(_) => Body::Cancel,
        // The node that has it sees to it.
        Control::Settle(..)
        | Control::Expire(..)
        | Control::Fail(_)
        | Control::Leave
        | Control::Lost
        | Control::Command(..)
        | Control::PendingCommands => return,
    };
    let shared = Arc::clone(shared);
    Shared::spawn(async move {
        let left = shared.members.left().clone();
        select! {
            () = send(&shared, &task_ref, control, &body) => {}
            () = left.cancelled() => {}
        }
    });
}

/// Sends it, again where nobody has the task and it cannot be run here yet.
async fn send(shared: &Arc<Shared>, task_ref: &TaskRef, mut control: Control, body: &Body) {
    while let Some(unsent) = send_once(shared, task_ref, control, body).await {
        sleep(shared.limits.poll_interval).await;
        control = unsent;
    }
}

/// Sends it. Gives what is to be sent again.
async fn send_once(shared: &Arc<Shared>, task_ref: &TaskRef, mut control: Control, body: &Body) -> Option<Control> {
    let cluster = shared.store.cluster()?;
    let (body, place) = match (body.encode(), place(shared, task_ref, &mut control)) {
        (Ok(body), Ok(place)) => (body, place),
        (Err(error), _) | (_, Err(error)) => return refuse(control, error),
    };
    let command = Command { id: id(&mut control), scope: task_ref.scope.clone(), task: task_ref.id.clone(), body };
    match leave(shared, cluster, &command).await {
        Ok(Enqueued::Stored(node)) => shared.members.publish(Topic::Node(node), &task_ref.id, 0),
        Ok(Enqueued::Waits) => {}
        Ok(Enqueued::NoOwner) => {
            if keeps_command(shared, &mut control, &command.id) {
                // It finds a place here where it waits.
                drop(place);
                let Refused { control, error } = *take_over(shared, task_ref, control).err()?;
                let is_kept = matches!(control, Control::Cancel(_)) && !shared.turns.are_draining();
                return if is_kept { Some(control) } else { refuse(control, error) };
            }
        }
        Ok(Enqueued::NoTask) => return refuse(control, Error::task_not_found(task_ref.id.as_str())),
        Err(error) => {
            control.refuse(error.into());
            take_back(shared, cluster, &command).await;
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
        tracing::warn!(task = %task_ref.id, error = &error as &dyn std::error::Error, "a command is left behind");
    }
    None
}

fn refuse(control: Control, error: Error) -> Option<Control> {
    control.refuse(error);
    None
}

/// A place among the messages that wait, where it is one.
fn place(shared: &Shared, task_ref: &TaskRef, control: &mut Control) -> Result<Option<Permit>, Error> {
    match control {
        Control::Message(incoming) => match incoming.place.take() {
            None => shared.queued.take(&task_ref.scope.principal, 1).map(Some),
            place => Ok(place),
        },
        _ => Ok(None),
    }
}

/// The id of the command: of a message that was to go by one before, the same, so that it never goes by two.
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

/// Leaves a command. Where the store does not say whether it was left, it is left again under its id, which changes
/// nothing where it was, for as long as a commit is tried.
async fn leave(shared: &Shared, cluster: &dyn Cluster, command: &Command) -> Result<Enqueued, StoreError> {
    let (mut failures, mut failed) = (Failures::default(), None);
    loop {
        let error = match cluster.enqueue(command).await {
            Err(error) if error.is_transient() => error,
            outcome => return outcome,
        };
        if failed.get_or_insert_with(Instant::now).elapsed() >= shared.limits.commit_retry {
            return Err(error);
        }
        tracing::debug!(task = %command.task, error = &error as &dyn std::error::Error, "a command is left again");
        sleep(failures.next_delay(&WRITE_AGAIN)).await;
    }
}

/// Takes back a command of which nobody knows whether it was left: its writer was told that nothing came of it, and may
/// send another.
async fn take_back(shared: &Shared, cluster: &dyn Cluster, command: &Command) {
    for _ in 0..WITHDRAWALS {
        match cluster.cancel(&command.id).await {
            Err(error) if error.is_transient() => sleep(shared.limits.poll_interval).await,
            _ => return,
        }
    }
    tracing::warn!(task = %command.task, "a command may be there of which its writer was told that it is not");
}

/// Has a message keep the command that was not left: should it be there all the same, it is taken with the message. Not
/// where that was found already, and a runner of this node has it.
fn keeps_command(shared: &Shared, control: &mut Control, command: &CommandId) -> bool {
    let Control::Message(incoming) = control else { return true };
    incoming.unsent = shared.members.take(command);
    incoming.command = incoming.unsent.as_ref().map(|guard| guard.command().clone());
    incoming.unsent.is_some()
}

/// Runs the task here, as nobody has it.
pub(super) fn take_over(shared: &Arc<Shared>, task_ref: &TaskRef, control: Control) -> Result<(), Box<Refused>> {
    if let Some(runner) = start(shared, task_ref, control)? {
        runner.detach();
    }
    Ok(())
}
