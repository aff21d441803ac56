//! What `SendMessage` and `SendStreamingMessage` share: a message finds its task, or begins one.

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
    push,
    registry::TaskRef,
    runner::{Runner, ended},
    shared::Shared,
    size,
    store::PushConfig,
};

/// A message on its way, before it has found its task.
pub(crate) struct Opening {
    scope: Scope,
    request: SendMessageRequest,
    extensions: Arc<[Box<str>]>,
    /// A webhook that comes with it.
    hook: Option<Box<TaskPushNotificationConfig>>,
    push_format: Option<&'static str>,
    /// The task to create for the message.
    new_task: Option<Box<NewTask>>,
    /// The task, if this message created it.
    precreated: Option<Box<Precreated>>,
}

impl Opening {
    /// Checks the message, and takes its push configuration out.
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
        // One without an address is as good as none.
        let hook = configured.filter(|config| !config.url.is_empty());
        if hook.is_some() && !capability::pushes(shared) {
            return Err(capability::no_push());
        }
        let With { new_task, push_format, .. } = with;
        Ok(Self { scope, request, extensions, hook: hook.map(Box::new), push_format, new_task, precreated: None })
    }

    /// Whether there is nothing to see to before it finds its task.
    pub(crate) fn is_settled(&self) -> bool {
        self.hook.is_none() && self.new_task.is_none()
    }

    /// Checks where its webhook is; then sees to it that the task is there whose id is settled, if one is.
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

    /// The task that the message is for; `None` where it begins one.
    pub(crate) fn task_id(&self) -> Option<TaskId> {
        self.request.message.task_id.clone()
    }

    /// A runner for a message that begins an interaction, and its task to be.
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

    /// Hands a message to the task that it names.
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
        if let Some(config) = self.hook {
            // A message that is not let in is to leave nothing behind.
            may_start(shared, &task_ref)?;
            let known = push::known(shared, &self.scope, &id).await?;
            push::add(shared, &self.scope, &id, *config, self.push_format, &known).await?;
        }
        let (sender, accepted) = oneshot::channel();
        let mut incoming = Incoming::new(self.request, self.extensions);
        incoming.accepted = Some(sender);
        incoming.precreated = self.precreated.map(|precreated| *precreated);
        incoming.reserved = permit;
        let progress = incoming.progress.clone();
        let runner = start(shared, &task_ref, Control::Message(incoming))?;
        Ok(Continuation { runner, accepted, progress })
    }
}

/// A message that begins an interaction.
pub(crate) struct Beginning {
    pub(crate) task_ref: TaskRef,
    pub(crate) runner: Inline,
    pub(crate) progress: TurnProgress,
}

/// A message that was handed to its task.
pub(crate) struct Continuation {
    /// The runner, where the task had none.
    pub(crate) runner: Option<Inline>,
    pub(crate) accepted: oneshot::Receiver<Result<Accepted, Error>>,
    pub(crate) progress: TurnProgress,
}

/// Waits until a message is in the log.
pub(crate) async fn accepted(receiver: oneshot::Receiver<Result<Accepted, Error>>) -> Result<Accepted, Error> {
    receiver.await.map_err(|_| not_now("the task stopped before it took the message; try again"))?
}

/// What was not let in, and why.
pub(crate) struct Refused {
    pub(crate) control: Control,
    pub(crate) error: Error,
}

impl From<Box<Refused>> for Error {
    fn from(refused: Box<Refused>) -> Self {
        refused.error
    }
}

/// Gives a control to the runner of a task; starts one where there is none, which the caller then runs.
///
/// Fails at a limit where it is a message; what ends a task is always let in.
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
    // A runner that has yet to be polled has no waker.
    Ok(Some(Inline::new(Runner::resume(Arc::clone(shared), task_ref.clone()))))
}

/// Counts a control among what waits for the runner of its task, or as one that begins a turn where there is none.
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

/// Fails where a message would not be let in now.
fn may_start(shared: &Shared, task_ref: &TaskRef) -> Result<(), Error> {
    let state = task_ref.lock();
    if state.running {
        place(shared, task_ref, state.waiting()).map(drop)
    } else {
        shared.turn_may_begin(&task_ref.scope)
    }
}

/// Has the runner of a task do something, and waits until that is written, or was not to be done; starts a runner where
/// there is none. What else there is to do for it, a turn of a message that waited perhaps, goes on by itself.
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
        // It was let go of in silence.
        Err(_) => task_ref.lock().broken.clone().map_or(Ok(()), Err),
    }
}

/// A place for a message among those that wait for the runner of its task, of which there are so many.
///
/// There is none while the engine stops: the message would be in the log, and not have its turn.
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

/// The task with at most the history that the client wants.
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
