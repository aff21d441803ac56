//! The outbox: pending pushes and their due times.

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

/// The pushes due within an hour. The margin covers clock differences.
async fn due(store: &impl TaskStore) -> Vec<DuePush> {
    store.due_pushes(later(3_600_000), 100).await.unwrap()
}

/// The id, the last delivered record and the last pending record of each push.
async fn pending(store: &impl TaskStore) -> Vec<(String, u64, u64)> {
    let due = due(store).await;
    let mut pending: Vec<_> =
        due.iter().map(|it| (it.config.id.as_ref().unwrap().to_string(), it.delivered, it.pending)).collect();
    pending.sort();
    pending
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

/// A configuration in the commit that creates the task is pending from the first record on.
pub async fn a_config_of_a_new_task_has_every_record_pending<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    assert_eq!(store.next_push().await.unwrap(), None);
    let begun = Timestamp::now();
    let mut task = Writer::new("t");
    task.push_configs.push(PushConfig { config: config("t", "p"), format: None, delivered: 0 });
    assert!(task.run(&store).await.has_pending_push);
    let next = store.next_push().await.unwrap().unwrap();
    assert!((begun..=Timestamp::now()).contains(&next), "the push is due at once");
    let expected = DuePush { scope: Scope::open(), config: config("t", "p"), delivered: 0, pending: 1, attempts: 0 };
    assert_eq!(store.due_pushes(Timestamp::now(), 10).await.unwrap(), [expected]);
    task.stage(chunk("x"));
    task.stage(chunk("y"));
    assert!(task.run(&store).await.has_pending_push);
    assert_eq!(pending(&store).await, [("p".into(), 0, 3)]);
    assert_eq!(store.next_push().await.unwrap(), Some(next), "more pending records do not change the due time");
    let mut ended = Writer::new("e").in_state(TaskState::Completed, super::writer::at(0));
    ended.push_configs.push(PushConfig { config: config("e", "q"), format: None, delivered: 0 });
    assert!(ended.create_ended(&store).await.has_pending_push);
    assert_eq!(pending(&store).await, [("p".into(), 0, 3), ("q".into(), 0, 1)]);
}

/// A configuration that is added later is pending for later records.
pub async fn a_later_config_has_later_records_pending<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    task.run(&store).await;
    assert!(store.put_push_config(&task.scope, from_now_on(config("t", "p"))).await.unwrap());
    assert_eq!((pending(&store).await, store.next_push().await.unwrap()), (vec![], None));
    task.stage(chunk("x"));
    assert!(task.run(&store).await.has_pending_push);
    assert_eq!(pending(&store).await, [("p".into(), 1, 2)]);
}

/// A configuration can be added with earlier records pending.
pub async fn a_config_can_have_earlier_records_pending<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    task.run(&store).await;
    task.stage(chunk("x"));
    task.run(&store).await;
    let earlier = PushConfig { config: config("t", "p"), format: None, delivered: 1 };
    assert!(store.put_push_config(&task.scope, earlier).await.unwrap());
    assert_eq!(pending(&store).await, [("p".into(), 1, 2)]);
    assert!(store.next_push().await.unwrap().is_some());
}

/// Delivered records are no longer pending. Records written in the meantime stay pending.
pub async fn delivered_records_are_not_pending<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    task.push_configs = ["p", "q"].map(|id| PushConfig { config: config("t", id), format: None, delivered: 0 }).into();
    task.run(&store).await;
    task.stage(chunk("x"));
    task.run(&store).await;
    store.settle_push(settlement(&task, "p", 1)).await.unwrap();
    assert_eq!(pending(&store).await, [("p".into(), 1, 2), ("q".into(), 0, 2)]);
    store.settle_push(settlement(&task, "p", 2)).await.unwrap();
    assert_eq!(pending(&store).await, [("q".into(), 0, 2)]);
    let configs = store.push_configs(&task.scope, task.id()).await.unwrap().unwrap();
    assert_eq!(configs.iter().map(|it| it.delivered).collect::<Vec<_>>(), [2, 0]);
    store.settle_push(settlement(&task, "q", 2)).await.unwrap();
    assert_eq!((pending(&store).await, store.next_push().await.unwrap()), (vec![], None));
    task.stage(chunk("y"));
    assert!(task.run(&store).await.has_pending_push);
    assert_eq!(pending(&store).await.len(), 2);
}

/// A failed push waits until its next attempt. New records and reads of the outbox do not change the time.
pub async fn a_failed_push_waits_for_its_next_attempt<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    task.push_configs.push(PushConfig { config: config("t", "p"), format: None, delivered: 0 });
    task.run(&store).await;
    let next_attempt = later(60_000);
    assert_eq!(pending(&store).await.len(), 1, "this store delivers the push");
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
    assert_eq!(due.iter().map(|it| (it.attempts, it.pending)).collect::<Vec<_>>(), [(3, 2)]);
    store.settle_push(settlement(&task, "p", 2)).await.unwrap();
    task.stage(chunk("y"));
    task.run(&store).await;
    let due = store.due_pushes(later(1_000), 10).await.unwrap();
    assert_eq!(due.iter().map(|it| (it.attempts, it.delivered, it.pending)).collect::<Vec<_>>(), [(0, 2, 3)]);
}

/// If the clock was set back, due times in the future do not delay new records. Only a failed attempt delays them.
pub async fn a_clock_set_back_delays_no_push<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    task.push_configs.push(PushConfig { config: config("t", "p"), format: None, delivered: 0 });
    task.run(&store).await;
    // First no record is pending, then a record is.
    for (delivered, pending) in [(1, 2), (1, 3)] {
        assert_eq!(due(&store).await.len(), 1, "this store delivers the push");
        let ahead = PushSettlement { next_attempt: later(10_000_000), ..settlement(&task, "p", delivered) };
        store.settle_push(ahead).await.unwrap();
        task.stage(chunk("x"));
        task.run(&store).await;
        let due = store.due_pushes(later(1_000), 10).await.unwrap();
        assert_eq!(due.iter().map(|it| (it.delivered, it.pending)).collect::<Vec<_>>(), [(delivered, pending)]);
        assert!(store.next_push().await.unwrap().unwrap() <= Timestamp::now());
    }
}

/// Due pushes are sorted by due time, limited to the requested number, and never early.
pub async fn due_pushes_are_sorted<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let start = Timestamp::now().as_millisecond();
    let time = |number: i64| Timestamp::from_millisecond(start + 100_000 + number * 1_000).unwrap();
    for number in [3, 1, 4, 2, 0] {
        let id = format!("{number}");
        let mut task = Writer::new(&id);
        task.push_configs.push(PushConfig { config: config(&id, &id), format: None, delivered: 0 });
        task.run(&store).await;
        assert_eq!(store.due_pushes(later(0), 10).await.unwrap().len(), 1, "this store delivers the push");
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

/// A removed configuration has no pending records. A late result of its delivery is ignored.
pub async fn a_removed_config_has_nothing_pending<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    task.push_configs.push(PushConfig { config: config("t", "p"), format: None, delivered: 0 });
    task.run(&store).await;
    assert!(store.delete_push_config(&task.scope, task.id(), &"p".into()).await.unwrap());
    assert_eq!((pending(&store).await, store.next_push().await.unwrap()), (vec![], None));
    store.settle_push(settlement(&task, "p", 1)).await.unwrap();
    assert_eq!(store.push_configs(&task.scope, task.id()).await.unwrap(), Some(vec![]));
    task.stage(chunk("x"));
    assert!(!task.run(&store).await.has_pending_push);
    assert_eq!(pending(&store).await, []);
}

/// The records of a task that has ended are kept until their delivery.
pub async fn pending_records_are_kept<F: StoreFixture>(fixture: F) {
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

/// After a configuration was replaced, the records that were pending for the old configuration can be compacted.
pub async fn records_of_a_replaced_config_can_be_compacted<F: StoreFixture>(fixture: F) {
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
    // A store can compact by itself.
    assert!(store.compact(after, 10).await.unwrap() <= 1);
    let records = read().await;
    assert!(matches!(records, Err(StoreError::Compacted)), "{records:?}");
}
