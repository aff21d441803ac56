//! The common part of `SendMessage` and `SendStreamingMessage`: a message finds its task, or creates a task.

use std::{mem, sync::Arc, time::Duration};

use nuncio_limit::{Permit, RETRY_AFTER, not_now};
use nuncio_model::{
    ContextId, Error, ErrorKind, Message, NewTask, Scope, Task, TaskId, TaskPushNotificationConfig,
    op::SendMessageRequest,
};
use tokio::sync::oneshot;

use crate::{
    capability,
    in_flight::Leader,
    inbox::{Accepted, Control, Incoming, TurnProgress},
    inline::Inline,
    live::{LiveState, LiveTask},
    op::With,
    precreate::{Precreated, precreate},
    push::{self, Added},
    registry::TaskRef,
    runner::{Runner, ended},
    shared::Shared,
    size,
    store::PushConfig,
};

/// A message before its task is found.
pub(crate) struct Opening {
    scope: Scope,
    request: SendMessageRequest,
    extensions: Arc<[Box<str>]>,
    /// The webhook that the request registers.
    hook: Option<Box<TaskPushNotificationConfig>>,
    push_format: Option<&'static str>,
    /// The task to create for the message.
    new_task: Option<Box<NewTask>>,
    /// The task, if this message created it.
    precreated: Option<Box<Precreated>>,
}

impl Opening {
    /// Checks the message, and separates its push configuration.
    pub(crate) fn new(
        shared: &Arc<Shared>,
        scope: Scope,
        mut request: SendMessageRequest,
        with: With,
    ) -> Result<Self, Error> {
        capability::check_media_types(&shared.card, &request.message.parts)?;
        if let Some(configuration) = &request.configuration {
            capability::check_output_modes(&shared.card, &configuration.accepted_output_modes)?;
        }
        let of_task = with.new_task.as_ref().and_then(|new_task| new_task.metadata.as_deref());
        size::check_message(&request.message, of_task, shared.limits.task_size)?;
        let extensions = match &*with.extensions {
            [] => Arc::default(),
            requested => shared.card.active_extensions(requested).into(),
        };
        let configured = request.configuration.as_mut().and_then(|it| it.task_push_notification_config.take());
        // A configuration without an address is ignored.
        let hook = configured.filter(|config| !config.url.is_empty());
        if hook.is_some() && !capability::pushes(shared) {
            return Err(capability::no_push());
        }
        let With { new_task, push_format, .. } = with;
        Ok(Self { scope, request, extensions, hook: hook.map(Box::new), push_format, new_task, precreated: None })
    }

    /// Whether the message can find its task without further checks.
    pub(crate) fn is_settled(&self) -> bool {
        self.hook.is_none() && self.new_task.is_none()
    }

    /// Checks the address of the webhook. Then creates the task if its id is given.
    pub(crate) async fn settle(&mut self, shared: &Arc<Shared>) -> Result<(), Error> {
        if let (Some(config), Some(guard)) = (&self.hook, &shared.guard) {
            let within = |field: &str| Some(format!("configuration.taskPushNotificationConfig.{field}"));
            guard.check(config).await.map_err(|error| error.with_fields_named(within))?;
        }
        if let Some(new_task) = self.new_task.take() {
            let context = self.request.message.context_id.as_ref();
            self.precreated = precreate(shared, &self.scope, &new_task, context).await?.map(Box::new);
            self.request.message.task_id = Some(new_task.id);
        }
        Ok(())
    }

    /// The task of the message; `None` if the message creates a task.
    pub(crate) fn task_id(&self) -> Option<TaskId> {
        self.request.message.task_id.clone()
    }

    /// Creates a runner and a new task for a message.
    pub(crate) fn begin(
        mut self,
        shared: &Arc<Shared>,
        first_event_timeout: Duration,
        leader: Option<Leader>,
    ) -> Result<Beginning, Error> {
        let permit = shared.reserve(&self.scope.principal, &self.request)?;
        shared.turn_begins(&self.scope)?;
        let id = TaskId::generate();
        let context = self.request.message.context_id.take().unwrap_or_else(ContextId::generate);
        address(&mut self.request.message, &id, context);
        let push_configs = self.hook.map(|mut config| {
            push::name(&mut config, &id);
            PushConfig { config: *config, format: self.push_format.map(Box::from), delivered: 0 }
        });
        let task_ref = shared.registry.create(&self.scope, id);
        let mut incoming = Incoming::new(self.request, self.extensions);
        incoming.reserved = permit;
        let progress = incoming.progress.clone();
        let push_configs = push_configs.into_iter().collect();
        let runner =
            Runner::begin(Arc::clone(shared), task_ref.clone(), incoming, push_configs, first_event_timeout, leader);
        Ok(Beginning { task_ref, runner: Inline::new(runner), progress })
    }

    /// Gives a message to the task that it names.
    pub(crate) async fn go_on(mut self, shared: &Arc<Shared>, id: TaskId) -> Result<Continuation, Error> {
        let task_ref = shared.attach(&self.scope, &id).await?;
        let context = {
            let state = task_ref.lock();
            let context = state.task.context_id.clone().unwrap_or_default();
            if self.request.message.context_id.as_ref().is_some_and(|given| *given != context) {
                return Err(Error::invalid_params(
                    "message.contextId",
                    format!("task {id} belongs to another context; leave contextId out, or send the task's"),
                ));
            }
            if state.task_state().is_terminal() {
                return Err(ended(&id, state.task_state()));
            }
            context
        };
        let permit = shared.reserve(&self.scope.principal, &self.request)?;
        address(&mut self.request.message, &id, context);
        let mut hook = None;
        if let Some(config) = self.hook {
            // A refused message must not leave a webhook behind.
            may_start(shared, &task_ref)?;
            let added = push::add(shared, &self.scope, &id, *config, self.push_format).await?;
            hook = Some(Box::new(added));
        }
        let (sender, accepted) = oneshot::channel();
        let mut incoming = Incoming::new(self.request, self.extensions);
        incoming.accepted = Some(sender);
        incoming.precreated = self.precreated.map(|precreated| *precreated);
        incoming.reserved = permit;
        let progress = incoming.progress.clone();
        match start(shared, &task_ref, Control::Message(incoming)) {
            Ok(runner) => Ok(Continuation { runner, accepted: Acceptance { told: accepted, hook }, progress }),
            Err(refused) => {
                undo(shared, hook).await;
                Err(refused.into())
            }
        }
    }
}

/// A message that creates a task.
pub(crate) struct Beginning {
    pub(crate) task_ref: TaskRef,
    pub(crate) runner: Inline,
    pub(crate) progress: TurnProgress,
}

/// A message that was given to an existing task.
pub(crate) struct Continuation {
    /// The runner, if the task had none.
    pub(crate) runner: Option<Inline>,
    pub(crate) accepted: Acceptance,
    pub(crate) progress: TurnProgress,
}

/// Whether a message enters the log.
pub(crate) struct Acceptance {
    told: oneshot::Receiver<Result<Accepted, Error>>,
    hook: AddedWebhook,
}

/// The webhook that came with a message to an existing task.
type AddedWebhook = Option<Box<Added>>;

impl Acceptance {
    /// Waits until the message is in the log. If the message is refused, the webhook that came with it goes.
    pub(crate) async fn wait(self, shared: &Shared) -> Result<Accepted, Error> {
        let told = self.told.await;
        let told = told.unwrap_or_else(|_| Err(not_now("the task stopped before it took the message; try again")));
        // Where the store failed, the message may be in the log all the same.
        if told.as_ref().is_err_and(|error| error.kind() != ErrorKind::Unavailable) {
            undo(shared, self.hook).await;
        }
        told
    }
}

async fn undo(shared: &Shared, hook: AddedWebhook) {
    if let Some(added) = hook {
        added.undo(shared).await;
    }
}

/// A refused control with its error.
pub(crate) struct Refused {
    pub(crate) control: Control,
    pub(crate) error: Error,
}

impl From<Box<Refused>> for Error {
    fn from(refused: Box<Refused>) -> Self {
        refused.error
    }
}

/// Gives a control to the runner of a task. If there is no runner, returns a new runner for the caller to run.
///
/// A message can fail at a limit. Controls that end a task are always accepted.
pub(crate) fn start(
    shared: &Arc<Shared>,
    task_ref: &TaskRef,
    mut control: Control,
) -> Result<Option<Inline>, Box<Refused>> {
    let mut state = task_ref.lock();
    if let Err(error) = admit(shared, task_ref, &state, &mut control) {
        return Err(Box::new(Refused { control, error }));
    }
    let was_running = mem::replace(&mut state.running, true);
    let waker = state.tell_runner(control);
    drop(state);
    if was_running {
        if let Some(waker) = waker {
            waker.wake();
        }
        return Ok(None);
    }
    // A runner that was never polled has no waker.
    Ok(Some(Inline::new(Runner::resume(Arc::clone(shared), task_ref.clone()))))
}

/// Counts a control among the waiting controls of a runner, or as a new turn if there is no runner.
fn admit(shared: &Shared, task_ref: &TaskRef, state: &LiveState, control: &mut Control) -> Result<(), Error> {
    match control {
        Control::Message(incoming) if state.running => {
            incoming.place = Some(place(shared, task_ref, state.waiting())?);
            Ok(())
        }
        _ if state.running => Ok(()),
        control => {
            shared.may_work()?;
            let limits = matches!(control, Control::Message(_)).then_some(&shared.limits);
            shared.turns.begin(&task_ref.scope.principal, limits)
        }
    }
}

/// Fails if a message would be refused now.
fn may_start(shared: &Shared, task_ref: &TaskRef) -> Result<(), Error> {
    let state = task_ref.lock();
    if state.running {
        place(shared, task_ref, state.waiting()).map(drop)
    } else {
        shared.turn_may_begin(&task_ref.scope)
    }
}

/// Gives a control to the runner of a task, or to a new runner, and waits until the runner has written or refused the
/// result. Other work of the new runner, for example the turn of a waiting message, goes on in the background.
pub(crate) async fn done(
    shared: &Arc<Shared>,
    task_ref: &TaskRef,
    control: impl FnOnce(oneshot::Sender<Error>) -> Control,
) -> Result<(), Error> {
    let (refused, told) = oneshot::channel();
    let told = match start(shared, task_ref, control(refused))? {
        Some(runner) => runner.with(told).await,
        None => told.await,
    };
    match told {
        Ok(error) => Err(error),
        // The runner dropped the sender without an error.
        Err(_) => task_ref.lock().broken.clone().map_or(Ok(()), Err),
    }
}

/// Reserves a place among the messages that wait for the runner of a task; `waiting` is their number.
///
/// Fails while the engine stops: the message would be in the log without a turn.
pub(crate) fn place(shared: &Shared, live: &LiveTask, waiting: usize) -> Result<Permit, Error> {
    shared.may_work()?;
    shared.turns.may_begin()?;
    if waiting >= shared.limits.queued_messages {
        let message = format!("too many messages wait for task {}; try again later", live.id);
        return Err(Error::new(ErrorKind::ResourceExhausted, message)
            .with_retry_after(RETRY_AFTER)
            .with_metadata("limit", "queued_messages"));
    }
    shared.queued.take(&live.scope.principal, 1)
}

fn address(message: &mut Message, id: &TaskId, context: ContextId) {
    message.task_id = Some(id.clone());
    message.context_id = Some(context);
}

/// The task with at most the requested history.
pub(crate) fn with_history(task: Arc<Task>, length: Option<i32>) -> Arc<Task> {
    match length.and_then(|length| usize::try_from(length).ok()) {
        Some(limit) if task.history.len() > limit => {
            let mut task = Arc::unwrap_or_clone(task);
            task.limit_history(Some(limit));
            Arc::new(task)
        }
        _ => task,
    }
}
