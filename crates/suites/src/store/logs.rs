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

/// Every range of the log of a running task is complete and in order.
pub async fn records_are_in_order_without_gaps<F: StoreFixture>(fixture: F) {
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

/// A portion ends with the record that reaches the limit of records or bytes, also in the middle of a commit. The
/// portions join to the whole log.
pub async fn a_portion_is_limited_by_records_and_bytes<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("t");
    task.run(&store).await;
    // Records of different sizes, alone and in batches. Control characters are longer as JSON.
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

/// After the end of a log, and for a missing task, the result is empty.
pub async fn no_records_follow_the_end<F: StoreFixture>(fixture: F) {
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

/// The configuration, metadata and extensions of a request are stored with its message: the first message, a message
/// with an immediate turn, and a message in the queue. Readers do not receive these fields.
pub async fn request_fields_are_stored_with_the_message<F: StoreFixture>(fixture: F) {
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

/// A parked task keeps its log, even if the commit that created the task also parked the task. The task can continue.
pub async fn a_parked_task_keeps_its_log<F: StoreFixture>(fixture: F) {
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

/// After its end, the log of a task is either complete or compacted.
pub async fn the_log_of_an_ended_task_is_complete_or_compacted<F: StoreFixture>(fixture: F) {
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

/// A parked task continues with the next message. Its new records can be read while the task runs.
pub async fn a_parked_task_continues<F: StoreFixture>(fixture: F) {
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

/// The result has one entry for each requested task, in order: `None` for a missing task or a task in another scope.
pub async fn sequences_follow_the_request<F: StoreFixture>(fixture: F) {
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
