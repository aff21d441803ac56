//! Duplicate messages, with deduplication.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures_util::{FutureExt, future::join_all};
use nuncio_engine::{AgentError, Engine, EngineBuilder, Idempotency, MemoryStore, PushGuard, TaskStore, Turn};
use nuncio_model::{
    Call, Error, ErrorKind, Message, Part, Reply, Request, Scope, StreamResponse, Task, TaskPushNotificationConfig,
    TaskState, Timestamp,
    op::{ListTasksRequest, SendMessageConfiguration, SendMessageRequest},
};
use nuncio_suites::SharedMemory;
use tokio::{sync::Semaphore, task::yield_now};

use crate::{
    rigged::{Fate, Rigged},
    support::*,
};

const WINDOW: Idempotency = Idempotency::Within(Duration::from_mins(10));

/// Counts turns. Each turn sets the status to working, and then waits for the gate.
struct Gated {
    gate: Arc<Semaphore>,
    turns: Arc<AtomicUsize>,
}

impl Gated {
    fn new<F, R>(run: F) -> (Self, EngineBuilder)
    where
        F: Fn(Turn) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), AgentError>> + Send + 'static,
    {
        let this = Self { gate: Arc::new(Semaphore::new(0)), turns: Arc::default() };
        let (gate, turns, run) = (Arc::clone(&this.gate), Arc::clone(&this.turns), Arc::new(run));
        let builder = builder(move |turn| {
            let (gate, run) = (Arc::clone(&gate), Arc::clone(&run));
            turns.fetch_add(1, Ordering::SeqCst);
            async move {
                gate.acquire().await?.forget();
                run(turn).await
            }
        });
        (this, builder.idempotency(WINDOW))
    }

    /// An agent with turns that do not wait.
    fn open<F, R>(run: F) -> (Self, Engine)
    where
        F: Fn(Turn) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), AgentError>> + Send + 'static,
    {
        let (this, builder) = Self::new(run);
        this.gate.add_permits(Semaphore::MAX_PERMITS);
        (this, builder.build())
    }

    fn turns(&self) -> usize {
        self.turns.load(Ordering::SeqCst)
    }
}

fn message() -> Message {
    Message { message_id: "m".into(), ..Message::user("hello") }
}

fn request() -> SendMessageRequest {
    SendMessageRequest::new(message())
}

async fn tasks(engine: &Engine) -> Vec<Task> {
    match call(engine, ListTasksRequest::default()).await.unwrap() {
        Reply::Tasks(page) => page.tasks,
        other => panic!("{other:?}"),
    }
}

/// Sends in the background, and yields so that the request starts.
async fn begin(engine: &Engine, request: SendMessageRequest) -> tokio::task::JoinHandle<Result<Task, Error>> {
    let engine = engine.clone();
    let sent = tokio::spawn(async move { send(&engine, request).await });
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    sent
}

#[tokio::test]
async fn each_message_is_new_without_deduplication() {
    let engine = engine(|turn| async move { turn.complete("done").await });
    let (one, two) = (send(&engine, request()).await.unwrap(), send(&engine, request()).await.unwrap());
    assert_ne!(one.id, two.id);
    assert!(engine.card().capabilities.extensions.is_empty());
}

#[tokio::test]
async fn a_duplicate_gets_the_task_of_the_first_message() {
    let (agent, engine) = Gated::open(|turn| async move { turn.complete("done").await });
    let first = send(&engine, request()).await.unwrap();
    quiet(&engine).await;
    assert_eq!(send(&engine, request()).await.unwrap(), first);
    assert_eq!(send(&engine, at_once(message())).await.unwrap(), first);
    let events = rest(stream(&engine, message()).await.unwrap()).await;
    assert_eq!(summaries(&events), ["task:completed"]);
    assert_eq!((agent.turns(), tasks(&engine).await.len()), (1, 1));
    let extension = &engine.card().capabilities.extensions[0];
    assert_eq!(extension.uri, Idempotency::EXTENSION);
    assert_eq!(serde_json::to_string(&extension.params).unwrap(), r#"{"windowSeconds":600}"#);
}

#[tokio::test]
async fn a_duplicate_waits_for_the_turn_of_the_first() {
    let (agent, builder) = Gated::new(|turn| async move {
        turn.artifact("out").finish("x").await?;
        turn.complete("done").await
    });
    let engine = builder.build();
    let first = begin(&engine, request()).await;
    let again = begin(&engine, request()).await;
    let now = begin(&engine, at_once(message())).await;
    let streamed = tokio::spawn({
        let engine = engine.clone();
        async move { rest(stream(&engine, message()).await.unwrap()).await }
    });
    assert_eq!(agent.turns(), 1, "they wait for what comes of the first");
    // The task is created after the timeout of the first event, or with the first event of the agent.
    let now = within(now).await.unwrap().unwrap();
    assert_state(&now, TaskState::Submitted);
    let streaming_late = stream(&engine, message()).await.unwrap();
    assert!(!first.is_finished() && !again.is_finished());
    agent.gate.add_permits(1);
    let (first, again) = (within(first).await.unwrap().unwrap(), within(again).await.unwrap().unwrap());
    assert_state(&first, TaskState::Completed);
    assert_eq!((&again, &now.id), (&first, &first.id));
    assert_eq!(summaries(&rest(streaming_late).await), ["task:submitted", "artifact:x", "completed"]);
    assert_eq!(summaries(&within(streamed).await.unwrap()).last().unwrap(), "completed");
    assert_eq!((agent.turns(), tasks(&engine).await.len()), (1, 1));
}

#[tokio::test]
async fn a_follow_up_message_is_deduplicated() {
    let (agent, engine) = Gated::open(|turn| async move {
        match turn.message().text().as_str() {
            "end" => turn.complete("done").await,
            text => turn.ask(format!("re {text}")).await,
        }
    });
    let task = send(&engine, request()).await.unwrap();
    let more = Message { message_id: "more".into(), ..follow(&task, "more").message };
    let end = Message { message_id: "end".into(), ..follow(&task, "end").message };
    let answer = send(&engine, SendMessageRequest::new(more.clone())).await.unwrap();
    assert_eq!(answer.status.message.as_ref().unwrap().text(), "re more");
    assert_eq!(send(&engine, SendMessageRequest::new(more.clone())).await.unwrap(), answer);
    assert_eq!(summaries(&rest(stream(&engine, more.clone()).await.unwrap()).await), ["task:input-required"]);
    // The first event is the current task.
    assert_eq!(send(&engine, request()).await.unwrap(), answer);
    let ended = send(&engine, SendMessageRequest::new(end.clone())).await.unwrap();
    assert_state(&ended, TaskState::Completed);
    for message in [end, more, message()] {
        assert_eq!(send(&engine, SendMessageRequest::new(message)).await.unwrap(), ended);
    }
    assert_eq!(agent.turns(), 3);
    let late = send(&engine, follow(&task, "late")).await.unwrap_err();
    assert_eq!(late.kind(), ErrorKind::UnsupportedOperation, "a new message is not let in");
}

#[tokio::test]
async fn a_waiting_message_is_deduplicated() {
    let (agent, builder) = Gated::new(|turn| async move { turn.ask(format!("re {}", turn.message().text())).await });
    let engine = builder.build();
    let task = send(&engine, at_once(message())).await.unwrap();
    let next = SendMessageRequest::new(Message { message_id: "next".into(), ..follow(&task, "next").message });
    let waiting = join_all((0..8).map(|_| begin(&engine, next.clone()))).await;
    assert_eq!(history(&get(&engine, &task).await), ["hello", "next"]);
    agent.gate.add_permits(1);
    within(async {
        while get(&engine, &task).await.status.message.is_none() && agent.turns() < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(waiting.iter().all(|waiting| !waiting.is_finished()), "the turn of the first is not theirs");
    agent.gate.add_permits(1);
    for answer in join_all(waiting).await {
        assert_eq!(answer.unwrap().unwrap().status.message.unwrap().text(), "re next");
    }
    assert_eq!(agent.turns(), 2);
}

#[tokio::test]
async fn another_message_under_the_same_id_is_refused() {
    let (agent, engine) = Gated::open(|turn| async move { turn.ask("?").await });
    let task = send(&engine, request()).await.unwrap();
    let others = [
        Message { parts: vec![Part::text("other")], ..message() },
        Message { parts: vec![Part::text("hello"), Part::data(1)], ..message() },
        Message { task_id: Some("another".into()), ..message() },
        Message { context_id: Some("another".into()), ..message() },
        Message { extensions: vec!["x:y".into()], ..message() },
        Message { reference_task_ids: vec!["t".into()], ..message() },
    ];
    for other in others {
        let error = send(&engine, SendMessageRequest::new(other.clone())).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidParams, "{other:?}");
        assert_eq!(error.field_violations()[0].field, "message.messageId");
        assert_eq!(error.metadata()["taskId"], task.id.as_str());
        assert_eq!(stream(&engine, other).await.err().unwrap().kind(), ErrorKind::InvalidParams);
    }
    // A duplicate can name the task and the context of the first message.
    let same = Message { context_id: task.context_id.clone(), ..follow(&task, "hello").message };
    assert_eq!(send(&engine, SendMessageRequest::new(Message { message_id: "m".into(), ..same })).await.unwrap(), task);
    assert_eq!((agent.turns(), history(&get(&engine, &task).await)), (1, vec!["hello".to_owned()]));
}

#[tokio::test]
async fn a_direct_answer_is_shared_in_flight_and_not_stored() {
    let (agent, builder) = Gated::new(|turn| async move { turn.reply("hi").await });
    let engine = builder.build();
    let answers: Vec<_> = (0..4)
        .map(|_| {
            let engine = engine.clone();
            tokio::spawn(async move { call(&engine, request()).await.unwrap() })
        })
        .collect();
    let streamed = tokio::spawn({
        let engine = engine.clone();
        async move { rest(stream(&engine, message()).await.unwrap()).await }
    });
    while agent.turns() == 0 {
        tokio::task::yield_now().await;
    }
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    agent.gate.add_permits(1);
    let mut ids = Vec::new();
    for answer in answers {
        let Reply::Message(message) = within(answer).await.unwrap() else { panic!() };
        ids.push(message.message_id);
    }
    ids.dedup();
    assert_eq!((ids.len(), agent.turns()), (1, 1));
    assert_eq!(summaries(&within(streamed).await.unwrap()), ["message:hi"]);
    agent.gate.add_permits(1);
    assert!(matches!(call(&engine, request()).await.unwrap(), Reply::Message(_)));
    assert_eq!(agent.turns(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_many_concurrent_duplicates_creates_the_task() {
    let (agent, engine) = Gated::open(|turn| async move { turn.complete("done").await });
    for round in 1..=20 {
        let request = SendMessageRequest::new(Message { message_id: format!("{round}").into(), ..message() });
        let many: Vec<_> = (0..20)
            .map(|number| {
                let (engine, request) = (engine.clone(), request.clone());
                tokio::spawn(async move {
                    if number % 2 == 0 {
                        return send(&engine, request).await.unwrap().id;
                    }
                    let events = rest(stream(&engine, request.message).await.unwrap()).await;
                    match &events[0].response {
                        StreamResponse::Task(task) => task.id.clone(),
                        other => panic!("{other:?}"),
                    }
                })
            })
            .collect();
        let mut ids = Vec::new();
        for id in many {
            ids.push(within(id).await.unwrap());
        }
        ids.dedup();
        assert_eq!((ids.len(), agent.turns()), (1, round));
    }
    assert_eq!(tasks(&engine).await.len(), 20);
}

#[tokio::test]
async fn ids_count_for_their_window_and_their_caller() {
    let engine = builder(|turn| async move { turn.complete("done").await });
    let engine = engine.idempotency(Idempotency::Within(Duration::from_millis(1))).build();
    let first = send(&engine, request()).await.unwrap();
    let over = Timestamp::now().as_millisecond() + 1;
    within(async {
        while Timestamp::now().as_millisecond() <= over {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_ne!(send(&engine, request()).await.unwrap().id, first.id);
    let (agent, engine) = Gated::open(|turn| async move { turn.complete("done").await });
    let mut ids = Vec::new();
    for scope in [Scope::open(), other_scope()] {
        let Reply::Task(task) = within(engine.call(Request::new(scope, Call::from(request())))).await.unwrap() else {
            panic!()
        };
        ids.push(task.id.clone());
    }
    assert_ne!(ids[0], ids[1]);
    assert_eq!(agent.turns(), 2);
}

#[tokio::test]
async fn a_duplicate_is_known_after_a_restart_and_on_another_node() {
    let store = Arc::new(MemoryStore::default());
    let (agent, builder) = Gated::new(|turn| async move { turn.ask("?").await });
    agent.gate.add_permits(1);
    let before = send(&builder.store(store.clone()).build(), request()).await.unwrap();
    let (later, builder) = Gated::new(|turn| async move { turn.complete("never").await });
    let engine = builder.store(store).build();
    assert_eq!(send(&engine, request()).await.unwrap(), before);
    assert_eq!(summaries(&rest(stream(&engine, message()).await.unwrap()).await), ["task:input-required"]);
    assert_eq!(later.turns(), 0);
}

#[tokio::test]
async fn of_two_nodes_the_slower_is_cut_off_and_gives_the_task_of_the_faster() {
    for streams in [false, true] {
        let store = Arc::new(MemoryStore::default());
        let (slow, builder) = Gated::new(|turn| async move { turn.complete("slow").await });
        let slower = builder.store(store.clone()).build();
        let late = tokio::spawn({
            let slower = slower.clone();
            async move {
                if streams {
                    summaries(&rest(stream(&slower, message()).await.unwrap()).await)
                } else {
                    vec![send(&slower, request()).await.unwrap().status.message.unwrap().text()]
                }
            }
        });
        while slow.turns() == 0 {
            tokio::task::yield_now().await;
        }
        let (fast, builder) = Gated::new(|turn| async move { turn.complete("fast").await });
        fast.gate.add_permits(1);
        let faster = builder.store(store.clone()).build();
        send(&faster, request()).await.unwrap();
        slow.gate.add_permits(1);
        let expected = if streams { "task:completed" } else { "fast" };
        assert_eq!(within(late).await.unwrap(), [expected]);
        assert_eq!(tasks(&slower).await.len(), 1);
        quiet(&slower).await;
    }
}

#[tokio::test]
async fn a_duplicate_after_a_disconnect_finds_the_task() {
    let (agent, builder) = Gated::new(|turn| async move { turn.complete("done").await });
    let engine = builder.build();
    // The connection breaks before the task exists.
    assert!(engine.call(Request::new(Scope::open(), Call::from(request()))).now_or_never().is_none());
    assert_eq!(agent.turns(), 1);
    let again = begin(&engine, request()).await;
    agent.gate.add_permits(1);
    assert_state(&within(again).await.unwrap().unwrap(), TaskState::Completed);
    assert_eq!((agent.turns(), tasks(&engine).await.len()), (1, 1));
}

#[tokio::test]
async fn a_refused_message_is_accepted_when_sent_again() {
    let store = Rigged::new();
    let (agent, builder) = Gated::new(|turn| async move { turn.complete("done").await });
    agent.gate.add_permits(9);
    let engine = builder.store(store.clone()).build();
    store.commits([Fate::Fails]);
    let error = send(&engine, request()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_state(&send(&engine, request()).await.unwrap(), TaskState::Completed);
    // A message that was accepted without an answer is not accepted again.
    store.commits([Fate::FailsAfterWriting]);
    let other = Message { message_id: "other".into(), ..message() };
    assert!(send(&engine, SendMessageRequest::new(other.clone())).await.is_err());
    let found = send(&engine, SendMessageRequest::new(other.clone())).await.unwrap();
    assert_eq!(
        store.task_of_message(&Scope::open(), &other.message_id, Timestamp::default()).await.unwrap(),
        Some(found.id)
    );
    assert_eq!(agent.turns(), 3);
}

#[tokio::test]
async fn one_id_at_two_tasks_at_once_loses_nothing() {
    let store = Rigged::new();
    let (agent, builder) = Gated::new(|turn| async move { turn.ask(format!("re {}", turn.message().text())).await });
    agent.gate.add_permits(9);
    let engine = builder.store(store.clone()).build();
    let (one, two) = (
        send(&engine, SendMessageRequest::new(Message::user("one"))).await.unwrap(),
        send(&engine, SendMessageRequest::new(Message::user("two"))).await.unwrap(),
    );
    // The second message is refused, or is accepted too late to be detected. Its task continues in both cases.
    let same = |task: &Task| SendMessageRequest::new(Message { message_id: "x".into(), ..follow(task, "x").message });
    let (first, second) = futures_util::join!(send(&engine, same(&one)), send(&engine, same(&two)));
    for outcome in [first, second] {
        match outcome {
            Ok(task) => assert_eq!(task.status.message.unwrap().text(), "re x"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::InvalidParams),
        }
    }
    for task in [&one, &two] {
        assert_state(&send(&engine, follow(task, "more")).await.unwrap(), TaskState::InputRequired);
    }
    quiet(&engine).await;
    assert_eq!(store.at_work(), 0);
}

/// Waits for some minutes by the clock of the engine, so that old message ids are forgotten.
async fn is_forgotten(store: &dyn TaskStore) -> bool {
    let came = Timestamp::now();
    while Timestamp::now() <= came {
        std::thread::sleep(Duration::from_millis(1));
    }
    let epoch = Timestamp::from_millisecond(0).unwrap();
    for _ in 0..300 {
        if store.task_of_message(&Scope::open(), &"m".into(), epoch).await.unwrap().is_none() {
            return true;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    false
}

#[tokio::test(start_paused = true)]
async fn expired_message_ids_are_forgotten_without_new_messages() {
    let short = Idempotency::Within(Duration::from_millis(1));
    for (idempotency, is_over) in [(WINDOW, false), (short, true), (Idempotency::Off, true)] {
        let store: Arc<dyn TaskStore> = Arc::new(MemoryStore::default());
        let with = |idempotency| {
            let engine = builder(|turn| async move { turn.complete("done").await });
            engine.store(Arc::clone(&store)).idempotency(idempotency).build()
        };
        send(&with(WINDOW), request()).await.unwrap();
        let engine = with(idempotency);
        engine.recover().await.unwrap();
        assert_eq!(is_forgotten(&*store).await, is_over, "{idempotency:?}");
    }
}

/// Another node may deduplicate messages.
#[tokio::test(start_paused = true)]
async fn a_node_without_deduplication_keeps_message_ids_of_other_nodes() {
    let shared = SharedMemory::new(Duration::from_hours(1));
    let mut engines = Vec::new();
    for idempotency in [WINDOW, Idempotency::Off] {
        let engine = builder(|turn| async move { turn.complete("done").await });
        let engine = engine.store(Arc::new(shared.node().await)).idempotency(idempotency).build();
        engine.recover().await.unwrap();
        engines.push(engine);
    }
    send(&engines[0], request()).await.unwrap();
    assert!(!is_forgotten(&**engines[1].store()).await);
}

/// An agent that asks once, with a store that pauses, and a task that waits for an answer.
async fn asked(guard: impl PushGuard) -> (Arc<Rigged>, Engine, SendMessageRequest) {
    let store = Rigged::new();
    let agent =
        |turn: Turn| async move { if turn.message().text() == "ask" { turn.ask("what?").await } else { Ok(()) } };
    let engine = builder(agent).store(Arc::clone(&store) as _).idempotency(WINDOW).push_guard(Arc::new(guard)).build();
    let task = send(&engine, SendMessageRequest::new(Message::user("ask"))).await.unwrap();
    quiet(&engine).await;
    (store, engine, follow(&task, "answer"))
}

fn close(gate: &std::sync::Mutex<Option<Arc<Semaphore>>>) -> Arc<Semaphore> {
    let closed = Arc::new(Semaphore::new(0));
    *gate.lock().unwrap() = Some(Arc::clone(&closed));
    closed
}

fn sends(engine: &Engine, request: &SendMessageRequest) -> tokio::task::JoinHandle<Result<Task, Error>> {
    let (engine, request) = (engine.clone(), request.clone());
    tokio::spawn(async move { send(&engine, request).await })
}

#[tokio::test]
async fn a_duplicate_during_the_commit_waits_for_the_turn() {
    let (store, engine, answer) = asked(Slow(Arc::new(Semaphore::new(0)))).await;
    let gate = close(&store.answers_wait);
    let first = sends(&engine, &answer);
    let id = answer.message.task_id.clone().unwrap();
    within(async {
        while store.inner().load(&Scope::open(), &id).await.unwrap().unwrap().task.history.len() < 2 {
            yield_now().await;
        }
    })
    .await;
    let second = sends(&engine, &answer);
    for _ in 0..100 {
        yield_now().await;
    }
    assert!(!second.is_finished(), "the turn has yet to begin");
    gate.add_permits(Semaphore::MAX_PERMITS);
    for sent in [first, second] {
        let task = within(sent).await.unwrap().unwrap();
        assert_state(&task, TaskState::Completed);
        assert_eq!(history(&task), ["ask", "what?", "answer"]);
    }
}

/// Accepts all webhooks after a pause.
struct Slow(Arc<Semaphore>);

#[async_trait]
impl PushGuard for Slow {
    async fn check(&self, _: &TaskPushNotificationConfig) -> Result<(), Error> {
        self.0.acquire().await.unwrap().forget();
        Ok(())
    }
}

#[tokio::test]
async fn a_duplicate_at_the_end_of_its_task_gets_the_task() {
    let gate = Arc::new(Semaphore::new(0));
    let (_, engine, answer) = asked(Slow(Arc::clone(&gate))).await;
    let hook = TaskPushNotificationConfig { url: "http://127.0.0.1:9/".into(), ..Default::default() };
    let with_hook = SendMessageConfiguration { task_push_notification_config: Some(hook), ..Default::default() };
    let again = answer.clone().with_configuration(with_hook);
    // The message is new when the store is asked.
    let second = sends(&engine, &again);
    for _ in 0..100 {
        yield_now().await;
    }
    assert_state(&within(sends(&engine, &answer)).await.unwrap().unwrap(), TaskState::Completed);
    gate.add_permits(1);
    let task = within(second).await.unwrap().unwrap();
    assert_eq!(history(&task), ["ask", "what?", "answer"]);
    let other = send(&engine, follow(&task, "another")).await.unwrap_err();
    assert_eq!(other.kind(), ErrorKind::UnsupportedOperation);
}
