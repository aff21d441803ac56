//! What reaches a runner from outside.

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

/// Something for a runner to do between two words of its agent.
pub(crate) enum Control {
    /// A message for the task; its turn comes after those before it.
    Message(Box<Incoming>),
    /// The client wants the task canceled.
    Cancel(Cancel),
    /// The task lost its runner: its last turn is run again where the agent can, and it fails for this reason
    /// otherwise. Told why, where that cannot even be tried.
    Settle(&'static str, oneshot::Sender<Error>),
    /// The task cannot go on, for this reason.
    Fail(&'static str),
    /// Nobody has answered since before this moment: a task that still waits fails. Told why, where that cannot even be
    /// tried.
    Expire(Timestamp, oneshot::Sender<Error>),
    /// The node stops; the turn will be run again.
    Leave,
    /// The node was silent for so long that others may run the task.
    Lost,
    /// What another node wants. Where it is not opened, it is left.
    Command(Command, CommandGuard),
    /// Nobody has the task, and commands wait for it: the claim brings them.
    PendingCommands,
}

impl Control {
    /// Whether others may run the task from now on.
    pub(crate) fn is_loss(&self) -> bool {
        matches!(self, Self::Lost)
    }

    /// Tells whoever sent it why nothing comes of it.
    pub(crate) fn refuse(self, error: Error) {
        // The sender may have left.
        match self {
            Self::Message(incoming) => incoming.refuse(error),
            Self::Cancel(Cancel { refused: told, .. }) | Self::Settle(_, told) | Self::Expire(_, told) => {
                drop(told.send(error));
            }
            Self::Fail(_) | Self::Leave | Self::Lost | Self::Command(..) | Self::PendingCommands => {}
        }
    }
}

/// A wish that the task be canceled. Whoever takes it keeps it until the task has ended, or hands it on.
pub(crate) struct Cancel {
    /// Told why, where that cannot even be tried.
    pub(crate) refused: oneshot::Sender<Error>,
    /// Whether it came by command, which waits for whoever has the task.
    pub(crate) by_command: bool,
}

/// A message on its way to its turn, in a box: it is handed on often.
pub(crate) struct Incoming {
    pub(crate) request: Arc<SendMessageRequest>,
    pub(crate) extensions: Arc<[Box<str>]>,
    /// Told once the message is in the log.
    pub(crate) accepted: Option<oneshot::Sender<Result<Accepted, Error>>>,
    pub(crate) progress: TurnProgress,
    /// Whether it is the first of its task, so that to the agent there is no task yet.
    pub(crate) is_first: bool,
    /// Whether it waits behind another message's turn.
    pub(crate) waits: bool,
    /// Whether its turn began before, and was cut off by a crash.
    pub(crate) resumed: bool,
    /// The task, if it was created for this message.
    pub(crate) precreated: Option<Precreated>,
    /// Its place among those that wait behind a turn, where it does.
    pub(crate) place: Option<Permit>,
    /// The memory of the message among the memory of all turns, unless the message is small.
    pub(crate) reserved: Option<Permit>,
    /// The command by which it came, or by which it was to go from here.
    pub(crate) command: Option<CommandId>,
    /// Its command in hand, where it was to go by that from here and nobody had the task. Whether it is in the store
    /// none the less is not known for sure: then it is done with this message.
    pub(crate) unsent: Option<CommandGuard>,
}

impl Incoming {
    /// A message that nobody needs to be told about.
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

    /// The command by which it came, and whose writer is to know how far it has come.
    pub(crate) fn came_by(&self) -> Option<&CommandId> {
        self.command.as_ref().filter(|_| self.unsent.is_none())
    }

    /// A message that a crash kept from its turn, as it was sent to this tenant.
    pub(crate) fn again(tenant: &Tenant, message: Message, sent: Sent, resumed: bool) -> Box<Self> {
        let tenant = Some(tenant.clone()).filter(|tenant| !tenant.is_empty());
        let Sent { configuration, metadata, extensions } = sent;
        let request = SendMessageRequest { tenant, message, configuration, metadata };
        let mut incoming = Self::new(request, extensions.into());
        incoming.waits = !resumed;
        incoming.resumed = resumed;
        incoming
    }

    /// Its message is in the log, and a command that was not sent is done with it.
    pub(crate) fn committed(&mut self) {
        if let Some(guard) = self.unsent.take() {
            self.command = None;
            guard.done();
        }
    }

    /// Tells the sender why the message does not enter the log.
    pub(crate) fn refuse(self, error: Error) {
        if let Some(accepted) = self.accepted {
            drop(accepted.send(Err(error)));
        }
    }
}

/// A message that is in the log.
pub(crate) struct Accepted {
    /// The task as of then.
    pub(crate) task: Arc<Task>,
    /// Reads what comes after.
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
