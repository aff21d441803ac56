//! The limit of a task's size: the bytes of its events and messages ([`nuncio_model::weight`]).

use nuncio_model::{
    Error, ErrorKind, Message, Size, Struct,
    op::SendMessageRequest,
    weight::{of_message, of_struct},
};

use crate::record::Sent;

/// The reason why an event or a message is refused.
#[derive(Debug)]
pub(crate) enum TooMuch {
    /// The task is at its own limit.
    OfTask {
        /// The name of the limit.
        limit: &'static str,
        reason: &'static str,
        most: u64,
    },
    /// All tasks at work, or those of one caller, are at the memory limit.
    Memory(Error),
}

impl TooMuch {
    /// The name of the limit.
    pub(crate) fn limit(&self) -> &str {
        match self {
            Self::OfTask { limit, .. } => limit,
            Self::Memory(error) => error.metadata().get("limit").map_or("", |limit| limit),
        }
    }

    /// The error for a message.
    pub(crate) fn refusal(self) -> Error {
        let reason = self.to_string();
        match self {
            Self::OfTask { limit, .. } => {
                let hint = "send a message without a task id to begin another in its context";
                Error::new(ErrorKind::PayloadTooLarge, format!("{reason}; {hint}")).with_metadata("limit", limit)
            }
            Self::Memory(error) => error,
        }
    }
}

impl std::fmt::Display for TooMuch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::OfTask { limit, reason, most } => {
                write!(f, "the task is over its limit of {most} {reason} ({limit})")
            }
            Self::Memory(_) => write!(f, "the tasks that are at work hold too much in memory ({})", self.limit()),
        }
    }
}

pub(crate) fn of_request(request: &SendMessageRequest) -> usize {
    of_message(&request.message) + of_struct(request.metadata.as_deref())
}

/// The size of the data of a request beside its message.
pub(crate) fn of_sent(sent: Option<&Sent>) -> usize {
    let Some(Sent { configuration, metadata, extensions }) = sent else { return 0 };
    let modes = configuration.as_ref().map_or(0, |it| it.accepted_output_modes.iter().map(String::len).sum::<usize>());
    modes + of_struct(metadata.as_deref()) + extensions.iter().map(|it| it.len()).sum::<usize>()
}

/// Refuses a message that exceeds the task size, with the metadata of the task to create. The error is
/// `PayloadTooLarge`.
pub(crate) fn check_message(message: &Message, of_task: Option<&Struct>, most: u64) -> Result<(), Error> {
    let size = of_message(message) + of_struct(of_task);
    if size as u64 <= most {
        return Ok(());
    }
    let reason = format!(
        "the message carries {}, and a task has room for {} (task_size); send less at once",
        Size::of(size),
        Size(most)
    );
    Err(Error::new(ErrorKind::PayloadTooLarge, reason).with_metadata("limit", "task_size"))
}
