//! The client: the operations of an agent as methods.

mod pages;
mod resend;
mod send;

use std::sync::{Arc, PoisonError, RwLock};

use nuncio_model::{
    AgentCard, Call, Caller, Calling, Error, EventStream, Operation, PushConfigId, Reply, Request, Scope, Task, TaskId,
    TaskPushNotificationConfig, TaskState,
    card::AgentInterface,
    op::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest,
        ListTaskPushNotificationConfigsResponse, ListTasksRequest, ListTasksResponse, SendMessageResponse,
        SendStreamingMessageRequest,
    },
    resume,
};
use nuncio_wire::Version;
use url::Url;

pub(crate) use resend::Resend;
pub use send::IntoSendMessage;

use crate::{
    builder::ClientBuilder,
    error::ClientError,
    poll::Poll,
    reference::{AgentRef, InvalidReference},
    resolve::Resolved,
    settings::Reconnect,
    transport::fallback::Fallback,
    watch::{Cursor, Machine, Progress, Watch},
};

/// Calls one agent.
///
/// ```no_run
/// # async fn example() -> Result<(), nuncio_client::ClientError> {
/// use nuncio_client::Client;
///
/// let client = Client::connect("127.0.0.1:8080").await?;
/// let answer = client.send("hello").await?;
/// # Ok(()) }
/// ```
///
/// Clones share connections. A drop of the last clone closes the connections; tasks continue.
#[derive(Clone)]
pub struct Client(Arc<ClientState>);

struct ClientState {
    transport: Arc<dyn Caller>,
    interfaces: Option<Arc<Fallback>>,
    card: RwLock<Option<Arc<AgentCard>>>,
    card_url: Option<Url>,
    reconnect: Reconnect,
    withholds: bool,
}

/// Repeats messages after a broken connection, as [`Client::request`] describes.
impl Caller for Client {
    fn call(&self, request: Request) -> Calling<'_> {
        Box::pin(async move { Ok(self.call_with_resend(request).await?.0) })
    }
}

impl Client {
    /// Finds the card of an agent and chooses an interface: `127.0.0.1:8080`, `agents.example/weather`, a URL, a file.
    ///
    /// # Errors
    ///
    /// See [`ClientBuilder::connect`].
    pub async fn connect<R>(reference: R) -> Result<Self, ClientError>
    where
        R: TryInto<AgentRef>,
        R::Error: Into<InvalidReference>,
    {
        Self::builder().connect(reference).await
    }

    /// Starts the settings of a client.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// A client of another [`Caller`]: an engine in this process, a connection over another binding, a test double.
    pub fn over(transport: impl Caller + 'static) -> Self {
        Self(Arc::new(ClientState {
            transport: Arc::new(transport),
            interfaces: None,
            card: RwLock::default(),
            card_url: None,
            reconnect: Reconnect::default(),
            withholds: false,
        }))
    }

    pub(crate) fn new(
        interfaces: Arc<Fallback>,
        resolved: Option<Resolved>,
        withholds: bool,
        builder: &ClientBuilder,
    ) -> Self {
        let (card, card_url) = resolved.map_or((None, None), |resolved| (Some(resolved.card), resolved.url));
        Self(Arc::new(ClientState {
            transport: interfaces.clone(),
            interfaces: Some(interfaces),
            card: RwLock::new(card),
            card_url,
            reconnect: builder.reconnect.clone(),
            withholds,
        }))
    }

    /// The card of the agent: the public card, or the extended card after [`Self::extended_card`] (section 3.1.11).
    /// `None` without a card.
    pub fn card(&self) -> Option<Arc<AgentCard>> {
        self.0.card.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The URL of the card; `None` for a file, or without a card.
    pub fn card_url(&self) -> Option<&Url> {
        self.0.card_url.as_ref()
    }

    /// The interface in use.
    pub fn interface(&self) -> Option<&AgentInterface> {
        self.0.interfaces.as_ref()?.interface()
    }

    /// The URL of the interface in use. For an address of gRPC without a scheme, the URL with the chosen scheme. `None`
    /// for a client [over another caller](Self::over).
    pub fn url(&self) -> Option<&Url> {
        self.0.interfaces.as_ref()?.url()
    }

    /// The version of the protocol in use. `None` for a client [over another caller](Self::over).
    pub fn version(&self) -> Option<Version> {
        self.0.interfaces.as_ref()?.version()
    }

    /// Whether the interface does not get the client's credentials, because the card with the interface came from
    /// another origin. See [`ClientBuilder::trust_origin`].
    pub fn withholds_credentials(&self) -> bool {
        self.0.withholds
    }

    /// Calls any operation.
    ///
    /// A streaming operation returns the events of one connection. The streams of [`Self::send_stream`] and
    /// [`Self::watch`] resume after a broken connection.
    ///
    /// # Errors
    ///
    /// - [`ClientError::Transport`] if no complete answer arrived in time and within the limits
    ///   ([`HttpSettings`](crate::HttpSettings)).
    /// - [`ClientError::Agent`] with the error from the agent; with `InvalidAgentResponse` if the answer cannot be read
    ///   or belongs to another operation; with `UnsupportedOperation`, without a request, if the version in use does
    ///   not have the operation.
    /// - [`ClientError::Setup`] if a certificate of the settings cannot be read.
    pub async fn call<O: Operation>(&self, operation: O) -> Result<O::Output, ClientError> {
        let reply = self.request(request(operation.into())).await?;
        Ok(O::Output::try_from(reply)?)
    }

    /// Calls an operation with extensions of the call, or resumes a stream.
    ///
    /// A message whose connection broke is sent again, with the attempts and delays of [`Reconnect`], if the agent's
    /// card declares that the agent recognizes a repeated message by its id (`docs/extensions/idempotency.md`). For
    /// other agents no message is sent twice, because the client does not know whether the agent received the message.
    ///
    /// # Errors
    ///
    /// As [`Self::call`]. After repetitions the error is the error of the last attempt.
    pub async fn request(&self, request: Request) -> Result<Reply, ClientError> {
        Ok(Caller::call(self, request).await?)
    }

    /// Calls an operation, and repeats the call if the agent would not execute the call twice. Also returns the
    /// repetition, if possible.
    async fn call_with_resend(&self, request: Request) -> Result<(Reply, Option<Resend>), Error> {
        let ClientState { transport, reconnect, .. } = &*self.0;
        let resend = Resend::of(&request, self.card().as_deref(), self.version());
        let reply = match (transport.call(request).await, &resend) {
            (Err(error), Some(resend)) => resend.send(&**transport, reconnect, error).await?,
            (outcome, _) => outcome?,
        };
        Ok((reply, resend))
    }

    /// Sends a message and waits until the task has ended or is interrupted (section 3.1.1).
    ///
    /// # Errors
    ///
    /// As [`Self::call`]. Agents answer `TaskNotFound` if the task of the message does not exist or is not visible,
    /// `UnsupportedOperation` if this task has ended, `InvalidParams` if the message is not valid, and
    /// `ContentTypeNotSupported` if they do not accept a part.
    pub async fn send(&self, message: impl IntoSendMessage) -> Result<SendMessageResponse, ClientError> {
        self.call(message.into_send_message()).await
    }

    /// Sends a message and streams the events of its task (section 3.1.2).
    ///
    /// # Errors
    ///
    /// As [`Self::send`], and `UnsupportedOperation` if the agent does not stream. An error after the start of the
    /// stream is the last item of the [`Watch`].
    pub async fn send_stream(&self, message: impl IntoSendMessage) -> Result<Watch, ClientError> {
        let call = SendStreamingMessageRequest(message.into_send_message());
        let (reply, resend) = self.call_with_resend(request(call.into())).await?;
        Ok(self.watching(EventStream::try_from(reply)?, Progress::default(), resend))
    }

    /// Streams an existing task (section 3.1.6). A stream from the id of a task starts with a snapshot of the task, and
    /// a stream from a [`Cursor`] starts after the event of the cursor.
    ///
    /// If the agent no longer has the events after the cursor, or does not number events, the stream starts with a
    /// snapshot. [`Watch::cursor`] is the current position of a stream.
    ///
    /// # Errors
    ///
    /// As [`Self::call`]. Agents answer `TaskNotFound` if the task does not exist or is not visible, and
    /// `UnsupportedOperation` if the task has ended or the agent does not stream. If the task ended after the cursor,
    /// the stream has the last snapshot instead of the error. An error after the start of the stream is the last item
    /// of the [`Watch`].
    pub async fn watch(&self, from: impl Into<Cursor>) -> Result<Watch, ClientError> {
        let progress = Progress::behind(from.into());
        let mut machine = self.machine(None, progress, None);
        machine.begin().await?;
        Ok(Watch::new(machine))
    }

    /// Reads a task (section 3.1.3).
    ///
    /// # Errors
    ///
    /// As [`Self::call`]. Agents answer `TaskNotFound` if the task does not exist or is not visible.
    pub async fn task(&self, task: impl Into<TaskId>) -> Result<Task, ClientError> {
        self.call(GetTaskRequest::new(task)).await
    }

    /// Whether a task in this state needs no further wait: the task has ended, or waits for its client. Agents before
    /// 1.0 also end a task with `unknown`. For an agent of 1.0 an unknown state decides nothing.
    pub fn is_settled(&self, state: TaskState) -> bool {
        let is_unknown = state == TaskState::Unspecified;
        let is_older = self.version().is_some_and(|version| version < Version::V1_0);
        state.is_terminal() || state.is_interrupted() || (is_unknown && is_older)
    }

    /// Reads a task at intervals until the task has ended or is interrupted. This works with every agent.
    pub fn poll(&self, request: GetTaskRequest) -> Poll {
        Poll::new(self.clone(), request)
    }

    /// Lists tasks, newest first, in pages (section 3.1.4).
    ///
    /// # Errors
    ///
    /// As [`Self::call`]. Agents answer `InvalidParams` if the page size or the page token is not valid. Versions
    /// before 1.0 do not have this operation.
    pub async fn tasks(&self, request: ListTasksRequest) -> Result<ListTasksResponse, ClientError> {
        self.call(request).await
    }

    /// Cancels a task (section 3.1.5).
    ///
    /// # Errors
    ///
    /// As [`Self::call`]. Agents answer `TaskNotFound` if the task does not exist or is not visible, and
    /// `TaskNotCancelable` if the task has ended.
    pub async fn cancel(&self, task: impl Into<TaskId>) -> Result<Task, ClientError> {
        self.call(CancelTaskRequest::new(task)).await
    }

    /// Registers a webhook (section 3.1.7).
    ///
    /// # Errors
    ///
    /// As [`Self::call`]. Agents answer `PushNotificationNotSupported` if they do not support webhooks, `TaskNotFound`
    /// if the task does not exist or is not visible, and `InvalidParams` if they would not call the URL.
    pub async fn create_push_config(
        &self,
        config: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, ClientError> {
        self.call(config).await
    }

    /// Reads the configuration of a webhook (section 3.1.8).
    ///
    /// # Errors
    ///
    /// As [`Self::call`]. Agents answer `PushNotificationNotSupported` if they do not support webhooks, and
    /// `TaskNotFound` if the task or the configuration does not exist or is not visible.
    pub async fn push_config(
        &self,
        task: impl Into<TaskId>,
        id: impl Into<PushConfigId>,
    ) -> Result<TaskPushNotificationConfig, ClientError> {
        let (task_id, id) = (task.into(), id.into());
        self.call(GetTaskPushNotificationConfigRequest { task_id, id, ..Default::default() }).await
    }

    /// Lists the webhooks of a task (section 3.1.9).
    ///
    /// # Errors
    ///
    /// As [`Self::call`]. Agents answer `PushNotificationNotSupported` if they do not support webhooks, and
    /// `TaskNotFound` if the task does not exist or is not visible. 0.1 does not have this operation.
    pub async fn push_configs(
        &self,
        task: impl Into<TaskId>,
    ) -> Result<ListTaskPushNotificationConfigsResponse, ClientError> {
        let task_id = task.into();
        self.call(ListTaskPushNotificationConfigsRequest { task_id, ..Default::default() }).await
    }

    /// Removes a webhook (section 3.1.10).
    ///
    /// # Errors
    ///
    /// As [`Self::push_configs`]. A missing configuration is not an error.
    pub async fn delete_push_config(
        &self,
        task: impl Into<TaskId>,
        id: impl Into<PushConfigId>,
    ) -> Result<(), ClientError> {
        let (task_id, id) = (task.into(), id.into());
        self.call(DeleteTaskPushNotificationConfigRequest { task_id, id, ..Default::default() }).await
    }

    /// Reads the card for authenticated callers, which then replaces the public card (section 3.1.11).
    ///
    /// # Errors
    ///
    /// As [`Self::call`]. Agents answer `UnsupportedOperation` or `ExtendedAgentCardNotConfigured` if they have no such
    /// card, and `Unauthenticated` or `PermissionDenied` if the caller may not read the card. The current card then
    /// remains. 0.1 does not have this operation.
    pub async fn extended_card(&self) -> Result<Arc<AgentCard>, ClientError> {
        let card = Arc::new(self.call(GetExtendedAgentCardRequest::default()).await?);
        *self.0.card.write().unwrap_or_else(PoisonError::into_inner) = Some(card.clone());
        Ok(card)
    }

    fn watching(&self, events: EventStream, progress: Progress, resend: Option<Resend>) -> Watch {
        Watch::new(self.machine(Some(events), progress, resend))
    }

    fn machine(&self, events: Option<EventStream>, progress: Progress, resend: Option<Resend>) -> Machine {
        let (transport, reconnect) = (self.0.transport.clone(), self.0.reconnect.clone());
        let resumes = self.card().is_some_and(|card| resume::is_declared(&card));
        Machine::new(transport, reconnect, request, resumes, events, progress, resend)
    }
}

/// The remote agent identifies the caller, so the scope is open.
fn request(call: Call) -> Request {
    Request::new(Scope::open(), call)
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("version", &self.version())
            .field("interface", &self.interface())
            .finish_non_exhaustive()
    }
}
