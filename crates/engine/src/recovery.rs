//! What becomes of tasks whose runner is gone: no task stays at work for ever.

use std::sync::Arc;

use nuncio_model::{Error, Message, Role, Scope, TaskId, op::SendMessageRequest};

use crate::{
    engine::Shared,
    inbox::{Control, Incoming},
    inline::Inline,
    runner::Runner,
};

/// How many orphans are looked up at a time.
const PAGE: usize = 100;

/// Settles every task that a crash left running.
pub(crate) async fn recover(shared: &Arc<Shared>) -> Result<(), Error> {
    loop {
        let orphans = shared.store.orphans(PAGE).await?;
        if orphans.is_empty() {
            return Ok(());
        }
        tracing::info!(tasks = orphans.len(), "settling tasks that were running when the server stopped");
        for orphan in orphans {
            settle(shared, &orphan.scope, &orphan.id, "the server stopped while the agent was at work").await?;
        }
    }
}

/// Takes over a task without a runner: runs its turn again where the agent can, fails it with `reason` otherwise.
pub(crate) async fn settle(shared: &Arc<Shared>, scope: &Scope, id: &TaskId, reason: &str) -> Result<(), Error> {
    let hold = shared.attach(scope, id).await?;
    {
        let mut inner = hold.lock();
        if inner.running || inner.state().is_terminal() {
            return Ok(());
        }
        inner.running = true;
        inner.broken = None;
    }
    let epoch = match shared.claim(&hold).await {
        Ok(epoch) => epoch,
        Err(error) => {
            hold.lock().running = false;
            return Err(error);
        }
    };
    let control = {
        let inner = hold.lock();
        let last = inner.task.history.iter().rev().find(|message| message.role == Role::User);
        match last {
            _ if inner.state().is_interrupted() => Control::Release,
            Some(message) if shared.agent.resumes() => Control::Rerun(rerun(message.clone())),
            _ => Control::Fail(reason.to_owned()),
        }
    };
    let reruns = matches!(control, Control::Rerun(_));
    hold.lock().inbox.push_back(control);
    if let Err(error) = shared.turn_begins() {
        hold.lock().running = false;
        return Err(error);
    }
    let runner = Inline::new(Runner::resume(Arc::clone(shared), hold.clone(), epoch));
    if reruns {
        runner.detach();
        return Ok(());
    }
    runner.until(|| None::<()>).await;
    hold.lock().broken.clone().map_or(Ok(()), Err)
}

fn rerun(message: Message) -> Incoming {
    Incoming::first(Arc::new(SendMessageRequest::new(message)), Arc::default())
}
