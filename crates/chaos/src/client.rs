//! A client: performs random actions from its seed one after another, and records the answers.

use std::{sync::Arc, time::Duration};

use tokio::{task::JoinSet, time::sleep};

use crate::{
    board::Board,
    call::{Answer, Outgoing},
    event::{is_interrupted, is_terminal},
    history::What,
    random::Random,
    reader::Reader,
};

/// The maximum number of concurrent readers of a client.
const READERS: usize = 8;

/// A client.
#[derive(Debug)]
pub(crate) struct Client {
    board: Arc<Board>,
    random: Random,
    name: u64,
    sent: u64,
    /// Whether the last call had no answer: the node may be down.
    was_cut: bool,
    readers: JoinSet<()>,
}

impl Client {
    pub(crate) fn new(board: Arc<Board>, random: Random, name: u64) -> Self {
        Self { board, random, name, sent: 0, was_cut: false, readers: JoinSet::new() }
    }

    /// Works until the board signals the end, and then until all readers of the client have received the end of their
    /// tasks.
    pub(crate) async fn work(mut self) {
        while !self.board.is_over() {
            self.step().await;
            while self.readers.try_join_next().is_some() {}
            let pause = self.random.range(1, if self.was_cut { 100 } else { 10 });
            sleep(Duration::from_millis(pause)).await;
        }
        while self.readers.join_next().await.is_some() {}
    }

    async fn step(&mut self) {
        match self.random.range(0, 100) {
            0..25 => self.stream(None).await,
            25..45 => self.ask(None, false).await,
            45..58 => {
                self.ask(None, true).await;
                self.watch();
            }
            58..72 => match self.board.take_parked(&mut self.random) {
                Some(task) if self.random.chance(50) => self.stream(Some(task)).await,
                task => self.ask(task, false).await,
            },
            72..78 => match self.board.one_at_work(&mut self.random) {
                Some(task) => self.ask(Some(task), true).await,
                None => self.watch(),
            },
            78..90 => self.watch(),
            90..94 => self.cancel().await,
            94..97 => self.hook().await,
            _ => self.look().await,
        }
    }

    fn node(&mut self) -> usize {
        usize::try_from(self.random.range(0, self.board.caller.nodes() as u64)).unwrap_or(0)
    }

    /// A message: mostly work, sometimes a question or a failure, in some cases with a webhook.
    fn outgoing(&mut self, task: Option<String>, returns_at_once: bool) -> Outgoing {
        self.sent += 1;
        let message = format!("m{}-{}", self.name, self.sent);
        let what = match self.random.range(0, 100) {
            0..70 => "work",
            70..94 => "ask",
            _ => "fail",
        };
        let (chunks, every) = (self.random.range(0, 25), self.random.range(0, 16));
        let hook = (task.is_none() && self.random.chance(25)).then(|| self.webhook(&message));
        Outgoing { message, task, text: format!("{what} {chunks} {every}"), hook, returns_at_once }
    }

    fn webhook(&self, name: &str) -> (String, String) {
        (format!("h-{name}"), format!("{}/h-{name}", self.board.sink))
    }

    /// Sends a message, and reads the stream of the answer.
    async fn stream(&mut self, task: Option<String>) {
        let outgoing = self.outgoing(task, false);
        let random = self.random.fork(self.sent);
        Reader::new(&self.board, random).send(&outgoing).await;
    }

    /// Sends a message, and waits for the answer.
    async fn ask(&mut self, task: Option<String>, returns_at_once: bool) {
        let outgoing = self.outgoing(task, returns_at_once);
        let node = self.node();
        let answer = self.board.caller.send(node, &outgoing).await;
        if let Some(task) = self.saw("a message", answer) {
            self.board.accepted(&task, &outgoing);
        }
    }

    /// Subscribes to a task that may be working, concurrently with other actions.
    fn watch(&mut self) {
        if self.readers.len() < READERS
            && let Some(task) = self.board.one_at_work(&mut self.random)
        {
            let (board, random) = (Arc::clone(&self.board), self.random.fork(self.sent ^ 0xffff));
            self.sent += 1;
            self.readers.spawn(async move { Reader::new(&board, random).subscribe(task).await });
        }
    }

    async fn cancel(&mut self) {
        if let Some(task) = self.board.one_at_work(&mut self.random) {
            let node = self.node();
            let answer = self.board.caller.cancel(node, &task).await;
            self.denied(&task, &answer);
            self.saw("a cancel", answer);
        }
    }

    async fn look(&mut self) {
        if let Some(task) = self.board.one_at_work(&mut self.random) {
            let node = self.node();
            let answer = self.board.caller.get(node, &task).await;
            self.denied(&task, &answer);
            self.saw("a look", answer);
        }
    }

    async fn hook(&mut self) {
        if let Some(task) = self.board.one_at_work(&mut self.random) {
            self.sent += 1;
            let (hook, url) = self.webhook(&format!("{}-{}", self.name, self.sent));
            let node = self.node();
            let answer = self.board.caller.hook(node, &task, (&hook, &url)).await;
            self.denied(&task, &answer);
            match answer {
                Answer::Ok(_) => self.board.add(What::Hooked { task, hook, whole: false }),
                Answer::Hung => self.board.add(What::Hung { who: format!("a webhook of {task}") }),
                Answer::Refused(refusal) => self.board.refused(&format!("a webhook of {task}"), &refusal),
                Answer::Cut => {}
            }
        }
    }

    /// Records the denial of a task that a client has seen: such a task must exist.
    fn denied(&self, task: &str, answer: &Answer) {
        if let Answer::Refused(refusal) = answer
            && refusal.reason() == Some("TASK_NOT_FOUND")
        {
            self.board.add(What::Denied {
                task: task.to_owned(),
                denied: "the task".to_owned(),
                by: format!("client {}", self.name),
            });
        }
    }

    /// Records the task in an answer.
    fn saw(&mut self, who: &str, answer: Answer) -> Option<String> {
        self.was_cut = matches!(answer, Answer::Cut);
        let answer = match answer {
            Answer::Ok(answer) => answer,
            Answer::Hung => {
                self.board.add(What::Hung { who: format!("{who} of client {}", self.name) });
                return None;
            }
            Answer::Refused(refusal) => {
                self.board.refused(&format!("{who} of client {}", self.name), &refusal);
                return None;
            }
            Answer::Cut => return None,
        };
        // The answer to a message has the task in a member.
        let task = answer.get("task").unwrap_or(&answer);
        let (id, state) = (task["id"].as_str()?, task["status"]["state"].as_str()?);
        self.board.add(What::Saw { task: id.to_owned(), state: state.to_owned() });
        if is_interrupted(state) {
            self.board.add_parked(id);
        } else if is_terminal(state) {
            self.board.remove(id);
        } else {
            self.board.add_working(id);
        }
        Some(id.to_owned())
    }
}
