//! The limits of the engine.

use std::time::Duration;

use nuncio_limit::{Backoff, Jitter};

use crate::live::Backlog;

/// The delays between attempts of a write to the store, within [`Limits::commit_retry`].
pub(crate) const WRITE_AGAIN: Backoff =
    Backoff { first: Duration::from_millis(10), longest: Duration::MAX, jitter: Jitter::None };

/// The limits of the engine. Every queue, wait and window has a limit.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// The time that an agent has after a cancel before it is cut off. 2 s.
    pub cancel_grace: Duration,
    /// The time that a blocking `SendMessage` waits for the first event of the agent. Then the task is created without
    /// an event. Until then the agent can answer with a bare message. 2 s.
    pub first_event_timeout: Duration,
    /// The same for `SendStreamingMessage`. 300 ms.
    pub first_event_timeout_streaming: Duration,
    /// The time that a turn can go on after its last event: a bare message or the end of the task. Then the turn is cut
    /// off. 60 s.
    pub linger: Duration,
    /// Messages that can wait behind a running turn of their task. A further message is refused. 64.
    pub queued_messages: usize,
    /// Messages that can wait behind running turns of all tasks. A further message is refused. 100,000.
    pub queued_in_all: usize,
    /// Messages of one caller that can wait behind running turns. A further message is refused. 10,000.
    pub queued_per_caller: usize,
    /// Events of a running task in memory for its readers. A reader that is further behind reads from the store. 8192.
    pub window: usize,
    /// The memory of these events in bytes: their content, about 300 bytes per event, and the content once more if
    /// there are many readers. The effect of this limit is the same. 4 MiB.
    pub window_bytes: usize,
    /// The memory of all tasks for their readers, in bytes: one half for the events of tasks, the other half for events
    /// that readers have read and not passed on. At the limit, no writer waits and no reader is refused. The slowest
    /// readers read from the store at once, and other readers read portions of 4 KiB or one event. 256 MiB.
    pub kept_bytes: usize,
    /// The time that slow readers beyond the window can delay their task. Then they are evicted. 2 s.
    pub slow_reader: Duration,
    /// The length of an id in a request (of a task, context, message, webhook or tenant), in bytes. A longer id is
    /// refused. A store with ids in its keys may not accept longer ids: PostgreSQL accepts keys of about 2,700 bytes
    /// that contain several ids. 512.
    pub id_length: usize,
    /// The memory of turns, in bytes: messages with a running or waiting turn, and tasks at work, plus 64 bytes per record. A
    /// further message is refused. A further event of the agent fails its task, but the end of a task is always
    /// accepted. Messages below 1 KiB and tasks below 16 KiB are not counted, because the number of turns limits them.
    /// 1 GiB.
    pub held_bytes: usize,
    /// The same for one caller. 256 MiB.
    pub held_bytes_per_caller: usize,
    /// The depth of nested lists and objects in data and metadata. A deeper request is refused, and a deeper event
    /// fails its task. Most protobuf decoders support a depth of 31. 30.
    pub nesting: usize,
    /// The length of the URL, the token and the credentials of a webhook, each in bytes. A longer value is refused. 2
    /// KiB.
    pub webhook_field: usize,
    /// The approximate size of a page of `ListTasks` in the store, in bytes. A page above the limit has fewer tasks and
    /// a token for the next page. A larger task has a page of its own. 4 MiB, which is the default limit of gRPC
    /// clients for an answer.
    pub page_bytes: usize,
    /// Webhooks that were registered before their tasks, if the protocol version (0.1) permits this. One caller can use
    /// an eighth. A further webhook is refused. 1,000.
    pub early_webhooks: usize,
    /// The time for which such a webhook is stored. 10 min.
    pub early_webhook_time: Duration,
    /// Push configurations of a task. 100.
    pub push_configs: usize,
    /// Turns that run at the same time. A further message is refused. 100,000.
    pub running_turns: usize,
    /// Turns of one caller that run at the same time. A further message is refused. 10,000.
    pub running_turns_per_caller: usize,
    /// The content of the events and messages of a task, in bytes. A further event fails the task, and a further
    /// message is refused. 256 MiB.
    pub task_size: u64,
    /// Records of a task. A further event fails the task, and a further message is refused. 1,000,000.
    pub task_events: u64,
    /// JSON values in the data and metadata of a message or an event, including the items of lists. A larger message is
    /// refused, and a larger event fails its task. Data is stored as text until an agent asks for its value. A value
    /// then takes up to 350 bytes per JSON value. 250,000.
    pub values: usize,
    /// The interval between polls of a shared store, for changes without a signal: changes of tasks with readers on
    /// this node, commands, and tasks of failed nodes. 1 s.
    pub poll_interval: Duration,
    /// The time that a turn can be idle. Then the turn is cut off and its task fails. `None` means no limit. A turn
    /// that waits for its client is exempt. `None`.
    pub stall_timeout: Option<Duration>,
    /// The time for which a failing commit is tried again. Then the turn is given up. 2 s.
    pub commit_retry: Duration,
}

impl Limits {
    /// The window of records in memory for the readers of a task.
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
