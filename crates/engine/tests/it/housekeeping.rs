//! Deletion and expiry of old tasks, and silent agents.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use nuncio_engine::{
    Engine, EngineBuilder, Housekeeping, Limits, MemoryStore, Record, Retention, StoreError, Swept, TaskStore,
    bus::LocalBus,
    store::{Commit, Erase, Portion},
};
use nuncio_model::{
    ErrorKind, Message, Principal, Request, Scope, StreamResponse, Task, TaskPushNotificationConfig, TaskState,
    TaskStatus, TaskStatusUpdateEvent, Timestamp,
    op::{SendMessageConfiguration, SendMessageRequest},
};
use nuncio_suites::SharedMemory;
use tokio::{
    sync::Semaphore,
    time::{Instant, sleep},
};

use crate::{rigged::Rigged, support::*};

const SOON: Duration = Duration::from_millis(300);

/// Follows its message: asks, ends, waits during its turn, or emits events at intervals.
fn agent() -> EngineBuilder {
    builder(|turn| async move {
        let text = turn.message().text();
        match &*text {
            "ask" => turn.ask("what else?").await,
            "wait for credentials" => {
                turn.require_auth("log in").await?;
                std::future::pending().await
            }
            "silent" => std::future::pending().await,
            "stall" => {
                turn.begin().await?;
                std::future::pending().await
            }
            "slow" => {
                for _ in 0..4 {
                    sleep(SOON * 2 / 3).await;
                    turn.artifact("out").chunk("x").await?;
                }
                turn.complete("done").await
            }
            _ => turn.complete("done").await,
        }
    })
}

fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.first_event_timeout = Duration::from_mins(10);
    limits.stall_timeout = Some(SOON);
    limits
}

fn expiring() -> Housekeeping {
    let mut house = Housekeeping::default();
    house.interrupted_expiry = Some(SOON);
    house
}

async fn until_ended(engine: &Engine, task: &Task) -> Task {
    within(async {
        loop {
            let task = get(engine, task).await;
            if task.state().is_terminal() {
                return task;
            }
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await
}

fn reason(task: &Task) -> String {
    task.status.message.as_deref().map(Message::text).unwrap_or_default()
}

#[tokio::test]
async fn an_unanswered_question_fails_its_task() {
    let store: Arc<dyn TaskStore> = Arc::new(MemoryStore::builder().keep_log(true).build());
    let guard = Arc::new(crate::push::Anywhere);
    let engine = agent().store(Arc::clone(&store)).push_guard(guard).housekeeping(expiring()).build();
    engine.recover().await.unwrap();
    let config = TaskPushNotificationConfig { url: "https://example.org".into(), ..Default::default() };
    let configuration = SendMessageConfiguration { task_push_notification_config: Some(config), ..Default::default() };
    let request = SendMessageRequest::new(Message::user("ask")).with_configuration(configuration);
    let begun = Instant::now();
    let task = send(&engine, request).await.unwrap();
    assert_state(&task, TaskState::InputRequired);
    let events = subscribe(&engine, &task).await.unwrap();
    let events = rest(events).await;
    assert!(begun.elapsed() >= SOON);
    assert_eq!(summaries(&events), ["task:input-required", "failed"]);
    let ended = get(&engine, &task).await;
    assert_state(&ended, TaskState::Failed);
    assert_eq!(reason(&ended), "the task waited for its client, and nobody answered within 300ms");
    let due = store.due_pushes(Timestamp::now(), 10).await.unwrap();
    assert_eq!(due.len(), 1);
    assert_eq!(due[0].pending, events.last().unwrap().sequence.unwrap(), "the webhook hears of it");
    assert_eq!(store.orphans(10).await.unwrap(), []);
    let error = send(&engine, follow(&task, "too late")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
}

#[tokio::test]
async fn an_answer_in_time_saves_it() {
    let engine = agent().housekeeping(expiring()).build();
    engine.recover().await.unwrap();
    let task = send(&engine, SendMessageRequest::new(Message::user("ask"))).await.unwrap();
    for _ in 0..4 {
        sleep(SOON / 2).await;
        assert_state(&send(&engine, follow(&task, "ask")).await.unwrap(), TaskState::InputRequired);
    }
    assert_state(&send(&engine, follow(&task, "enough")).await.unwrap(), TaskState::Completed);
}

/// A message arrives at the moment of the expiry of its task, and starts a turn.
#[tokio::test]
async fn a_turn_during_an_expiry_does_not_delay_other_tasks() {
    let store = Rigged::new();
    let engine = agent().store(Arc::clone(&store) as _).housekeeping(expiring()).build();
    engine.recover().await.unwrap();
    let task = send(&engine, SendMessageRequest::new(Message::user("ask"))).await.unwrap();
    let gate = Arc::new(Semaphore::new(0));
    *store.claims_wait.lock().unwrap() = Some(Arc::clone(&gate));
    within(async {
        while store.claimed.load(Ordering::Acquire) == 0 {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    // Another node has asked the client again, and then the client answers.
    let stored = store.inner().load(&Scope::open(), &task.id).await.unwrap().unwrap();
    let status = TaskStatus { timestamp: Some(Timestamp::now()), ..TaskStatus::new(TaskState::InputRequired) };
    let update = TaskStatusUpdateEvent { status, ..Default::default() };
    let record = Record::update(stored.sequence + 1, StreamResponse::StatusUpdate(update));
    let commit = Commit {
        expected: stored.sequence,
        epoch: stored.epoch,
        records: vec![record],
        state: TaskState::InputRequired,
        released: true,
        ..crate::rigged::at_work(task.id.as_str())
    };
    store.inner().commit(commit).await.unwrap();
    let mut answer = Box::pin(send(&engine, follow(&task, "silent")));
    assert!(futures_util::poll!(&mut answer).is_pending(), "it waits for the runner that is about to end its task");
    *store.claims_wait.lock().unwrap() = None;
    gate.add_permits(1);
    let other = send(&engine, SendMessageRequest::new(Message::user("ask"))).await.unwrap();
    assert_state(&until_ended(&engine, &other).await, TaskState::Failed);
    assert_state(&get(&engine, &task).await, TaskState::Working);
    assert!(futures_util::poll!(&mut answer).is_pending());
}

#[tokio::test]
async fn a_task_on_several_nodes_expires_once() {
    let shared = SharedMemory::new(Duration::from_mins(1));
    let bus = Arc::new(LocalBus::new());
    let mut engines = Vec::new();
    for _ in 0..3 {
        let store = Arc::new(shared.node().await);
        let engine = agent().store(store).bus(Arc::clone(&bus) as _).housekeeping(expiring()).build();
        engine.recover().await.unwrap();
        engines.push(engine);
    }
    let mut tasks = Vec::new();
    for number in 0..20 {
        let engine = &engines[number % 3];
        tasks.push(send(engine, SendMessageRequest::new(Message::user("ask"))).await.unwrap());
    }
    for task in &tasks {
        let ended = until_ended(&engines[0], task).await;
        assert_state(&ended, TaskState::Failed);
        let records =
            engines[1].store().events_after(&Scope::open(), &task.id, 0, Portion::records(100)).await.unwrap();
        let failed = records.iter().filter_map(|it| it.as_update()).filter(|event| summary(event) == "failed").count();
        assert_eq!(failed, 1);
    }
}

#[tokio::test]
async fn an_idle_turn_fails() {
    let engine = agent().limits(limits()).build();
    for text in ["stall", "silent"] {
        let begun = Instant::now();
        let task = send(&engine, SendMessageRequest::new(Message::user(text))).await.unwrap();
        assert!(begun.elapsed() >= SOON);
        assert_state(&task, TaskState::Failed);
        assert_eq!(reason(&task), "the agent was silent for 300ms");
    }
    quiet(&engine).await;
}

#[tokio::test]
async fn a_turn_with_events_does_not_become_idle() {
    let engine = agent().limits(limits()).build();
    let task = send(&engine, SendMessageRequest::new(Message::user("slow"))).await.unwrap();
    assert_state(&task, TaskState::Completed);
    assert_eq!(task.artifacts[0].text(), "x");
}

#[tokio::test]
async fn a_canceled_turn_is_not_idle() {
    let mut limits = limits();
    limits.cancel_grace = SOON * 2;
    let engine = agent().limits(limits).build();
    let task = send(&engine, at_once(Message::user("stall"))).await.unwrap();
    assert_state(&cancel(&engine, &task).await.unwrap(), TaskState::Canceled);
}

#[tokio::test]
async fn a_turn_that_waits_for_its_client_expires_like_an_interrupted_task() {
    // Longer than the idle timeout,
    let engine = agent().limits(limits()).build();
    let task = send(&engine, at_once(Message::user("wait for credentials"))).await.unwrap();
    sleep(SOON * 3).await;
    assert_state(&get(&engine, &task).await, TaskState::AuthRequired);
    // but not without end, if there is a limit.
    let mut silent = limits();
    silent.stall_timeout = Some(SOON / 10);
    let engine = agent().limits(silent).housekeeping(expiring()).build();
    let begun = Instant::now();
    let task = send(&engine, at_once(Message::user("wait for credentials"))).await.unwrap();
    let ended = until_ended(&engine, &task).await;
    assert!(begun.elapsed() >= SOON);
    assert_eq!(reason(&ended), "the task waited for its client, and nobody answered within 300ms");
}

#[tokio::test]
async fn old_tasks_go_by_the_rule_of_their_tenant() {
    let mut house = Housekeeping::default();
    house.retention = Retention::new().with(TaskState::Completed, SOON);
    house = house.with_tenant_rule("keeps".into(), TaskState::Failed, Some(SOON));
    let engine = agent().limits(limits()).housekeeping(house).build();
    engine.recover().await.unwrap();
    let keeps = Scope::new("keeps".into(), Principal::Open);
    let request = Request::new(keeps.clone(), SendMessageRequest::new(Message::user("end")));
    within(engine.call(request)).await.unwrap();
    let completed = send(&engine, SendMessageRequest::new(Message::user("end"))).await.unwrap();
    let failed = send(&engine, SendMessageRequest::new(Message::user("stall"))).await.unwrap();
    within(async {
        while engine.store().load(&Scope::open(), &completed.id).await.unwrap().is_some() {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    assert_state(&get(&engine, &failed).await, TaskState::Failed);
    let left = engine.store().scan(None, 10).await.unwrap().tasks;
    let mut left: Vec<_> =
        left.iter().map(|it| (it.scope.tenant.as_str().to_owned(), it.stored.task.state())).collect();
    left.sort_by(|one, two| one.0.cmp(&two.0));
    assert_eq!(left, [(String::new(), TaskState::Failed), ("keeps".to_owned(), TaskState::Completed)]);
}

/// A task that cannot be deleted does not block other tasks. The error is reported at the end.
#[tokio::test]
async fn a_failing_rule_does_not_block_other_rules() {
    let store = Rigged::new();
    *store.kept.lock().unwrap() = Some(TaskState::Failed);
    let engine = agent().limits(limits()).store(Arc::clone(&store) as _).build();
    let failed = send(&engine, SendMessageRequest::new(Message::user("stall"))).await.unwrap();
    let completed = send(&engine, SendMessageRequest::new(Message::user("end"))).await.unwrap();
    let ms = Duration::from_millis;
    let house = Housekeeping::default().with_rule(TaskState::Failed, ms(1)).with_rule(TaskState::Completed, ms(2));
    sleep(ms(10)).await;
    let error = house.sweep(&*store).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    let left = store.inner().scan(None, 10).await.unwrap().tasks;
    assert_eq!(left.iter().map(|it| &it.stored.task.id).collect::<Vec<_>>(), [&failed.id]);
    *store.kept.lock().unwrap() = None;
    assert_eq!(house.sweep(&*store).await.unwrap().tasks, 1);
    drop(completed);
}

#[tokio::test]
async fn nothing_is_deleted_without_a_rule() {
    assert!(Housekeeping::default().is_idle());
    let store = MemoryStore::default();
    let swept = Housekeeping::default().sweep(&store).await.unwrap();
    assert_eq!((swept.tasks, swept.logs), (0, 0));
}

#[tokio::test]
async fn readers_of_an_erased_task_get_an_error() {
    let engine = agent().build();
    let parked = send(&engine, SendMessageRequest::new(Message::user("ask"))).await.unwrap();
    let running = send(&engine, at_once(Message::user("stall"))).await.unwrap();
    let other = Request::new(other_scope(), at_once(Message::user("stall")));
    within(engine.call(other)).await.unwrap();
    let mut readers = Vec::new();
    for task in [&parked, &running] {
        let mut events = subscribe(&engine, task).await.unwrap();
        next(&mut events).await;
        readers.push(events);
    }
    assert_eq!(engine.erase(&Erase::Scope(Scope::open())).await.unwrap(), 2);
    for mut events in readers {
        let error = within(futures_util::StreamExt::next(&mut events)).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TaskNotFound);
    }
    for task in [&parked, &running] {
        let error = subscribe(&engine, task).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::TaskNotFound);
    }
    within(async {
        while engine.running() > 1 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(engine.store().scan(None, 10).await.unwrap().tasks.len(), 1, "another's task goes on");
}

#[tokio::test]
async fn tasks_that_cannot_expire_do_not_block_other_tasks() {
    let memory = SharedMemory::new(Duration::from_mins(1));
    let store = Arc::new(memory.node().await);
    let engine = agent().store(Arc::clone(&store) as _).housekeeping(expiring()).build();
    let mut damaged = Vec::new();
    for _ in 0..250 {
        damaged.push(send(&engine, SendMessageRequest::new(Message::user("ask"))).await.unwrap());
    }
    quiet(&engine).await;
    for task in &damaged {
        store.damage(&task.id, true);
    }
    let task = send(&engine, SendMessageRequest::new(Message::user("ask"))).await.unwrap();
    engine.recover().await.unwrap();
    assert_state(&until_ended(&engine, &task).await, TaskState::Failed);
    store.damage(&damaged[0].id, false);
    assert_state(&until_ended(&engine, &damaged[0]).await, TaskState::Failed);
}

/// The clock of a node may be wrong: the age of a task is measured by the clock of the store.
#[tokio::test]
async fn ages_are_measured_by_the_clock_of_the_store() {
    let hour = 3_600_000;
    let store = Rigged::new();
    let mut house = Housekeeping::default().with_rule(TaskState::Completed, Duration::ZERO);
    house.log_retention = Some(Duration::ZERO);
    house.interrupted_expiry = Some(Duration::from_secs(20));
    let engine = agent().store(Arc::clone(&store) as Arc<dyn TaskStore>).build();
    let told = async |text: &str| send(&engine, SendMessageRequest::new(Message::user(text))).await.unwrap();
    let (done, asked) = (told("x").await, told("ask").await);
    store.ahead.store(-hour, Ordering::Relaxed);
    assert_eq!(house.sweep(&*store).await.unwrap(), Swept::default());
    get(&engine, &done).await;
    store.ahead.store(hour, Ordering::Relaxed);
    assert_eq!(house.sweep(&*store).await.unwrap().tasks, 1);
    let begun = Instant::now();
    let engine = agent().store(Arc::clone(&store) as Arc<dyn TaskStore>).housekeeping(house).build();
    engine.recover().await.unwrap();
    let ended = until_ended(&engine, &asked).await;
    assert_eq!(ended.state(), TaskState::Failed);
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
}
