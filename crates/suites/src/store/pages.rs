//! Pages of a list.

use nuncio_engine::store::{ListQuery, StoreError, TaskStore};
use nuncio_model::{PartRef, Scope, Task, TaskState};

use super::{
    StoreFixture,
    lists::ids,
    writer::{Writer, at, chunk},
};

async fn fill(store: &impl TaskStore, tasks: i64) -> Vec<Writer> {
    let mut writers = Vec::new();
    for number in 0..tasks {
        // Two tasks have the same time.
        let mut task = Writer::new(&format!("{number:02}")).in_state(TaskState::Working, at(number / 2));
        task.run(store).await;
        writers.push(task);
    }
    writers
}

/// Pages of any size join to the whole list, and the last page has no token.
pub async fn pages_join_to_the_list<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    fill(&store, 23).await;
    let whole: Vec<String> = (0..23).rev().map(|number| format!("{number:02}")).collect();
    for page_size in [1, 2, 5, 22, 23, 24, 100] {
        let mut query = ListQuery { page_size, ..ListQuery::default() };
        let (mut joined, mut pages) = (Vec::new(), 0);
        loop {
            let page = store.list(&Scope::open(), &query).await.unwrap();
            assert_eq!(page.total, 23);
            joined.extend(ids(&page).into_iter().map(str::to_owned));
            pages += 1;
            query.page_token = page.next;
            if query.page_token.is_none() {
                break;
            }
        }
        assert_eq!((joined, pages), (whole.clone(), 23_usize.div_ceil(page_size)));
    }
}

/// A page that is limited by bytes has as many tasks as fit, and at least one. The pages join to the whole list.
pub async fn pages_limited_by_bytes_join_to_the_list<F: StoreFixture>(fixture: F) {
    const LONG: usize = 10_000;
    let store = fixture.open().await;
    let mut whole = Vec::new();
    for number in 0..12_i64 {
        let mut task = Writer::new(&format!("{number:02}")).in_state(TaskState::Working, at(number));
        task.run(&store).await;
        // The text is in records after the snapshot, in the snapshot, or in both. The text of a task is longer than any
        // page.
        let length = if number == 5 { 10 * LONG } else { LONG };
        task.stage(chunk(&"x".repeat(length)));
        task.run(&store).await;
        if number % 3 == 0 {
            task.set(&store, TaskState::InputRequired, at(number)).await;
        }
        whole.insert(0, task.task.id.as_str().to_owned());
    }
    for (page_bytes, artifacts, most) in [
        (Some(0), true, 1),
        (Some(LONG / 2), true, 1),
        (Some(LONG * 7 / 2), true, 3),
        (Some(LONG * 1_000), true, 4),
        (None, true, 4),
    ] {
        let mut query = ListQuery { page_size: 4, artifacts, page_bytes, ..ListQuery::default() };
        let (mut joined, mut lengths) = (Vec::new(), Vec::new());
        loop {
            let page = store.list(&Scope::open(), &query).await.unwrap();
            assert_eq!(page.total, 12);
            let length =
                |task: &Task| task.artifacts[0].parts.iter().filter_map(PartRef::as_text).map(str::len).sum::<usize>();
            let length: usize = page.tasks.iter().map(|task| length(task)).sum();
            assert!(
                page.tasks.len() == 1 || page_bytes.is_none_or(|most| length <= most),
                "{length} of {page_bytes:?}"
            );
            joined.extend(ids(&page).into_iter().map(str::to_owned));
            lengths.push(page.tasks.len());
            query.page_token = page.next;
            if query.page_token.is_none() {
                break;
            }
        }
        assert_eq!(joined, whole, "{page_bytes:?}");
        assert_eq!(lengths.iter().max(), Some(&most), "{page_bytes:?}: {lengths:?}");
    }
}

/// Tasks that are created, moved or ended between two pages cause neither duplicates nor gaps.
pub async fn pages_are_correct_while_tasks_change<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut tasks = fill(&store, 20).await;
    let mut query = ListQuery { page_size: 8, ..ListQuery::default() };
    let first = store.list(&Scope::open(), &query).await.unwrap();
    assert_eq!(ids(&first), ["19", "18", "17", "16", "15", "14", "13", "12"]);
    // The last task of the page moves, another task of the page ends, a task of the next page moves to the front, and a
    // new task is created.
    tasks[12].set(&store, TaskState::Working, at(100)).await;
    tasks[15].set(&store, TaskState::Completed, at(101)).await;
    tasks[9].set(&store, TaskState::Working, at(102)).await;
    Writer::new("new").in_state(TaskState::Working, at(103)).run(&store).await;
    query.page_token = first.next;
    let second = store.list(&Scope::open(), &query).await.unwrap();
    assert_eq!(ids(&second), ["11", "10", "08", "07", "06", "05", "04", "03"]);
    assert_eq!(second.total, 21);
    query.page_token = second.next;
    let last = store.list(&Scope::open(), &query).await.unwrap();
    assert_eq!((ids(&last), &last.next), (vec!["02", "01", "00"], &None));
}

/// Text that is not a token of this store is refused, with any query.
pub async fn a_foreign_token_is_refused<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    fill(&store, 3).await;
    let query = ListQuery { page_size: 2, ..ListQuery::default() };
    let token = store.list(&Scope::open(), &query).await.unwrap().next.unwrap();
    let nobody = Scope::new("tenant".into(), nuncio_model::Principal::Anonymous);
    for bad in ["", " ", "x", "2", "garbage", "'; DROP TABLE tasks", "AAAA", "ü", &token[1..], &format!("{token}A")] {
        for scope in [&Scope::open(), &nobody] {
            for context in [None, Some("context of 00".into())] {
                let query = ListQuery { page_token: Some(bad.into()), context, ..query.clone() };
                let refused = store.list(scope, &query).await;
                assert!(matches!(refused, Err(StoreError::BadPageToken)), "{bad:?}: {refused:?}");
            }
        }
    }
}

/// A token is valid for its own list, with any page size, and for no other list.
pub async fn a_token_is_valid_for_its_list_only<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    fill(&store, 5).await;
    let list = |state, updated_since| ListQuery { state, updated_since, page_size: 2, ..ListQuery::default() };
    let lists = [list(None, None), list(Some(TaskState::Working), None), list(None, Some(at(0)))];
    for (of, query) in lists.iter().enumerate() {
        let token = store.list(&Scope::open(), query).await.unwrap().next;
        for (with, other) in lists.iter().enumerate() {
            let query = ListQuery { page_token: token.clone(), page_size: 5, ..other.clone() };
            match store.list(&Scope::open(), &query).await {
                Ok(page) => assert_eq!((of, ids(&page)), (with, vec!["02", "01", "00"])),
                Err(error) => assert!(of != with && matches!(error, StoreError::BadPageToken), "{of} {with}: {error}"),
            }
        }
    }
}
