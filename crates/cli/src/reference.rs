//! The current task. Its id is printed as early as possible, because a wait can end early.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use nuncio_model::{ContextId, TaskId, TaskState};

use crate::{
    connect::{Connection, quoted},
    diag,
};

/// A task that a command waits for.
#[derive(Debug, Clone)]
pub(crate) struct InHand {
    pub(crate) task: TaskId,
    pub(crate) context: Option<ContextId>,
    /// The last known state.
    pub(crate) state: TaskState,
    /// What reaches the same agent on the command line.
    pub(crate) flags: String,
}

static IN_HAND: Mutex<Option<InHand>> = Mutex::new(None);

/// Whether stderr has the ids already.
static IS_TOLD: AtomicBool = AtomicBool::new(false);

/// Takes note of the task that the command waits for from now on.
pub(crate) fn note(task: InHand) {
    *IN_HAND.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
}

/// Takes note of how far that task is.
pub(crate) fn note_state(state: TaskState) {
    if let Some(task) = &mut *IN_HAND.lock().unwrap_or_else(PoisonError::into_inner) {
        task.state = state;
    }
}

/// The task that the command waits for.
pub(crate) fn in_hand() -> Option<InHand> {
    IN_HAND.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

impl InHand {
    /// A task of which no more is known than its id.
    pub(crate) fn named(task: &str, connection: &Connection) -> Self {
        Self { task: task.into(), context: None, state: TaskState::default(), flags: connection.flags.clone() }
    }

    /// The command that answers an interrupted task.
    pub(crate) fn resume_command(&self) -> String {
        self.command("send --task-id", " \"<reply>\"")
    }

    /// The command that goes on waiting.
    pub(crate) fn wait_command(&self) -> String {
        self.command("task get --wait", "")
    }

    /// What happens to the task after this command, and the command that continues.
    pub(crate) fn way_on(&self) -> String {
        if self.state.is_interrupted() {
            format!("the task waits for its client; {}", self.resume_command())
        } else {
            format!("the task goes on; {}", self.wait_command())
        }
    }

    /// The command that shows the task.
    pub(crate) fn get_command(&self) -> String {
        self.command("task get", "")
    }

    fn command(&self, verb: &str, rest: &str) -> String {
        let space = if self.flags.is_empty() { "" } else { " " };
        format!("nuncio {verb} {}{space}{}{rest}", quoted(self.task.as_str()), self.flags)
    }

    /// Names the task on stderr, once.
    pub(crate) fn tell(&self) {
        if IS_TOLD.swap(true, Ordering::Relaxed) {
            return;
        }
        let context = self.context.as_ref().map(|context| format!(" in context {context}")).unwrap_or_default();
        diag::line(&format!("task {}{context}", self.task));
    }
}
