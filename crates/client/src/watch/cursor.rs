//! A position in the log of a task. A program can store a cursor and resume later.

use std::{convert::Infallible, fmt, str::FromStr};

use nuncio_model::TaskId;

/// A task and its last received event. [`Client::watch`](crate::Client::watch) resumes after this event.
///
/// The text form for storage is `TASK@EVENT`, or `TASK` without an event:
///
/// ```
/// use nuncio_client::Cursor;
///
/// let cursor = Cursor::new("01a2").after(17);
/// assert_eq!(cursor.to_string(), "01a2@17");
/// assert_eq!("01a2@17".parse(), Ok(cursor));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cursor {
    /// The task.
    pub task: TaskId,
    /// The number of the last received event ([`StreamEvent::sequence`](nuncio_model::StreamEvent)). With `None` the
    /// stream starts with a snapshot of the task.
    pub sequence: Option<u64>,
}

impl Cursor {
    /// The start of a stream: a snapshot of the task, and the following events.
    pub fn new(task: impl Into<TaskId>) -> Self {
        Self { task: task.into(), sequence: None }
    }

    /// The position after this event.
    pub fn after(mut self, sequence: u64) -> Self {
        self.sequence = Some(sequence);
        self
    }
}

impl<T: Into<TaskId>> From<T> for Cursor {
    fn from(task: T) -> Self {
        Self::new(task)
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sequence {
            Some(sequence) => write!(f, "{}@{sequence}", self.task),
            None => write!(f, "{}", self.task),
        }
    }
}

/// Never fails, because any text is a valid task id.
impl FromStr for Cursor {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let numbered = text.rsplit_once('@').and_then(|(task, number)| Some((task, number.parse().ok()?)));
        Ok(match numbered {
            Some((task, sequence)) => Self::new(task).after(sequence),
            None => Self::new(text),
        })
    }
}
