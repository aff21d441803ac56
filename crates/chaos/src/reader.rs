//! A reader: follows one task to its end, over any number of interrupted streams, on any node.

use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::Value;
use tokio::time::{sleep, timeout};

use crate::{
    board::Board,
    call::{Next, Opened, Outgoing, Refusal, Stream},
    event::{as_task, is_interrupted, is_terminal, state_of, task_of},
    history::What,
    random::Random,
};

/// The maximum delay before the reader connects to another node, in milliseconds.
const PAUSE: u64 = 150;

/// A reader of one task.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    board: &'a Board,
    random: Random,
    number: u64,
    /// The task, as soon as the reader knows the id.
    task: Option<String>,
    /// The id of the last received event.
    last: Option<u64>,
    /// The point at which the reader leaves before the end of the task.
    until: Until,
    /// The message of the reader, until the server's acknowledgement.
    sent: Option<&'a Outgoing>,
}

/// The point at which a reader leaves before the end of its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    /// The reader stays until the end.
    End,
    /// The reader leaves at a question.
    Question,
    /// The server ends the stream at a question, because a message opened the stream.
    Turn,
}

/// The consequence of an event for a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// More events can follow.
    More,
    /// No event may follow.
    Last,
    /// The reader ignores later events.
    Enough,
}

/// The end of a stream.
enum Ended {
    /// The task has no further events.
    Done,
    /// The task can have further events.
    Cut(String),
}

impl<'a> Reader<'a> {
    pub(crate) fn new(board: &'a Board, random: Random) -> Self {
        let number = board.reader();
        Self { board, random, number, task: None, last: None, until: Until::End, sent: None }
    }

    /// Sends a message, and reads the resulting stream.
    pub(crate) async fn send(mut self, outgoing: &'a Outgoing) {
        self.until = Until::Turn;
        self.task.clone_from(&outgoing.task);
        self.sent = Some(outgoing);
        self.board.add(What::Opened { reader: self.number, task: self.task.clone(), after: None });
        let node = self.node();
        match self.board.caller.stream(node, outgoing).await {
            Ok(Opened::Stream(stream)) => {
                let ended = self.read(stream).await;
                // Without an event, the message may not have arrived, so a result is not guaranteed.
                self.go_on(ended).await;
            }
            Ok(Opened::Refused(refusal)) => {
                self.board.refused(&self.name(), &refusal);
                self.close(&format!("refused: {refusal}"));
            }
            Err(error) => self.close(&format!("not opened: {error}")),
        }
    }

    /// Subscribes to a task.
    pub(crate) async fn subscribe(mut self, task: String) {
        // Few readers wait for an answer to a question; otherwise most readers would soon be waiting.
        self.until = if self.random.chance(20) { Until::End } else { Until::Question };
        self.task = Some(task);
        let ended = self.open().await;
        self.go_on(ended).await;
    }

    fn node(&mut self) -> usize {
        usize::try_from(self.random.range(0, self.board.caller.nodes() as u64)).unwrap_or(0)
    }

    fn close(&self, how: &str) {
        self.board.add(What::Closed { reader: self.number, how: how.to_owned() });
    }

    /// Opens new streams as long as the task can have further events.
    async fn go_on(&mut self, first: Ended) {
        let mut ended = first;
        loop {
            match &ended {
                Ended::Done => return self.close("done"),
                Ended::Cut(how) => self.close(how),
            }
            if self.task.is_none() || self.sent.is_some() {
                return;
            }
            sleep(Duration::from_millis(self.random.range(1, PAUSE))).await;
            ended = self.open().await;
        }
    }

    /// Opens a stream after the last known event, and reads the stream.
    async fn open(&mut self) -> Ended {
        let Some(task) = self.task.clone() else { return Ended::Done };
        self.board.add(What::Opened { reader: self.number, task: self.task.clone(), after: self.last });
        let node = self.node();
        match self.board.caller.subscribe(node, &task, self.last).await {
            Ok(Opened::Stream(stream)) => self.read(stream).await,
            Ok(Opened::Refused(refusal)) => self.refused(&task, &refusal),
            Err(error) => Ended::Cut(format!("not opened: {error}")),
        }
    }

    fn name(&self) -> String {
        format!("reader {} at {:?}", self.number, self.last)
    }

    fn refused(&self, task: &str, refusal: &Refusal) -> Ended {
        self.board.refused(&self.name(), refusal);
        let denied = |what: &str| {
            let by = self.name();
            self.board.add(What::Denied { task: task.to_owned(), denied: what.to_owned(), by });
            Ended::Done
        };
        match (refusal.reason(), refusal.resume()) {
            (_, Some("expired")) => denied("events behind it"),
            (_, Some("ahead")) => denied("the last received event"),
            (Some("TASK_NOT_FOUND"), _) => denied("the task"),
            // The task has ended; this reader has received all events or none.
            (Some("UNSUPPORTED_OPERATION"), _) => Ended::Done,
            _ => Ended::Cut(format!("refused: {refusal}")),
        }
    }

    async fn read(&mut self, mut stream: Box<Stream>) -> Ended {
        loop {
            match stream.next().await {
                Ok(Next::Event(id, event)) => {
                    match self.take(id, event) {
                        Meaning::More => {}
                        Meaning::Enough => return Ended::Done,
                        // Any event after the last event is recorded as a violation.
                        Meaning::Last => return self.drain(stream).await,
                    }
                }
                Ok(Next::Message) => return Ended::Done,
                Ok(Next::Error(error)) => return Ended::Cut(format!("error: {error}")),
                Ok(Next::End) => return Ended::Cut("ended".to_owned()),
                Err(error) => return Ended::Cut(format!("cut: {error}")),
            }
        }
    }

    async fn drain(&mut self, mut stream: Box<Stream>) -> Ended {
        while let Ok(Next::Event(id, event)) = stream.next().await {
            self.take(id, event);
        }
        Ended::Done
    }

    /// Records an event.
    fn take(&mut self, id: u64, event: Value) -> Meaning {
        let task = task_of(&event).unwrap_or_default().to_owned();
        if let Some(sent) = self.sent.take() {
            self.board.accepted(&task, sent);
        }
        let state = state_of(&event).unwrap_or_default();
        let (is_last, asks) = (is_terminal(state), is_interrupted(state));
        if self.task.is_none() {
            self.board.add_working(&task);
        }
        if asks {
            self.board.add_parked(&task);
        }
        if is_last {
            self.board.remove(&task);
        }
        // A snapshot can contain an old question that was answered in the meantime.
        let is_news = as_task(&event).is_none();
        self.board.add(What::Event { reader: self.number, task: task.clone(), id, event });
        self.task = Some(task);
        self.last = Some(self.last.map_or(id, |last| last.max(id)));
        match self.until {
            _ if is_last => Meaning::Last,
            Until::Turn if asks && is_news => Meaning::Last,
            Until::Question if asks => Meaning::Enough,
            _ => Meaning::More,
        }
    }
}

/// The log of a task that has not ended counts as complete after this time without an event.
const SILENCE: Duration = Duration::from_secs(3);

/// Reads the whole log of a task; `None` if the log was deleted or never stored.
pub(crate) async fn log(board: &Board, node: usize, task: &str) -> Result<Option<Vec<(u64, Value)>>> {
    let mut stream = match board.caller.subscribe(node, task, Some(0)).await? {
        Opened::Stream(stream) => stream,
        Opened::Refused(refusal) if refusal.resume() == Some("expired") => return Ok(None),
        Opened::Refused(refusal) => bail!("the log of {task} is refused: {refusal}"),
    };
    let mut events = Vec::new();
    loop {
        match timeout(SILENCE, stream.next()).await {
            Ok(Ok(Next::Event(id, event))) => events.push((id, event)),
            Ok(Ok(Next::End)) | Err(_) => return Ok(Some(events)),
            Ok(other) => bail!("the log of {task} has {other:?}"),
        }
    }
}
