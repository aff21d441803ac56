//! A place in the log of a task, which a program can store and go on from later.

use std::{convert::Infallible, fmt, str::FromStr};

use nuncio_model::TaskId;

/// A task, and the last event of it that was seen: [`Client::watch`](crate::Client::watch) goes on behind that event.
///
/// As text it is `TASK@EVENT`, or `TASK` if no event was seen, so that a program can store it:
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
    /// The number of the last event that was seen ([`StreamEvent::sequence`](nuncio_model::StreamEvent)). `None` begins
    /// with a snapshot of the task.
    pub sequence: Option<u64>,
}

impl Cursor {
    /// The beginning of a stream: a snapshot of the task, and what happens after that.
    pub fn new(task: impl Into<TaskId>) -> Self {
        Self { task: task.into(), sequence: None }
    }

    /// The place behind this event.
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

/// Any text is a task's id, so this does not fail.
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
