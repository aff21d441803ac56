//! What is wanted of a task that runs elsewhere goes there by letter, and is followed until it has come to its end.

use std::sync::Arc;

use nuncio_model::Error;
use tokio::{select, sync::Notify, time::sleep};

use super::{
    Body,
    correspondence::{Correspondence, Wanted},
};
use crate::{
    bus::Topic,
    conversation::start,
    inbox::{Control, Course},
    registry::Hold,
    shared::Shared,
    store::{Letter, LetterId, Posted},
};

/// Sends what came for a runner to the node that has the task.
pub(crate) fn forward(shared: &Arc<Shared>, hold: Hold, control: Control) {
    let body = match &control {
        // The letter by which it came waits for whoever has the task now; another would bring it twice.
        Control::Message(incoming) if incoming.letter.is_some() => return,
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
        | Control::Letter(_)
        | Control::Letters => return,
    };
    let shared = Arc::clone(shared);
    Shared::spawn(async move {
        let left = shared.members.left().clone();
        select! {
            () = send(&shared, &hold, control, body) => {}
            () = left.cancelled() => {}
        }
    });
}

async fn send(shared: &Arc<Shared>, hold: &Hold, control: Control, body: Body) {
    let Some(cluster) = shared.store.cluster() else { return };
    let body = match body.encode() {
        Ok(body) => body,
        Err(error) => return control.refuse(error),
    };
    let letter = Letter { id: LetterId::generate(), scope: hold.scope.clone(), task: hold.id.clone(), body };
    // Where it may be there without a word, it is followed as if it were.
    match cluster.post(&letter).await {
        Ok(Posted::Left(node)) => shared.members.publish(Topic::Node(node), &hold.id, 0),
        Ok(Posted::Unheld) => return take_over(shared, hold, control),
        Ok(Posted::NoTask) => return control.refuse(Error::task_not_found(hold.id.as_str())),
        Err(error) => return control.refuse(error.into()),
    }
    shared.members.listen(shared, Topic::of(&hold.id)).await;
    let course = match &control {
        Control::Message(incoming) => incoming.course.clone(),
        _ => Course::new(),
    };
    course.forward();
    let correspondence = Arc::new(Correspondence { letter: letter.id, course, moved: Notify::new() });
    hold.lock().correspondences.push(Arc::clone(&correspondence));
    let mut wanted = Wanted::of(control);
    loop {
        match correspondence.advance(shared, cluster, hold, &mut wanted).await {
            Ok(true) => break,
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(task = %hold.id, error = &error as &dyn std::error::Error, "a letter is not followed");
            }
        }
        select! {
            () = correspondence.moved.notified() => {}
            () = sleep(shared.limits.reread) => {}
        }
    }
    hold.lock().correspondences.retain(|it| !Arc::ptr_eq(it, &correspondence));
    if let Err(error) = cluster.discard(&correspondence.letter).await {
        tracing::warn!(task = %hold.id, error = &error as &dyn std::error::Error, "a letter is left behind");
    }
}

/// Runs the task here, as nobody has it.
pub(super) fn take_over(shared: &Arc<Shared>, hold: &Hold, control: Control) {
    match start(shared, hold, control) {
        Ok(Some(runner)) => runner.detach(),
        Ok(None) => {}
        Err(error) => tracing::warn!(task = %hold.id, %error, "a task without a node is not run here"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use nuncio_model::{Message, Request, Scope, TaskId, op::SendMessageRequest};

    use super::*;
    use crate::{
        Engine, agent_fn,
        inbox::Incoming,
        store::{Cluster as _, ListQuery, TaskStore as _},
        testing::SharedMemory,
    };

    /// What a node that lost a task passes on: its own clients' messages, and not those that wait in letters already.
    #[tokio::test(start_paused = true)]
    async fn a_message_that_came_by_letter_is_not_sent_by_another() {
        let memory = SharedMemory::new(Duration::from_mins(1));
        let (here, there) = (Arc::new(memory.node().await), Arc::new(memory.node().await));
        let agent = agent_fn(|turn| async move {
            turn.begin().await?;
            turn.cancelled().cancelled().await;
            Ok(())
        });
        let busy = Engine::builder(agent).store(Arc::clone(&there) as _).build();
        let request = Request::new(Scope::open(), SendMessageRequest::new(Message::user("begin")));
        let running = tokio::spawn(async move { busy.call(request).await });
        let id: TaskId = loop {
            let query = ListQuery { page_size: 1, ..ListQuery::default() };
            match there.list(&Scope::open(), &query).await.unwrap().tasks.first() {
                Some(task) => break task.id.clone(),
                None => sleep(Duration::from_millis(10)).await,
            }
        };
        let engine = Engine::builder(agent_fn(|_| async { Ok(()) })).store(Arc::clone(&here) as _).build();
        let shared = engine.shared();
        let hold = shared.attach(&Scope::open(), &id).await.unwrap();
        for (letter, sent) in [(Some(LetterId::generate()), 0), (None, 1)] {
            let mut incoming = Incoming::new(SendMessageRequest::new(Message::user("more")), Arc::default());
            incoming.letter = letter;
            forward(shared, hold.clone(), Control::Message(incoming));
            sleep(Duration::from_millis(100)).await;
            assert_eq!(there.mail(10).await.unwrap().len(), sent);
        }
        running.abort();
    }
}
