//! Tasks at work, and claims of abandoned tasks.

use nuncio_engine::store::{AtWork, Claim, Erase, Orphan, StoreError, TaskStore};
use nuncio_model::{Principal, Scope, TaskState};

use super::{
    StoreFixture,
    writer::{Writer, at, chunk, status},
};

/// The expected entry of a task at work.
pub(crate) fn entry(task: &Writer) -> AtWork {
    AtWork { scope: task.scope.clone(), id: task.id().clone(), epoch: task.epoch, sequence: task.sequence() }
}

/// Reads all pages of the tasks at work, and sorts the tasks by id.
pub(crate) async fn at_work(store: &impl TaskStore, limit: usize) -> Vec<AtWork> {
    let (mut tasks, mut after) = (Vec::new(), None);
    loop {
        let page = store.at_work(after.as_deref(), limit).await.unwrap();
        assert!(page.tasks.len() <= limit);
        tasks.extend(page.tasks);
        after = page.next;
        if after.is_none() {
            tasks.sort_by(|one, two| one.id.cmp(&two.id));
            return tasks;
        }
    }
}

/// Every task that was not released is listed once, in any state, even if other tasks are created and released in the
/// meantime.
pub async fn tasks_at_work_are_listed_in_pages<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let scopes = [Scope::open(), Scope::new("tenant".into(), Principal::named("a"))];
    assert_eq!(at_work(&store, 10).await, []);
    let mut tasks: Vec<_> =
        (0..7).map(|number| Writer::new(&format!("{number}")).in_scope(&scopes[number % 2])).collect();
    for task in &mut tasks {
        task.run(&store).await;
        task.stage(chunk("x"));
        task.run(&store).await;
    }
    tasks[3].stage(status(TaskState::InputRequired, at(1)));
    tasks[3].run(&store).await;
    Writer::new("ended").create_ended(&store).await;
    for limit in [1, 2, 7, 10] {
        assert_eq!(at_work(&store, limit).await, tasks.iter().map(entry).collect::<Vec<_>>(), "{limit} at a time");
    }
    let first = store.at_work(None, 3).await.unwrap();
    tasks[0].set(&store, TaskState::Completed, at(2)).await;
    tasks[3].set(&store, TaskState::InputRequired, at(2)).await;
    tasks[6].set(&store, TaskState::Failed, at(2)).await;
    Writer::new("new").run(&store).await;
    let rest = store.at_work(first.next.as_deref(), 10).await.unwrap();
    let mut seen: Vec<_> = first.tasks.iter().chain(&rest.tasks).map(|task| task.id.to_string()).collect();
    seen.sort();
    assert!(["1", "2", "4", "5"].iter().all(|id| seen.iter().filter(|seen| seen == id).count() == 1), "{seen:?}");
    store.erase(&Erase::Scope(scopes[0].clone())).await.unwrap();
    assert_eq!(at_work(&store, 10).await, [entry(&tasks[1]), entry(&tasks[5])]);
    if F::DURABLE {
        assert!(matches!(store.at_work(Some("nonsense"), 10).await, Err(StoreError::BadPageToken)));
        drop(store);
        assert_eq!(at_work(&fixture.open().await, 10).await, [], "the tasks belonged to the previous process");
    }
}

async fn claim(store: &impl TaskStore, task: &Writer) -> (u64, bool) {
    match store.claim(&task.scope, task.id()).await.unwrap() {
        Some(Claim::Owned { stored, abandoned, .. }) => {
            assert_eq!((stored.sequence, &*stored.task), (task.sequence(), &task.task));
            (stored.epoch, abandoned)
        }
        other => panic!("{other:?}"),
    }
}

/// The owner of a running task does not claim the task. A claim of a task at work therefore reports that the last turn
/// was cut off. A claim of a task at rest does not.
pub async fn a_claim_reports_whether_the_task_was_at_work<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let (mut running, mut parked, mut ended) = (Writer::new("running"), Writer::new("parked"), Writer::new("ended"));
    for task in [&mut running, &mut parked, &mut ended] {
        task.run(&store).await;
        assert_eq!(claim(&store, task).await, (task.epoch, true));
    }
    running.stage(status(TaskState::AuthRequired, at(1)));
    running.run(&store).await;
    assert_eq!(claim(&store, &running).await, (running.epoch, true), "the agent was waiting for credentials");
    parked.set(&store, TaskState::InputRequired, at(1)).await;
    ended.set(&store, TaskState::Completed, at(1)).await;
    let (epoch, abandoned) = claim(&store, &parked).await;
    assert!(!abandoned);
    assert_eq!(claim(&store, &ended).await, (ended.epoch, false));
    parked.epoch = epoch;
    parked.stage(chunk("x"));
    parked.run(&store).await;
    assert_eq!(claim(&store, &parked).await, (epoch, true));
}

/// A task released in the state submitted or working is not at rest, but an orphan.
pub async fn a_task_released_before_rest_is_not_at_work<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let (mut submitted, mut working) =
        (Writer::new("submitted"), Writer::new("working").in_state(TaskState::Working, at(0)));
    for task in [&mut submitted, &mut working] {
        task.run(&store).await;
        task.stage(chunk("x"));
        task.release(&store).await;
    }
    assert_eq!(at_work(&store, 10).await, []);
    let mut orphans: Vec<_> = store.orphans(10).await.unwrap();
    orphans.sort_by(|one, two| one.id.cmp(&two.id));
    let expected = [&submitted, &working].map(|it| Orphan { scope: it.scope.clone(), id: it.id().clone() });
    assert_eq!(orphans, expected);
    for task in [&mut submitted, &mut working] {
        task.epoch = claim(&store, task).await.0;
        task.set(&store, TaskState::Failed, at(1)).await;
    }
    assert_eq!(store.orphans(10).await.unwrap(), []);
}
