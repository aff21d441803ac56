//! The client and the server of this project, over each binding.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use nuncio_client::{Binding, Client, ClientBuilder, Credential, End};
use nuncio_demo::{Demo, DemoOptions};
use nuncio_engine::{Engine, MemoryStore, TaskStore};
use nuncio_model::{
    ErrorKind, Message, StreamResponse, TaskPushNotificationConfig, TaskState,
    op::{ListTasksRequest, SendMessageConfiguration, SendMessageRequest, SendMessageResponse},
};
use nuncio_server::Server;
use nuncio_wire::{Version, Versions};

/// Serves the demo agent until the test ends; returns the address.
pub(crate) async fn serve() -> String {
    serve_from(Arc::new(MemoryStore::default())).await
}

/// The same with this store.
pub(crate) async fn serve_from(store: Arc<dyn TaskStore>) -> String {
    let options = DemoOptions::default();
    let guard = nuncio_push::Guard::new().allow_private(true);
    let engine = Engine::builder(Demo::new())
        .card(nuncio_demo::card(&options))
        .extended_card(nuncio_demo::extended_card(nuncio_demo::card(&options)))
        .push_guard(Arc::new(guard))
        .store(store)
        .build();
    let tokens = nuncio_auth::Tokens::new().with("alice", "alices-secret").unwrap().with_anonymous(true);
    let server =
        Server::builder(engine).bindings(Binding::ALL).authenticator(tokens).bind("127.0.0.1:0").await.unwrap();
    let address = server.local_addr().to_string();
    tokio::spawn(server.serve(std::future::pending()));
    address
}

/// For every selection of versions, the server has a card for each version over each of its bindings.
#[tokio::test]
async fn each_served_version_can_be_requested() {
    let all = Version::ALL;
    for choice in 1..1_u32 << all.len() {
        let is_chosen = |at: usize| choice & 1 << at != 0;
        let chosen: Vec<_> = (0..all.len()).filter(|at| is_chosen(*at)).map(|at| all[at]).collect();
        let engine = Engine::builder(Demo::new()).card(nuncio_demo::card(&DemoOptions::default())).build();
        let versions = Versions::only(chosen.iter().copied());
        let server =
            Server::builder(engine).bindings(Binding::ALL).versions(versions).bind("127.0.0.1:0").await.unwrap();
        let address = server.local_addr().to_string();
        let running = tokio::spawn(server.serve(std::future::pending()));
        for version in all {
            for binding in Binding::ALL {
                let client = Client::builder().version(version.as_str()).prefer([binding]).connect(&address).await;
                match client {
                    Ok(client) => {
                        assert_eq!(client.version(), Some(*version));
                        match client.send("echo hi").await {
                            Ok(answer) => assert_eq!(task(answer).state(), TaskState::Completed),
                            // A card of 0.1 does not declare its version, so the client asks the agent.
                            Err(error) => {
                                assert!(chosen == [Version::V0_1] && !chosen.contains(version), "{version}: {error}");
                            }
                        }
                    }
                    Err(error) => assert!(!chosen.contains(version), "{version} of {chosen:?}: {error}"),
                }
            }
        }
        running.abort();
    }
}

fn builder(binding: Binding) -> ClientBuilder {
    Client::builder().prefer([binding]).credential(Credential::bearer("alices-secret"))
}

/// Runs a test over each binding.
async fn over_each(test: impl AsyncFn(Client)) {
    for binding in Binding::ALL {
        let client = builder(binding).connect(serve().await).await.unwrap();
        assert_eq!(client.interface().unwrap().protocol_binding, binding.name());
        test(client).await;
    }
}

fn task(response: SendMessageResponse) -> nuncio_model::Task {
    match response {
        SendMessageResponse::Task(task) => task,
        SendMessageResponse::Message(message) => panic!("{message:?}"),
    }
}

#[tokio::test]
async fn all_eleven_operations_work_over_each_binding() {
    over_each(async |client| {
        let done = task(client.send("echo héllo ✓").await.unwrap());
        assert_eq!((done.state(), done.artifacts[0].text().as_ref()), (TaskState::Completed, "héllo ✓"));
        assert_eq!(client.task(done.id.clone()).await.unwrap(), done);
        let page =
            client.tasks(ListTasksRequest { include_artifacts: Some(true), ..Default::default() }).await.unwrap();
        assert_eq!((page.total_size, &page.tasks[0]), (1, &done));

        let parked = task(client.send("input").await.unwrap());
        let mut watch = client.watch(parked.id.clone()).await.unwrap();
        let first = watch.next().await.unwrap().unwrap();
        assert!(matches!(&first.response, StreamResponse::Task(task) if *task == parked));
        let config = TaskPushNotificationConfig {
            task_id: Some(parked.id.clone()),
            url: "http://127.0.0.1:9/hook".into(),
            id: Some("mine".into()),
            ..Default::default()
        };
        let made = client.create_push_config(config).await.unwrap();
        assert_eq!(client.push_config(parked.id.clone(), "mine").await.unwrap().url, made.url);
        assert_eq!(client.push_configs(parked.id.clone()).await.unwrap().configs.len(), 1);
        client.delete_push_config(parked.id.clone(), "mine").await.unwrap();
        assert_eq!(client.cancel(parked.id.clone()).await.unwrap().state(), TaskState::Canceled);
        while watch.next().await.is_some_and(|event| event.is_ok()) {}
        assert_eq!(watch.end(), Some(End::Terminal(TaskState::Canceled)));

        let public = client.card().unwrap().skills.len();
        assert!(client.extended_card().await.unwrap().skills.len() > public);
        assert!(client.card().unwrap().skills.len() > public);

        let direct = client.send("message hi").await.unwrap();
        assert!(matches!(direct, SendMessageResponse::Message(message) if message.text() == "message: hi"));
    })
    .await;
}

#[tokio::test]
async fn a_stream_is_complete_and_in_order() {
    over_each(async |client| {
        let mut watch = client.send_stream("stream 2000").await.unwrap();
        let (mut text, mut events) = (String::new(), 0);
        while let Some(event) = watch.next().await {
            events += 1;
            if let StreamResponse::ArtifactUpdate(update) = &event.unwrap().response {
                text.push_str(&update.artifact.text());
            }
        }
        assert_eq!(text, chunks(2000));
        assert_eq!((events, watch.end()), (2003, Some(End::Terminal(TaskState::Completed))));
    })
    .await;
}

#[tokio::test]
async fn errors_are_the_same_and_come_before_a_stream() {
    over_each(async |client| {
        let kind = |error: nuncio_client::ClientError| error.as_agent_error().unwrap().kind();
        assert_eq!(kind(client.task("nope").await.unwrap_err()), ErrorKind::TaskNotFound);
        assert_eq!(kind(client.watch("nope").await.unwrap_err()), ErrorKind::TaskNotFound);
        let unknown = Message::user("x").with_task_id("nope");
        assert_eq!(kind(client.send_stream(unknown).await.unwrap_err()), ErrorKind::TaskNotFound);
        let done = task(client.send("echo x").await.unwrap());
        assert_eq!(kind(client.cancel(done.id.clone()).await.unwrap_err()), ErrorKind::TaskNotCancelable);
        assert_eq!(kind(client.watch(done.id).await.unwrap_err()), ErrorKind::UnsupportedOperation);
        let error = client.tasks(ListTasksRequest { page_size: Some(0), ..Default::default() }).await.unwrap_err();
        assert_eq!(error.as_agent_error().unwrap().field_violations()[0].field, "pageSize");
    })
    .await;
}

#[tokio::test]
async fn messages_of_many_megabytes_go_both_ways() {
    over_each(async |client| {
        let text = "x".repeat(5 << 20);
        let done = task(client.send(format!("echo {text}")).await.unwrap());
        assert!(done.artifacts[0].text() == text);
    })
    .await;
}

#[tokio::test]
async fn a_running_task_is_polled_to_its_end() {
    over_each(async |client| {
        let configuration = SendMessageConfiguration { return_immediately: true, ..Default::default() };
        let request = SendMessageRequest::new(Message::user("slow 0.2")).with_configuration(configuration);
        let started = task(client.send(request).await.unwrap());
        assert!(!started.state().is_terminal());
        let request = nuncio_model::op::GetTaskRequest::new(started.id);
        let mut poll = client.poll(request).every(Duration::from_millis(20));
        let mut last = None;
        while let Some(task) = poll.next().await {
            last = Some(task.unwrap().state());
        }
        assert_eq!(last, Some(TaskState::Completed));
    })
    .await;
}

/// The output of `stream N`.
pub(crate) fn chunks(count: u32) -> String {
    (1..=count).fold(String::new(), |text, number| text + &format!("chunk {number}\n"))
}
