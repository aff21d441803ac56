//! Costs that must not grow with the stored data.

use std::time::{Duration, Instant};

use nuncio_engine::store::{ListQuery, Portion, TaskStore};
use nuncio_model::{Scope, TaskState};

use super::{
    StoreFixture,
    writer::{Writer, at, chunk},
};

/// The sum of the times without the slowest tenth, because other processes on the machine cause outliers.
fn trimmed(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.truncate(times.len() - times.len() / 10);
    times.iter().sum()
}

/// Appends to a task, and the time of each append.
struct Appends {
    task: Writer,
    snapshot_at: u64,
    times: Vec<Duration>,
}

impl Appends {
    async fn begin(store: &impl TaskStore, id: &str) -> Self {
        let mut task = Writer::new(id);
        task.run(store).await;
        task.set(store, TaskState::Working, at(1)).await;
        Self { task, snapshot_at: 0, times: Vec::new() }
    }

    /// Appends ten chunks of an artifact. Snapshots are as rare as in the engine, because a snapshot costs as much as
    /// the task is large.
    async fn append(&mut self, store: &impl TaskStore, number: usize) {
        for piece in 0..10 {
            self.task.stage(chunk(&format!("{number}.{piece}, ")));
        }
        let snapshot = self.task.sequence() > 1_000.max(2 * self.snapshot_at);
        let commit = self.task.next_commit(false, snapshot);
        let begun = Instant::now();
        store.commit(commit).await.unwrap();
        if snapshot {
            self.snapshot_at = self.task.sequence();
        } else {
            self.times.push(begun.elapsed());
        }
        self.task.committed();
    }
}

/// A task keeps all of 20,000 chunks, and the last appends take about as long as appends to small tasks at the same
/// time.
pub async fn appends_to_a_large_task_are_cheap<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let mut big = Appends::begin(&store, "t").await;
    for number in 0..1_500 {
        big.append(&store, number).await;
    }
    big.times.clear();
    let mut in_small = Vec::new();
    for number in 1_500..2_000 {
        // Alternate between both kinds, so that other load on the machine affects both equally.
        if number % 50 == 0 {
            in_small.push(Appends::begin(&store, &format!("small {number}")).await);
        }
        let small = in_small.last_mut().unwrap();
        small.append(&store, number).await;
        big.append(&store, number).await;
    }
    let in_small = trimmed(in_small.into_iter().flat_map(|small| small.times).collect());
    let Appends { mut task, times: in_big, .. } = big;
    let in_big = trimmed(in_big);
    assert!(
        in_big < in_small * 4 + Duration::from_millis(50),
        "500 appends took {in_small:?} in small tasks and {in_big:?} in a big one"
    );
    task.assert_stored(&store).await;
    let mut after = 0;
    while after < task.sequence() {
        let records = store.events_after(&task.scope, task.id(), after, Portion::records(1_024)).await.unwrap();
        assert!(records.iter().zip(after + 1..).all(|(record, sequence)| record.sequence() == sequence));
        after += records.len() as u64;
    }
    task.set(&store, TaskState::Completed, at(2)).await;
    let stored = task.load(&store).await.task;
    let parts = &stored.artifacts[0].parts;
    assert_eq!(parts.len(), 20_000);
    for (number, part) in parts.iter().enumerate() {
        assert_eq!(part.as_text(), Some(&*format!("{}.{}, ", number / 10, number % 10)));
    }
}

/// A page of tasks with large artifacts, without the artifacts, takes about as long as a page of small tasks.
pub async fn a_list_without_artifacts_does_not_read_them<F: StoreFixture>(fixture: F) {
    let store = fixture.open().await;
    let big = "x".repeat(64 * 1024);
    for number in 0..100 {
        for (context, text) in [("small", "x"), ("big", &*big)] {
            let mut task = Writer::new(&format!("{context} {number}")).in_context(context);
            for _ in 0..8 {
                task.stage(chunk(text));
            }
            task.stage(super::writer::status(TaskState::Completed, at(number)));
            task.create_ended(&store).await;
        }
    }
    let fastest = async |context: &str| {
        let query = ListQuery { context: Some(context.into()), page_size: 50, ..ListQuery::default() };
        let mut fastest = Duration::MAX;
        for _ in 0..5 {
            let begun = Instant::now();
            let page = store.list(&Scope::open(), &query).await.unwrap();
            fastest = fastest.min(begun.elapsed());
            assert_eq!((page.tasks.len(), page.total), (50, 100));
        }
        fastest
    };
    let (small, big) = (fastest("small").await, fastest("big").await);
    assert!(big < small * 4 + Duration::from_millis(10), "a small page took {small:?}, a big one {big:?}");
}
