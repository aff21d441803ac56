//! Measures the cost of a commit, a read and a list: `cargo run --release -p nuncio-store --example cost
//! [memory|sqlite|full] [TASKS] [scattered|chunks|load|list|purge]`.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a tool for people")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use nuncio_engine::{
    MemoryStore, Record, TaskStore,
    store::{Commit, ListQuery, Purge},
};
use nuncio_model::{
    Artifact, ContextId, Message, Part, Scope, StreamResponse, Task, TaskArtifactUpdateEvent, TaskId, TaskState,
    TaskStatus, TaskStatusUpdateEvent, Timestamp,
};
use nuncio_store::{SqliteOptions, SqliteStore, Synchronous};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let kind = arguments.next().unwrap_or_else(|| "memory".into());
    let tasks = arguments.next().map_or(300_000, |tasks| tasks.parse().unwrap());
    let only = arguments.next();
    let wanted = |section: &str| only.as_ref().is_none_or(|only| only == section);
    let directory = tempfile::tempdir_in(".").unwrap();
    let store: Arc<dyn TaskStore> = match &*kind {
        "memory" => Arc::new(MemoryStore::new()),
        kind => {
            let synchronous = if kind == "full" { Synchronous::Full } else { Synchronous::Normal };
            let options = SqliteOptions::new().with_synchronous(synchronous);
            Arc::new(SqliteStore::open(directory.path().join("tasks.db"), options).await.unwrap())
        }
    };
    let before = resident();
    for writers in [1, 16, 64, 256] {
        create(&store, writers, tasks / 4).await;
    }
    println!("memory per task: {} bytes", resident().saturating_sub(before) / u64::try_from(tasks).unwrap());
    if wanted("scattered") {
        scattered(&store, 16, 200_000).await;
    }
    if wanted("chunks") {
        chunks(&store, 20_000).await;
    }
    if wanted("load") {
        load(&store).await;
    }
    if wanted("list") {
        list(&store).await;
    }
    if wanted("purge") {
        purge(&store).await;
    }
    for entry in std::fs::read_dir(directory.path()).unwrap() {
        let entry = entry.unwrap();
        println!("{}: {} bytes", entry.file_name().display(), entry.metadata().unwrap().len());
    }
}

/// A commit that creates an ended echo task with its log.
fn echo() -> Commit {
    let (id, context) = (TaskId::generate(), ContextId::generate());
    let mut task = Task::new(id.clone(), context.clone());
    let message = Message::user("hello, agent").with_task_id(id.clone()).with_context_id(context.clone());
    task.history.push(message);
    let first = Record::update(1, StreamResponse::Task(task.clone()));
    let artifact = Artifact::new("echo", vec![Part::text("hello, agent")]);
    let update = TaskArtifactUpdateEvent {
        task_id: id.clone(),
        context_id: context.clone(),
        artifact: artifact.clone(),
        last_chunk: true,
        ..Default::default()
    };
    let second = Record::update(2, StreamResponse::ArtifactUpdate(update));
    let status = TaskStatus::new(TaskState::Completed);
    let update = TaskStatusUpdateEvent {
        task_id: id.clone(),
        context_id: context.clone(),
        status: status.clone(),
        metadata: None,
    };
    let third = Record::update(3, StreamResponse::StatusUpdate(update));
    task.artifacts.push(artifact);
    task.status = status;
    task.history.shrink_to_fit();
    task.artifacts.shrink_to_fit();
    Commit {
        scope: Scope::open(),
        id,
        context,
        expected: 0,
        epoch: 0,
        records: vec![first, second, third],
        state: TaskState::Completed,
        updated: task.status.timestamp.unwrap(),
        released: true,
        snapshot: Some(Arc::new(task)),
        push_configs: Vec::new(),
        acks: Vec::new(),
        remember: None,
    }
}

async fn create(store: &Arc<dyn TaskStore>, writers: usize, tasks: usize) {
    let spent = Arc::new(AtomicU64::new(0));
    let (begun, worked) = (Instant::now(), worked());
    let writers: Vec<_> = (0..writers)
        .map(|_| {
            let (store, tasks, spent) = (Arc::clone(store), tasks / writers, Arc::clone(&spent));
            tokio::spawn(async move {
                let mut times = Vec::with_capacity(tasks);
                for _ in 0..tasks {
                    let made = Instant::now();
                    let commit = echo();
                    let begun = Instant::now();
                    spent.fetch_add(nanos(begun - made), Ordering::Relaxed);
                    store.commit(commit).await.unwrap();
                    times.push(begun.elapsed());
                }
                times
            })
        })
        .collect();
    let (count, mut times) = (writers.len(), Vec::new());
    for writer in writers {
        times.extend(writer.await.unwrap());
    }
    let rate = times.len() as u128 * 1_000_000 / begun.elapsed().as_micros();
    let each = |time: u64| Duration::from_nanos(time / times.len() as u64);
    let (writer, others) = (each(self::worked().0 - worked.0), each(self::worked().1 - worked.1));
    let made = each(spent.load(Ordering::Relaxed));
    println!(
        "create, {count} writers: {rate} a second; each {writer:?} of the writer's thread and {others:?} of others",
    );
    println!("    of which {made:?} to make it; {}", percentiles(times));
}

/// Loads tasks in random order. If there are many tasks, most loads miss the cache.
async fn scattered(store: &Arc<dyn TaskStore>, readers: usize, loads: usize) {
    let mut query = ListQuery { page_size: 100, ..ListQuery::default() };
    let mut ids = Vec::new();
    loop {
        let page = store.list(&Scope::open(), &query).await.unwrap();
        ids.extend(page.tasks.iter().map(|task| task.id.clone()));
        query.page_token = page.next;
        if query.page_token.is_none() {
            break;
        }
    }
    let (ids, begun, worked) = (Arc::new(ids), Instant::now(), worked());
    let readers: Vec<_> = (0..readers)
        .map(|reader| {
            let (store, ids, loads) = (Arc::clone(store), Arc::clone(&ids), loads / readers);
            tokio::spawn(async move {
                let mut place = reader;
                for _ in 0..loads {
                    place = (place * 6_364_137 + 1_442_695) % ids.len();
                    store.load(&Scope::open(), &ids[place]).await.unwrap().unwrap();
                }
            })
        })
        .collect();
    for reader in readers {
        reader.await.unwrap();
    }
    let rate = loads as u128 * 1_000_000 / begun.elapsed().as_micros();
    let each = Duration::from_nanos((self::worked().1 - worked.1) / loads as u64);
    println!("load of any of {}: {rate} a second, each {each:?} of all threads", ids.len());
}

/// Measures the duration of commits while all tasks are purged, and without a purge.
async fn purge(store: &Arc<dyn TaskStore>) {
    let stop = Arc::new(AtomicU64::new(0));
    let committing = |stop: Arc<AtomicU64>| {
        let store = Arc::clone(store);
        tokio::spawn(async move {
            let mut times = Vec::new();
            while stop.load(Ordering::Relaxed) == 0 {
                let mut commit = echo();
                commit.updated = Timestamp::from_millisecond(4_000_000_000_000).unwrap();
                let begun = Instant::now();
                store.commit(commit).await.unwrap();
                times.push(begun.elapsed());
            }
            times
        })
    };
    let alone = committing(Arc::clone(&stop));
    tokio::time::sleep(Duration::from_secs(2)).await;
    stop.store(1, Ordering::Relaxed);
    println!("commits alone: {}", percentiles(alone.await.unwrap()));
    stop.store(0, Ordering::Relaxed);
    let beside = committing(Arc::clone(&stop));
    let (begun, mut gone) = (Instant::now(), 0);
    let purge = Purge::new([TaskState::Completed], Timestamp::now());
    loop {
        let purged = store.purge(&purge).await.unwrap();
        gone += purged;
        if purged < purge.limit {
            break;
        }
    }
    let rate = gone as u128 * 1_000 / begun.elapsed().as_millis().max(1);
    stop.store(1, Ordering::Relaxed);
    println!("purge: {gone} tasks, {rate} a second; commits meanwhile: {}", percentiles(beside.await.unwrap()));
}

async fn chunks(store: &Arc<dyn TaskStore>, chunks: usize) {
    let mut commit = echo();
    (commit.released, commit.state) = (false, TaskState::Working);
    let mut task = Task::new(commit.id.clone(), commit.context.clone());
    task.status = TaskStatus::new(TaskState::Working);
    commit.records = vec![Record::update(1, StreamResponse::Task(task.clone()))];
    commit.snapshot = Some(Arc::new(task));
    let (mut epoch, mut sequence) = (store.commit(commit.clone()).await.unwrap().epoch, commit.sequence());
    let mut times = Vec::with_capacity(chunks);
    let begun = Instant::now();
    for _ in 0..chunks {
        let artifact = Artifact::new("echo", vec![Part::text("x".repeat(64))]);
        let update = TaskArtifactUpdateEvent {
            task_id: commit.id.clone(),
            context_id: commit.context.clone(),
            artifact,
            append: true,
            ..Default::default()
        };
        let record = Record::update(sequence + 1, StreamResponse::ArtifactUpdate(update));
        let next = Commit { expected: sequence, epoch, records: vec![record], snapshot: None, ..commit.clone() };
        let begun = Instant::now();
        sequence = next.sequence();
        epoch = store.commit(next).await.unwrap().epoch;
        times.push(begun.elapsed());
    }
    let rate = times.len() as u128 * 1_000_000 / begun.elapsed().as_micros();
    println!("append to one task: {rate} a second, {}", percentiles(times));
    let begun = Instant::now();
    store.load(&commit.scope, &commit.id).await.unwrap().unwrap();
    println!("load of {chunks} chunks without a snapshot: {:?}", begun.elapsed());
}

async fn load(store: &Arc<dyn TaskStore>) {
    let mut query = ListQuery { page_size: 100, ..ListQuery::default() };
    let mut ids = Vec::new();
    for _ in 0..100 {
        let page = store.list(&Scope::open(), &query).await.unwrap();
        ids.extend(page.tasks.iter().map(|task| task.id.clone()));
        query.page_token = page.next;
    }
    for round in ["first", "again"] {
        let mut times = Vec::new();
        for id in &ids {
            let begun = Instant::now();
            store.load(&Scope::open(), id).await.unwrap().unwrap();
            times.push(begun.elapsed());
        }
        println!("load, {round}: {}", percentiles(times));
    }
}

async fn list(store: &Arc<dyn TaskStore>) {
    let all = ListQuery { page_size: 50, ..ListQuery::default() };
    let page = store.list(&Scope::open(), &all).await.unwrap();
    let context = page.tasks[0].context_id.clone();
    for (name, query) in [
        ("all", all.clone()),
        ("one", ListQuery { page_size: 1, ..all.clone() }),
        ("by state", ListQuery { state: Some(TaskState::Completed), ..all.clone() }),
        ("by context", ListQuery { context, ..all.clone() }),
        ("next page", ListQuery { page_token: page.next, ..all.clone() }),
        ("since", ListQuery { updated_since: page.tasks[9].status.timestamp, ..all.clone() }),
        ("since ever", ListQuery { updated_since: Some(Timestamp::default()), ..all }),
    ] {
        let mut times = Vec::new();
        for _ in 0..500 {
            let begun = Instant::now();
            store.list(&Scope::open(), &query).await.unwrap();
            times.push(begun.elapsed());
        }
        println!("list, {name}: {}", percentiles(times));
    }
}

fn percentiles(mut times: Vec<Duration>) -> String {
    times.sort();
    let at = |share: usize| times[(times.len() - 1) * share / 1000];
    format!("p50 {:?}, p99 {:?}, p99.9 {:?}, most {:?}", at(500), at(990), at(999), at(1000))
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap()
}

/// The processor time of the writer thread and of all other threads, in nanoseconds.
fn worked() -> (u64, u64) {
    let (mut writer, mut others) = (0, 0);
    for thread in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let read = |file: &str| std::fs::read_to_string(thread.path().join(file)).unwrap_or_default();
        let time = read("schedstat").split(' ').next().and_then(|time| time.parse::<u64>().ok()).unwrap_or_default();
        *(if read("comm").starts_with("sqlite writer") { &mut writer } else { &mut others }) += time;
    }
    (writer, others)
}

/// The memory of this process, in bytes.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or_default() * 4096
}
