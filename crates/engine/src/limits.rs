//! What bounds the engine.

use std::time::Duration;

use nuncio_limit::{Backoff, Jitter};

use crate::live::Backlog;

/// The delays between attempts of a write to the store, within [`Limits::commit_retry`].
pub(crate) const WRITE_AGAIN: Backoff =
    Backoff { first: Duration::from_millis(10), longest: Duration::MAX, jitter: Jitter::None };

/// The engine's limits. Every queue, wait and window has one.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// How long an agent may go on after a cancel before it is cut off. 2 s.
    pub cancel_grace: Duration,
    /// How long a blocking `SendMessage` waits for the agent's first word before the task exists without one. Until
    /// then the agent can still answer with a bare message. 2 s.
    pub first_event_timeout: Duration,
    /// The same for `SendStreamingMessage`, whose client waits for its first event. 300 ms.
    pub first_event_timeout_streaming: Duration,
    /// How long a turn may go on after its last word, a bare message or the end of its task; then it is cut off. 60 s.
    pub linger: Duration,
    /// Messages that may wait behind a running turn of their task; one more is refused. 64.
    pub queued_messages: usize,
    /// Messages that may wait behind running turns of all tasks; one more is refused. 100,000.
    pub queued_in_all: usize,
    /// Messages of one caller that may wait behind running turns; one more is refused. 10,000.
    pub queued_per_caller: usize,
    /// Events of a running task that are kept in memory for its readers. A reader that is further behind is served
    /// from the store. 8192.
    pub window: usize,
    /// What these events take in memory, in bytes: what they carry and some 300 bytes each, and what they carry once
    /// more where there are many readers. What happens there is the same. 4 MiB.
    pub window_bytes: usize,
    /// Bytes that all tasks keep in memory for their readers: half for the events that tasks keep, half for those that
    /// readers have taken and not passed on. Where it is reached nobody waits and nobody is refused: readers that are
    /// furthest behind are served from the store at once, and whoever takes more takes 4 KiB or one event at a time.
    /// 256 MiB.
    pub kept_bytes: usize,
    /// How long readers that are behind the window may hold up their task while they hardly move; then they are left
    /// behind. 2 s.
    pub slow_reader: Duration,
    /// Bytes of an id that a request names or gives (of a task, context, message, webhook or tenant); a longer one is
    /// refused. A store that has ids in its keys may not take longer ones: PostgreSQL takes keys of about 2,700 bytes,
    /// of which the ids of one are a part. 512.
    pub id_length: usize,
    /// Bytes that turns hold in memory: of messages whose turn runs or that wait for it, and of tasks at work, with 64
    /// for each of their records. A message beyond is refused, an event of the agent beyond fails its task; what ends a
    /// task is let in. Messages below 1 KiB and tasks below 16 KiB are not counted: the number of turns bounds them. 1
    /// GiB.
    pub held_bytes: usize,
    /// The same of one caller. 256 MiB.
    pub held_bytes_per_caller: usize,
    /// How deep lists and objects nest in one another in a part's data and in metadata; a request with deeper ones is
    /// refused, an event fails its task. Most readers of protobuf do not read more than 31. 30.
    pub nesting: usize,
    /// Bytes of the URL of a webhook, of its token and of its credentials, each; a longer one is refused. 2 KiB.
    pub webhook_field: usize,
    /// About how many bytes the tasks of a page of `ListTasks` take, as the store has them: there are fewer than asked
    /// for, and a token for the next page. A task that alone takes more has a page of its own. 4 MiB, the size of an
    /// answer that gRPC clients take by default.
    pub page_bytes: usize,
    /// Webhooks that came before their tasks and are kept for them, where the version of the protocol (0.1) allows that;
    /// of one caller an eighth. One more is refused. 1,000.
    pub early_webhooks: usize,
    /// How long such a webhook is kept. 10 min.
    pub early_webhook_time: Duration,
    /// Push configurations that a task may have. 100.
    pub push_configs: usize,
    /// Turns that run at the same time; a message beyond is refused. 100,000.
    pub running_turns: usize,
    /// Turns of one caller that run at the same time; a message beyond is refused. 10,000.
    pub running_turns_per_caller: usize,
    /// Bytes that the events and messages of a task carry; an event beyond fails the task, a message beyond is refused.
    /// 256 MiB.
    pub task_size: u64,
    /// Records of a task; an event beyond fails the task, a message beyond is refused. 1,000,000.
    pub task_events: u64,
    /// JSON values in the data and metadata of a message, and of an event, with the items of their lists; a message with
    /// more is refused, an event fails its task. Data is text until an agent asks for its value, which takes up to 350
    /// bytes for each of these. 250,000.
    pub values: usize,
    /// How often a node looks at a store that it shares with others for what no signal told: changes of tasks that are
    /// read here, commands, tasks of nodes that are gone. 1 s.
    pub poll_interval: Duration,
    /// How long a turn may say nothing before it is cut off and its task fails; `None` for as long as it likes. A turn
    /// that waits for its client in it is not meant. `None`.
    pub stall_timeout: Option<Duration>,
    /// How long a failing commit is tried again before the turn is given up. 2 s.
    pub commit_retry: Duration,
}

impl Limits {
    /// What a task keeps for its readers.
    pub(crate) fn backlog(&self) -> Backlog {
        Backlog { records: self.window, bytes: self.window_bytes }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            cancel_grace: Duration::from_secs(2),
            first_event_timeout: Duration::from_secs(2),
            first_event_timeout_streaming: Duration::from_millis(300),
            linger: Duration::from_mins(1),
            queued_messages: 64,
            queued_in_all: 100_000,
            queued_per_caller: 10_000,
            window: 8192,
            window_bytes: 4 * 1024 * 1024,
            kept_bytes: 256 * 1024 * 1024,
            slow_reader: Duration::from_secs(2),
            id_length: 512,
            held_bytes: 1024 * 1024 * 1024,
            held_bytes_per_caller: 256 * 1024 * 1024,
            nesting: 30,
            webhook_field: 2 * 1024,
            page_bytes: 4 * 1024 * 1024,
            early_webhooks: 1_000,
            early_webhook_time: Duration::from_mins(10),
            push_configs: 100,
            running_turns: 100_000,
            running_turns_per_caller: 10_000,
            task_size: 256 * 1024 * 1024,
            task_events: 1_000_000,
            values: 250_000,
            poll_interval: Duration::from_secs(1),
            stall_timeout: None,
            commit_retry: Duration::from_secs(2),
        }
    }
}
