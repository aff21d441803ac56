//! What becomes of a task that lost its runner: messages have the turns that they did not have.

use std::collections::VecDeque;

use nuncio_model::{Error, Message, Role, Scope, StreamEvent, StreamResponse, Task, TaskState};

use super::Runner;
use crate::{
    inbox::Incoming,
    record::{Record, Sent},
    store::{Portion, StoreError, TaskStore},
    turn_index::read_kept,
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
            let state = self.task_ref.lock();
            (state.task.clone(), state.sequence)
        };
        let store = &*self.shared.store;
        let resumes = self.shared.agent.resumes();
        let Unfinished { cut_off, waiting } = Unfinished::of(&task, end, store, &self.task_ref.scope, resumes).await?;
        let tenant = &self.task_ref.scope.tenant;
        let again = |Given { message, sent }, resumed| Incoming::again(tenant, message, sent, resumed);
        if !state.is_interrupted() {
            match cut_off {
                Some(given) if resumes => self.queue.push_back(again(given, true)),
                cut_off => {
                    let nothing = "the message that begins the task did not reach it";
                    self.end(TaskState::Failed, Some(Message::agent(cut_off.map_or(nothing, |_| reason))));
                    return Ok(());
                }
            }
        }
        self.queue.extend(waiting.into_iter().map(|given| again(given, false)));
        Ok(())
    }
}

/// A message, and how it was sent.
struct Given {
    message: Message,
    sent: Sent,
}

/// The messages of a task whose turns were not over when its log ended.
#[derive(Default)]
struct Unfinished {
    /// The one whose turn began last.
    cut_off: Option<Given>,
    /// Those whose turns had yet to begin.
    waiting: VecDeque<Given>,
}

/// How much of a log is read if the log is known to begin with the only message. It is the second record of a
/// precreated task.
const FIRST: Portion = Portion::records(2);

impl Unfinished {
    /// Those of this task, whose log ends here. The log is read where there may be more than one, and its beginning
    /// where the only one is `run_again`.
    async fn of(
        task: &Task,
        end: u64,
        store: &dyn TaskStore,
        scope: &Scope,
        run_again: bool,
    ) -> Result<Self, StoreError> {
        let mut found = Self::default();
        if messages(task).nth(1).is_some() {
            read_kept(store, scope, &task.id, end, |record| found.take(record)).await?;
        } else if run_again {
            match store.events_after(scope, &task.id, 0, FIRST).await {
                Err(StoreError::Compacted) => {}
                records => {
                    for record in &records? {
                        found.take(record);
                    }
                }
            }
        }
        if found.cut_off.is_none() {
            // It began before what is kept of the log.
            let message = messages(task).rev().nth(found.waiting.len()).cloned();
            found.cut_off = message.map(|message| Given { message, sent: Sent::default() });
        }
        Ok(found)
    }

    fn take(&mut self, record: &Record) {
        match record {
            Record::Received(received) => {
                let sent = received.sent.as_deref().cloned().unwrap_or_default();
                let given = Given { message: received.message.clone(), sent };
                if received.waits {
                    self.waiting.push_back(given);
                } else {
                    self.cut_off = Some(given);
                }
            }
            Record::Begun(_) => self.cut_off = self.waiting.pop_front().or(self.cut_off.take()),
            Record::Update(event) => self.begin(event, Sent::default),
            Record::Submitted(submitted) => self.begin(&submitted.event, || submitted.sent.clone()),
        }
    }

    /// Takes the message with which a task begins.
    fn begin(&mut self, event: &StreamEvent, sent: impl FnOnce() -> Sent) {
        if let StreamResponse::Task(task) = &event.response {
            let message = messages(task).next_back().cloned();
            self.cut_off = message.map(|message| Given { message, sent: sent() });
        }
    }
}

/// What the client sent.
fn messages(task: &Task) -> impl DoubleEndedIterator<Item = &Message> {
    task.history.iter().filter(|message| message.role == Role::User)
}
