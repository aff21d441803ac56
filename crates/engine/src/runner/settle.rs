//! Settles a task that lost its runner: messages that had no turn get their turns.

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
    /// Settles a task that has no runner and may need one.
    ///
    /// If the agent can resume, the turn that was cut off runs again. Otherwise the task fails with `reason`. Messages
    /// that waited for that turn get their turns afterwards. A task that waits for its client lacks only the turns of
    /// waiting messages.
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

/// A message, and the data of its request.
struct Given {
    message: Message,
    sent: Sent,
}

/// The messages of a task without an ended turn at the end of the log.
#[derive(Default)]
struct Unfinished {
    /// The message of the last turn.
    cut_off: Option<Given>,
    /// The messages without a turn.
    waiting: VecDeque<Given>,
}

/// The portion of a log that is read if the log begins with the only message. In the log of a precreated task, the
/// message is the second record.
const FIRST: Portion = Portion::records(2);

impl Unfinished {
    /// Finds the messages of a task with a log up to `end`. Reads the log if the task may have several messages, or
    /// the beginning of the log if the only message is to run again.
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
            // The turn began before the first stored record.
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

    /// Takes the first message of a task.
    fn begin(&mut self, event: &StreamEvent, sent: impl FnOnce() -> Sent) {
        if let StreamResponse::Task(task) = &event.response {
            let message = messages(task).next_back().cloned();
            self.cut_off = message.map(|message| Given { message, sent: sent() });
        }
    }
}

/// The messages of the client.
fn messages(task: &Task) -> impl DoubleEndedIterator<Item = &Message> {
    task.history.iter().filter(|message| message.role == Role::User)
}
