//! Controls: requests to the runner of a task.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use nuncio_limit::Permit;
use nuncio_model::{Error, Message, Task, Tenant, Timestamp, op::SendMessageRequest};
use tokio::sync::oneshot;

use crate::{
    cluster::CommandGuard,
    precreate::Precreated,
    reader::LogReader,
    record::Sent,
    store::{Command, CommandId},
};

/// A request that the runner handles between two events of its agent.
pub(crate) enum Control {
    /// A message for the task. Its turn follows the turns of earlier messages.
    Message(Box<Incoming>),
    /// The client cancels the task.
    Cancel(Cancel),
    /// The task lost its runner: its last turn runs again if the agent can resume, or the task fails for this reason.
    /// The sender gets an error if the runner cannot try.
    Settle(&'static str, oneshot::Sender<Error>),
    /// The task fails for this reason.
    Fail(&'static str),
    /// The client has not answered since this time, so a task that still waits fails. The sender gets an error if the
    /// runner cannot try.
    Expire(Timestamp, oneshot::Sender<Error>),
    /// The node stops, and the turn will run again.
    Leave,
    /// The node was silent for so long that other nodes may run the task.
    Lost,
    /// A command of another node. A command that is not executed stays in the store.
    Command(Command, CommandGuard),
    /// No node owns the task, and commands wait for the task. The claim returns them.
    PendingCommands,
}

impl Control {
    /// Whether other nodes may run the task from now on.
    pub(crate) fn is_loss(&self) -> bool {
        matches!(self, Self::Lost)
    }

    /// Sends the sender the error.
    pub(crate) fn refuse(self, error: Error) {
        // The receiver may be gone.
        match self {
            Self::Message(incoming) => incoming.refuse(error),
            Self::Cancel(Cancel { refused: told, .. }) | Self::Settle(_, told) | Self::Expire(_, told) => {
                drop(told.send(error));
            }
            Self::Fail(_) | Self::Leave | Self::Lost | Self::Command(..) | Self::PendingCommands => {}
        }
    }
}

/// A cancel of the task. The runner keeps the cancel until the task has ended, or forwards the cancel.
pub(crate) struct Cancel {
    /// Gets an error if the runner cannot try to cancel.
    pub(crate) refused: oneshot::Sender<Error>,
    /// Whether the cancel is a command, which stays in the store for the owner of the task.
    pub(crate) by_command: bool,
}

/// A message before its turn. In a box, because the message is moved often.
pub(crate) struct Incoming {
    pub(crate) request: Arc<SendMessageRequest>,
    pub(crate) extensions: Arc<[Box<str>]>,
    /// Is notified when the message is in the log.
    pub(crate) accepted: Option<oneshot::Sender<Result<Accepted, Error>>>,
    pub(crate) progress: TurnProgress,
    /// Whether the message is the first one of its task. The agent then sees no task.
    pub(crate) is_first: bool,
    /// Whether the message waits behind the turn of another message.
    pub(crate) waits: bool,
    /// Whether the turn of the message began before a crash.
    pub(crate) resumed: bool,
    /// The task, if it was created for this message.
    pub(crate) precreated: Option<Precreated>,
    /// The place among the waiting messages, if the message waits.
    pub(crate) place: Option<Permit>,
    /// The memory of the message among the memory of all turns, unless the message is small.
    pub(crate) reserved: Option<Permit>,
    /// The command that brought the message, or that would have carried the message to another node.
    pub(crate) command: Option<CommandId>,
    /// The guard of a command that would have carried the message, if no node owned the task. The store may have the
    /// command nevertheless. The command is then done with this message.
    pub(crate) unsent: Option<CommandGuard>,
}

impl Incoming {
    /// A message without a waiting sender.
    pub(crate) fn new(request: SendMessageRequest, extensions: Arc<[Box<str>]>) -> Box<Self> {
        let request = Arc::new(request);
        Box::new(Self {
            request,
            extensions,
            accepted: None,
            progress: TurnProgress::new(),
            is_first: false,
            waits: false,
            resumed: false,
            precreated: None,
            place: None,
            reserved: None,
            command: None,
            unsent: None,
        })
    }

    /// The command that brought the message. Its sender waits for progress.
    pub(crate) fn came_by(&self) -> Option<&CommandId> {
        self.command.as_ref().filter(|_| self.unsent.is_none())
    }

    /// A message for a repeated turn after a crash, as it was sent to this tenant.
    pub(crate) fn again(tenant: &Tenant, message: Message, sent: Sent, resumed: bool) -> Box<Self> {
        let tenant = Some(tenant.clone()).filter(|tenant| !tenant.is_empty());
        let Sent { configuration, metadata, extensions } = sent;
        let request = SendMessageRequest { tenant, message, configuration, metadata };
        let mut incoming = Self::new(request, extensions.into());
        incoming.waits = !resumed;
        incoming.resumed = resumed;
        incoming
    }

    /// The message is in the log. A command that was not sent is done with the message.
    pub(crate) fn committed(&mut self) {
        if let Some(guard) = self.unsent.take() {
            self.command = None;
            guard.done();
        }
    }

    /// Sends the sender the reason why the message is not accepted.
    pub(crate) fn refuse(self, error: Error) {
        if let Some(accepted) = self.accepted {
            drop(accepted.send(Err(error)));
        }
    }
}

/// A message that is in the log.
pub(crate) struct Accepted {
    /// The task at the time of the commit.
    pub(crate) task: Arc<Task>,
    /// Reads the later records.
    pub(crate) reader: LogReader,
}

/// The progress of the turn of a message. The runner of the turn writes the progress, and callers that wait for the turn
/// read it.
#[derive(Clone)]
pub(crate) struct TurnProgress(Arc<ProgressState>);

struct ProgressState {
    /// The last record before the turn.
    begun: AtomicU64,
    /// The task at the end of the turn, if the task then waited for its client.
    rested: OnceLock<Arc<Task>>,
    /// Whether the message went to another node. The state of the task then does not show whether the turn is over.
    forwarded: AtomicBool,
}

impl TurnProgress {
    /// The turn has not begun.
    pub(crate) fn new() -> Self {
        Self(Arc::new(ProgressState {
            begun: AtomicU64::new(u64::MAX),
            rested: OnceLock::new(),
            forwarded: AtomicBool::new(false),
        }))
    }

    /// The turn began before all records that a reader on this node reads.
    pub(crate) fn begun() -> Self {
        let progress = Self::new();
        progress.begin(0);
        progress
    }

    /// The message goes to another node.
    pub(crate) fn forward(&self) {
        self.0.forwarded.store(true, Ordering::Release);
    }

    pub(crate) fn is_forwarded(&self) -> bool {
        self.0.forwarded.load(Ordering::Acquire)
    }

    /// Whether another caller waits for the turn.
    pub(crate) fn is_awaited(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// The turn begins. Its first record is the record after this one.
    pub(crate) fn begin(&self, sequence: u64) {
        self.0.begun.store(sequence, Ordering::Release);
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.0.begun.load(Ordering::Acquire) != u64::MAX
    }

    /// Whether this record belongs to the turn, or to a later turn.
    pub(crate) fn precedes(&self, sequence: u64) -> bool {
        self.0.begun.load(Ordering::Acquire) < sequence
    }

    /// The turn is over, and the task waits for its client. Later turns do not change the result for callers that wait
    /// for this turn.
    pub(crate) fn rest(&self, task: Arc<Task>) {
        // A turn ends once.
        drop(self.0.rested.set(task));
    }

    pub(crate) fn rested(&self) -> Option<&Arc<Task>> {
        self.0.rested.get()
    }
}
