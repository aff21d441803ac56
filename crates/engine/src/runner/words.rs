//! What an agent says, on its way into the log: completed with what the agent may leave out, checked, staged.

use nuncio_model::{
    ArtifactId, ContextId, Message, MessageId, Role, StreamResponse, TaskId, TaskState, TaskStatus,
    TaskStatusUpdateEvent, Timestamp,
};

use super::{Runner, Running};
use crate::{lifecycle::IllegalTransition, turn::Word};

impl Runner {
    /// Hears one word of the agent.
    pub(super) fn hear(&mut self, running: &mut Running, word: Word) {
        let Word { response, origin } = word;
        let outcome = match response {
            _ if running.replied => {
                tracing::warn!(task = %self.hold.id, "the agent went on after a bare message; that is not forwarded");
                running.agent = None;
                return;
            }
            StreamResponse::Message(message) if self.birth.is_some() => {
                self.answer(message);
                running.replied = true;
                running.timer = None;
                return;
            }
            // The client was given a task before the agent could answer directly: the answer completes it.
            StreamResponse::Message(message) if !running.spoke && !self.writer.state().is_terminal() => {
                let status = TaskStatus { message: Some(message), ..TaskStatus::new(TaskState::Completed) };
                self.say(StreamResponse::StatusUpdate(TaskStatusUpdateEvent { status, ..Default::default() }))
            }
            response => self.say(response),
        };
        running.spoke = true;
        if !running.cancelled.is_cancelled() {
            running.timer = None;
        }
        if let Err(error) = outcome {
            self.object(running, &error, origin.as_deref());
        }
    }

    /// The agent broke the protocol: its turn is over, and so is the task.
    fn object(&mut self, running: &mut Running, error: &IllegalTransition, origin: Option<&str>) {
        let place = origin.map(|origin| format!(" ({origin})")).unwrap_or_default();
        tracing::warn!(task = %self.hold.id, "the agent broke the protocol: {error}{place}");
        running.agent = None;
        if !self.writer.state().is_terminal() {
            let reason = format!("the agent broke the protocol: {error}{place}");
            self.set_status(TaskState::Failed, Some(Message::agent(reason)));
        }
    }

    /// Stages a change, the task before it if need be.
    pub(super) fn say(&mut self, mut response: StreamResponse) -> Result<(), IllegalTransition> {
        self.bring_to_life();
        let context = self.context();
        complete(&mut response, &self.hold.id, &context);
        self.writer.stage(response)
    }

    /// Answers with a bare message; there is no task, and there will be none.
    fn answer(&mut self, mut message: Message) {
        self.birth = None;
        complete_message(&mut message, None, &self.context());
        self.hold.change(|inner| inner.direct = Some(message));
    }

    fn context(&self) -> ContextId {
        self.hold.lock().context.clone()
    }
}

/// Fills in what an agent may leave out.
fn complete(response: &mut StreamResponse, task: &TaskId, context: &ContextId) {
    match response {
        StreamResponse::StatusUpdate(update) => {
            update.task_id = task.clone();
            update.context_id = context.clone();
            update.status.timestamp.get_or_insert_with(Timestamp::now);
            if let Some(message) = &mut update.status.message {
                complete_message(message, Some(task), context);
            }
        }
        StreamResponse::ArtifactUpdate(update) => {
            update.task_id = task.clone();
            update.context_id = context.clone();
            if update.artifact.artifact_id.is_empty() {
                update.artifact.artifact_id = ArtifactId::generate();
            }
        }
        StreamResponse::Task(_) | StreamResponse::Message(_) => {}
    }
}

fn complete_message(message: &mut Message, task: Option<&TaskId>, context: &ContextId) {
    if message.message_id.is_empty() {
        message.message_id = MessageId::generate();
    }
    if message.role == Role::Unspecified {
        message.role = Role::Agent;
    }
    message.task_id = task.cloned();
    message.context_id = Some(context.clone());
}
