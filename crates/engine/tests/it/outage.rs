//! Failing stores: all callers get an answer, and all tasks end.

use std::{
    sync::{Arc, Mutex, atomic::Ordering},
    time::Duration,
};

use futures_util::{StreamExt, future::join, poll};
use nuncio_engine::{Agent, AgentError, Engine, Limits, MemoryStore, TaskStore, Turn};
use nuncio_model::{
    AgentCard, Artifact, ErrorKind, Message, Reply, Scope, StreamResponse, Task, TaskState,
    op::{ListTasksRequest, SendMessageRequest},
};
use tokio::{sync::Semaphore, task::yield_now};

use crate::{
    rigged::{Fate, Rigged},
    support::*,
};

/// The store is retried for the whole test, unless the test sets another time.
fn patient() -> Limits {
    let mut limits = Limits::default();
    limits.commit_retry = Duration::from_secs(20);
    limits
}

fn impatient() -> Limits {
    let mut limits = Limits::default();
    limits.commit_retry = Duration::ZERO;
    limits
}

async fn works(turn: Turn) -> Result<(), AgentError> {
    turn.begin().await?;
    for piece in ["a", "b"] {
        yield_now().await;
        turn.artifact(piece).finish(piece).await?;
    }
    yield_now().await;
    if turn.message().text() == "ask" { turn.ask("what else?").await } else { turn.complete("done").await }
}

fn engine_over(store: &Arc<Rigged>, limits: Limits) -> Engine {
    builder(works).store(Arc::clone(store) as _).limits(limits).build()
}

async fn tasks(engine: &Engine) -> Vec<Task> {
    let Reply::Tasks(page) = call(engine, ListTasksRequest::default()).await.unwrap() else { panic!() };
    page.tasks
}

/// Waits until there are tasks, and each of them has ended or is interrupted.
async fn all_rest(engine: &Engine) -> Vec<Task> {
    within(async {
        loop {
            let tasks = tasks(engine).await;
            let rests = |task: &Task| task.state().is_terminal() || task.state().is_interrupted();
            if !tasks.is_empty() && tasks.iter().all(rests) {
                return tasks;
            }
            yield_now().await;
        }
    })
    .await
}

#[tokio::test]
async fn a_failed_commit_is_retried() {
    let store = Rigged::new();
    let engine = engine_over(&store, patient());
    store.commits([Fate::Goes, Fate::Fails, Fate::Goes, Fate::Fails, Fate::Fails]);
    let task = send(&engine, SendMessageRequest::new(Message::user("x"))).await.unwrap();
    assert_state(&task, TaskState::Completed);
}

#[tokio::test]
async fn a_failed_commit_that_was_written_is_recognized() {
    let store = Rigged::new();
    let engine = engine_over(&store, patient());
    store.commits([Fate::Goes, Fate::FailsAfterWriting, Fate::Goes, Fate::Fails, Fate::FailsAfterWriting]);
    let events = rest(stream(&engine, Message::user("x")).await.unwrap()).await;
    assert_eq!(summaries(&events), ["task:submitted", "working", "artifact:a", "artifact:b", "completed"]);
    let sequences: Vec<_> = events.iter().filter_map(|event| event.sequence).collect();
    assert_eq!(sequences, [1, 2, 3, 4, 5]);
    assert_state(&tasks(&engine).await[0], TaskState::Completed);
}

#[tokio::test]
async fn a_task_created_by_a_failed_commit_is_settled() {
    let store = Rigged::new();
    let engine = engine_over(&store, impatient());
    store.commits([Fate::FailsAfterWriting]);
    let error = stream(&engine, Message::user("x")).await.err().unwrap();
    let task = all_rest(&engine).await.remove(0);
    assert_state(&task, TaskState::Failed);
    assert_eq!((error.kind(), &*error.metadata()["taskId"]), (ErrorKind::Unavailable, task.id.as_str()));
    quiet(&engine).await;
}

#[tokio::test]
async fn a_task_whose_creation_failed_is_forgotten() {
    let store = Rigged::new();
    let engine = engine_over(&store, impatient());
    store.commits([Fate::Fails]);
    let error = send(&engine, SendMessageRequest::new(Message::user("x"))).await.unwrap_err();
    assert_eq!((error.kind(), error.metadata().contains_key("taskId")), (ErrorKind::Unavailable, true));
    // A deleted task does not block other tasks.
    store.commits([Fate::Goes, Fate::Fails]);
    send(&engine, SendMessageRequest::new(Message::user("x"))).await.unwrap_err();
    let tasks = all_rest(&engine).await;
    assert_eq!(tasks.len(), 1);
    assert_state(&tasks[0], TaskState::Failed);
    quiet(&engine).await;
}

#[tokio::test]
async fn a_permanent_failure_of_any_commit_reaches_all_callers_and_ends_the_task() {
    for fate in [Fate::Fails, Fate::FailsAfterWriting, Fate::Panics] {
        for failing in 1..5 {
            let store = Rigged::new();
            let engine = engine_over(&store, impatient());
            let task = send(&engine, SendMessageRequest::new(Message::user("ask"))).await.unwrap();
            let mut fates = vec![Fate::Goes; failing - 1];
            fates.push(fate);
            store.commits(fates);
            let subscriber = subscribe(&engine, &task).await.unwrap();
            let sender = tokio::spawn({
                let (engine, request) = (engine.clone(), follow(&task, "x"));
                async move { send(&engine, request).await }
            });
            let (sent, seen) = join(sender, within(subscriber.collect::<Vec<_>>())).await;
            let is_told = !matches!(&sent, Ok(Ok(_)));
            assert!(is_told, "{fate:?} of commit {failing}: {sent:?}");
            let last = seen.last().expect("a snapshot at least");
            assert!(last.is_err(), "{fate:?} of commit {failing}: {last:?}");
            let task = &all_rest(&engine).await[0];
            // If the first commit was not written, the message is not in the task.
            let is_untouched = failing == 1 && fate != Fate::FailsAfterWriting;
            assert!(task.state().is_terminal() || is_untouched && history(task) == ["ask"]);
            quiet(&engine).await;
        }
    }
}

/// Permanent failures leave no running task: each task is settled, repeatedly if necessary.
#[tokio::test]
async fn a_task_with_a_permanently_refused_commit_is_settled() {
    for fates in [vec![Fate::Goes, Fate::Conflicts], vec![Fate::Goes, Fate::Fails, Fate::Conflicts]] {
        for claims in [vec![], vec![Fate::Goes, Fate::Conflicts, Fate::Fails, Fate::Panics]] {
            let store = Rigged::new();
            let engine = engine_over(&store, patient());
            let task = send(&engine, SendMessageRequest::new(Message::user("ask"))).await.unwrap();
            quiet(&engine).await;
            store.commits(fates.iter().copied());
            store.claims(claims);
            send(&engine, follow(&task, "x")).await.unwrap_err();
            assert_state(&all_rest(&engine).await[0], TaskState::Failed);
            quiet(&engine).await;
            assert_eq!(store.at_work(), 0);
        }
    }
}

#[tokio::test]
async fn a_failed_claim_concerns_only_its_callers() {
    for fate in [Fate::Fails, Fate::Conflicts] {
        let store = Rigged::new();
        let engine = engine_over(&store, patient());
        let task = send(&engine, SendMessageRequest::new(Message::user("ask"))).await.unwrap();
        quiet(&engine).await;
        let mut events = subscribe(&engine, &task).await.unwrap();
        assert_eq!(summary(&*next(&mut events).await), "task:input-required");
        store.claims([fate]);
        let (message, canceled) = join(send(&engine, follow(&task, "x")), cancel(&engine, &task)).await;
        message.unwrap_err();
        canceled.unwrap_err();
        assert!(poll!(events.next()).is_pending());
        assert_eq!(engine.running(), 0);
        let task = send(&engine, follow(&task, "x")).await.unwrap();
        assert_state(&task, TaskState::Completed);
        assert_eq!(summaries(&rest(events).await), ["working", "working", "artifact:a", "artifact:b", "completed"]);
        quiet(&engine).await;
    }
}

#[tokio::test]
async fn a_store_that_panics_in_a_claim_leaves_the_task_usable() {
    let store = Rigged::new();
    let engine = engine_over(&store, patient());
    let task = send(&engine, SendMessageRequest::new(Message::user("ask"))).await.unwrap();
    quiet(&engine).await;
    store.claims([Fate::Panics]);
    let panicked = tokio::spawn({
        let (engine, request) = (engine.clone(), follow(&task, "x"));
        async move { send(&engine, request).await }
    });
    assert!(panicked.await.is_err());
    assert_state(&send(&engine, follow(&task, "x")).await.unwrap(), TaskState::Completed);
    quiet(&engine).await;
}

#[tokio::test]
async fn a_message_waits_no_longer_than_the_outage_of_its_task() {
    let store = Rigged::new();
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let engine = builder(move |turn| {
        let gate = Arc::clone(&gate);
        async move {
            turn.begin().await?;
            gate.acquire().await?.forget();
            turn.complete("done").await
        }
    })
    .store(Arc::clone(&store) as _)
    .limits(impatient())
    .build();
    let task = send(&engine, at_once(Message::user("x"))).await.unwrap();
    store.full.store(true, Ordering::Release);
    let sent = tokio::spawn({
        let (engine, request) = (engine.clone(), follow(&task, "y"));
        async move { send(&engine, request).await }
    });
    opened.add_permits(1);
    let error = within(sent).await.unwrap().unwrap_err();
    assert_eq!((error.kind(), &*error.metadata()["taskId"]), (ErrorKind::Unavailable, task.id.as_str()));
    store.full.store(false, Ordering::Release);
    assert_state(&all_rest(&engine).await[0], TaskState::Failed);
}

#[tokio::test]
async fn a_cancel_in_an_outage_is_to_be_repeated() {
    let store = Rigged::new();
    let engine = builder(|turn| async move {
        turn.begin().await?;
        turn.cancelled().cancelled().await;
        Ok(())
    })
    .store(Arc::clone(&store) as _)
    .limits(impatient())
    .build();
    let task = send(&engine, at_once(Message::user("x"))).await.unwrap();
    store.full.store(true, Ordering::Release);
    let error = cancel(&engine, &task).await.unwrap_err();
    assert_eq!((error.kind(), &*error.metadata()["taskId"]), (ErrorKind::Unavailable, task.id.as_str()));
    assert!(error.retry_after().is_some(), "{error:?}");
    assert!(error.message().ends_with("cancel it again") && !error.message().contains("message"), "{error}");
    store.full.store(false, Ordering::Release);
    // The caller finds the task canceled, or failed.
    match cancel(&engine, &task).await {
        Ok(task) => assert_state(&task, TaskState::Canceled),
        Err(error) => assert_eq!(error.kind(), ErrorKind::TaskNotCancelable, "{error}"),
    }
}

#[tokio::test]
async fn a_reader_from_before_an_outage_misses_no_record() {
    let store = Rigged::new();
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let engine = builder(move |turn| {
        let gate = Arc::clone(&gate);
        async move {
            turn.begin().await?;
            gate.acquire().await?.forget();
            turn.artifact("a").finish("a").await?;
            gate.acquire().await?.forget();
            turn.artifact("b").finish("b").await?;
            std::future::pending().await
        }
    })
    .store(Arc::clone(&store) as _)
    .limits(impatient())
    .build();
    let task = send(&engine, at_once(Message::user("x"))).await.unwrap();
    let mut events = subscribe(&engine, &task).await.unwrap();
    opened.add_permits(1);
    while store.inner().load(&Scope::open(), &task.id).await.unwrap().unwrap().sequence < 3 {
        yield_now().await;
    }
    // The next commit is written, and the engine does not know this. The reader has unread records in memory.
    store.commits([Fate::FailsAfterWriting]);
    opened.add_permits(1);
    within(async {
        while engine.running() > 0 {
            yield_now().await;
        }
    })
    .await;
    // The turn was cut off, and the next claim reports this.
    let error = send(&engine, follow(&task, "more")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedOperation, "{error:?}");
    assert_state(&get(&engine, &task).await, TaskState::Failed);
    let first = next(&mut events).await;
    let mut last = first.sequence.unwrap();
    let StreamResponse::Task(snapshot) = &first.response else { panic!() };
    let mut seen: Vec<_> = snapshot.artifacts.iter().map(Artifact::text).collect();
    while let Some(event) = within(events.next()).await {
        let event = event.unwrap();
        // Messages take sequence numbers, and readers do not see them.
        assert!(event.sequence.unwrap() > last);
        last = event.sequence.unwrap();
        if let StreamResponse::ArtifactUpdate(update) = &event.response {
            seen.push(update.artifact.text());
        }
    }
    assert_eq!(seen, ["a", "b"]);
}

/// Emits the text of its message when the gate permits, and records its turns. The agent can resume.
struct Gated {
    gate: Arc<Semaphore>,
    turns: Arc<Mutex<Vec<(String, bool)>>>,
    resumes: bool,
}

impl Agent for Gated {
    async fn run(&self, turn: Turn) -> Result<(), AgentError> {
        let text = turn.message().text();
        self.turns.lock().unwrap().push((text.clone(), turn.resumed().is_some()));
        turn.begin().await?;
        self.gate.acquire().await?.forget();
        turn.artifact(text.clone()).finish(text).await
    }

    fn resumes(&self) -> bool {
        self.resumes
    }
}

struct Outage {
    engine: Engine,
    store: Arc<Rigged>,
    gate: Arc<Semaphore>,
    turns: Arc<Mutex<Vec<(String, bool)>>>,
    task: Task,
}

/// A task that was given up in an outage: one message had its turn, and another accepted message waited.
async fn outage(resumes: bool) -> Outage {
    let store = Rigged::new();
    let (gate, turns) = (Arc::new(Semaphore::new(0)), Arc::default());
    let agent = Gated { gate: Arc::clone(&gate), turns: Arc::clone(&turns), resumes };
    let mut card = AgentCard::new("test", "Under test.");
    card.capabilities.streaming = Some(true);
    let engine = Engine::builder(agent).card(card).store(Arc::clone(&store) as _).limits(impatient()).build();
    let task = send(&engine, at_once(Message::user("one"))).await.unwrap();
    send(&engine, at_once(follow(&task, "two").message)).await.unwrap();
    store.commits([Fate::Fails]);
    gate.add_permits(1);
    within(async {
        while engine.running() > 0 {
            yield_now().await;
        }
    })
    .await;
    Outage { engine, store, gate, turns, task }
}

/// The client of `two` was told that the message counts. So the message has its turn, after the turn that was cut off,
/// whatever comes first after the outage.
#[tokio::test]
async fn after_an_outage_the_turn_resumes_and_waiting_messages_have_their_turns() {
    for comes in [true, false] {
        let Outage { engine, store, gate, turns, task } = outage(true).await;
        gate.add_permits(10);
        let mut expected = vec![("one".to_owned(), false), ("one".to_owned(), true), ("two".to_owned(), false)];
        if comes {
            // Before the recovery queue settles the task.
            assert_state(&send(&engine, follow(&task, "three")).await.unwrap(), TaskState::Completed);
            expected.push(("three".to_owned(), false));
        }
        let task = all_rest(&engine).await.remove(0);
        assert_state(&task, TaskState::Completed);
        assert_eq!(*turns.lock().unwrap(), expected);
        assert_eq!(store.at_work(), 0);
    }
}

/// As after a crash, a turn that cannot resume fails, and the waiting message is in the history.
#[tokio::test]
async fn after_an_outage_a_turn_that_cannot_resume_fails() {
    for comes in [true, false] {
        let Outage { engine, store, turns, task, .. } = outage(false).await;
        if comes {
            let error = send(&engine, follow(&task, "three")).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnsupportedOperation, "{error:?}");
        }
        let task = all_rest(&engine).await.remove(0);
        assert_state(&task, TaskState::Failed);
        let reason = task.status.message.as_deref().map(Message::text).unwrap();
        assert_eq!(reason, "the task store failed while the agent was at work");
        assert_eq!(history(&task), ["one", "two"]);
        assert_eq!((turns.lock().unwrap().len(), store.at_work()), (1, 0));
    }
}

#[tokio::test]
async fn recovery_settles_other_tasks_if_some_cannot_be_settled() {
    let store = Rigged::new();
    let engine = engine_over(&store, patient());
    let orphans = [store.orphan("a").await, store.orphan("b").await];
    *store.orphans.lock().unwrap() = orphans.to_vec();
    store.claims([Fate::Conflicts]);
    let recovered = within(engine.recover()).await.unwrap();
    assert_eq!((recovered.settled, recovered.put_off), (1, 1));
    let states: Vec<_> = tasks(&engine).await.iter().map(Task::state).collect();
    assert!(states.contains(&TaskState::Failed), "{states:?}");
    quiet(&engine).await;
}

#[tokio::test]
async fn an_evicted_interrupted_task_is_not_found() {
    let store = Rigged::over(MemoryStore::builder().max_tasks(Some(1)).build());
    let engine = engine_over(&store, patient());
    let task = send(&engine, SendMessageRequest::new(Message::user("ask"))).await.unwrap();
    send(&engine, SendMessageRequest::new(Message::user("ask"))).await.unwrap();
    let error = send(&engine, follow(&task, "x")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskNotFound);
    quiet(&engine).await;
}
