//! Lists: filters and order.

use nuncio_engine::store::{ListPage, ListQuery, TaskStore};
use nuncio_model::{Scope, Task, TaskId, TaskState, Timestamp};

use super::{
    StoreFixture,
    writer::{Writer, at, chunk},
};
use crate::random::Random;

pub(super) fn ids(page: &ListPage) -> Vec<&str> {
    page.tasks.iter().map(|task| task.id.as_str()).collect()
}

async fn list(store: &impl TaskStore, query: &ListQuery) -> ListPage {
    store.list(&Scope::open(), &ListQuery { page_size: 100, ..query.clone() }).await.unwrap()
}

/// Tasks are sorted by time of status, newest first, and then by id in descending order.
pub async fn lists_are_sorted_by_time_and_id<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let page = list(&store, &ListQuery::default()).await;
    assert_eq!((page.tasks.len(), page.next, page.total), (0, None, 0));
    for (id, time) in [("b", 2), ("d", 1), ("a", 2), ("e", -1_800_000_000_000), ("c", 2), ("f", 1_000_000_000_000)] {
        Writer::new(id).in_state(TaskState::Submitted, at(time)).run(&store).await;
    }
    let page = list(&store, &ListQuery::default()).await;
    assert_eq!((ids(&page), page.next.as_deref(), page.total), (vec!["f", "c", "b", "a", "d", "e"], None, 6));
    // The first and the last possible time are stored exactly, and can be the position of a page token.
    let ends = ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z"].map(|time| time.parse().unwrap());
    for (id, time) in ["first", "last"].into_iter().zip(ends) {
        Writer::new(id).in_state(TaskState::Submitted, time).run(&store).await;
    }
    let page = list(&store, &ListQuery::default()).await;
    assert_eq!(ids(&page), ["last", "f", "c", "b", "a", "d", "e", "first"]);
    for (task, time) in [(&page.tasks[7], ends[0]), (&page.tasks[0], ends[1])] {
        assert_eq!(task.status.timestamp, Some(time));
    }
    let one = ListQuery { page_size: 1, ..ListQuery::default() };
    let page = store.list(&Scope::open(), &one).await.unwrap();
    let page = store.list(&Scope::open(), &ListQuery { page_token: page.next, ..one }).await.unwrap();
    assert_eq!(ids(&page), ["f"]);
}

/// Lists filter by context, by state and by both. The total counts the matching tasks.
pub async fn lists_filter_by_context_and_state<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let states = [TaskState::Working, TaskState::Completed, TaskState::InputRequired];
    for number in 0..30 {
        let state = states[number % 3];
        let time = at(i64::try_from(number).unwrap());
        let mut task =
            Writer::new(&format!("{number:02}")).in_context(&format!("{}", number % 2)).in_state(state, time);
        task.commit(&store, state != TaskState::Working, true).await.unwrap();
    }
    for context in [None, Some(0), Some(1), Some(2)] {
        for state in [None, Some(0), Some(1), Some(2), Some(3)] {
            let expected: Vec<String> = (0..30)
                .rev()
                .filter(|number| context.is_none_or(|context| number % 2 == context))
                .filter(|number| state.is_none_or(|state| number % 3 == state))
                .map(|number| format!("{number:02}"))
                .collect();
            let query = ListQuery {
                context: context.map(|context| format!("{context}").into()),
                state: state.map(|state| states.get(state).copied().unwrap_or(TaskState::Rejected)),
                ..ListQuery::default()
            };
            let page = list(&store, &query).await;
            assert_eq!((ids(&page), page.total), (expected.iter().map(String::as_str).collect(), expected.len()));
            // A total that is known is given back, and not counted again.
            let known = list(&store, &ListQuery { total: Some(1_000), ..query }).await;
            assert_eq!((ids(&known), known.total), (ids(&page), 1_000));
        }
    }
}

/// `updated_since` includes the given time, to the nanosecond.
pub async fn lists_filter_by_time_inclusively<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let times = ["2026-01-31T11:59:59.999999999Z", "2026-01-31T12:00:00Z", "2026-01-31T12:00:00.000000001Z"];
    for (time, id) in times.iter().zip(["a", "b", "c"]) {
        Writer::new(id).in_state(TaskState::Working, time.parse().unwrap()).run(&store).await;
    }
    let since = |time: &str| ListQuery { updated_since: Some(time.parse().unwrap()), ..ListQuery::default() };
    for (time, expected) in [
        ("0001-01-01T00:00:00Z", vec!["c", "b", "a"]),
        (times[0], vec!["c", "b", "a"]),
        (times[1], vec!["c", "b"]),
        (times[2], vec!["c"]),
        ("2026-01-31T12:00:00.000000002Z", vec![]),
        ("9999-01-01T00:00:00Z", vec![]),
        ("9999-12-31T23:59:59.999999999Z", vec![]),
    ] {
        for context in [None, Some("context of c")] {
            let expected: Vec<_> =
                expected.iter().copied().filter(|id| context.is_none_or(|it| it.ends_with(id))).collect();
            let page = list(&store, &ListQuery { context: context.map(Into::into), ..since(time) }).await;
            assert_eq!((ids(&page), page.total), (expected.clone(), expected.len()), "{time}");
        }
    }
}

/// A new status moves a task to another position. Other changes do not.
pub async fn a_change_of_status_moves_a_task<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut tasks: Vec<Writer> = ["a", "b", "c"].map(|id| Writer::new(id).in_context("shared")).into();
    for (task, time) in tasks.iter_mut().zip(1..) {
        *task = task.clone().in_state(TaskState::Working, at(time));
        task.run(&store).await;
    }
    tasks[0].stage(chunk("x"));
    tasks[0].run(&store).await;
    for context in [None, Some("shared".into())] {
        let query = ListQuery { context, ..ListQuery::default() };
        assert_eq!(ids(&list(&store, &query).await), ["c", "b", "a"]);
    }
    tasks[0].set(&store, TaskState::Working, at(10)).await;
    tasks[1].set(&store, TaskState::Completed, at(0)).await;
    for context in [None, Some("shared".into())] {
        let query = ListQuery { context, ..ListQuery::default() };
        assert_eq!(ids(&list(&store, &query).await), ["a", "c", "b"]);
        let page = list(&store, &ListQuery { state: Some(TaskState::Working), ..query.clone() }).await;
        assert_eq!((ids(&page), page.total), (vec!["a", "c"], 2));
        let page = list(&store, &ListQuery { state: Some(TaskState::Completed), ..query }).await;
        assert_eq!((ids(&page), page.total), (vec!["b"], 1));
    }
}

/// A list contains the task as of its last record. Artifacts are optional unless the query requests them.
pub async fn a_list_shows_the_last_commit<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut running = Writer::new("running");
    running.run(&store).await;
    running.stage(chunk("x"));
    running.run(&store).await;
    running.stage(chunk("y"));
    running.run(&store).await;
    let mut ended = Writer::new("ended");
    ended.stage(chunk("z"));
    ended.stage(super::writer::status(TaskState::Completed, at(-1)));
    ended.create_ended(&store).await;
    for artifacts in [true, false] {
        let page = list(&store, &ListQuery { artifacts, ..ListQuery::default() }).await;
        assert_eq!(page.tasks.len(), 2);
        for (task, expected) in page.tasks.iter().zip([&running, &ended]) {
            let mut expected = expected.task.clone();
            if !artifacts && task.artifacts.is_empty() {
                expected.artifacts.clear();
            }
            assert_eq!(**task, expected);
        }
    }
}

/// Random lists, page by page, equal a filtered and sorted vector.
pub async fn random_lists_equal_a_sorted_vector<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut random = Random::new(7);
    let states = [TaskState::Submitted, TaskState::Working, TaskState::Completed, TaskState::AuthRequired];
    let mut tasks: Vec<Writer> = Vec::new();
    let time = |random: &mut Random| at(i64::try_from(random.below(40)).unwrap() * 100);
    for round in 0..600 {
        let again = random.below(tasks.len().max(1));
        match tasks.get_mut(again).filter(|task| !task.task.state().is_terminal()) {
            Some(task) if random.one_in(2) => {
                task.set(&store, *random.pick(&states[1..]), time(&mut random)).await;
            }
            _ => {
                let context = format!("{}", random.below(4));
                let state = *random.pick(&states);
                let mut task = Writer::new(&format!("{}", random.below(1_000_000)))
                    .in_context(&context)
                    .in_state(state, time(&mut random));
                task.commit(&store, state.is_terminal(), true).await.unwrap();
                tasks.push(task);
            }
        }
        if round % 10 == 9 {
            let query = ListQuery {
                context: random.one_in(2).then(|| format!("{}", random.below(5)).into()),
                state: random.one_in(2).then(|| *random.pick(&states)),
                updated_since: random.one_in(2).then(|| time(&mut random)),
                page_size: 1 + random.below(30),
                ..ListQuery::default()
            };
            check(&store, &tasks, query).await;
        }
    }
}

async fn check(store: &impl TaskStore, tasks: &[Writer], query: ListQuery) {
    let mut expected: Vec<&Task> = tasks.iter().map(|task| &task.task).filter(|task| matches(task, &query)).collect();
    expected.sort_by_key(|task| std::cmp::Reverse(place(task)));
    let (mut listed, mut query) = (Vec::new(), query);
    loop {
        let page = store.list(&Scope::open(), &query).await.unwrap();
        assert_eq!(page.total, expected.len(), "{query:?}");
        assert!(page.tasks.len() == query.page_size || page.next.is_none(), "{query:?}");
        listed.extend(page.tasks.iter().map(|task| task.id.clone()));
        query.page_token = page.next;
        if query.page_token.is_none() {
            break;
        }
    }
    assert_eq!(listed, expected.iter().map(|task| task.id.clone()).collect::<Vec<_>>(), "{query:?}");
}

fn matches(task: &Task, query: &ListQuery) -> bool {
    query.context.as_ref().is_none_or(|context| task.context_id.as_ref() == Some(context))
        && query.state.is_none_or(|state| task.state() == state)
        && query.updated_since.is_none_or(|since| task.status.timestamp >= Some(since))
}

fn place(task: &Task) -> (Option<Timestamp>, &TaskId) {
    (task.status.timestamp, &task.id)
}
