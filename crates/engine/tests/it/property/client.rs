//! Clients with random calls, and their observations.

use std::{
    future::poll_fn,
    pin::pin,
    sync::{Arc, Mutex},
    task::Poll,
};

use futures_util::StreamExt;
use nuncio_engine::Engine;
use nuncio_model::{
    Call, Error, ErrorKind, EventStream, Message, MessageId, Reply, Request, Scope, StreamEvent, StreamResponse, Task,
    TaskId,
    op::{
        CancelTaskRequest, GetTaskRequest, ListTasksRequest, SendMessageConfiguration, SendMessageRequest,
        SendStreamingMessageRequest, SubscribeToTaskRequest,
    },
};
use tokio::task::yield_now;

#[derive(Debug, Clone)]
pub(super) struct Op {
    pub(super) action: Action,
    /// The delay of the client before its call.
    pub(super) delay: u8,
    /// The number of polls after which the client leaves.
    pub(super) polls: Option<u8>,
}

/// A message selects a script, and an action on a task selects one of the known tasks.
#[derive(Debug, Clone)]
pub(super) enum Action {
    Send(u8),
    SendAtOnce(u8),
    Stream(u8),
    Follow(u8, u8),
    FollowAtOnce(u8, u8),
    FollowStream(u8, u8),
    Subscribe(u8, Option<u64>),
    Cancel(u8),
    Get(u8),
    List,
}

/// The observations of a client.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The sent message, and whether it was accepted.
    pub(super) sent: Option<MessageId>,
    pub(super) counts: bool,
    /// The received tasks, and whether the last one has come to rest.
    pub(super) tasks: Vec<Task>,
    pub(super) rests: bool,
    pub(super) events: Vec<Arc<StreamEvent>>,
    pub(super) streams: bool,
    /// The last event before the subscription.
    pub(super) last_event: Option<u64>,
    /// Whether the stream ends when its task asks for input.
    pub(super) ends_when_asked: bool,
    pub(super) has_ended: bool,
    pub(super) errors: Vec<Error>,
}

pub(super) struct World {
    engine: Engine,
    scripts: usize,
    known: Mutex<Vec<TaskId>>,
    pub(super) seen: Mutex<Vec<Arc<Mutex<Seen>>>>,
}

impl World {
    pub(super) fn new(engine: Engine, scripts: usize) -> Arc<Self> {
        Arc::new(Self { engine, scripts, known: Mutex::default(), seen: Mutex::default() })
    }

    pub(super) async fn perform(self: Arc<Self>, op: Op) {
        for _ in 0..op.delay {
            yield_now().await;
        }
        let seen = Arc::new(Mutex::new(Seen::default()));
        self.seen.lock().unwrap().push(Arc::clone(&seen));
        let mut performing = pin!(self.act(op.action, &seen));
        let mut polls = op.polls;
        poll_fn(|cx| {
            if polls == Some(0) {
                return Poll::Ready(());
            }
            polls = polls.map(|polls| polls - 1);
            performing.as_mut().poll(cx)
        })
        .await;
    }

    fn message(&self, script: u8, seen: &Mutex<Seen>) -> Message {
        let message = Message::user((usize::from(script) % self.scripts).to_string());
        seen.lock().unwrap().sent = Some(message.message_id.clone());
        message
    }

    fn task(&self, number: u8) -> Option<TaskId> {
        let known = self.known.lock().unwrap();
        let number = usize::from(number).checked_rem(known.len())?;
        Some(known[number].clone())
    }

    fn follow(&self, task: u8, script: u8, seen: &Mutex<Seen>) -> Option<Message> {
        let task = self.task(task)?;
        Some(self.message(script, seen).with_task_id(task))
    }

    async fn act(&self, action: Action, seen: &Mutex<Seen>) {
        let waits = |message| Call::from(SendMessageRequest::new(message));
        let at_once = |message| {
            let configuration = SendMessageConfiguration { return_immediately: true, ..Default::default() };
            Call::from(SendMessageRequest::new(message).with_configuration(configuration))
        };
        let streams = |message| Call::from(SendStreamingMessageRequest(SendMessageRequest::new(message)));
        let mut last_event = None;
        let call = match action {
            Action::Send(script) => Some(waits(self.message(script, seen))),
            Action::SendAtOnce(script) => Some(at_once(self.message(script, seen))),
            Action::Stream(script) => Some(streams(self.message(script, seen))),
            Action::Follow(task, script) => self.follow(task, script, seen).map(waits),
            Action::FollowAtOnce(task, script) => self.follow(task, script, seen).map(at_once),
            Action::FollowStream(task, script) => self.follow(task, script, seen).map(streams),
            Action::Subscribe(task, last) => {
                last_event = last;
                self.task(task).map(|task| SubscribeToTaskRequest::new(task).into())
            }
            Action::Cancel(task) => self.task(task).map(|task| CancelTaskRequest::new(task).into()),
            Action::Get(task) => self.task(task).map(|task| GetTaskRequest::new(task).into()),
            Action::List => Some(ListTasksRequest::default().into()),
        };
        let Some(call) = call else { return };
        {
            let mut seen = seen.lock().unwrap();
            seen.rests = matches!(action, Action::Send(_) | Action::Follow(..));
            seen.ends_when_asked = matches!(action, Action::Stream(_) | Action::FollowStream(..));
            seen.last_event = last_event;
        }
        let request = Request { last_event, ..Request::new(Scope::open(), call) };
        match self.engine.call(request).await {
            Ok(Reply::Task(task)) => {
                self.knows(&task.id);
                let mut seen = seen.lock().unwrap();
                seen.counts = seen.sent.is_some();
                seen.tasks.push(Arc::unwrap_or_clone(task));
            }
            Ok(Reply::Tasks(page)) => page.tasks.iter().for_each(|task| self.knows(&task.id)),
            Ok(Reply::Events(events)) => self.read(events, seen).await,
            Ok(Reply::Message(message)) => assert_eq!(message.text(), "direct"),
            Ok(other) => panic!("{other:?}"),
            Err(error) => {
                assert_ne!(error.kind(), ErrorKind::Internal, "{error:?}");
                seen.lock().unwrap().errors.push(error);
            }
        }
    }

    async fn read(&self, mut events: EventStream, seen: &Mutex<Seen>) {
        seen.lock().unwrap().streams = true;
        while let Some(event) = events.next().await {
            if let Ok(event) = &event
                && let StreamResponse::Task(task) = &event.response
            {
                self.knows(&task.id);
            }
            let mut seen = seen.lock().unwrap();
            match event {
                Ok(event) => seen.events.push(event),
                Err(error) => seen.errors.push(error),
            }
        }
        seen.lock().unwrap().has_ended = true;
    }

    fn knows(&self, task: &TaskId) {
        let mut known = self.known.lock().unwrap();
        if !known.contains(task) {
            known.push(task.clone());
        }
    }
}
