//! Races between clients and a server, over each binding and on each store.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt as _, future::join_all};
use nuncio_client::{Binding, Client, ClientError, Credential, End, Watch};
use nuncio_engine::{MemoryStore, TaskStore};
use nuncio_model::{
    ErrorKind, Message, StreamResponse, Task, TaskState,
    op::{GetTaskRequest, SendMessageConfiguration, SendMessageRequest, SendMessageResponse},
};
use nuncio_store::{SqliteOptions, SqliteStore};
use nuncio_testbed::Proxy;
use tempfile::TempDir;

use crate::server::serve_from;

/// A server, and clients over each binding.
struct Site {
    address: String,
    clients: Vec<Client>,
    _folder: Option<TempDir>,
}

async fn connect(address: &str, binding: Binding) -> Client {
    let builder = Client::builder().prefer([binding]).credential(Credential::bearer("alices-secret"));
    builder.connect(address).await.unwrap()
}

/// A server with each store.
async fn sites() -> Vec<Site> {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = SqliteStore::open(folder.path().join("tasks.db"), SqliteOptions::default()).await.unwrap();
    let stores: [(Arc<dyn TaskStore>, _); 2] = [(Arc::new(MemoryStore::new()), None), (Arc::new(sqlite), Some(folder))];
    let mut sites = Vec::new();
    for (store, folder) in stores {
        let address = serve_from(store).await;
        let mut clients = Vec::new();
        for binding in Binding::ALL {
            clients.push(connect(&address, binding).await);
        }
        sites.push(Site { address, clients, _folder: folder });
    }
    sites
}

async fn within<T>(seconds: u64, work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(seconds), work).await.expect("it hangs")
}

async fn begin(client: &Client, words: &str) -> Task {
    let configuration = SendMessageConfiguration { return_immediately: true, ..Default::default() };
    let request = SendMessageRequest::new(Message::user(words)).with_configuration(configuration);
    match client.send(request).await.unwrap() {
        SendMessageResponse::Task(task) => task,
        SendMessageResponse::Message(message) => panic!("{message:?}"),
    }
}

/// Reads a stream to its end.
async fn end_of(mut watch: Watch) -> End {
    let mut ends = 0;
    while let Some(event) = watch.next().await {
        let state = match &event.unwrap().response {
            StreamResponse::Task(task) => task.state(),
            StreamResponse::StatusUpdate(update) => update.status.state,
            _ => continue,
        };
        ends += usize::from(state.is_terminal());
    }
    assert_eq!(ends, 1);
    watch.end().unwrap()
}

fn kind(error: &ClientError) -> ErrorKind {
    error.as_agent_error().unwrap_or_else(|| panic!("{error}")).kind()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_concurrent_tasks_are_watched_to_their_end() {
    const DONE: End = End::Terminal(TaskState::Completed);
    for Site { clients, .. } in &sites().await {
        let streaming = async |client: &Client| {
            assert_eq!(end_of(client.send_stream("echo x").await.unwrap()).await, DONE);
        };
        let subscribing = async |client: &Client| {
            let task = begin(client, "echo x").await;
            match client.watch(task.id.clone()).await {
                Ok(watch) => assert_eq!(end_of(watch).await, DONE),
                Err(error) => {
                    assert_eq!(kind(&error), ErrorKind::UnsupportedOperation);
                    assert_eq!(client.task(task.id).await.unwrap().state(), TaskState::Completed);
                }
            }
        };
        let polling = async |client: &Client| {
            let task = begin(client, "echo x").await;
            let mut poll = client.poll(GetTaskRequest::new(task.id)).every(Duration::from_millis(1));
            let mut last = None;
            while let Some(task) = poll.next().await {
                last = Some(task.unwrap().state());
            }
            assert_eq!(last, Some(TaskState::Completed));
        };
        let rounds = async {
            // A thousand in total for both stores.
            for _ in 0..=1_000 / 24 {
                let clients = clients.iter().cycle().take(12);
                join_all(clients.map(async |client| {
                    futures_util::join!(streaming(client), subscribing(client), polling(client));
                }))
                .await;
            }
        };
        within(180, rounds).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_concurrent_cancels_see_the_same_outcome() {
    for Site { clients, .. } in &sites().await {
        for round in 0..10 {
            let task = begin(&clients[0], &format!("slow 0.0{round}")).await;
            let watch = clients[round % 3].watch(task.id.clone()).await;
            let cancel = |number: usize| {
                let (client, id) = (clients[number % 3].clone(), task.id.clone());
                tokio::spawn(async move { client.cancel(id).await })
            };
            tokio::time::sleep(Duration::from_millis(u64::try_from(round).unwrap() * 10)).await;
            let outcomes = within(20, join_all((0..100).map(cancel))).await;
            let end = clients[0].task(task.id.clone()).await.unwrap().state();
            assert!(end.is_terminal());
            for outcome in outcomes {
                match outcome.unwrap() {
                    Ok(task) => assert_eq!((task.state(), end), (TaskState::Canceled, TaskState::Canceled)),
                    Err(error) => assert_eq!(kind(&error), ErrorKind::TaskNotCancelable),
                }
            }
            match watch {
                Ok(watch) => assert_eq!(within(20, end_of(watch)).await, End::Terminal(end)),
                Err(error) => assert_eq!(kind(&error), ErrorKind::UnsupportedOperation),
            }
        }
    }
}

/// The shortest pause of the slow reader.
const STALL: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_reader_does_not_delay_other_readers() {
    let sites = sites().await;
    let runs = sites.iter().zip([Binding::JsonRpc, Binding::Grpc]).map(async |(site, binding)| {
        let proxy = Proxy::start(&*site.address).unwrap();
        let [direct, through] =
            [site.address.clone(), proxy.address().to_string()].map(async |address| connect(&address, binding).await);
        let (direct, through) = futures_util::join!(direct, through);
        let task = begin(&direct, "stream 5000 size=1024 after=500").await;
        let mut stalled = through.watch(task.id.clone()).await.unwrap();
        stalled.next().await.unwrap().unwrap();
        proxy.set(|faults| faults.holds = true);
        // The reader pauses until all other readers have seen the end. If they waited for this reader, the test would
        // not end.
        let others = join_all((0..2).map(async |_| chunks_of(direct.watch(task.id.clone()).await.unwrap()).await));
        assert_eq!(futures_util::join!(others, tokio::time::sleep(STALL)).0, [5_000, 5_000]);
        proxy.heal();
        // The store has the events, or the ended task.
        assert_eq!(chunks_of(stalled).await, 5_000);
    });
    within(180, join_all(runs)).await;
}

/// The number of chunks in a stream.
async fn chunks_of(mut watch: Watch) -> usize {
    let mut count = 0;
    while let Some(event) = watch.next().await {
        match &event.unwrap().response {
            StreamResponse::ArtifactUpdate(_) => count += 1,
            StreamResponse::Task(task) => count = task.artifacts.first().map_or(0, |artifact| artifact.parts.len()),
            _ => {}
        }
    }
    assert_eq!(watch.end(), Some(End::Terminal(TaskState::Completed)));
    count
}
