//! Handles the events of an agent: completes fields that the agent left out, checks the event and stages it.

use std::{fmt::Display, sync::Arc};

use nuncio_model::{
    ArtifactId, ContextId, Error, ErrorKind, Message, MessageId, Role, StreamEvent, StreamResponse, Task, TaskId,
    TaskState, TaskStatus, Timestamp, op::SendMessageRequest,
};

use super::{Runner, Running};
use crate::{
    lifecycle::{IllegalTransition, check_message},
    nesting,
    record::Sent,
    turn::AgentEvent,
    values,
};

impl Runner {
    /// Handles one event of the agent.
    pub(super) fn handle(&mut self, running: &mut Running, emitted: AgentEvent) {
        if running.replied {
            self.handle_after_reply(running, &emitted.event.response);
            return;
        }
        let AgentEvent { mut event, mut bytes, origin } = emitted;
        if let Err(excess) = nesting::check_event(&event.response, self.shared.limits.nesting) {
            return self.overflow(running, nesting::LIMIT, &excess);
        }
        if let Err(excess) = values::check_event(&event.response, self.shared.limits.values) {
            return self.overflow(running, values::LIMIT, &format_args!("an event of the agent has {excess}"));
        }
        if let StreamResponse::Message(message) = &event.response {
            if self.deferred.is_some() {
                if let Err(error) = check_message(message) {
                    self.fail_on_violation(running, &error, origin.as_deref());
                    return;
                }
                running.reply = Some(message.clone());
                running.replied = true;
                running.timer = None;
                return;
            }
            if !running.has_emitted && !self.writer.state().is_terminal() {
                // The task was created before the agent could answer directly. The answer completes the task.
                AgentEvent { event, bytes, .. } = AgentEvent::status(TaskState::Completed, Some(message.clone()));
            }
        }
        running.has_emitted = true;
        if !running.cancelled.is_cancelled() {
            running.timer = None;
        }
        if let Err(excess) = self.writer.check(bytes) {
            self.overflow(running, excess.limit(), &excess);
        } else if let Err(error) = self.emit(event, bytes) {
            self.fail_on_violation(running, &error, origin.as_deref());
        }
    }

    /// Handles an event after a bare message. A bare message is the whole answer of a turn (section 3.1.2 "Send
    /// Streaming Message"). A second bare message fails the call, unless the client already has the first message.
    fn handle_after_reply(&mut self, running: &mut Running, response: &StreamResponse) {
        let task = &self.task_ref.id;
        running.cut_off();
        if !matches!(response, StreamResponse::Message(_)) {
            tracing::warn!(%task, "engine: the agent went on after a bare message; its turn is cut off");
            return;
        }
        let error = Error::new(
            ErrorKind::InvalidAgentResponse,
            "the agent answered one message with two bare messages; a turn has one, or a task",
        );
        if running.reply.take().is_some() {
            tracing::warn!(%task, kind = ?error.kind(), "engine: {}", error.message());
            self.deferred = None;
            self.leader = None;
            self.task_ref.change(|state| state.broken = Some(error));
        } else {
            let kind = error.kind();
            tracing::warn!(%task, ?kind, "engine: {}; the client has the first one", error.message());
        }
    }

    /// Fails the task after the agent violated the protocol, and ends the turn.
    fn fail_on_violation(&mut self, running: &mut Running, error: &IllegalTransition, origin: Option<&str>) {
        let place = origin.map(|origin| format!(" ({origin})")).unwrap_or_default();
        let reason = format!("the agent broke the protocol: {error}{place}");
        tracing::warn!(task = %self.task_ref.id, "{reason}");
        running.cut_off();
        self.fail(running, &reason);
    }

    /// Fails the task after an event of the agent exceeded a limit, and ends the turn.
    fn overflow(&mut self, running: &mut Running, limit: &str, excess: &dyn Display) {
        tracing::warn!(task = %self.task_ref.id, limit, "{excess}");
        running.cut_off();
        self.end(TaskState::Failed, Some(Message::agent(excess.to_string())));
    }

    /// Sets the status of the task on behalf of the agent.
    pub(super) fn set_status(&mut self, state: TaskState, message: Option<Message>) {
        let AgentEvent { event, bytes, .. } = AgentEvent::status(state, message);
        if let Err(error) = self.emit(event, bytes) {
            tracing::error!(task = %self.task_ref.id, %error, "runner: a change of status is not permitted");
        }
    }

    /// Stages an event. Creates the task first if necessary.
    fn emit(&mut self, mut event: Arc<StreamEvent>, bytes: usize) -> Result<(), IllegalTransition> {
        self.create_task();
        if let Some(event) = Arc::get_mut(&mut event) {
            if let StreamResponse::StatusUpdate(update) = &event.response
                && let Some(message) = &update.status.message
            {
                check_message(message)?;
            }
            complete(&mut event.response, &self.task_ref.id, self.writer.context());
        }
        self.writer.stage(event, bytes)
    }

    /// Creates the task, if its creation was deferred.
    pub(super) fn create_task(&mut self) {
        if let Some(deferred) = self.deferred.take() {
            let task = Task {
                id: self.task_ref.id.clone(),
                context_id: Some(self.writer.context().clone()),
                status: TaskStatus { state: TaskState::Submitted, message: None, timestamp: Some(deferred.arrived) },
                history: vec![deferred.request.message.clone()],
                ..Task::default()
            };
            let sent = self.sent(&deferred.request, &deferred.extensions, false);
            self.writer.stage_task(task, sent);
        }
    }

    /// The data of a request that the log keeps beside the message. A turn that begins after a crash, or runs again,
    /// needs this data.
    pub(super) fn sent(&self, request: &SendMessageRequest, extensions: &[Box<str>], waits: bool) -> Option<Sent> {
        let is_kept = waits || self.shared.agent.resumes();
        is_kept.then(|| Sent::of(request, extensions)).flatten()
    }

    /// Answers with a bare message, without a task.
    pub(super) fn answer(&mut self, mut message: Message) {
        self.deferred = None;
        complete_message(&mut message, None, self.writer.context());
        if let Some(leader) = self.leader.take() {
            leader.answer(&message);
        }
        self.task_ref.change(|state| state.direct = Some(message));
    }
}

/// Fills in the fields that an agent can leave out.
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
    // The check of the message has excluded all other roles.
    message.role = Role::Agent;
    message.task_id = task.cloned();
    message.context_id = Some(context.clone());
}
