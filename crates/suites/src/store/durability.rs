//! Restart of a store: stored tasks, and orphans of the previous process. Stores without durability skip these tests,
//! except for the first.

use nuncio_engine::store::{ListQuery, Orphan, Portion, PushConfig, StoreError, TaskStore};
use nuncio_model::{Principal, Scope, TaskState};

use super::{
    StoreFixture,
    lists::ids,
    pushes::config,
    writer::{Writer, at, chunk, claim},
};

fn orphan(task: &Writer) -> Orphan {
    Orphan { scope: task.scope.clone(), id: task.id().clone() }
}

/// A task at work in the current process is not an orphan, in any state.
pub async fn a_task_at_work_is_not_an_orphan<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut task = Writer::new("running");
    task.run(&store).await;
    task.stage(super::writer::status(TaskState::AuthRequired, at(1)));
    task.run(&store).await;
    Writer::new("parked").in_state(TaskState::InputRequired, at(0)).release(&store).await;
    Writer::new("ended").in_state(TaskState::Failed, at(0)).release(&store).await;
    assert_eq!(store.orphans(10).await.unwrap(), []);
}

/// Ended, parked and running tasks are complete after a restart, and can continue.
pub async fn tasks_survive_a_restart<F: StoreFixture>(fixture: F) {
    if !F::DURABLE {
        return;
    }
    let mut ended = Writer::new("ended");
    let mut parked = Writer::new("parked");
    let mut running = Writer::new("running").in_scope(&Scope::new("tenant".into(), Principal::named("a")));
    {
        let store = fixture.open().await;
        for task in [&mut ended, &mut parked, &mut running] {
            task.run(&store).await;
            task.stage(chunk("x"));
            task.run(&store).await;
        }
        ended.set(&store, TaskState::Completed, at(1)).await;
        parked.set(&store, TaskState::InputRequired, at(1)).await;
    }
    // The position of the last release of the running task. The log is kept from this position on.
    let mut kept = 0;
    for _ in 0..2 {
        let store = fixture.open().await;
        for task in [&ended, &parked, &running] {
            task.assert_stored(&store).await;
        }
        let records =
            store.events_after(&running.scope, running.id(), kept as u64, Portion::records(10)).await.unwrap();
        assert_eq!(records, running.log[kept..]);
        for task in [&mut parked, &mut running] {
            task.epoch = claim(&store, task).await.epoch;
            task.set(&store, TaskState::InputRequired, at(2)).await;
            task.assert_stored(&store).await;
        }
        kept = running.log.len();
        running.stage(chunk("y"));
        running.run(&store).await;
        store.close().await.unwrap();
    }
}

/// Lists and their totals are the same after a restart.
pub async fn lists_survive_a_restart<F: StoreFixture>(fixture: F) {
    if !F::DURABLE {
        return;
    }
    {
        let store = fixture.open().await;
        for number in 0..10 {
            let mut task = Writer::new(&format!("{number}")).in_context(if number < 5 { "low" } else { "high" });
            task.run(&store).await;
            if number % 2 == 0 {
                task.set(&store, TaskState::Completed, at(number)).await;
            }
        }
    }
    let store = fixture.open().await;
    let completed = ListQuery { state: Some(TaskState::Completed), page_size: 2, ..ListQuery::default() };
    let page = store.list(&Scope::open(), &completed).await.unwrap();
    assert_eq!((ids(&page), page.total), (vec!["8", "6"], 5));
    let query = ListQuery { context: Some("low".into()), ..completed };
    let page = store.list(&Scope::open(), &query).await.unwrap();
    assert_eq!((ids(&page), page.total), (vec!["4", "2"], 3));
}

/// After a crash the running tasks are orphans, oldest first, until a claim and a release.
pub async fn a_task_running_at_a_crash_is_an_orphan<F: StoreFixture>(fixture: F) {
    if !F::DURABLE {
        return;
    }
    let scopes = [Scope::open(), Scope::new("tenant".into(), Principal::Anonymous)];
    let mut tasks = Vec::new();
    {
        let store = fixture.open().await;
        for (number, id) in ["c", "a", "b"].into_iter().enumerate() {
            let mut task = Writer::new(id).in_scope(&scopes[number % 2]);
            task.run(&store).await;
            tasks.push(task);
        }
        tasks[1].stage(super::writer::status(TaskState::AuthRequired, at(1)));
        tasks[1].run(&store).await;
        Writer::new("parked").in_state(TaskState::InputRequired, at(0)).release(&store).await;
        Writer::new("ended").in_state(TaskState::Failed, at(0)).release(&store).await;
    }
    {
        let store = fixture.open().await;
        let all: Vec<_> = tasks.iter().map(orphan).collect();
        assert_eq!(store.orphans(10).await.unwrap(), all);
        assert_eq!(store.orphans(2).await.unwrap(), all[..2]);
        Writer::new("new").run(&store).await;
        let task = &mut tasks[0];
        let before = task.epoch;
        task.epoch = claim(&store, task).await.epoch;
        assert_ne!(task.epoch, before);
        assert_eq!(store.orphans(10).await.unwrap(), all[1..], "a claimed task is not an orphan");
        task.set(&store, TaskState::Failed, at(2)).await;
        assert_eq!(store.orphans(10).await.unwrap(), all[1..]);
    }
    let store = fixture.open().await;
    let left: Vec<_> = store.orphans(10).await.unwrap().into_iter().map(|orphan| orphan.id.to_string()).collect();
    assert_eq!(left, ["a", "b", "new"]);
}

/// After a claim, commits of the crashed owner conflict, even at the end of the log.
pub async fn a_claim_fences_the_previous_owner<F: StoreFixture>(fixture: F) {
    if !F::DURABLE {
        return;
    }
    let mut task = Writer::new("t");
    task.run(&fixture.open().await).await;
    let store = fixture.open().await;
    let claimed = claim(&store, &task).await;
    let again = claim(&store, &task).await;
    assert_eq!((again.epoch, again.sequence), (claimed.epoch, claimed.sequence));
    let mut earlier = task.clone();
    earlier.stage(chunk("late"));
    assert!(matches!(earlier.commit(&store, false, false).await, Err(StoreError::Conflict)));
    task.epoch = claimed.epoch;
    task.assert_stored(&store).await;
    task.stage(chunk("mine"));
    task.run(&store).await;
    task.assert_stored(&store).await;
}

/// Push configurations, pending pushes and their records are the same after a restart.
pub async fn pending_pushes_survive_a_restart<F: StoreFixture>(fixture: F) {
    if !F::DURABLE {
        return;
    }
    let mut task = Writer::new("t");
    let next = {
        let store = fixture.open().await;
        task.push_configs.push(PushConfig { config: config("t", "p"), format: Some("old".into()), delivered: 0 });
        task.run(&store).await;
        task.set(&store, TaskState::Completed, at(1)).await;
        store.next_push().await.unwrap()
    };
    let store = fixture.open().await;
    assert_eq!(store.next_push().await.unwrap(), next);
    let due = store.due_pushes(next.unwrap(), 10).await.unwrap();
    assert_eq!(
        due.iter().map(|it| (&it.config, it.delivered, it.pending)).collect::<Vec<_>>(),
        [(&config("t", "p"), 0, 2)]
    );
    let configs = store.push_configs(&task.scope, task.id()).await.unwrap().unwrap();
    assert_eq!(configs[0].format.as_deref(), Some("old"));
    assert_eq!(store.events_after(&task.scope, task.id(), 0, Portion::records(10)).await.unwrap(), task.log);
}
