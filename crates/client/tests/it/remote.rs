//! A remote agent behind a server of this process.

use std::sync::Arc;

use futures_util::StreamExt as _;
use nuncio_client::{Binding, Client, Cursor, End, RemoteAgent};
use nuncio_engine::MemoryStore;
use nuncio_model::{ErrorKind, StreamResponse, TaskPushNotificationConfig, TaskState, op::SendMessageResponse};
use nuncio_server::{Server, Tenants};
use nuncio_wire::Version;

use crate::{
    matrix::Way,
    server::{chunks, serve_from},
};

/// Serves a remote agent on another port, over all bindings and versions.
async fn relay(upstream: &str) -> String {
    let agent = RemoteAgent::new(Client::connect(upstream).await.unwrap());
    let server = Server::builder(agent).bindings(Binding::ALL).bind("127.0.0.1:0").await.unwrap();
    let address = server.local_addr().to_string();
    tokio::spawn(server.serve(std::future::pending()));
    address
}

async fn upstream() -> String {
    serve_from(Arc::new(MemoryStore::builder().keep_log(true).build())).await
}

#[tokio::test]
async fn a_remote_agent_is_served_over_all_bindings_and_versions() {
    let upstream = upstream().await;
    let address = relay(&upstream).await;
    for way in Way::all() {
        let client = way.client(&address).await;
        if way.version == Version::V0_1 {
            // Clients of 0.1 choose the ids of their tasks, but the remote agent also chooses ids.
            let refused = client.send("echo hi").await.unwrap_err();
            assert_eq!(refused.as_agent_error().map(nuncio_model::Error::kind), Some(ErrorKind::UnsupportedOperation));
            continue;
        }
        let SendMessageResponse::Task(task) = client.send("echo hi").await.unwrap() else { panic!("{way:?}: no task") };
        assert_eq!((task.state(), task.artifacts[0].text()), (TaskState::Completed, "hi".to_owned()), "{way:?}");
        let direct = Client::connect(&*upstream).await.unwrap().task(task.id.clone()).await.unwrap();
        assert_eq!(direct.id, task.id, "{way:?}");

        let mut stream = client.send_stream("stream 3").await.unwrap();
        let mut streamed = String::new();
        while let Some(event) = stream.next().await {
            if let StreamResponse::ArtifactUpdate(update) = &event.unwrap().response {
                streamed += &update.artifact.text();
            }
        }
        assert_eq!(stream.end(), Some(End::Terminal(TaskState::Completed)), "{way:?}");
        assert_eq!(streamed, chunks(3), "{way:?}");

        let unknown = client.task("no-such-task").await.unwrap_err();
        assert_eq!(unknown.as_agent_error().map(nuncio_model::Error::kind), Some(ErrorKind::TaskNotFound), "{way:?}");
    }
}

#[tokio::test]
async fn the_tasks_of_tenants_are_not_mixed_at_a_remote_agent() {
    let agent = RemoteAgent::new(Client::connect(upstream().await.as_str()).await.unwrap());
    let server = Server::builder(agent).tenants(Tenants::any()).bind("127.0.0.1:0").await.unwrap();
    let address = server.local_addr().to_string();
    tokio::spawn(server.serve(std::future::pending()));
    let client = Client::builder().tenant("acme").connect(&address).await.unwrap();
    let refused = client.send("echo hi").await.unwrap_err();
    assert_eq!(refused.as_agent_error().map(nuncio_model::Error::kind), Some(ErrorKind::UnsupportedOperation));
}

#[tokio::test]
async fn a_stream_through_a_server_resumes_after_the_last_event() {
    let address = relay(&upstream().await).await;
    for binding in Binding::ALL {
        let client = Client::builder().prefer([binding]).connect(&address).await.unwrap();
        let mut first = client.send_stream("stream 5 every=50").await.unwrap();
        for _ in 0..3 {
            first.next().await.unwrap().unwrap();
        }
        let cursor: Cursor = first.cursor().unwrap();
        let reached = first.sequence().unwrap();
        drop(first);
        let mut rest = client.watch(cursor).await.unwrap();
        let mut next = reached + 1;
        while let Some(event) = rest.next().await {
            assert_eq!(event.unwrap().sequence, Some(next), "{binding:?}");
            next += 1;
        }
        assert_eq!(rest.end(), Some(End::Terminal(TaskState::Completed)), "{binding:?}");
        assert!(next > reached + 2, "{binding:?}");
    }
}

#[tokio::test]
async fn a_remote_agent_without_resume_is_served_without_resume() {
    let client = Client::connect(upstream().await.as_str()).await.unwrap();
    let mut card = nuncio_model::AgentCard::clone(&client.card().unwrap());
    card.capabilities.extensions.clear();
    let server = Server::builder(RemoteAgent::with_card(client, card)).bind("127.0.0.1:0").await.unwrap();
    let address = server.local_addr().to_string();
    tokio::spawn(server.serve(std::future::pending()));
    let card = Client::connect(address.as_str()).await.unwrap().card().unwrap();
    assert_eq!((card.capabilities.streaming, card.capabilities.extensions.len()), (Some(true), 0));
}

/// The notifications of the remote agent have its version, which a receiver of another version cannot read.
#[tokio::test]
async fn a_webhook_of_another_version_is_refused() {
    let address = relay(&upstream().await).await;
    for (version, is_refused) in [("1.0", false), ("0.3", true)] {
        let client = Client::builder().version(version).connect(&address).await.unwrap();
        let SendMessageResponse::Task(task) = client.send("echo hi").await.unwrap() else { panic!("no task") };
        let config = TaskPushNotificationConfig::new(task.id, "http://127.0.0.1:9/hook");
        let outcome = client.call(config).await;
        let kind = outcome.err().and_then(|error| error.as_agent_error().map(nuncio_model::Error::kind));
        assert_eq!(kind == Some(ErrorKind::PushNotificationNotSupported), is_refused, "{version}: {kind:?}");
    }
}
