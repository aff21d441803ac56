//! The store returns exactly the stored content.

use nuncio_engine::{
    Limits, Record, lifecycle,
    store::{ListQuery, Portion, PushConfig, TaskStore},
};
use nuncio_model::{
    Artifact, Message, Part, Principal, Role, Scope, StreamResponse, Struct, TaskArtifactUpdateEvent, TaskState,
    TaskStatus, TaskStatusUpdateEvent, Value,
};

use super::{
    StoreFixture,
    messages::{commit, find, long_ago},
    pushes::config as push_config,
    writer::{Writer, at},
};
use crate::random::Random;

fn members(json: &str) -> Struct {
    serde_json::from_str(json).unwrap()
}

/// Parts of every kind.
fn parts() -> Vec<Part> {
    vec![
        Part::text(""),
        Part::text("line\nbreaks, \u{2028}, \"quotes\", <tags> & \0 nothing, ünï¢ödé 🦀"),
        Part::raw(*b"\0\xff\x7f").with_filename("bytes.bin").with_media_type("application/octet-stream"),
        Part::url("https://example.org/a?b=c#d"),
        Part::data(Value::Null),
        Part::data(serde_json::json!({"n": [1, -2.5, 1e300, 18_446_744_073_709_551_615_u64, null, true], "": {}})),
        Part::data(3).with_metadata(members(r#"{"a":null}"#)),
    ]
}

/// A message with every field.
fn full_message(id: &str, role: Role) -> Message {
    Message {
        message_id: id.into(),
        context_id: Some("c".into()),
        task_id: Some("t".into()),
        metadata: Some(Box::new(members(r#"{"https://example.org/ext":{"null":null,"deep":[[[{}]]]}}"#))),
        extensions: vec!["https://example.org/ext".into()],
        reference_task_ids: vec!["other".into()],
        ..Message::new(role, parts())
    }
}

/// Ids of the largest allowed length can be keys in the store. The ids are random, so compression does not shorten
/// them.
pub async fn the_longest_ids_are_stored<F: StoreFixture>(fixture: F) {
    let mut random = Random::new(512);
    let mut longest = || -> String {
        (0..Limits::default().id_length).map(|_| char::from(b'!' + u8::try_from(random.below(94)).unwrap())).collect()
    };
    let (id, config, message) = (longest(), longest(), longest());
    let store = fixture.open().await;
    let scope = Scope::new(longest().as_str().into(), Principal::named("caller"));
    let mut task = Writer::new(&id).in_scope(&scope).in_context(&longest()).in_state(TaskState::Submitted, at(0));
    task.push_configs = vec![PushConfig { config: push_config(&id, &config), format: None, delivered: 0 }];
    commit(&mut task, &store, &[&message], long_ago()).await.unwrap();
    task.assert_stored(&store).await;
    assert_eq!(find(&store, &scope, &message, long_ago()).await, Some(id.clone()));
    let configs = store.push_configs(&scope, task.id()).await.unwrap().unwrap();
    assert_eq!(configs[0].config.id.as_ref().unwrap().as_str(), config);
    let query = ListQuery { context: task.task.context_id.clone(), page_size: 1, ..ListQuery::default() };
    assert_eq!(store.list(&scope, &query).await.unwrap().total, 1);
}

/// Tasks and records of every kind of content.
pub async fn every_kind_of_content_is_stored<F: StoreFixture>(fixture: F) {
    let id = "task/with ünïcode?&=%20 'quotes' \"too\"";
    let nanosecond = "2026-01-31T12:00:00.000000001Z".parse().unwrap();
    let mut task = Writer::new(id).in_context("c'\";--").in_state(TaskState::Submitted, nanosecond);
    task.task.history = vec![full_message("1", Role::User)];
    task.task.metadata = Some(Box::new(members(r#"{"k":null,"z":1,"a":{"b":[]}}"#)));
    {
        let store = fixture.open().await;
        task.run(&store).await;
        task.assert_stored(&store).await;
        let mut status = TaskStatus::new(TaskState::Working).with_message(full_message("2", Role::Agent));
        status.timestamp = Some(at(1));
        let metadata = Some(Box::new(members(r#"{"k":7}"#)));
        task.stage(StreamResponse::StatusUpdate(TaskStatusUpdateEvent { status, metadata, ..Default::default() }));
        let mut artifact = Artifact::new("a", parts()).with_name("name").with_description("description");
        artifact.metadata = Some(Box::new(members(r#"{"x":null}"#)));
        artifact.extensions = vec!["https://example.org/ext".into()];
        task.stage(StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
            artifact,
            last_chunk: true,
            metadata: Some(Box::new(members("{}"))),
            ..Default::default()
        }));
        task.stage_received(full_message("3", Role::User));
        task.stage_waiting(full_message("4", Role::User));
        task.run(&store).await;
        task.assert_stored(&store).await;
        assert_eq!(store.events_after(&task.scope, task.id(), 0, Portion::records(10)).await.unwrap(), task.log);
        task.set(&store, TaskState::InputRequired, at(2)).await;
        task.assert_stored(&store).await;
    }
    if F::DURABLE {
        task.assert_stored(&fixture.open().await).await;
    }
}

/// For random logs, commits and snapshots, the loaded task equals the fold of the log.
pub async fn random_logs_fold_to_their_task<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    for seed in 0..150 {
        let mut random = Random::new(seed);
        let mut task = Writer::new(&format!("seed {seed}"));
        let length = 1 + random.below(40);
        let mut released = false;
        while task.sequence() < length as u64 && !task.task.state().is_terminal() {
            for _ in 0..random.below(5) {
                stage_something(&mut random, &mut task);
                if task.task.state().is_terminal() {
                    break;
                }
            }
            released = task.task.state().is_terminal() || random.one_in(6);
            task.commit(&store, released, random.one_in(3)).await.unwrap();
            if random.one_in(2) {
                task.assert_stored(&store).await;
            }
            check_log(&store, &task, &mut random).await;
        }
        task.assert_stored(&store).await;
        let mut folded = nuncio_model::Task::default();
        for record in &task.log {
            lifecycle::apply(&mut folded, record).unwrap();
        }
        assert_eq!(*task.load(&store).await.task, folded, "seed {seed}, released: {released}");
    }
}

fn stage_something(random: &mut Random, task: &mut Writer) {
    let time = at(i64::try_from(random.below(50)).unwrap());
    match random.below(10) {
        0 if random.one_in(3) => task.stage_waiting(full_message("w", Role::User)),
        0 => task.stage_received(full_message("r", Role::User)),
        1..=3 => {
            let states = [TaskState::Working, TaskState::InputRequired, TaskState::AuthRequired, TaskState::Working];
            task.stage(super::writer::status(*random.pick(&states), time))
        }
        4 if random.one_in(4) => {
            let states = [TaskState::Completed, TaskState::Failed, TaskState::Canceled, TaskState::Rejected];
            task.stage(super::writer::status(*random.pick(&states), time))
        }
        _ => {
            let part = random.pick(&parts()).clone();
            let artifact = Artifact::new(*random.pick(&["a", "b", "c"]), vec![part]);
            let append = !random.one_in(3);
            task.stage(StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
                artifact,
                append,
                ..Default::default()
            }))
        }
    };
}

/// A random range of the log is complete, or compacted.
async fn check_log(store: &impl TaskStore, task: &Writer, random: &mut Random) {
    let (after, limit) = (random.below(task.log.len() + 1), 1 + random.below(8));
    match store.events_after(&task.scope, task.id(), after as u64, Portion::records(limit)).await {
        Ok(records) => {
            let expected: &[Record] = &task.log[after..(after + limit).min(task.log.len())];
            assert_eq!(records, expected);
        }
        Err(error) => assert!(matches!(error, nuncio_engine::store::StoreError::Compacted), "{error:?}"),
    }
}
