//! Stores that fail in every way: nobody waits for ever, and no task stays at work.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures_util::{StreamExt, future::join, poll};
use nuncio_engine::{AgentError, Engine, Limits, MemoryStore, TaskStore, Turn};
use nuncio_model::{
    Artifact, ErrorKind, Message, Reply, Scope, StreamResponse, Task, TaskState,
    op::{ListTasksRequest, SendMessageRequest},
};
use tokio::{sync::Semaphore, task::yield_now};

use crate::{
    rigged::{Fate, Rigged},
    support::*,
};

/// A store is tried again for as long as a test may take, unless the test says otherwise.
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

/// Waits until there are tasks, and every one has ended or is parked.
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
async fn a_commit_that_fails_is_tried_again() {
    let store = Rigged::new();
    let engine = engine_over(&store, patient());
    store.commits([Fate::Goes, Fate::Fails, Fate::Goes, Fate::Fails, Fate::Fails]);
    let task = send(&engine, SendMessageRequest::new(Message::user("x"))).await.unwrap();
    assert_state(&task, TaskState::Completed);
}

#[tokio::test]
async fn a_commit_that_was_written_although_it_failed_is_known_again() {
    let store = Rigged::new();
    let engine = engine_over(&store, patient());
    store.commits([Fate::Goes, Fate::FailsAfterWriting, Fate::Goes, Fate::Fails, Fate::FailsAfterWriting]);
    let events = rest(stream(&engine, Message::user("x")).await.unwrap()).await;
    assert_eq!(words(&events), ["task:submitted", "working", "artifact:a", "artifact:b", "completed"]);
    let sequences: Vec<_> = events.iter().filter_map(|event| event.sequence).collect();
    assert_eq!(sequences, [1, 2, 3, 4, 5]);
    assert_state(&tasks(&engine).await[0], TaskState::Completed);
}

#[tokio::test]
async fn a_task_that_was_created_although_its_creation_failed_does_not_stay_at_work() {
    let store = Rigged::new();
    let engine = engine_over(&store, impatient());
    store.commits([Fate::FailsAfterWriting]);
    let mut events = stream(&engine, Message::user("x")).await.unwrap();
    // The reader stays, unread, while the task is settled.
    assert_state(&all_rest(&engine).await[0], TaskState::Failed);
    assert_eq!(within(events.next()).await.unwrap().unwrap_err().kind(), ErrorKind::Unavailable);
    drop(events);
    quiet(&engine).await;
}

#[tokio::test]
async fn a_task_whose_creation_failed_is_forgotten() {
    let store = Rigged::new();
    let engine = engine_over(&store, impatient());
    store.commits([Fate::Fails]);
    let error = send(&engine, SendMessageRequest::new(Message::user("x"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    // One that is gone is not in the way of one that can be settled.
    store.commits([Fate::Goes, Fate::Fails]);
    send(&engine, SendMessageRequest::new(Message::user("x"))).await.unwrap_err();
    let tasks = all_rest(&engine).await;
    assert_eq!(tasks.len(), 1);
    assert_state(&tasks[0], TaskState::Failed);
    quiet(&engine).await;
}

#[tokio::test]
async fn whichever_commit_fails_for_good_everybody_is_told_and_the_task_ends() {
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
            // Where the first of them was not written, the message never came to the task.
            let is_untouched = failing == 1 && fate != Fate::FailsAfterWriting;
            assert!(task.state().is_terminal() || is_untouched && history(task) == ["ask"]);
            quiet(&engine).await;
        }
    }
}

#[tokio::test]
async fn a_task_that_somebody_else_has_taken_over_is_left_to_them() {
    for fates in [vec![Fate::Goes, Fate::Conflicts], vec![Fate::Goes, Fate::Fails, Fate::Conflicts]] {
        let store = Rigged::new();
        let engine = engine_over(&store, patient());
        let task = send(&engine, SendMessageRequest::new(Message::user("ask"))).await.unwrap();
        let mut events = subscribe(&engine, &task).await.unwrap();
        next(&mut events).await;
        store.commits(fates.iter().copied());
        send(&engine, follow(&task, "x")).await.unwrap_err();
        while let Some(Ok(_)) = within(events.next()).await {}
        drop(events);
        quiet(&engine).await;
        let claimed = store.claimed.load(Ordering::Acquire);
        // Longer than it takes until a task that was given up is settled.
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(store.claimed.load(Ordering::Acquire), claimed, "{fates:?}");
        assert_state(&get(&engine, &task).await, TaskState::Working);
    }
}

#[tokio::test]
async fn a_claim_that_fails_concerns_nobody_but_who_wanted_it() {
    for fate in [Fate::Fails, Fate::Conflicts] {
        let store = Rigged::new();
        let engine = engine_over(&store, patient());
        let task = send(&engine, SendMessageRequest::new(Message::user("ask"))).await.unwrap();
        quiet(&engine).await;
        let mut events = subscribe(&engine, &task).await.unwrap();
        assert_eq!(word(&*next(&mut events).await), "task:input-required");
        store.claims([fate]);
        let (message, canceled) = join(send(&engine, follow(&task, "x")), cancel(&engine, &task)).await;
        message.unwrap_err();
        canceled.unwrap_err();
        assert!(poll!(events.next()).is_pending());
        assert_eq!(engine.running(), 0);
        let task = send(&engine, follow(&task, "x")).await.unwrap();
        assert_state(&task, TaskState::Completed);
        assert_eq!(words(&rest(events).await), ["working", "working", "artifact:a", "artifact:b", "completed"]);
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
    assert_eq!(within(sent).await.unwrap().unwrap_err().kind(), ErrorKind::Unavailable);
    store.full.store(false, Ordering::Release);
    assert_state(&all_rest(&engine).await[0], TaskState::Failed);
}

#[tokio::test]
async fn a_reader_from_before_an_outage_misses_nothing_of_what_was_written_in_it() {
    let store = Rigged::new();
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let engine = builder(move |turn| {
        let gate = Arc::clone(&gate);
        async move {
            if turn.message().text() == "more" {
                return turn.artifact("c").finish("c").await;
            }
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
    // The next commit is written, and the engine does not know. The reader has records in memory that it has not read.
    store.commits([Fate::FailsAfterWriting]);
    opened.add_permits(1);
    within(async {
        while engine.running() > 0 {
            yield_now().await;
        }
    })
    .await;
    let task = send(&engine, follow(&task, "more")).await.unwrap();
    assert_state(&task, TaskState::Completed);
    let first = next(&mut events).await;
    let mut last = first.sequence.unwrap();
    let StreamResponse::Task(snapshot) = &first.response else { panic!() };
    let mut seen: Vec<_> = snapshot.artifacts.iter().map(Artifact::text).collect();
    while let Some(event) = within(events.next()).await {
        let event = event.unwrap();
        // Messages take a number each, and readers do not see them.
        assert!(event.sequence.unwrap() > last);
        last = event.sequence.unwrap();
        if let StreamResponse::ArtifactUpdate(update) = &event.response {
            seen.push(update.artifact.text());
        }
    }
    assert_eq!(seen, ["a", "b", "c"]);
}

#[tokio::test]
async fn recovery_settles_what_it_can_when_some_tasks_cannot_be() {
    let store = Rigged::new();
    let engine = engine_over(&store, patient());
    let orphans = [store.orphan("a").await, store.orphan("b").await];
    *store.orphans.lock().unwrap() = orphans.to_vec();
    store.claims([Fate::Conflicts]);
    within(engine.recover()).await.unwrap_err();
    let states: Vec<_> = tasks(&engine).await.iter().map(Task::state).collect();
    assert!(states.contains(&TaskState::Failed), "{states:?}");
    quiet(&engine).await;
}

#[tokio::test]
async fn a_task_that_was_evicted_while_it_was_parked_is_not_found() {
    let store = Rigged::over(MemoryStore::builder().max_tasks(Some(1)).build());
    let engine = engine_over(&store, patient());
    let task = send(&engine, SendMessageRequest::new(Message::user("ask"))).await.unwrap();
    send(&engine, SendMessageRequest::new(Message::user("ask"))).await.unwrap();
    let error = send(&engine, follow(&task, "x")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskNotFound);
    quiet(&engine).await;
}
