//! Streams that begin at a cursor, and lists over all their pages.

use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _};
use nuncio_client::{Binding, Client, ClientError, Cursor, End, Watch};
use nuncio_engine::MemoryStore;
use nuncio_model::{ErrorKind, StreamResponse, TaskState, op::ListTasksRequest};
use serde_json::json;

use crate::{
    fake::{Fake, ok},
    server::{serve, serve_from},
};

async fn texts(watch: &mut Watch) -> Vec<(Option<u64>, String)> {
    let mut texts = Vec::new();
    while let Some(event) = watch.next().await {
        let event = event.unwrap();
        let text = match &event.response {
            StreamResponse::ArtifactUpdate(update) => update.artifact.text(),
            StreamResponse::StatusUpdate(update) => update.status.state.short().to_owned(),
            StreamResponse::Task(task) => format!("task {}", task.state().short()),
            StreamResponse::Message(message) => message.text(),
        };
        texts.push((event.sequence, text));
    }
    texts
}

#[tokio::test]
async fn a_stream_begins_after_the_event_of_its_cursor() {
    let address = serve_from(Arc::new(MemoryStore::builder().keep_log(true).build())).await;
    for binding in Binding::ALL {
        let client = Client::builder().prefer([binding]).connect(&address).await.unwrap();
        let mut first = client.send_stream("stream 5 every=200").await.unwrap();
        let mut seen = 0;
        while seen < 3 {
            first.next().await.unwrap().unwrap();
            seen += 1;
        }
        // A program stores the cursor and reads the cursor after a restart.
        let stored = first.cursor().unwrap().to_string();
        let reached = first.sequence().unwrap();
        drop(first);

        let mut second = client.watch(stored.parse::<Cursor>().unwrap()).await.unwrap();
        let rest = texts(&mut second).await;
        assert_eq!(rest[0].0, Some(reached + 1), "{binding:?}: {rest:?}");
        assert!(rest.windows(2).all(|pair| pair[0].0 < pair[1].0), "{rest:?}");
        assert_eq!(second.end(), Some(End::Terminal(TaskState::Completed)));

        // The task has ended; the same cursor still gives the same events.
        let mut again = client.watch(stored.parse::<Cursor>().unwrap()).await.unwrap();
        assert_eq!(texts(&mut again).await, rest, "{binding:?}");
    }
}

#[tokio::test]
async fn a_stream_begins_with_a_snapshot_if_the_events_of_its_cursor_are_deleted() {
    let client = Client::connect(serve().await).await.unwrap();
    let task = client.send("echo hi").await.unwrap().task().unwrap().clone();
    let mut watch = client.watch(Cursor::new(task.id.clone()).after(9_000)).await.unwrap();
    let events = texts(&mut watch).await;
    assert_eq!(events.last().unwrap().1, "task completed", "{events:?}");
    assert_eq!(watch.end(), Some(End::Terminal(TaskState::Completed)));
    // An ended task has no stream without a cursor.
    let error = client.watch(task.id).await.unwrap_err();
    assert_eq!(error.as_agent_error().unwrap().kind(), ErrorKind::UnsupportedOperation);
}

#[tokio::test]
async fn a_list_reads_all_pages() {
    let client = Client::connect(serve().await).await.unwrap();
    let mut sent = Vec::new();
    for number in 0..7 {
        sent.push(client.send(format!("echo {number}")).await.unwrap().task().unwrap().id.clone());
    }
    sent.reverse();
    let request = ListTasksRequest { page_size: Some(3), ..Default::default() };
    let listed: Vec<_> = client.all_tasks(request).map_ok(|task| task.id).try_collect().await.unwrap();
    assert_eq!(listed, sent);
}

#[tokio::test]
async fn a_list_with_a_repeated_page_token_ends_with_an_error() {
    let page = json!({"tasks": [], "nextPageToken": "x", "pageSize": 1, "totalSize": 2});
    let fake = Fake::start(move |_, _| ok(&page)).await;
    let client = Client::builder().endpoint(&fake.url, Binding::HttpJson).unwrap();
    let items: Vec<_> = client.all_tasks(ListTasksRequest::default()).collect().await;
    let [Err(ClientError::Agent(error))] = &items[..] else { panic!("{items:?}") };
    assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse);
    assert_eq!(fake.lines().len(), 2);
}
