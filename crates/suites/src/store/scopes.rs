//! Scopes: a task of another scope looks like a missing task.

use nuncio_engine::store::{ListQuery, Portion, PushConfig, PushSettlement, StoreError, TaskStore};
use nuncio_model::{Principal, Scope, TaskPushNotificationConfig, TaskState};

use super::{
    StoreFixture,
    pushes::config,
    writer::{Writer, at, chunk},
};

fn scopes() -> Vec<Scope> {
    let callers =
        [Principal::Open, Principal::Anonymous, Principal::named("a"), Principal::named("?"), Principal::named("")];
    let tenants = ["", "a", "t", "?", "=a"];
    callers.iter().flat_map(|caller| tenants.map(|tenant| Scope::new(tenant.into(), caller.clone()))).collect()
}

/// No call distinguishes a foreign task from a missing task, and no call changes a foreign task.
pub async fn a_foreign_task_looks_like_a_missing_task<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let owner = Scope::new("tenant".into(), Principal::named("owner"));
    let mut task = Writer::new("t").in_scope(&owner);
    task.push_configs.push(PushConfig { config: config("t", "p"), format: None, delivered: 0 });
    task.run(&store).await;
    task.set(&store, TaskState::Working, at(1)).await;
    for (tenant, principal) in [("tenant", "other"), ("other", "owner"), ("", "owner")] {
        let scope = Scope::new(tenant.into(), Principal::named(principal));
        for id in ["t", "missing"] {
            let id = &id.into();
            assert!(store.load(&scope, id).await.unwrap().is_none());
            assert!(store.claim(&scope, id).await.unwrap().is_none());
            assert_eq!(store.events_after(&scope, id, 0, Portion::records(10)).await.unwrap(), []);
            let foreign = PushConfig { config: config(id.as_str(), "p"), format: None, delivered: 0 };
            assert!(!store.put_push_config(&scope, foreign).await.unwrap());
            assert_eq!(store.push_configs(&scope, id).await.unwrap(), None);
            assert!(!store.delete_push_config(&scope, id, &"p".into()).await.unwrap());
            let settlement = PushSettlement {
                scope: scope.clone(),
                task: id.clone(),
                id: "p".into(),
                delivered: 2,
                attempts: 0,
                next_attempt: at(0),
                error: None,
            };
            store.settle_push(settlement).await.unwrap();
        }
        let mut foreign = Writer { scope: scope.clone(), ..task.clone() };
        foreign.stage(chunk("x"));
        assert!(matches!(foreign.commit(&store, true, true).await, Err(StoreError::Conflict)));
        let page = store.list(&scope, &ListQuery { page_size: 10, ..Default::default() }).await.unwrap();
        assert_eq!((page.tasks.len(), page.next, page.total), (0, None, 0));
    }
    task.assert_stored(&store).await;
    let configs = store.push_configs(&owner, task.id()).await.unwrap().unwrap();
    assert_eq!(
        configs.iter().map(|it| (&it.config, it.delivered)).collect::<Vec<(&TaskPushNotificationConfig, u64)>>(),
        [(&config("t", "p"), 0)]
    );
}

/// Scopes with similar names are independent.
pub async fn tenants_and_callers_are_separate<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut tasks = Vec::new();
    for (number, scope) in scopes().iter().enumerate() {
        let mut task = Writer::new(&format!("task {number}")).in_scope(scope).in_context("shared");
        task.run(&store).await;
        tasks.push(task);
    }
    for scope in &scopes() {
        for context in [None, Some("shared".into())] {
            let query = ListQuery { context, page_size: 100, ..Default::default() };
            let page = store.list(scope, &query).await.unwrap();
            let own: Vec<_> = tasks.iter().filter(|task| task.scope == *scope).map(Writer::id).collect();
            assert_eq!(page.tasks.iter().map(|task| &task.id).collect::<Vec<_>>(), own);
            assert_eq!((own.len(), page.total), (1, 1));
        }
        for task in &tasks {
            assert_eq!(store.load(scope, task.id()).await.unwrap().is_some(), task.scope == *scope);
        }
    }
}
