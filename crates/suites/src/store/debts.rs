//! What push configurations are owed, and when.

use nuncio_engine::store::{DuePush, Portion, PushConfig, PushSettlement, StoreError, TaskStore};
use nuncio_model::{Scope, TaskState, Timestamp};

use super::{
    StoreFixture,
    pushes::{config, from_now_on},
    writer::{Writer, chunk},
};

fn later(milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(Timestamp::now().as_millisecond() + milliseconds).unwrap()
}

/// What is due by an hour from now, so that the clock does not matter.
async fn due(store: &impl TaskStore) -> Vec<DuePush> {
    store.due_pushes(later(3_600_000), 100).await.unwrap()
}

/// Who is owed, from where to where, by id.
async fn owed(store: &impl TaskStore) -> Vec<(String, u64, u64)> {
    let due = due(store).await;
    let mut owed: Vec<_> =
        due.iter().map(|it| (it.config.id.as_ref().unwrap().to_string(), it.delivered, it.owed)).collect();
    owed.sort();
    owed
}

fn settlement(task: &Writer, id: &str, delivered: u64) -> PushSettlement {
    PushSettlement {
        scope: task.scope.clone(),
        task: task.id().clone(),
        id: id.into(),
        delivered,
        attempts: 0,
        next_attempt: Timestamp::now(),
        error: None,
    }
}

/// A configuration that comes with the task is owed its first record and all that follow, from the commit on.
pub async fn configs_of_a_new_task_are_owed_every_record<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    assert_eq!(store.next_push().await.unwrap(), None);
    let begun = Timestamp::now();
    let mut task = Writer::new("t");
    task.push_configs.push(PushConfig { config: config("t", "p"), format: None, delivered: 0 });
    assert!(task.run(&store).await.owes_push);
    let next = store.next_push().await.unwrap().unwrap();
    assert!((begun..=Timestamp::now()).contains(&next), "it is due at once");
    let expected = DuePush { scope: Scope::open(), config: config("t", "p"), delivered: 0, owed: 1, attempts: 0 };
    assert_eq!(store.due_pushes(Timestamp::now(), 10).await.unwrap(), [expected]);
    task.stage(chunk("x"));
    task.stage(chunk("y"));
    assert!(task.run(&store).await.owes_push);
    assert_eq!(owed(&store).await, [("p".into(), 0, 3)]);
    assert_eq!(store.next_push().await.unwrap(), Some(next), "more debt is not a later one");
    let mut ended = Writer::new("e").in_state(TaskState::Completed, super::writer::at(0));
    ended.push_configs.push(PushConfig { config: config("e", "q"), format: None, delivered: 0 });
    assert!(ended.create_ended(&store).await.owes_push);
    assert_eq!(owed(&store).await, [("p".into(), 0, 3), ("q".into(), 0, 1)]);
}

/// A configuration that comes later is owed what comes after it.
pub async fn a_later_config_is_owed_later_records<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    task.run(&store).await;
    assert!(store.put_push_config(&task.scope, from_now_on(config("t", "p"))).await.unwrap());
    assert_eq!((owed(&store).await, store.next_push().await.unwrap()), (vec![], None));
    task.stage(chunk("x"));
    assert!(task.run(&store).await.owes_push);
    assert_eq!(owed(&store).await, [("p".into(), 1, 2)]);
}

/// A configuration may be owed records that are there already.
pub async fn a_config_can_be_owed_earlier_records<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    task.run(&store).await;
    task.stage(chunk("x"));
    task.run(&store).await;
    let earlier = PushConfig { config: config("t", "p"), format: None, delivered: 1 };
    assert!(store.put_push_config(&task.scope, earlier).await.unwrap());
    assert_eq!(owed(&store).await, [("p".into(), 1, 2)]);
    assert!(store.next_push().await.unwrap().is_some());
}

/// Records that were delivered are not owed; those that came meanwhile are.
pub async fn what_is_settled_is_no_longer_owed<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    task.push_configs = ["p", "q"].map(|id| PushConfig { config: config("t", id), format: None, delivered: 0 }).into();
    task.run(&store).await;
    task.stage(chunk("x"));
    task.run(&store).await;
    store.settle_push(settlement(&task, "p", 1)).await.unwrap();
    assert_eq!(owed(&store).await, [("p".into(), 1, 2), ("q".into(), 0, 2)]);
    store.settle_push(settlement(&task, "p", 2)).await.unwrap();
    assert_eq!(owed(&store).await, [("q".into(), 0, 2)]);
    let configs = store.push_configs(&task.scope, task.id()).await.unwrap().unwrap();
    assert_eq!(configs.iter().map(|it| it.delivered).collect::<Vec<_>>(), [2, 0]);
    store.settle_push(settlement(&task, "q", 2)).await.unwrap();
    assert_eq!((owed(&store).await, store.next_push().await.unwrap()), (vec![], None));
    task.stage(chunk("y"));
    assert!(task.run(&store).await.owes_push);
    assert_eq!(owed(&store).await.len(), 2);
}

/// After a failure the next attempt has a time, and neither new records nor a new look bring it forward.
pub async fn a_failed_attempt_waits_for_its_time<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    task.push_configs.push(PushConfig { config: config("t", "p"), format: None, delivered: 0 });
    task.run(&store).await;
    let next_attempt = later(60_000);
    assert_eq!(owed(&store).await.len(), 1, "it is ours to deliver");
    let failed = PushSettlement {
        attempts: 3,
        next_attempt,
        error: Some("503 Service Unavailable".into()),
        ..settlement(&task, "p", 0)
    };
    store.settle_push(failed).await.unwrap();
    task.stage(chunk("x"));
    task.run(&store).await;
    assert_eq!(store.due_pushes(later(1_000), 10).await.unwrap(), []);
    assert_eq!(store.next_push().await.unwrap(), Some(next_attempt));
    let due = store.due_pushes(next_attempt, 10).await.unwrap();
    assert_eq!(due.iter().map(|it| (it.attempts, it.owed)).collect::<Vec<_>>(), [(3, 2)]);
    store.settle_push(settlement(&task, "p", 2)).await.unwrap();
    task.stage(chunk("y"));
    task.run(&store).await;
    let due = store.due_pushes(later(1_000), 10).await.unwrap();
    assert_eq!(due.iter().map(|it| (it.attempts, it.delivered, it.owed)).collect::<Vec<_>>(), [(0, 2, 3)]);
}

/// The clock was ahead for a while, and so are the times that it left; only a failure is waited for.
pub async fn a_clock_that_went_back_puts_nothing_off<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    task.push_configs.push(PushConfig { config: config("t", "p"), format: None, delivered: 0 });
    task.run(&store).await;
    // First all was delivered, and then not: nothing is owed, or something.
    for (delivered, owed) in [(1, 2), (1, 3)] {
        assert_eq!(due(&store).await.len(), 1, "it is ours to deliver");
        let ahead = PushSettlement { next_attempt: later(10_000_000), ..settlement(&task, "p", delivered) };
        store.settle_push(ahead).await.unwrap();
        task.stage(chunk("x"));
        task.run(&store).await;
        let due = store.due_pushes(later(1_000), 10).await.unwrap();
        assert_eq!(due.iter().map(|it| (it.delivered, it.owed)).collect::<Vec<_>>(), [(delivered, owed)]);
        assert!(store.next_push().await.unwrap().unwrap() <= Timestamp::now());
    }
}

/// Longest due first, at most as many as were asked for, none before its time.
pub async fn debts_are_due_in_order<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let start = Timestamp::now().as_millisecond();
    let time = |number: i64| Timestamp::from_millisecond(start + 100_000 + number * 1_000).unwrap();
    for number in [3, 1, 4, 2, 0] {
        let id = format!("{number}");
        let mut task = Writer::new(&id);
        task.push_configs.push(PushConfig { config: config(&id, &id), format: None, delivered: 0 });
        task.run(&store).await;
        assert_eq!(store.due_pushes(later(0), 10).await.unwrap().len(), 1, "it is ours to deliver");
        let failed = PushSettlement { attempts: 1, next_attempt: time(number), ..settlement(&task, &id, 0) };
        store.settle_push(failed).await.unwrap();
    }
    let due = async |now: Timestamp, limit| {
        let due = store.due_pushes(now, limit).await.unwrap();
        due.iter().map(|it| it.config.id.as_ref().unwrap().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(store.next_push().await.unwrap(), Some(time(0)));
    assert_eq!(due(time(-1), 10).await, [""; 0]);
    assert_eq!(due(time(2), 10).await, ["0", "1", "2"]);
    assert_eq!(due(time(100), 2).await, ["0", "1"]);
    assert_eq!(due(time(100), 10).await, ["0", "1", "2", "3", "4"]);
}

/// What is removed is owed nothing, and whoever was delivering for it meanwhile may still say how that went.
pub async fn a_removed_config_is_owed_nothing<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    task.push_configs.push(PushConfig { config: config("t", "p"), format: None, delivered: 0 });
    task.run(&store).await;
    assert!(store.delete_push_config(&task.scope, task.id(), &"p".into()).await.unwrap());
    assert_eq!((owed(&store).await, store.next_push().await.unwrap()), (vec![], None));
    store.settle_push(settlement(&task, "p", 1)).await.unwrap();
    assert_eq!(store.push_configs(&task.scope, task.id()).await.unwrap(), Some(vec![]));
    task.stage(chunk("x"));
    assert!(!task.run(&store).await.owes_push);
    assert_eq!(owed(&store).await, []);
}

/// The records of a task that has ended stay until they are delivered.
pub async fn records_are_kept_while_they_are_owed<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    task.push_configs = ["p", "q"].map(|id| PushConfig { config: config("t", id), format: None, delivered: 0 }).into();
    task.run(&store).await;
    task.stage(chunk("x"));
    task.run(&store).await;
    task.set(&store, TaskState::Completed, super::writer::at(1)).await;
    let mut at_once = Writer::new("o").in_state(TaskState::Completed, super::writer::at(0));
    at_once.push_configs.push(PushConfig { config: config("o", "o"), format: None, delivered: 0 });
    at_once.create_ended(&store).await;
    store.settle_push(settlement(&task, "p", 3)).await.unwrap();
    for task in [&task, &at_once] {
        assert_eq!(store.events_after(&task.scope, task.id(), 0, Portion::records(10)).await.unwrap(), task.log);
    }
    store.settle_push(settlement(&task, "q", 3)).await.unwrap();
    match store.events_after(&task.scope, task.id(), 0, Portion::records(10)).await {
        Ok(records) => assert_eq!(records, task.log),
        Err(error) => assert!(matches!(error, StoreError::Compacted), "{error:?}"),
    }
    task.assert_stored(&store).await;
}

/// Who replaces a webhook that does not answer by one that wants nothing of before does not keep the log for ever.
pub async fn records_that_were_owed_to_a_webhook_that_was_replaced_can_go<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    task.push_configs.push(PushConfig { config: config("t", "p"), format: None, delivered: 0 });
    task.run(&store).await;
    task.set(&store, TaskState::Completed, super::writer::at(1)).await;
    let read = async || store.events_after(&task.scope, task.id(), 0, Portion::records(10)).await;
    let after = Timestamp::from_millisecond(i64::from(u32::MAX) * 1_000).unwrap();
    assert_eq!(store.compact(after, 10).await.unwrap(), 0);
    assert_eq!(read().await.unwrap(), task.log);
    assert!(store.put_push_config(&task.scope, from_now_on(config("t", "p"))).await.unwrap());
    // A store may drop it by itself.
    assert!(store.compact(after, 10).await.unwrap() <= 1);
    let records = read().await;
    assert!(matches!(records, Err(StoreError::Compacted)), "{records:?}");
}
