//! Counting tasks per scope does not read the tasks.

use nuncio_engine::TaskStore;
use nuncio_model::{ContextId, Principal, Scope, TaskId, TaskState};
use nuncio_store::{Owner, Which};

use crate::support::{Place, create, task};

/// Creates three tasks of two callers, two of them in one context.
async fn fill(store: &dyn TaskStore) -> [Scope; 2] {
    let scopes = [Scope::open(), Scope::new("tenant".into(), Principal::named("ann"))];
    for (id, context, scope) in [("a", "x", 0), ("b", "x", 1), ("c\0", "y\0", 1)] {
        let mut task = task(id, TaskState::Completed);
        task.context_id = Some(context.into());
        let mut commit = create(&task);
        commit.scope = scopes[scope].clone();
        store.commit(commit).await.unwrap();
    }
    scopes
}

fn counts(owners: Vec<Owner>) -> Vec<(Scope, u64)> {
    let mut counts: Vec<_> = owners.into_iter().map(|owner| (owner.scope, owner.tasks)).collect();
    counts.sort_by_key(|(scope, _)| scope.tenant.as_str().to_owned());
    counts
}

/// Checks all selections.
macro_rules! assert_owners {
    ($store:expr, $scopes:expr) => {
        let [open, ann] = $scopes;
        let (x, y, none) = (ContextId::from("x"), ContextId::from("y\0"), ContextId::from("z"));
        let (c, nothing) = (TaskId::from("c\0"), TaskId::from("z"));
        for (which, expected) in [
            (Which::All, vec![(open.clone(), 1), (ann.clone(), 2)]),
            (Which::Context(&x), vec![(open.clone(), 1), (ann.clone(), 1)]),
            (Which::Context(&y), vec![(ann.clone(), 1)]),
            (Which::Context(&none), vec![]),
            (Which::Task(&c), vec![(ann.clone(), 1)]),
            (Which::Task(&nothing), vec![]),
        ] {
            assert_eq!(counts($store.owners(which).await.unwrap()), expected, "{which:?}");
        }
    };
}

#[tokio::test]
async fn sqlite_counts_tasks_per_scope() {
    let place = Place::new();
    let store = place.open().await;
    let scopes = fill(&store).await;
    let spoil = "UPDATE tasks SET body = '{', artifacts = '{'; DELETE FROM bodies; DELETE FROM events";
    place.connection().execute_batch(spoil).unwrap();
    assert_owners!(store, &scopes);
    store.close().await.unwrap();
    assert_owners!(nuncio_store::SqliteStore::open_read_only(place.path()).await.unwrap(), &scopes);
}

#[cfg(feature = "postgres")]
#[tokio::test]
async fn postgres_counts_tasks_per_scope() {
    use crate::postgres::place::{Place, options};
    let place = Place::new();
    let store = place.open(options()).await;
    let scopes = fill(&store).await;
    place.client().await.batch_execute("DELETE FROM bodies; DELETE FROM events").await.unwrap();
    let visitor = nuncio_store::PostgresStore::open_beside(place.url(), options()).await.unwrap();
    assert_owners!(visitor, &scopes);
}
