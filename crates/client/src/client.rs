//! The client: an agent's operations as methods.

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
/// Clones share connections. Dropping the last one closes them; tasks go on.
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

/// Calls with repetition of messages, as [`Client::request`] describes.
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

    /// Sets a client up.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// A client of any other [`Caller`]: an engine of this process, a connection over a binding of your own, a test
    /// double.
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

    /// The agent's card: the public one, or the extended one once it was read (EXTCARD-3). `None` without a card.
    pub fn card(&self) -> Option<Arc<AgentCard>> {
        self.0.card.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Where the card was found; `None` for a file, or without a card.
    pub fn card_url(&self) -> Option<&Url> {
        self.0.card_url.as_ref()
    }

    /// The interface in use.
    pub fn interface(&self) -> Option<&AgentInterface> {
        self.0.interfaces.as_ref()?.interface()
    }

    /// The URL that the interface is called at: the interface's own, or the one that is taken for an address without a
    /// scheme, as gRPC has it. `None` for a client [over another caller](Self::over).
    pub fn url(&self) -> Option<&Url> {
        self.0.interfaces.as_ref()?.url()
    }

    /// The version of the protocol in use. `None` for a client [over another caller](Self::over).
    pub fn version(&self) -> Option<Version> {
        self.0.interfaces.as_ref()?.version()
    }

    /// Whether credentials are at hand that the interface does not get, because the card that names it came from
    /// another origin. See [`ClientBuilder::trust_origin`].
    pub fn withholds_credentials(&self) -> bool {
        self.0.withholds
    }

    /// Calls any operation.
    ///
    /// A streaming operation gives the events of one connection; [`Self::send_stream`] and [`Self::watch`] give a
    /// stream that survives it.
    ///
    /// # Errors
    ///
    /// [`ClientError::Transport`] where no answer came, or none that ends in time and within the limits
    /// ([`HttpSettings`](crate::HttpSettings)). [`ClientError::Agent`] with the error that the agent answered; with
    /// `InvalidAgentResponse` where its answer cannot be read or is another operation's; and with
    /// `UnsupportedOperation`, without asking, where the version in use has no such operation. [`ClientError::Setup`]
    /// where a certificate of the settings cannot be read.
    pub async fn call<O: Operation>(&self, operation: O) -> Result<O::Output, ClientError> {
        let reply = self.request(request(operation.into())).await?;
        Ok(O::Output::try_from(reply)?)
    }

    /// Makes a call that has its own extensions, or resumes a stream.
    ///
    /// A message whose connection broke is sent again, as often and as late as [`Reconnect`] says, where the agent's
    /// card says that it knows a message by its id (`docs/extensions/idempotency.md`). To other agents nothing is sent
    /// twice: whether they heard it is not known.
    ///
    /// # Errors
    ///
    /// As [`Self::call`]; of a message that was sent again, how the last attempt failed.
    pub async fn request(&self, request: Request) -> Result<Reply, ClientError> {
        Ok(Caller::call(self, request).await?)
    }

    /// Calls; and again, where that cannot do it twice. Gives the call, if it could be made once more.
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
    /// As [`Self::call`]. Agents answer `TaskNotFound` where the message names a task that they do not have or do not
    /// show, `UnsupportedOperation` where that task has ended, `InvalidParams` where the message is none, and
    /// `ContentTypeNotSupported` where they cannot take a part.
    pub async fn send(&self, message: impl IntoSendMessage) -> Result<SendMessageResponse, ClientError> {
        self.call(message.into_send_message()).await
    }

    /// Sends a message and streams what comes of it (section 3.1.2).
    ///
    /// # Errors
    ///
    /// As [`Self::send`], and `UnsupportedOperation` where the agent does not stream. What fails once the stream has
    /// begun is the last item of the [`Watch`].
    pub async fn send_stream(&self, message: impl IntoSendMessage) -> Result<Watch, ClientError> {
        let call = SendStreamingMessageRequest(message.into_send_message());
        let (reply, resend) = self.call_with_resend(request(call.into())).await?;
        Ok(self.watching(EventStream::try_from(reply)?, Progress::default(), resend))
    }

    /// Streams a task that exists (section 3.1.6): with a task's id from a snapshot of the task on, with a [`Cursor`]
    /// from the event behind it on.
    ///
    /// If the agent no longer has the events behind the cursor, or does not know places in a log, the stream begins
    /// with a snapshot. [`Watch::cursor`] is the place that a stream has reached.
    ///
    /// # Errors
    ///
    /// As [`Self::call`]. Agents answer `TaskNotFound` where they do not have the task or do not show it, and
    /// `UnsupportedOperation` where it has ended or they do not stream; for a task that ended behind a cursor the stream
    /// has its last snapshot instead. What fails once the stream has begun is the last item of the [`Watch`].
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
    /// As [`Self::call`]. Agents answer `TaskNotFound` where they do not have the task or do not show it.
    pub async fn task(&self, task: impl Into<TaskId>) -> Result<Task, ClientError> {
        self.call(GetTaskRequest::new(task)).await
    }

    /// Whether there is nothing to wait for in this state: the task has ended, or waits for its client. So is a state
    /// that is not known of an agent before 1.0, whose `unknown` counts as an end; of one of 1.0 it says nothing.
    pub fn is_settled(&self, state: TaskState) -> bool {
        let is_unknown = state == TaskState::Unspecified;
        let is_older = self.version().is_some_and(|version| version < Version::V1_0);
        state.is_terminal() || state.is_interrupted() || (is_unknown && is_older)
    }

    /// Reads a task again and again until it has ended or is interrupted: what works with every agent.
    pub fn poll(&self, request: GetTaskRequest) -> Poll {
        Poll::new(self.clone(), request)
    }

    /// Lists tasks, newest first, in pages (section 3.1.4).
    ///
    /// # Errors
    ///
    /// As [`Self::call`]. Agents answer `InvalidParams` where the size or the token of the page is none. Versions
    /// before 1.0 have no such operation.
    pub async fn tasks(&self, request: ListTasksRequest) -> Result<ListTasksResponse, ClientError> {
        self.call(request).await
    }

    /// Cancels a task (section 3.1.5).
    ///
    /// # Errors
    ///
    /// As [`Self::call`]. Agents answer `TaskNotFound` where they do not have the task or do not show it, and
    /// `TaskNotCancelable` where it has ended.
    pub async fn cancel(&self, task: impl Into<TaskId>) -> Result<Task, ClientError> {
        self.call(CancelTaskRequest::new(task)).await
    }

    /// Registers a webhook (section 3.1.7).
    ///
    /// # Errors
    ///
    /// As [`Self::call`]. Agents answer `PushNotificationNotSupported` where they have no webhooks, `TaskNotFound`
    /// where they do not have the task or do not show it, and `InvalidParams` where they would not call the URL.
    pub async fn create_push_config(
        &self,
        config: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, ClientError> {
        self.call(config).await
    }

    /// Reads a webhook's configuration (section 3.1.8).
    ///
    /// # Errors
    ///
    /// As [`Self::call`]. Agents answer `PushNotificationNotSupported` where they have no webhooks, and `TaskNotFound`
    /// where they do not have the task or the configuration, or do not show it.
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
    /// As [`Self::call`]. Agents answer `PushNotificationNotSupported` where they have no webhooks, and `TaskNotFound`
    /// where they do not have the task or do not show it. 0.1 has no such operation.
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
    /// As [`Self::push_configs`]. A configuration that is not there is no error.
    pub async fn delete_push_config(
        &self,
        task: impl Into<TaskId>,
        id: impl Into<PushConfigId>,
    ) -> Result<(), ClientError> {
        let (task_id, id) = (task.into(), id.into());
        self.call(DeleteTaskPushNotificationConfigRequest { task_id, id, ..Default::default() }).await
    }

    /// Reads the card for authenticated callers, which then takes the place of the public one (section 3.1.11).
    ///
    /// # Errors
    ///
    /// As [`Self::call`]. Agents answer `UnsupportedOperation` or `ExtendedAgentCardNotConfigured` where they have no
    /// such card, and `Unauthenticated` or `PermissionDenied` where the caller may not see it. The card at hand then
    /// stays. 0.1 has no such operation.
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

/// A remote agent knows by itself who calls, so the scope says nothing.
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
