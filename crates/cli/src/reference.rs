//! The task in hand: named as soon as it is known, so that nothing is lost when a wait ends early.

use std::sync::{Mutex, PoisonError};

use nuncio_model::{ContextId, TaskId};

use crate::{connect::quoted, diag};

/// A task that a command waits for.
#[derive(Debug, Clone)]
pub(crate) struct InHand {
    pub(crate) task: TaskId,
    pub(crate) context: Option<ContextId>,
    /// What reaches the same agent on the command line.
    pub(crate) flags: String,
}

static IN_HAND: Mutex<Option<InHand>> = Mutex::new(None);

/// Takes note of the task that the command waits for from now on.
pub(crate) fn note(task: InHand) {
    *IN_HAND.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
}

/// The task that the command waits for.
pub(crate) fn in_hand() -> Option<InHand> {
    IN_HAND.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

impl InHand {
    /// The command that answers an interrupted task.
    pub(crate) fn resume_command(&self) -> String {
        self.command("send --task-id", " \"<reply>\"")
    }

    /// The command that goes on waiting.
    pub(crate) fn wait_command(&self) -> String {
        self.command("task get --wait", "")
    }

    /// The command that shows the task.
    pub(crate) fn get_command(&self) -> String {
        self.command("task get", "")
    }

    fn command(&self, verb: &str, rest: &str) -> String {
        let space = if self.flags.is_empty() { "" } else { " " };
        format!("nuncio {verb} {}{space}{}{rest}", quoted(self.task.as_str()), self.flags)
    }

    /// Names the task on stderr.
    pub(crate) fn tell(&self) {
        let context = self.context.as_ref().map(|context| format!(" in context {context}")).unwrap_or_default();
        diag::line(&format!("task {}{context}", self.task));
    }
}
