//! Erasing tasks, and scanning the whole store.

use nuncio_engine::store::{Erase, ListQuery, Portion, PushConfig, Scanned, StoreError, TaskStore};
use nuncio_model::{Message, Principal, Scope, TaskState, Timestamp};

use super::{
    StoreFixture,
    lists::ids,
    pushes::config,
    writer::{Writer, at, chunk},
};

/// Creates ended, parked and running tasks for two tenants, two callers and two contexts, each with records and a
/// pending push.
async fn everybody(store: &impl TaskStore) -> Vec<Writer> {
    let mut tasks = Vec::new();
    for tenant in ["t", "u"] {
        for caller in ["a", "b"] {
            for context in ["c", "d"] {
                for state in [TaskState::Completed, TaskState::InputRequired, TaskState::Working] {
                    let scope = Scope::new(tenant.into(), Principal::named(caller));
                    let id = format!("{tenant}{caller}{context}{}", state.number());
                    let mut task = Writer::new(&id).in_scope(&scope).in_context(context);
                    task.push_configs.push(PushConfig { config: config(&id, "p"), format: None, delivered: 0 });
                    task.run(store).await;
                    task.stage(chunk("x"));
                    task.set(store, state, at(0)).await;
                    tasks.push(task);
                }
            }
        }
    }
    tasks
}

fn due_at() -> Timestamp {
    Timestamp::from_millisecond(Timestamp::now().as_millisecond() + 60_000).unwrap()
}

async fn check(store: &impl TaskStore, tasks: &[Writer], is_gone: impl Fn(&str) -> bool) {
    let mut outbox = Vec::new();
    for task in tasks {
        if is_gone(task.id().as_str()) {
            assert!(store.load(&task.scope, task.id()).await.unwrap().is_none(), "{}", task.id());
            assert_eq!(store.events_after(&task.scope, task.id(), 0, Portion::records(10)).await.unwrap(), []);
            assert_eq!(store.push_configs(&task.scope, task.id()).await.unwrap(), None);
            let mut late = task.clone();
            if !late.task.state().is_terminal() {
                late.stage(chunk("late"));
            }
            let late = late.commit(store, false, false).await;
            assert!(matches!(late, Err(StoreError::Conflict)), "{late:?}");
        } else {
            task.assert_stored(store).await;
            outbox.push(task.id().to_string());
        }
    }
    let mut due: Vec<_> = store.due_pushes(due_at(), 100).await.unwrap().into_iter().collect();
    due.sort_by(|one, two| one.config.task_id.cmp(&two.config.task_id));
    let due: Vec<_> = due.iter().map(|it| it.config.task_id.as_ref().unwrap().to_string()).collect();
    outbox.sort();
    assert_eq!(due, outbox);
    assert_eq!(store.next_push().await.unwrap().is_some(), !outbox.is_empty());
    let mut listed = Vec::new();
    for tenant in ["t", "u"] {
        for caller in ["a", "b"] {
            let scope = Scope::new(tenant.into(), Principal::named(caller));
            let page = store.list(&scope, &ListQuery { page_size: 100, ..ListQuery::default() }).await.unwrap();
            assert_eq!(page.total, page.tasks.len());
            listed.extend(ids(&page).into_iter().map(str::to_owned));
        }
    }
    listed.sort();
    assert_eq!(listed, outbox);
}

/// Erasing a task, a context, a caller or a tenant removes exactly the matching tasks, in any state.
pub async fn erasing_removes_exactly_the_matching_tasks<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut tasks = everybody(&store).await;
    tasks.sort_by(|one, two| one.id().cmp(two.id()));
    let scope = |tenant: &str, caller: &str| Scope::new(tenant.into(), Principal::named(caller));
    assert_eq!(store.erase(&Erase::Task(scope("t", "b"), "tac3".into())).await.unwrap(), 0, "a task of another caller");
    assert_eq!(store.erase(&Erase::Context(scope("t", "x"), "c".into())).await.unwrap(), 0);
    assert_eq!(store.erase(&Erase::Scope(scope("", "a"))).await.unwrap(), 0);
    assert_eq!(store.erase(&Erase::Tenant("".into())).await.unwrap(), 0);
    check(&store, &tasks, |_| false).await;
    assert_eq!(store.erase(&Erase::Task(scope("t", "a"), "tac2".into())).await.unwrap(), 1);
    check(&store, &tasks, |id| id == "tac2").await;
    assert_eq!(store.erase(&Erase::Context(scope("t", "a"), "c".into())).await.unwrap(), 2);
    check(&store, &tasks, |id| id.starts_with("tac")).await;
    assert_eq!(store.erase(&Erase::Scope(scope("t", "a"))).await.unwrap(), 3);
    check(&store, &tasks, |id| id.starts_with("ta")).await;
    assert_eq!(store.erase(&Erase::Tenant("u".into())).await.unwrap(), 12);
    check(&store, &tasks, |id| id.starts_with("ta") || id.starts_with('u')).await;
    assert_eq!(store.erase(&Erase::Tenant("u".into())).await.unwrap(), 0);
}

/// The id of an erased task can be used again. The new task has nothing of the erased task.
pub async fn an_erased_id_can_be_used_again<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut first = Writer::new("t");
    first.push_configs.push(PushConfig { config: config("t", "p"), format: None, delivered: 0 });
    first.run(&store).await;
    for _ in 0..600 {
        first.stage(chunk("an old word "));
        first.run(&store).await;
    }
    assert_eq!(store.erase(&Erase::Task(Scope::open(), "t".into())).await.unwrap(), 1);
    let mut second = Writer::new("t");
    second.stage_received(Message { message_id: "n".into(), ..Message::user("new") });
    second.run(&store).await;
    second.assert_stored(&store).await;
    assert_eq!(store.events_after(&Scope::open(), &"t".into(), 0, Portion::records(1_000)).await.unwrap(), second.log);
    assert_eq!(store.push_configs(&Scope::open(), &"t".into()).await.unwrap(), Some(vec![]));
    assert_eq!(store.due_pushes(due_at(), 10).await.unwrap(), []);
    second.stage(chunk("x"));
    second.run(&store).await;
    second.set(&store, TaskState::Completed, at(1)).await;
    second.assert_stored(&store).await;
}

/// Erased tasks do not return after a restart, and later tasks are not affected.
pub async fn erased_tasks_do_not_return<F: StoreFixture>(fixture: F) {
    if !F::DURABLE {
        return;
    }
    let mut tasks = {
        let store = fixture.open().await;
        let tasks = everybody(&store).await;
        store.erase(&Erase::Tenant("u".into())).await.unwrap();
        tasks
    };
    {
        let store = fixture.open().await;
        for task in &mut tasks {
            if task.scope.tenant.as_str() == "t" {
                task.epoch = super::writer::claim(&store, task).await.epoch;
            }
        }
        check(&store, &tasks, |id| id.starts_with('u')).await;
        let mut new = Writer::new("new");
        new.run(&store).await;
        new.stage(chunk("x"));
        new.run(&store).await;
        assert_eq!(store.events_after(&new.scope, new.id(), 0, Portion::records(10)).await.unwrap(), new.log);
        store.erase(&Erase::Task(new.scope.clone(), new.id().clone())).await.unwrap();
    }
    let store = fixture.open().await;
    let mut other = Writer::new("other");
    other.run(&store).await;
    assert_eq!(store.events_after(&other.scope, other.id(), 0, Portion::records(10)).await.unwrap(), other.log);
    let all = ListQuery { page_size: 100, ..ListQuery::default() };
    assert_eq!(ids(&store.list(&Scope::open(), &all).await.unwrap()), ["other"]);
}

/// A scan returns every task once, with its scope and its configurations, in pages of any size.
pub async fn a_scan_returns_every_task_once<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    assert!(store.scan(None, 10).await.unwrap().next.is_none());
    let mut tasks = everybody(&store).await;
    tasks.sort_by(|one, two| one.id().cmp(two.id()));
    for size in [1, 5, 24, 100] {
        let mut scanned: Vec<Scanned> = Vec::new();
        let mut after = None;
        loop {
            let page = store.scan(after.as_deref(), size).await.unwrap();
            assert!(page.tasks.len() <= size && page.unreadable.is_empty());
            scanned.extend(page.tasks);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        scanned.sort_by(|one, two| one.stored.task.id.cmp(&two.stored.task.id));
        assert_eq!(scanned.len(), tasks.len());
        for (found, task) in scanned.iter().zip(&tasks) {
            assert_eq!((&*found.stored.task, &found.scope), (&task.task, &task.scope));
            assert_eq!((found.stored.sequence, found.stored.epoch), (task.sequence(), task.epoch));
            assert_eq!(Some(&found.configs), store.push_configs(&task.scope, task.id()).await.unwrap().as_ref());
        }
    }
    let bad = store.scan(Some("no cursor"), 10).await;
    assert!(matches!(bad, Err(StoreError::BadPageToken)), "{bad:?}");
}

/// A scan neither misses nor repeats a task when tasks are created and erased in the meantime.
pub async fn a_scan_is_correct_while_tasks_change<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let tasks = everybody(&store).await;
    let mut seen: Vec<String> = Vec::new();
    let (mut after, mut number) = (None, 0);
    loop {
        let page = store.scan(after.as_deref(), 4).await.unwrap();
        seen.extend(page.tasks.iter().map(|it| it.stored.task.id.to_string()));
        if let Some(last) = page.tasks.last() {
            store.erase(&Erase::Task(last.scope.clone(), last.stored.task.id.clone())).await.unwrap();
        }
        number += 1;
        Writer::new(&format!("new{number}")).run(&store).await;
        after = page.next;
        if after.is_none() {
            break;
        }
        assert!(number < 100, "the scan ends");
    }
    seen.retain(|id| !id.starts_with("new"));
    seen.sort();
    let mut expected: Vec<_> = tasks.iter().map(|task| task.id().to_string()).collect();
    expected.sort();
    assert_eq!(seen, expected);
}
