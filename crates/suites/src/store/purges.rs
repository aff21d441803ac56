//! Retention: deletion of old tasks, and tasks that have been parked for a long time.

use nuncio_engine::store::{ListQuery, Orphan, Portion, Purge, PushConfig, PushSettlement, StoreError, TaskStore};
use nuncio_model::{Principal, Scope, TaskState, Timestamp};

use super::{
    StoreFixture,
    lists::ids,
    pushes::config,
    writer::{Writer, at, chunk},
};

const ENDED: [TaskState; 4] = [TaskState::Completed, TaskState::Failed, TaskState::Canceled, TaskState::Rejected];

/// Creates a task that has been at rest in this state since `updated`.
async fn rested(store: &impl TaskStore, scope: &Scope, id: &str, state: TaskState, updated: Timestamp) -> Writer {
    let mut task = Writer::new(id).in_scope(scope);
    task.run(store).await;
    task.stage(chunk("x"));
    task.set(store, state, updated).await;
    task
}

async fn is_there(store: &impl TaskStore, task: &Writer) -> bool {
    let loaded = store.load(&task.scope, task.id()).await.unwrap().is_some();
    let listed = store.list(&task.scope, &ListQuery { page_size: 100, ..ListQuery::default() }).await.unwrap();
    assert_eq!(ids(&listed).contains(&task.id().as_str()), loaded);
    assert_eq!(listed.total, listed.tasks.len());
    let in_context = ListQuery { context: task.task.context_id.clone(), page_size: 100, ..ListQuery::default() };
    let in_context = store.list(&task.scope, &in_context).await.unwrap();
    assert_eq!((ids(&in_context).contains(&task.id().as_str()), in_context.total), (loaded, in_context.tasks.len()));
    if !loaded {
        assert_eq!(store.events_after(&task.scope, task.id(), 0, Portion::records(10)).await.unwrap(), []);
        assert_eq!(store.push_configs(&task.scope, task.id()).await.unwrap(), None);
        assert!(store.claim(&task.scope, task.id()).await.unwrap().is_none());
    }
    loaded
}

/// The ids of the tasks that exist.
async fn left<'a>(store: &impl TaskStore, tasks: &'a [Writer]) -> Vec<&'a str> {
    let mut left = Vec::new();
    for task in tasks {
        if is_there(store, task).await {
            left.push(task.id().as_str());
        }
    }
    left
}

/// A purge deletes the old tasks in the given states, with everything that belongs to them. Other tasks do not change.
pub async fn a_purge_deletes_old_tasks_by_state<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let open = Scope::open();
    let mut tasks = Vec::new();
    for (number, state) in ENDED.into_iter().chain([TaskState::InputRequired]).enumerate() {
        for time in [0, 1, 2] {
            tasks.push(rested(&store, &open, &format!("{number}{time}"), state, at(time)).await);
        }
    }
    let mut running = Writer::new("running");
    running.run(&store).await;
    tasks.push(running);
    let purge = Purge::new([TaskState::Completed, TaskState::Canceled], at(2));
    assert_eq!(store.purge(&purge).await.unwrap(), 4);
    let expected = ["02", "10", "11", "12", "22", "30", "31", "32", "40", "41", "42", "running"];
    assert_eq!(left(&store, &tasks).await, expected);
    for task in &tasks {
        if expected.contains(&task.id().as_str()) {
            task.assert_stored(&store).await;
        }
    }
    assert_eq!(store.purge(&purge).await.unwrap(), 0);
    let purge = Purge::new([TaskState::InputRequired, TaskState::Submitted, TaskState::Working], at(1));
    assert_eq!(store.purge(&purge).await.unwrap(), 1);
    let expected = ["02", "10", "11", "12", "22", "30", "31", "32", "41", "42", "running"];
    assert_eq!(left(&store, &tasks).await, expected);
}

/// A purge deletes at most `limit` tasks. Repeated purges delete all matching tasks.
pub async fn a_purge_respects_its_limit<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let scopes = [Scope::open(), Scope::new("t".into(), Principal::named("a"))];
    for number in 0..700 {
        let mut task = Writer::new(&format!("{number}")).in_scope(&scopes[number % 2]);
        task = task.in_state(TaskState::Completed, at(i64::try_from(number).unwrap()));
        task.create_ended(&store).await;
    }
    let purge = Purge { limit: 300, ..Purge::new(ENDED, at(690)) };
    let mut gone = Vec::new();
    for _ in 0..4 {
        gone.push(store.purge(&purge).await.unwrap());
    }
    assert_eq!(gone, [300, 300, 90, 0]);
    for (number, scope) in scopes.iter().enumerate() {
        let page = store.list(scope, &ListQuery { page_size: 100, ..ListQuery::default() }).await.unwrap();
        let expected = [["698", "696", "694", "692", "690"], ["699", "697", "695", "693", "691"]];
        assert_eq!((ids(&page), page.total), (expected[number].to_vec(), 5));
    }
}

/// A purge can be limited to a tenant, or exclude tenants.
pub async fn a_purge_selects_tenants<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut tasks = Vec::new();
    for tenant in ["", "a", "b", "c"] {
        for principal in [Principal::Anonymous, Principal::named("x")] {
            let scope = Scope::new(tenant.into(), principal.clone());
            let id = format!("{tenant}{principal}");
            tasks.push(rested(&store, &scope, &id, TaskState::Failed, at(0)).await);
        }
    }
    let all = Purge::new(ENDED, at(1));
    assert_eq!(store.purge(&Purge { tenant: Some("d".into()), ..all.clone() }).await.unwrap(), 0);
    assert_eq!(store.purge(&Purge { tenant: Some("a".into()), ..all.clone() }).await.unwrap(), 2);
    assert_eq!(left(&store, &tasks).await, ["anonymous", "x", "banonymous", "bx", "canonymous", "cx"]);
    assert_eq!(store.purge(&Purge { except: vec!["b".into(), "".into()], ..all.clone() }).await.unwrap(), 2);
    assert_eq!(left(&store, &tasks).await, ["anonymous", "x", "banonymous", "bx"]);
    assert_eq!(store.purge(&Purge { tenant: Some("".into()), ..all.clone() }).await.unwrap(), 2);
    assert_eq!(left(&store, &tasks).await, ["banonymous", "bx"]);
    assert_eq!(store.purge(&all).await.unwrap(), 2);
}

/// A purge deletes no task at work, and no task with pending pushes.
pub async fn a_purge_keeps_tasks_at_work_or_with_pending_pushes<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut pending = Writer::new("pending");
    pending.push_configs.push(PushConfig { config: config("pending", "p"), format: None, delivered: 0 });
    pending.run(&store).await;
    pending.set(&store, TaskState::Completed, at(0)).await;
    let mut running = Writer::new("running").in_state(TaskState::InputRequired, at(0));
    running.run(&store).await;
    let all = Purge::new([TaskState::Completed, TaskState::InputRequired], at(1));
    assert_eq!(store.purge(&all).await.unwrap(), 0);
    running.release(&store).await;
    let settlement = PushSettlement {
        scope: pending.scope.clone(),
        task: pending.id().clone(),
        id: "p".into(),
        delivered: 2,
        attempts: 0,
        next_attempt: Timestamp::now(),
        error: None,
    };
    store.settle_push(settlement).await.unwrap();
    assert_eq!(store.purge(&all).await.unwrap(), 2);
    assert_eq!(left(&store, &[pending, running]).await, [""; 0]);
}

/// `resting` returns parked tasks, oldest first, and neither tasks at work nor ended tasks.
pub async fn resting_tasks_are_listed_oldest_first<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let scopes = [Scope::open(), Scope::new("t".into(), Principal::Anonymous)];
    for (number, (time, state)) in [
        (4, TaskState::InputRequired),
        (1, TaskState::AuthRequired),
        (0, TaskState::Completed),
        (3, TaskState::InputRequired),
        (2, TaskState::InputRequired),
        (5, TaskState::AuthRequired),
    ]
    .into_iter()
    .enumerate()
    {
        rested(&store, &scopes[number % 2], &format!("{time}"), state, at(time)).await;
    }
    Writer::new("running").in_state(TaskState::InputRequired, at(0)).run(&store).await;
    let resting = async |states: &[TaskState], before, limit| {
        let found = store.resting(states, at(before), limit).await.unwrap();
        found.iter().map(|it| it.id.to_string()).collect::<Vec<_>>()
    };
    let (input, auth) = (TaskState::InputRequired, TaskState::AuthRequired);
    assert_eq!(resting(&[input, auth], 5, 10).await, ["1", "2", "3", "4"]);
    assert_eq!(resting(&[auth, input], 9, 3).await, ["1", "2", "3"]);
    assert_eq!(resting(&[auth], 9, 10).await, ["1", "5"]);
    assert_eq!(resting(&[input], 4, 10).await, ["2", "3"]);
    assert_eq!(resting(&[], 9, 10).await, [""; 0]);
    assert_eq!(resting(&[TaskState::Completed], 9, 10).await, [""; 0]);
    let first = store.resting(&[input, auth], at(9), 1).await.unwrap();
    assert_eq!(first, [Orphan { scope: scopes[1].clone(), id: "1".into() }]);
}

/// `compact` removes the logs of tasks at rest, except for records with pending pushes. The tasks stay, and parked
/// tasks can continue.
pub async fn logs_of_tasks_at_rest_can_be_compacted<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let (before, after) = (at(-1_000_000_000), Timestamp::from_millisecond(i64::from(u32::MAX) * 1_000).unwrap());
    let open = Scope::open();
    let ended = rested(&store, &open, "ended", TaskState::Completed, at(0)).await;
    let mut parked = rested(&store, &open, "parked", TaskState::InputRequired, at(0)).await;
    let mut running = Writer::new("running");
    running.run(&store).await;
    running.stage(chunk("x"));
    running.run(&store).await;
    let mut pending = Writer::new("pending");
    pending.push_configs.push(PushConfig { config: config("pending", "p"), format: None, delivered: 0 });
    pending.run(&store).await;
    pending.set(&store, TaskState::Completed, at(0)).await;
    assert_eq!(store.compact(before, 10).await.unwrap(), 0);
    // A store can compact by itself.
    let compacted = store.compact(after, 1).await.unwrap() + store.compact(after, 10).await.unwrap();
    assert!(compacted <= 2, "{compacted}");
    assert_eq!(store.compact(after, 10).await.unwrap(), 0);
    for task in [&ended, &parked] {
        let records = store.events_after(&open, task.id(), 0, Portion::records(10)).await;
        assert!(matches!(records, Err(StoreError::Compacted)), "{records:?}");
    }
    for task in [&running, &pending] {
        assert_eq!(store.events_after(&open, task.id(), 0, Portion::records(10)).await.unwrap(), task.log);
    }
    let kept = parked.log.len();
    parked.epoch = super::writer::claim(&store, &parked).await.epoch;
    parked.stage(chunk("y"));
    parked.run(&store).await;
    assert_eq!(
        store.events_after(&open, parked.id(), kept as u64, Portion::records(10)).await.unwrap(),
        parked.log[kept..]
    );
    for task in [&ended, &parked, &running, &pending] {
        task.assert_stored(&store).await;
    }
}
