//! Reading the log.

use nuncio_engine::{
    Record, Sent, lifecycle,
    store::{Erase, Portion, StoreError, TaskStore},
};
use nuncio_model::{Message, Principal, Scope, StreamResponse, TaskState, op::SendMessageConfiguration};

use super::{
    StoreFixture,
    writer::{Writer, at, chunk, claim},
};

/// Every stretch of a running task's log is there, in order, whole.
pub async fn records_come_in_order_and_without_a_gap<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    task.run(&store).await;
    for batch in [1, 3, 2, 7, 1] {
        for number in 0..batch {
            task.stage(chunk(&format!("{batch}.{number}")));
        }
        task.commit(&store, false, batch == 2).await.unwrap();
    }
    for after in 0..=task.log.len() {
        for limit in [1, 2, 3, 5, 1000] {
            let records =
                store.events_after(&task.scope, task.id(), after as u64, Portion::records(limit)).await.unwrap();
            assert_eq!(records, task.log[after..(after + limit).min(task.log.len())], "{limit} after {after}");
        }
    }
}

/// A portion ends with the record that fills it, by number or by bytes, also in the middle of a commit; the portions
/// join to the log.
pub async fn a_portion_of_the_log_is_bounded_by_bytes_too<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    task.run(&store).await;
    // Of all sizes, many to a commit and one, and what grows as JSON.
    for (commit, size) in [1, 300, 2_000, 7, 60_000, 0, 1_000].into_iter().enumerate() {
        for record in 0..=commit {
            task.stage(chunk(&if record % 2 == 0 { "x" } else { "\u{1}" }.repeat(size)));
        }
        task.run(&store).await;
    }
    let size = |records: &[Record]| records.iter().map(Record::size).sum::<usize>();
    for (records, bytes) in [(1_000, 1), (1_000, 1_000), (3, 100_000), (1_000, 5_000), (1_000, usize::MAX)] {
        let portion = Portion { records, bytes };
        let mut after = 0;
        while after < task.log.len() {
            let read = store.events_after(&task.scope, task.id(), after as u64, portion).await.unwrap();
            assert_eq!(read, task.log[after..after + read.len()], "{portion:?} after {after}");
            let (_, others) = read.split_last().unwrap();
            assert!(read.len() <= records && size(others) < bytes, "{portion:?} after {after}");
            after += read.len();
            assert_eq!(portion.is_filled_by(&read), read.len() == records || size(&read) >= bytes);
            assert!(portion.is_filled_by(&read) || after == task.log.len(), "{portion:?} ends at {after}");
        }
    }
    for portion in [Portion { records: 0, bytes: 9 }, Portion { records: 9, bytes: 0 }] {
        assert_eq!(store.events_after(&task.scope, task.id(), 0, portion).await.unwrap(), []);
    }
}

/// After the end, and of a task that is not there, there are no records.
pub async fn records_after_the_end_are_none<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    task.run(&store).await;
    let mut ended = Writer::new("ended").in_state(TaskState::Failed, at(0));
    ended.create_ended(&store).await;
    for (id, after) in [("t", 1), ("t", 2), ("t", u64::MAX), ("ended", 1), ("ended", u64::MAX), ("missing", 0)] {
        let records = store.events_after(&Scope::open(), &id.into(), after, Portion::records(10)).await.unwrap();
        assert_eq!(records, [], "{id} after {after}");
    }
}

/// What a request said beside its message is in the log, of the first message, of one that has its turn at once and of
/// one that waits; readers do not see it. Of those that say nothing there is nothing.
pub async fn how_messages_were_sent_is_kept<F: StoreFixture>(fixture: F) {
    let mut store = fixture.open().await;
    let sent = |text: &str| {
        let configuration = SendMessageConfiguration {
            accepted_output_modes: vec![text.to_owned(), "text/*".to_owned()],
            history_length: Some(0),
            ..SendMessageConfiguration::default()
        };
        let metadata = [(text.to_owned(), serde_json::json!([1, null, {"deep": "\u{0}\""}]))].into_iter().collect();
        Sent {
            configuration: Some(Box::new(configuration)),
            metadata: Some(Box::new(metadata)),
            extensions: vec![text.into(), "x:y".into()],
        }
    };
    let mut task = Writer::new("t");
    task.staged.push(Record::update(1, StreamResponse::Task(task.task.clone())).sent_with(Some(sent("first"))));
    task.run(&store).await;
    let extensions = Sent { extensions: vec!["x:y".into()], ..Sent::default() };
    for (number, sent) in [Some(sent("second")), None, Some(extensions)].into_iter().enumerate() {
        let message = |text: &str| Message::user(format!("{text} {number}"));
        for record in [
            Record::received(task.sequence() + 1, message("at once")),
            Record::waiting(task.sequence() + 2, message("waits")),
        ] {
            lifecycle::apply(&mut task.task, &record).unwrap();
            task.staged.push(record.sent_with(sent.clone()));
        }
        task.run(&store).await;
    }
    for _ in 0..2 {
        let records = store.events_after(&task.scope, task.id(), 0, Portion::records(10)).await.unwrap();
        assert_eq!(records, task.log);
        assert_eq!(records.iter().filter_map(Record::as_update).count(), 1);
        task.assert_stored(&store).await;
        if F::DURABLE {
            drop(store);
            store = fixture.open().await;
        }
    }
}

/// A task may wait for its client from the commit on that creates it: it has not ended, so its log is there, as is that
/// of one that waited later; and it has what comes after.
pub async fn the_log_of_a_task_that_waits_is_there<F: StoreFixture>(fixture: F) {
    let mut store = fixture.open().await;
    let mut at_once = Writer::new("at once");
    at_once.set(&store, TaskState::InputRequired, at(1)).await;
    let mut later = Writer::new("later");
    later.run(&store).await;
    later.set(&store, TaskState::AuthRequired, at(1)).await;
    for round in 2..4 {
        for task in [&at_once, &later] {
            for after in 0..=task.log.len() {
                let records = store.events_after(&task.scope, task.id(), after as u64, Portion::records(10)).await;
                match records {
                    Ok(records) => assert_eq!(records, task.log[after..], "{} after {after}", task.id()),
                    Err(error) => assert!(!F::KEEPS_LOGS && matches!(error, StoreError::Compacted), "{error:?}"),
                }
            }
            task.assert_stored(&store).await;
        }
        if F::DURABLE {
            drop(store);
            store = fixture.open().await;
        }
        for task in [&mut at_once, &mut later] {
            task.epoch = claim(&store, task).await.epoch;
            task.stage_received(Message::user("here"));
            task.run(&store).await;
            task.set(&store, TaskState::InputRequired, at(round)).await;
        }
    }
}

/// When a task has ended, its log may go; what is given is still whole.
pub async fn the_log_of_a_task_that_is_done_is_whole_or_compacted<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    task.run(&store).await;
    for number in 0..10 {
        task.stage(chunk(&format!("{number}")));
        task.run(&store).await;
    }
    task.set(&store, TaskState::Completed, at(1)).await;
    for after in 0..task.log.len() {
        match store.events_after(&task.scope, task.id(), after as u64, Portion::records(1000)).await {
            Ok(records) => assert_eq!(records, task.log[after..]),
            Err(error) => assert!(matches!(error, StoreError::Compacted), "{error:?}"),
        }
    }
}

/// A parked task takes the next message, and its log from there on is there while it runs.
pub async fn a_task_goes_on_after_it_was_parked<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    task.run(&store).await;
    for turn in 1..4 {
        task.set(&store, TaskState::InputRequired, at(turn * 10)).await;
        let parked = task.sequence();
        task.epoch = claim(&store, &task).await.epoch;
        task.stage_received(Message::user("go on"));
        task.run(&store).await;
        task.set(&store, TaskState::Working, at(turn * 10 + 1)).await;
        task.assert_stored(&store).await;
        let records = store.events_after(&task.scope, task.id(), parked, Portion::records(10)).await.unwrap();
        assert_eq!(records, task.log[usize::try_from(parked).unwrap()..]);
    }
    task.set(&store, TaskState::Completed, at(100)).await;
    task.assert_stored(&store).await;
}

/// A number for each, at its place; none for what is not there or is another's.
pub async fn the_ends_of_logs_come_as_they_were_asked_for<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let other = Scope::new("tenant".into(), Principal::named("a"));
    let mut tasks = [Writer::new("x"), Writer::new("y").in_scope(&other), Writer::new("z")];
    for (number, task) in tasks.iter_mut().enumerate() {
        task.run(&store).await;
        for _ in 0..number {
            task.stage(chunk("c"));
            task.run(&store).await;
        }
    }
    let asked = [(&other, "y"), (&Scope::open(), "z"), (&Scope::open(), "y"), (&other, "missing"), (&other, "y")];
    let asked: Vec<_> = asked.into_iter().map(|(scope, id)| (scope.clone(), id.into())).collect();
    assert_eq!(store.sequences(&asked).await.unwrap(), [Some(2), Some(3), None, None, Some(2)]);
    assert!(store.sequences(&[]).await.unwrap().is_empty());
    store.erase(&Erase::Scope(other)).await.unwrap();
    assert_eq!(store.sequences(&asked[..2]).await.unwrap(), [None, Some(3)]);
}
