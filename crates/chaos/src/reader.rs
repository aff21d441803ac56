//! A reader: it follows one task to its end, through any number of cut streams, on any node.

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

/// How long to wait before another node is asked, at most; in milliseconds.
const PAUSE: u64 = 150;

/// A reader of one task.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    board: &'a Board,
    random: Random,
    number: u64,
    /// The task, once it is known.
    task: Option<String>,
    /// The last event that it was told.
    last: Option<u64>,
    /// Where it leaves before the end.
    until: Until,
    /// What it came with, until it is known that the server has it.
    sent: Option<&'a Outgoing>,
}

/// Where a reader leaves before the end of its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    /// Nowhere.
    End,
    /// At a question, by itself.
    Question,
    /// At a question, where the server ends the stream that a message has opened.
    Turn,
}

/// What an event means to a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// More may follow.
    More,
    /// Nothing may follow.
    Last,
    /// What follows is not read.
    Enough,
}

/// How a stream ended.
enum Ended {
    /// There is nothing more to be told.
    Done,
    /// There may be more.
    Cut(String),
}

impl<'a> Reader<'a> {
    pub(crate) fn new(board: &'a Board, random: Random) -> Self {
        let number = board.reader();
        Self { board, random, number, task: None, last: None, until: Until::End, sent: None }
    }

    /// Sends a message, and reads what comes of it.
    pub(crate) async fn send(mut self, outgoing: &'a Outgoing) {
        self.until = Until::Turn;
        self.task.clone_from(&outgoing.task);
        self.sent = Some(outgoing);
        self.board.add(What::Opened { reader: self.number, task: self.task.clone(), after: None });
        let node = self.node();
        match self.board.caller.stream(node, outgoing).await {
            Ok(Opened::Stream(stream)) => {
                let ended = self.read(stream).await;
                // Without an event the message may never have arrived, and what comes of it is nobody's promise.
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
        // Few wait until somebody answers, or a run is soon full of them.
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

    /// Comes back for as long as there may be more.
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

    /// Opens a stream after the last event that it knows, and reads it.
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
        format!("reader {}, which stands at {:?}", self.number, self.last)
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
            (_, Some("ahead")) => denied("the event that it saw last"),
            (Some("TASK_NOT_FOUND"), _) => denied("the task"),
            // It has ended, and this reader has seen all of it, or nothing.
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
                        // What follows all the same is noted.
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

    /// Notes an event.
    fn take(&mut self, id: u64, event: Value) -> Meaning {
        let task = task_of(&event).unwrap_or_default().to_owned();
        if let Some(sent) = self.sent.take() {
            self.board.accepted(&task, sent);
        }
        let state = state_of(&event).unwrap_or_default();
        let (is_last, asks) = (is_terminal(state), is_interrupted(state));
        if self.task.is_none() {
            self.board.works(&task);
        }
        if asks {
            self.board.is_parked(&task);
        }
        if is_last {
            self.board.has_ended(&task);
        }
        // A task as it was may still ask what has been answered meanwhile.
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

/// How long the log of a task that has not ended may be silent until that is all of it.
const SILENCE: Duration = Duration::from_secs(3);

/// Reads the whole log of a task: `None` where it is no longer kept, or never was.
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
