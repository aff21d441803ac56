//! Streams that are cut at random positions, fifty times each: no event is missed or duplicated.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt as _, future::join_all};
use nuncio_client::{Client, Credential, End, Reconnect, Timeouts, Watch};
use nuncio_engine::{MemoryStore, TaskStore};
use nuncio_model::{
    Message, StreamResponse, TaskState,
    op::{SendMessageConfiguration, SendMessageRequest, SendMessageResponse},
};
use nuncio_store::{SqliteOptions, SqliteStore};
use nuncio_testbed::Proxy;
use nuncio_wire::Version;

use crate::{matrix::Way, server::serve_from};

const CHUNKS: usize = 2_000;

/// The number of cuts of each stream.
const CUTS: usize = 50;

/// The numbers of bytes after which connections are cut, different for each seed.
fn places(seed: u64) -> impl Iterator<Item = usize> {
    let mut random = seed;
    let rest = std::iter::repeat_with(move || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let number = usize::try_from(random >> 33).unwrap();
        // A reader of HTTP/2 gets whole frames of up to 16 KiB, so a cut within the first frame leaves no event.
        let least = if number.is_multiple_of(4) { 500 } else { 17_000 };
        least + number % 16_000
    });
    // A stream whose task is not known cannot be resumed, so the first connection has room for the first event.
    std::iter::once(6_000).chain(rest).take(CUTS)
}

/// The start of a stream.
#[derive(Debug, Clone, Copy)]
enum How {
    Sent,
    SentWithoutCard,
    Watched,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_version_over_every_binding_sees_each_chunk_once() {
    let store = Arc::new(MemoryStore::builder().keep_log(true).build());
    let address = serve_from(store).await;
    let runs = Way::all().into_iter().zip(1..).map(|(way, seed)| run(way, How::Sent, &address, seed));
    join_all(runs).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_and_a_client_without_a_card_see_each_chunk_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("tasks.db"), SqliteOptions::default()).await.unwrap();
    let address = serve_from(Arc::new(store) as Arc<dyn TaskStore>).await;
    let newest = Way::all().into_iter().filter(|way| way.version == Version::LATEST);
    let ways = newest.flat_map(|way| [(way, How::SentWithoutCard), (way, How::Watched)]);
    let runs = ways.zip(100..).map(|((way, how), seed)| run(way, how, &address, seed));
    join_all(runs).await;
}

async fn run(way: Way, how: How, address: &str, seed: u64) {
    let name = format!("{way}, {how:?}, seed {seed}");
    let proxy = Proxy::start(address).unwrap();
    let mut reconnect = Reconnect::default();
    (reconnect.first_delay, reconnect.max_delay) = (Duration::from_millis(1), Duration::from_millis(20));
    reconnect.attempts = 30;
    let builder = Client::builder().prefer([way.binding]).version(way.version.as_str()).reconnect(reconnect);
    let builder = builder.credential(Credential::bearer("alices-secret"));
    let client = match how {
        How::SentWithoutCard => builder.endpoint(&format!("http://{}/", proxy.address()), way.binding).unwrap(),
        _ => builder.connect(&*proxy.address().to_string()).await.unwrap(),
    };
    let words = format!("stream {CHUNKS} every=1 after=500 size=1000");
    let mut watch = match how {
        How::Sent | How::SentWithoutCard => {
            proxy.cut_after(places(seed));
            client.send_stream(words).await
        }
        How::Watched => {
            let configuration = SendMessageConfiguration { return_immediately: true, ..Default::default() };
            let request = SendMessageRequest::new(Message::user(words)).with_configuration(configuration);
            let SendMessageResponse::Task(task) = client.send(request).await.unwrap() else { panic!("{name}") };
            proxy.cut_after(places(seed));
            client.watch(task.id).await
        }
    }
    .unwrap_or_else(|error| panic!("{name}: {error}"));
    let chunks = tokio::time::timeout(Duration::from_mins(3), read(&mut watch, &name)).await.expect("it hangs");
    assert_eq!(chunks, (1..=CHUNKS).collect::<Vec<_>>(), "{name}");
    assert_eq!(watch.end(), Some(End::Terminal(TaskState::Completed)), "{name}");
    assert_eq!(proxy.cuts_left(), 0, "{name}: not all {CUTS} cuts came to pass");
}

/// An agent that is silent for longer than the limit of a stream.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stall_loses_no_event_over_any_binding() {
    let store = Arc::new(MemoryStore::builder().keep_log(true).build());
    let address = &*serve_from(store).await;
    let runs = Way::all().into_iter().map(async |way| {
        let stall = Timeouts::default().with_stall(Duration::from_millis(100));
        let builder = Client::builder().prefer([way.binding]).version(way.version.as_str()).timeouts(stall);
        let client = builder.credential(Credential::bearer("alices-secret")).connect(address).await.unwrap();
        let mut watch = client.send_stream("stream 4 every=400 after=400").await.unwrap();
        let read = tokio::time::timeout(Duration::from_mins(1), read(&mut watch, "silent"));
        assert_eq!(read.await.expect("it hangs"), [1, 2, 3, 4], "{way}");
        assert_eq!(watch.end(), Some(End::Terminal(TaskState::Completed)), "{way}");
    });
    join_all(runs).await;
}

/// The numbers of the chunks in their order. The task comes first and only once.
async fn read(watch: &mut Watch, name: &str) -> Vec<usize> {
    let (mut seen, mut last, mut context) = (Vec::new(), None, None);
    while let Some(event) = watch.next().await {
        let event = event.unwrap_or_else(|error| panic!("{name}: {error}, after {} chunks", seen.len()));
        assert!(event.sequence.is_none() || event.sequence > last, "{name}: {event:?} after {last:?}");
        last = event.sequence.or(last);
        match &event.response {
            StreamResponse::ArtifactUpdate(update) => {
                assert_eq!(update.append, !seen.is_empty(), "{name}: {update:?}");
                assert_eq!(Some(&update.context_id), context.as_ref(), "{name}");
                let text = update.artifact.text();
                let number = text.lines().next().and_then(|line| line.strip_prefix("chunk ")?.parse().ok());
                seen.push(number.unwrap());
            }
            StreamResponse::Task(task) => {
                context.clone_from(&task.context_id);
                assert!(seen.is_empty() && task.artifacts.is_empty(), "{name}: after {} chunks: {task:?}", seen.len());
            }
            StreamResponse::StatusUpdate(_) => {}
            StreamResponse::Message(message) => panic!("{name}: {message:?}"),
        }
    }
    seen
}
