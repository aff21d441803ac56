//! Every operation in every version over every binding, from this client to this server; and every pair of versions on
//! one task. `tests/peers/test_matrix.py` tests the client and the server with other implementations.

use std::fmt::Write as _;

use futures_util::StreamExt as _;
use nuncio_client::{Binding, Client, ClientError, Credential, End, Watch};
use nuncio_model::{
    Artifact, ErrorKind, Message, Method, StreamResponse, Task, TaskId, TaskPushNotificationConfig, TaskState,
    op::{ListTasksRequest, SendMessageResponse},
};
use nuncio_wire::{Version, dialect};

use crate::server::{chunks, serve};

/// A version over a binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Way {
    pub(crate) version: Version,
    pub(crate) binding: Binding,
}

impl Way {
    /// All combinations.
    pub(crate) fn all() -> Vec<Self> {
        let has = |way: &Self| match way.binding {
            Binding::HttpJson => dialect(way.version).rest().is_some(),
            Binding::Grpc => dialect(way.version).grpc().is_some(),
            Binding::JsonRpc => true,
        };
        let of = |version: &Version| Binding::ALL.map(|binding| Self { version: *version, binding });
        Version::ALL.iter().rev().flat_map(of).filter(has).collect()
    }

    /// A client for only this version and binding.
    pub(crate) async fn client(self, address: &str) -> Client {
        let builder = Client::builder().prefer([self.binding]).version(self.version.as_str());
        let client = builder.credential(Credential::bearer("alices-secret")).connect(address).await;
        let client = client.unwrap_or_else(|error| panic!("{self:?}: {error}"));
        assert_eq!(client.version(), Some(self.version));
        assert_eq!(client.interface().unwrap().protocol_binding, self.binding.name());
        client
    }

    /// Whether the version, or its binding, does not have the operation.
    fn lacks(self, operation: Method) -> bool {
        use Method as M;
        match self.version.as_str() {
            "0.1" => matches!(
                operation,
                M::ListTasks
                    | M::ListTaskPushNotificationConfigs
                    | M::DeleteTaskPushNotificationConfig
                    | M::GetExtendedAgentCard
            ),
            "0.2" | "0.3" => operation == M::ListTasks,
            _ => false,
        }
    }
}

impl std::fmt::Display for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.version, self.binding)
    }
}

type Outcome = Result<(), ClientError>;

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::print_stdout, reason = "the matrix is for people to read")]
async fn every_operation_in_every_version_over_every_binding() {
    let (ways, address) = (Way::all(), serve().await);
    let mut matrix = format!("{:34}", "");
    let mut wrong = Vec::new();
    for way in &ways {
        write!(matrix, "{:>15}", way.to_string()).unwrap();
    }
    for operation in Method::ALL {
        write!(matrix, "\n{:34}", operation.name()).unwrap();
        for way in &ways {
            let client = way.client(&address).await;
            let cell = match (call(operation, &client).await, way.lacks(operation)) {
                (Ok(()), false) => "yes",
                (Err(error), true) if kind(&error) == Some(ErrorKind::UnsupportedOperation) => "-",
                (outcome, lacks) => {
                    wrong.push(format!("{} in {way}: {outcome:?}, lacks it: {lacks}", operation.name()));
                    "WRONG"
                }
            };
            write!(matrix, "{cell:>15}").unwrap();
        }
    }
    println!("{matrix}");
    assert!(wrong.is_empty(), "{matrix}\n{}", wrong.join("\n"));
}

/// Calls an operation and checks its result.
async fn call(operation: Method, client: &Client) -> Outcome {
    match operation {
        Method::SendMessage => {
            let done = send(client, "echo héllo ✓").await?;
            assert_eq!((done.state(), done.artifacts[0].text().as_ref()), (TaskState::Completed, "héllo ✓"));
        }
        Method::SendStreamingMessage => {
            let (text, end) = read(&mut client.send_stream("stream 100").await?).await;
            assert_eq!((text, end), (chunks(100), Some(End::Terminal(TaskState::Completed))));
        }
        Method::GetTask => {
            let done = send(client, "echo x").await?;
            let read = client.task(done.id.clone()).await?;
            assert_eq!((&read.id, read.state(), &*read.artifacts[0].text()), (&done.id, TaskState::Completed, "x"));
        }
        Method::ListTasks => {
            let parked = send(client, "input").await?;
            let mine = ListTasksRequest { context_id: parked.context_id, ..Default::default() };
            let page = client.tasks(mine).await?;
            assert_eq!((page.total_size, &page.tasks[0].id), (1, &parked.id));
        }
        Method::CancelTask => {
            let parked = send(client, "input").await?;
            assert_eq!(client.cancel(parked.id).await?.state(), TaskState::Canceled);
        }
        Method::SubscribeToTask => {
            let mut sent = client.send_stream("stream 60 every=5").await?;
            let task = task_of(&mut sent).await;
            let (text, end) = read(&mut client.watch(task.id).await?).await;
            assert_eq!((text, end), (chunks(60), Some(End::Terminal(TaskState::Completed))));
        }
        Method::CreateTaskPushNotificationConfig => {
            let parked = send(client, "input").await?;
            let made = client.create_push_config(webhook(&parked.id)).await?;
            assert_eq!((made.url.as_str(), made.task_id.as_ref()), ("http://127.0.0.1:9/hook", Some(&parked.id)));
        }
        Method::GetTaskPushNotificationConfig => {
            let parked = send(client, "input").await?;
            let made = client.create_push_config(webhook(&parked.id)).await?;
            let read = client.push_config(parked.id.clone(), made.id.unwrap_or_default()).await?;
            assert_eq!((read.url.as_str(), read.task_id.as_ref()), ("http://127.0.0.1:9/hook", Some(&parked.id)));
        }
        Method::ListTaskPushNotificationConfigs => {
            let parked = send(client, "input").await?;
            client.create_push_config(webhook(&parked.id)).await?;
            let configs = client.push_configs(parked.id).await?.configs;
            assert_eq!(configs.iter().map(|it| it.url.as_str()).collect::<Vec<_>>(), ["http://127.0.0.1:9/hook"]);
        }
        Method::DeleteTaskPushNotificationConfig => {
            let parked = send(client, "input").await?;
            let made = client.create_push_config(webhook(&parked.id)).await?;
            client.delete_push_config(parked.id.clone(), made.id.unwrap_or_default()).await?;
            let gone = client.push_config(parked.id, "mine").await.unwrap_err();
            assert_eq!(kind(&gone), Some(ErrorKind::TaskNotFound));
        }
        Method::GetExtendedAgentCard => {
            let public = client.card().unwrap().skills.len();
            assert_eq!(client.extended_card().await?.skills.len(), public + 1);
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_of_the_same_kind_in_every_version() {
    let address = serve().await;
    for way in Way::all() {
        let client = way.client(&address).await;
        let of = |outcome: Outcome| kind(&outcome.expect_err("it must fail")).unwrap_or_else(|| panic!("{way}"));
        let unknown = || TaskId::from("8d0a1ffe-0000-4000-8000-000000000000");
        assert_eq!(of(client.task(unknown()).await.map(drop)), ErrorKind::TaskNotFound, "{way}");
        assert_eq!(of(client.cancel(unknown()).await.map(drop)), ErrorKind::TaskNotFound, "{way}");
        assert_eq!(of(client.watch(unknown()).await.map(drop)), ErrorKind::TaskNotFound, "{way}");
        let done = send(&client, "echo x").await.unwrap();
        assert_eq!(of(client.cancel(done.id.clone()).await.map(drop)), ErrorKind::TaskNotCancelable, "{way}");
        if way.version.as_str() != "0.1" {
            let again = Message::user("again").with_task_id(done.id);
            assert_eq!(of(client.send(again).await.map(drop)), ErrorKind::UnsupportedOperation, "{way}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_of_one_version_is_read_watched_continued_and_canceled_in_every_other() {
    let address = serve().await;
    let newest = Way { version: Version::LATEST, binding: Binding::JsonRpc }.client(&address).await;
    for maker in Way::all() {
        let made = maker.client(&address).await;
        for other in Way::all() {
            let pair = format!("{maker} -> {other}");
            let client = other.client(&address).await;

            let parked = send(&made, "input").await.unwrap();
            // Only their own clients know the task ids of 0.1. Other clients use the id of the server.
            let id = if maker == other { parked.id.clone() } else { listed(&newest, &parked).await };
            let found = client.task(id.clone()).await.unwrap_or_else(|error| panic!("{pair}: {error}"));
            assert_eq!(found.state(), TaskState::InputRequired, "{pair}");
            let answer = Message::user("blue").with_task_id(id.clone());
            let done = task(client.send(answer).await.unwrap_or_else(|error| panic!("{pair}: {error}")));
            assert_eq!((done.id.clone(), done.state()), (id, TaskState::Completed), "{pair}");
            assert_eq!(made.task(parked.id).await.unwrap().state(), TaskState::Completed, "{pair}");

            let parked = send(&made, "input").await.unwrap();
            let id = if maker == other { parked.id.clone() } else { listed(&newest, &parked).await };
            let canceled = client.cancel(id).await.unwrap_or_else(|error| panic!("{pair}: {error}"));
            assert_eq!(canceled.state(), TaskState::Canceled, "{pair}");

            let mut sent = made.send_stream("stream 20 every=5").await.unwrap();
            let begun = task_of(&mut sent).await;
            let id = if maker == other { begun.id.clone() } else { listed(&newest, &begun).await };
            let mut watch = client.watch(id).await.unwrap_or_else(|error| panic!("{pair}: {error}"));
            let seen = read(&mut watch).await;
            assert_eq!(seen, (chunks(20), Some(End::Terminal(TaskState::Completed))), "{pair}");
        }
    }
}

/// The id of the only task of a context in the server's list.
async fn listed(newest: &Client, task: &Task) -> TaskId {
    let of_context = ListTasksRequest { context_id: task.context_id.clone(), ..Default::default() };
    let page = newest.tasks(of_context).await.unwrap();
    assert_eq!(page.total_size, 1, "{task:?}");
    page.tasks[0].id.clone()
}

fn kind(error: &ClientError) -> Option<ErrorKind> {
    error.as_agent_error().map(nuncio_model::Error::kind)
}

fn webhook(task: &TaskId) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        task_id: Some(task.clone()),
        id: Some("mine".into()),
        url: "http://127.0.0.1:9/hook".into(),
        ..Default::default()
    }
}

async fn send(client: &Client, text: &str) -> Result<Task, ClientError> {
    client.send(text).await.map(task)
}

fn task(response: SendMessageResponse) -> Task {
    match response {
        SendMessageResponse::Task(task) => task,
        SendMessageResponse::Message(message) => panic!("{message:?}"),
    }
}

/// The first task of a stream.
async fn task_of(watch: &mut Watch) -> Task {
    match &watch.next().await.unwrap().unwrap().response {
        StreamResponse::Task(task) => task.clone(),
        other => panic!("{other:?}"),
    }
}

/// The text of the artifact in a stream, and the end of the stream.
async fn read(watch: &mut Watch) -> (String, Option<End>) {
    let mut text = String::new();
    while let Some(event) = watch.next().await {
        match &event.unwrap().response {
            StreamResponse::Task(task) => text = task.artifacts.iter().map(Artifact::text).collect(),
            StreamResponse::ArtifactUpdate(update) if update.append => text.push_str(&update.artifact.text()),
            StreamResponse::ArtifactUpdate(update) => text = update.artifact.text(),
            _ => {}
        }
    }
    (text, watch.end())
}
