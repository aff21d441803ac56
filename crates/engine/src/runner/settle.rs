//! What becomes of a task that lost its runner: messages have the turns that they did not have.

use std::collections::VecDeque;

use nuncio_model::{Error, Message, Role, Scope, StreamResponse, Task, TaskState};

use super::Runner;
use crate::{
    feed::FILL,
    inbox::Incoming,
    record::Record,
    store::{Portion, StoreError, TaskStore},
};

impl Runner {
    /// Does what is to be done with a task that has no runner, and may need one.
    ///
    /// The turn that was cut off is run again where the agent can, else the task fails with `reason`. Messages that
    /// waited behind it have their turns after it. Of a task that waits for its client no turn is missing but theirs.
    pub(super) async fn settle(&mut self, reason: &'static str) -> Result<(), Error> {
        let state = self.writer.state();
        if state.is_terminal() {
            return Ok(());
        }
        let (task, end) = {
            let inner = self.hold.lock();
            (inner.task.clone(), inner.sequence)
        };
        let Unfinished { cut_off, waiting } = Unfinished::of(&task, end, &*self.shared.store, &self.hold.scope).await?;
        if !state.is_interrupted() {
            match cut_off {
                Some(message) if self.shared.agent.resumes() => self.queue.push_back(Incoming::again(message, true)),
                cut_off => {
                    let nothing = "the message that begins the task did not reach it";
                    self.end(TaskState::Failed, Some(Message::agent(cut_off.map_or(nothing, |_| reason))));
                    return Ok(());
                }
            }
        }
        self.queue.extend(waiting.into_iter().map(|message| Incoming::again(message, false)));
        Ok(())
    }
}

/// The messages of a task whose turns were not over when its log ended.
#[derive(Default)]
struct Unfinished {
    /// The one whose turn began last.
    cut_off: Option<Message>,
    /// Those whose turns had yet to begin.
    waiting: VecDeque<Message>,
}

impl Unfinished {
    /// Those of this task, whose log ends here. The log is read only where there may be more than one.
    async fn of(task: &Task, end: u64, store: &dyn TaskStore, scope: &Scope) -> Result<Self, StoreError> {
        let mut found = Self::default();
        if messages(task).nth(1).is_some() {
            let mut after = first_kept(task, end, store, scope).await?;
            while after < end {
                let records = store.events_after(scope, &task.id, after, FILL).await?;
                for record in &records {
                    found.take(record);
                }
                after = records.last().map_or(end, Record::sequence);
            }
        }
        if found.cut_off.is_none() {
            // It began before what is kept of the log.
            found.cut_off = messages(task).rev().nth(found.waiting.len()).cloned();
        }
        Ok(found)
    }

    fn take(&mut self, record: &Record) {
        match record {
            Record::Received(received) if received.waits => self.waiting.push_back(received.message.clone()),
            Record::Received(received) => self.cut_off = Some(received.message.clone()),
            Record::Begun(_) => self.cut_off = self.waiting.pop_front().or(self.cut_off.take()),
            Record::Update(event) => {
                if let StreamResponse::Task(task) = &event.response {
                    self.cut_off = messages(task).next_back().cloned();
                }
            }
        }
    }
}

/// What the client sent.
fn messages(task: &Task) -> impl DoubleEndedIterator<Item = &Message> {
    task.history.iter().filter(|message| message.role == Role::User)
}

/// The place behind which the log is kept: a task that rested may have lost what was before that, and no turn with it.
async fn first_kept(task: &Task, end: u64, store: &dyn TaskStore, scope: &Scope) -> Result<u64, StoreError> {
    let (mut first, mut last, mut middle) = (0, end, 0);
    while first < last {
        match store.events_after(scope, &task.id, middle, Portion::records(1)).await {
            Ok(_) => last = middle,
            Err(StoreError::Compacted) => first = middle + 1,
            Err(error) => return Err(error),
        }
        middle = first.midpoint(last);
    }
    Ok(last)
}
