//! Turns that a crash cut off or prevented.

use std::{
    future::pending,
    sync::{Arc, Mutex},
    time::Duration,
};

use nuncio_engine::{
    Agent, AgentError, Engine, EngineBuilder, Idempotency, MemoryStore, TaskStore as _, Turn, store::Orphan,
};
use nuncio_model::{
    AgentCard, Call, ErrorKind, Message, Principal, Reply, Request, Scope, Task, TaskState,
    card::AgentExtension,
    op::{SendMessageConfiguration, SendMessageRequest},
};
use tokio::{sync::Semaphore, task::yield_now};

use crate::{rigged::Rigged, support::*};

/// Records each turn and whether it runs again, and completes.
struct Notes {
    turns: Arc<Mutex<Vec<(String, bool)>>>,
    resumes: bool,
}

impl Agent for Notes {
    async fn run(&self, turn: Turn) -> Result<(), AgentError> {
        self.turns.lock().unwrap().push((turn.message().text().clone(), turn.resumed().is_some()));
        Ok(())
    }

    fn resumes(&self) -> bool {
        self.resumes
    }
}

/// The agent before the crash: some messages make its turn wait without end.
fn before(store: &Arc<Rigged>) -> Engine {
    let agent = |turn: Turn| async move {
        match turn.message().text().as_str() {
            "over" => Ok(()),
            "ask" => turn.ask("what?").await,
            "auth" => {
                turn.require_auth("who?").await?;
                pending().await
            }
            "gated" => {
                turn.begin().await?;
                // Until the next message is in the log.
                while turn.referenced(turn.task_id()).await?.is_some_and(|task| task.history.len() < 2) {
                    yield_now().await;
                }
                Ok(())
            }
            _ => {
                turn.begin().await?;
                pending().await
            }
        }
    };
    builder(agent).store(Arc::clone(store) as _).build()
}

async fn begin(engine: &Engine, text: &str) -> Task {
    send(engine, at_once(Message::user(text))).await.unwrap()
}

/// Sends another message to the task, and returns the task when the message is in the log.
async fn more(engine: &Engine, task: &Task, text: &str) {
    let request = SendMessageRequest { configuration: at_once(Message::user("")).configuration, ..follow(task, text) };
    send(engine, request).await.unwrap();
}

fn after(store: &Arc<Rigged>, agent: impl Agent) -> EngineBuilder {
    Engine::builder(agent).card(AgentCard::new("test", "Under test.")).store(Arc::clone(store) as _)
}

/// Replaces the server by another one. Returns the turns of the new server, and the task at its end.
async fn crash(store: &Arc<Rigged>, task: &Task, resumes: bool) -> (Vec<(String, bool)>, Task) {
    *store.orphans.lock().unwrap() = vec![Orphan { scope: Scope::open(), id: task.id.clone() }];
    let turns = Arc::<Mutex<Vec<_>>>::default();
    let engine = after(store, Notes { turns: Arc::clone(&turns), resumes }).build();
    within(engine.recover()).await.unwrap();
    quiet(&engine).await;
    let turns = turns.lock().unwrap().clone();
    (turns, get(&engine, task).await)
}

fn turns(expected: &[(&str, bool)]) -> Vec<(String, bool)> {
    expected.iter().map(|(text, resumed)| ((*text).to_owned(), *resumed)).collect()
}

/// A store with logs, and a store without the logs of tasks at rest.
fn stores() -> [Arc<Rigged>; 2] {
    [Rigged::new(), Rigged::over(MemoryStore::new())]
}

#[tokio::test]
async fn waiting_messages_have_their_turns_in_order() {
    for store in stores() {
        let engine = before(&store);
        let task = begin(&engine, "one").await;
        for text in ["two", "three", "four"] {
            more(&engine, &task, text).await;
        }
        let (ran, task) = crash(&store, &task, true).await;
        assert_eq!(ran, turns(&[("one", true), ("two", false), ("three", false), ("four", false)]));
        assert_state(&task, TaskState::Completed);
        assert_eq!(history(&task), ["one", "two", "three", "four"]);
    }
}

#[tokio::test]
async fn a_message_with_an_ended_turn_has_no_second_turn() {
    for store in stores() {
        let engine = before(&store);
        let task = begin(&engine, "gated").await;
        more(&engine, &task, "two").await;
        more(&engine, &task, "three").await;
        // The turn of the second message has begun, as a record after the messages shows.
        within(async {
            while store.inner().load(&Scope::open(), &task.id).await.unwrap().unwrap().sequence < 6 {
                yield_now().await;
            }
        })
        .await;
        let (ran, _) = crash(&store, &task, true).await;
        assert_eq!(ran, turns(&[("two", true), ("three", false)]));
    }
}

#[tokio::test]
async fn turns_before_the_rest_of_a_task_are_over() {
    for store in stores() {
        let engine = before(&store);
        let task = send(&engine, SendMessageRequest::new(Message::user("ask"))).await.unwrap();
        more(&engine, &task, "two").await;
        more(&engine, &task, "three").await;
        let (ran, _) = crash(&store, &task, true).await;
        assert_eq!(ran, turns(&[("two", true), ("three", false)]));
    }
}

#[tokio::test]
async fn a_waiting_answer_has_its_turn_without_resumption() {
    for store in stores() {
        let engine = before(&store);
        let task = begin(&engine, "auth").await;
        within(async {
            while get(&engine, &task).await.state() != TaskState::AuthRequired {
                yield_now().await;
            }
        })
        .await;
        more(&engine, &task, "two").await;
        let (ran, task) = crash(&store, &task, false).await;
        assert_eq!(ran, turns(&[("two", false)]));
        assert_state(&task, TaskState::Completed);
    }
}

#[tokio::test]
async fn a_turn_cut_off_twice_runs_a_third_time() {
    struct Sticks;
    impl Agent for Sticks {
        async fn run(&self, turn: Turn) -> Result<(), AgentError> {
            turn.working(format!("again: {}", turn.message().text())).await?;
            pending().await
        }

        fn resumes(&self) -> bool {
            true
        }
    }
    for store in stores() {
        let engine = before(&store);
        let task = begin(&engine, "one").await;
        more(&engine, &task, "two").await;
        *store.orphans.lock().unwrap() = vec![Orphan { scope: Scope::open(), id: task.id.clone() }];
        let second = after(&store, Sticks).build();
        within(second.recover()).await.unwrap();
        within(async {
            while get(&second, &task).await.status.message.is_none() {
                yield_now().await;
            }
        })
        .await;
        let (ran, _) = crash(&store, &task, true).await;
        assert_eq!(ran, turns(&[("one", true), ("two", false)]));
    }
}

#[tokio::test]
async fn a_repeated_turn_resumes_its_artifacts() {
    struct Counts;
    impl Agent for Counts {
        async fn run(&self, turn: Turn) -> Result<(), AgentError> {
            let done = turn.resumed().map_or(0, |task| task.artifacts[0].parts.len());
            let mut numbers = turn.artifact("numbers").appending();
            for number in done..10 {
                numbers.chunk(format!("{number};")).await?;
            }
            Ok(())
        }

        fn resumes(&self) -> bool {
            true
        }
    }
    let store = Rigged::new();
    let half = |turn: Turn| async move {
        assert!(turn.resumed().is_none());
        let mut numbers = turn.artifact("numbers");
        for number in 0..4 {
            numbers.chunk(format!("{number};")).await?;
        }
        pending().await
    };
    let engine = builder(half).store(Arc::clone(&store) as _).build();
    let task = begin(&engine, "count").await;
    within(async {
        while get(&engine, &task).await.artifacts.first().is_none_or(|artifact| artifact.parts.len() < 4) {
            yield_now().await;
        }
    })
    .await;
    *store.orphans.lock().unwrap() = vec![Orphan { scope: Scope::open(), id: task.id.clone() }];
    let engine = after(&store, Counts).build();
    within(engine.recover()).await.unwrap();
    quiet(&engine).await;
    let task = get(&engine, &task).await;
    assert_state(&task, TaskState::Completed);
    assert_eq!(task.artifacts[0].text(), "0;1;2;3;4;5;6;7;8;9;");
}

/// The data of the request in a turn.
type Told = (SendMessageRequest, Vec<Box<str>>);

/// Records the request of each message, and completes the turns after the crash.
struct Asks {
    told: Arc<Mutex<Vec<Told>>>,
    is_after: bool,
    resumes: bool,
}

impl Agent for Asks {
    async fn run(&self, turn: Turn) -> Result<(), AgentError> {
        self.told.lock().unwrap().push((turn.request().clone(), turn.extensions().to_vec()));
        match (self.is_after, turn.message().text().as_str()) {
            (true, _) => Ok(()),
            (_, "ask") => turn.ask("what?").await,
            _ => {
                turn.require_auth("who?").await?;
                if self.resumes {
                    turn.begin().await?;
                }
                pending().await
            }
        }
    }

    fn resumes(&self) -> bool {
        self.resumes
    }
}

/// A request with all optional data.
fn said(message: Message, text: &str) -> Request {
    let configuration = SendMessageConfiguration {
        accepted_output_modes: vec![format!("text/{text}")],
        history_length: Some(3),
        return_immediately: true,
        ..SendMessageConfiguration::default()
    };
    let mut request = SendMessageRequest::new(message).with_configuration(configuration);
    request.tenant = Some("tenant".into());
    request.metadata = Some(Box::new([(text.to_owned(), text.into())].into_iter().collect()));
    let mut request = Request::new(Scope::new("tenant".into(), Principal::Anonymous), request);
    request.extensions = vec!["x:known".into()];
    request
}

/// The task has rested before, or not. Then two messages arrive, one of which waits. An agent that does not resume
/// waits for its client, and still has another turn.
async fn is_told_again(store: Arc<Rigged>, rests_before: bool, resumes: bool) {
    let told = Arc::<Mutex<Vec<Told>>>::default();
    let engine = |is_after| {
        let mut card = AgentCard::new("test", "Under test.");
        card.default_output_modes.clear();
        card.capabilities.extensions.push(AgentExtension { uri: "x:known".to_owned(), ..Default::default() });
        let agent = Asks { told: Arc::clone(&told), is_after, resumes };
        Engine::builder(agent).card(card).store(Arc::clone(&store) as _).build()
    };
    let before = engine(false);
    let mut task: Option<Task> = None;
    for text in ["ask", "works", "waits"].into_iter().skip(usize::from(!rests_before)) {
        let message = match &task {
            Some(task) => Message::user(text).with_task_id(task.id.clone()),
            None => Message::user(text),
        };
        let is_first = task.is_none();
        let Reply::Task(now) = within(before.call(said(message, text))).await.unwrap() else { panic!("a task") };
        task = Some(Arc::unwrap_or_clone(now));
        if is_first && rests_before {
            quiet(&before).await;
        }
    }
    let task = task.unwrap();
    let scope = Scope::new("tenant".into(), Principal::Anonymous);
    let at_work = if resumes { TaskState::Working } else { TaskState::AuthRequired };
    within(async {
        let state = async || store.inner().load(&scope, &task.id).await.unwrap().unwrap().task.state();
        while told.lock().unwrap().last().is_none_or(|(it, _)| it.message.text() != "works") || state().await != at_work
        {
            yield_now().await;
        }
    })
    .await;
    let first = told.lock().unwrap().drain(..).next_back();
    *store.orphans.lock().unwrap() = vec![Orphan { scope, id: task.id.clone() }];
    let after = engine(true);
    within(after.recover()).await.unwrap();
    quiet(&after).await;
    let told = told.lock().unwrap().clone();
    let expected = |text: &str| {
        let Call::SendMessage(mut request) = said(Message::user(text), text).call else { unreachable!() };
        request.message = told.iter().find(|(it, _)| it.message.text() == text).unwrap().0.message.clone();
        (request, vec![Box::from("x:known")])
    };
    assert!(first.is_none_or(|first| !resumes || first == expected("works")));
    let again = if resumes { vec![expected("works")] } else { Vec::new() };
    assert_eq!(told, [again, vec![expected("waits")]].concat());
}

#[tokio::test]
async fn a_repeated_turn_has_the_original_request() {
    for store in stores() {
        is_told_again(Arc::clone(&store), false, true).await;
        is_told_again(Arc::clone(&store), true, true).await;
        is_told_again(store, true, false).await;
    }
}

/// Works on the first message until the gate opens, and writes much for other messages.
struct Verbose(Arc<Semaphore>);

impl Agent for Verbose {
    async fn run(&self, turn: Turn) -> Result<(), AgentError> {
        if turn.message().text() == "one" {
            turn.begin().await?;
            self.0.acquire().await?.forget();
            return Ok(());
        }
        turn.artifact("out").chunk("x".repeat(64 * 1024)).await?;
        Ok(())
    }

    fn resumes(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn a_duplicate_of_a_waiting_message_gets_the_whole_task() {
    let window = Idempotency::Within(Duration::from_mins(10));
    for store in stores() {
        let gate = Arc::new(Semaphore::new(0));
        let verbose = || after(&store, Verbose(Arc::clone(&gate))).idempotency(window).build();
        let first = verbose();
        let task = begin(&first, "one").await;
        let second = follow(&task, "two");
        let request = SendMessageRequest { configuration: at_once(Message::user("")).configuration, ..second.clone() };
        send(&first, request).await.unwrap();
        first.shutdown(Duration::ZERO).await;
        *store.orphans.lock().unwrap() = vec![Orphan { scope: Scope::open(), id: task.id.clone() }];
        let engine = verbose();
        within(engine.recover()).await.unwrap();
        let sender = engine.clone();
        let repeated = tokio::spawn(async move { send(&sender, second).await });
        for _ in 0..100 {
            yield_now().await;
        }
        gate.add_permits(1);
        let answer = within(repeated).await.unwrap().unwrap();
        let kept = store.inner().load(&Scope::open(), &task.id).await.unwrap().unwrap();
        assert_eq!(answer.artifacts.len(), 1);
        assert_eq!(answer, *kept.task);
    }
}

#[tokio::test]
async fn a_duplicate_does_not_wait_for_an_engine_that_has_stopped() {
    let window = Idempotency::Within(Duration::from_mins(10));
    let store = Rigged::new();
    let engine = after(&store, Verbose(Arc::new(Semaphore::new(0)))).idempotency(window).build();
    let message = Message::user("one");
    let task = send(&engine, at_once(message.clone())).await.unwrap();
    engine.shutdown(Duration::ZERO).await;
    let error = send(&engine, SendMessageRequest::new(message)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_eq!(error.metadata().get("taskId").map(|id| &**id), Some(task.id.as_str()));
}
