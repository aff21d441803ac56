//! Lists of tasks for people.

use nuncio_model::{Message, Task, TaskId, Timestamp, op::ListTasksResponse};

use super::Text;

/// How many characters of a task's first words a line has.
const WORDS: usize = 60;
/// The length of a short id. Ids of this engine begin with the time, and differ at their ends.
const SHORT: usize = 8;
/// Ids up to this length are shown whole.
const LONGEST_WHOLE: usize = 16;

impl Text {
    /// A line for each task, or all of it with `-v` or where artifacts were asked for.
    pub(crate) fn tasks(&mut self, page: &ListTasksResponse, next: Option<&str>) {
        let now = Timestamp::now();
        for task in &page.tasks {
            if self.is_verbose || !task.artifacts.is_empty() {
                self.gap();
                self.task(task);
            } else {
                self.field("Task", &line(task, now));
            }
        }
        self.gap();
        self.field("Shown", &page.tasks.len().to_string());
        self.field("Total", &page.total_size.to_string());
        self.field_if("Next-Page", Some(&*page.next_page_token));
        self.field_if("Next", next);
    }
}

fn line(task: &Task, now: Timestamp) -> String {
    let age = task.status.timestamp.map(|time| age(now, time)).unwrap_or_default();
    let line = format!("{}  {:<14}  {age:>4}  {}", short(&task.id), task.state().short(), words(task));
    line.trim_end().to_owned()
}

/// The end of a long id; the other commands take that for the id.
pub(crate) fn short(id: &TaskId) -> &str {
    let text = id.as_str();
    if text.len() <= LONGEST_WHOLE || !text.is_ascii() { text } else { &text[text.len() - SHORT..] }
}

/// The first words of the first message of a task, otherwise of its status.
fn words(task: &Task) -> String {
    let first = task.history.first().map(Message::text).filter(|text| !text.trim().is_empty());
    let text = first.or_else(|| task.status.message.as_deref().map(Message::text)).unwrap_or_default();
    shortened(&text)
}

/// The first words of a text, on one line.
pub(super) fn shortened(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(WORDS) {
        Some((at, _)) => format!("{}\u{2026}", &text[..at]),
        None => text,
    }
}

/// `5s`, `12m`, `3h` or `40d`.
fn age(now: Timestamp, then: Timestamp) -> String {
    let seconds = (now.as_millisecond() - then.as_millisecond()).max(0) / 1000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86400),
    }
}
