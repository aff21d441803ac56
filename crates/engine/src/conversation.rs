//! What `SendMessage` and `SendStreamingMessage` share: a message finds its task, or begins one.

use std::sync::Arc;

use nuncio_model::{ContextId, Error, ErrorKind, Message, PushConfigId, Scope, Task, TaskId, op::SendMessageRequest};
use tokio::sync::oneshot;

use crate::{
    capability,
    engine::Shared,
    inbox::{Accepted, Control, Incoming, Started},
    inline::Inline,
    registry::Hold,
    runner::{Runner, ended},
    store::PushConfig,
};

/// A message on its way, before it has found its task.
pub(crate) struct Opening {
    pub(crate) scope: Scope,
    pub(crate) request: SendMessageRequest,
    pub(crate) extensions: Arc<[Box<str>]>,
    pub(crate) push_configs: Vec<PushConfig>,
}

impl Opening {
    /// Checks the message, and takes its push configuration out.
    pub(crate) async fn new(
        shared: &Shared,
        scope: Scope,
        mut request: SendMessageRequest,
        extensions: &[Box<str>],
    ) -> Result<Self, Error> {
        capability::check_media_types(&shared.card, &request.message.parts)?;
        let extensions = capability::active_extensions(&shared.card, extensions).into();
        let configured = request.configuration.as_mut().and_then(|it| it.task_push_notification_config.take());
        let mut push_configs = Vec::new();
        if let Some(mut config) = configured.filter(|config| !config.url.is_empty()) {
            if !capability::pushes(shared) {
                return Err(capability::no_push());
            }
            if let Some(guard) = &shared.guard {
                guard.check(&config).await?;
            }
            config.id.get_or_insert_with(PushConfigId::generate);
            push_configs.push(PushConfig { config, delivered: 0 });
        }
        Ok(Self { scope, request, extensions, push_configs })
    }

    /// A runner for a message that begins an interaction, and its task to be.
    pub(crate) fn begin(
        mut self,
        shared: &Arc<Shared>,
        patience: std::time::Duration,
    ) -> Result<(Hold, Inline), Error> {
        shared.turn_begins()?;
        let id = TaskId::generate();
        let context = self.request.message.context_id.take().unwrap_or_else(ContextId::generate);
        address(&mut self.request.message, &id, context);
        for push in &mut self.push_configs {
            push.config.task_id = Some(id.clone());
        }
        let hold = shared.registry.create(&self.scope, id);
        let incoming = Incoming::first(Arc::new(self.request), self.extensions);
        let runner = Runner::begin(Arc::clone(shared), hold.clone(), incoming, self.push_configs, patience);
        // Made here, it has nothing to load.
        let _ = hold.loaded.set(());
        Ok((hold, Inline::new(runner)))
    }

    /// Hands a message to the task that it names.
    pub(crate) async fn go_on(mut self, shared: &Arc<Shared>, id: TaskId) -> Result<Continuation, Error> {
        let hold = shared.attach(&self.scope, &id).await?;
        let context = {
            let inner = hold.lock();
            if let Some(given) = &self.request.message.context_id
                && *given != inner.context
            {
                return Err(Error::invalid_params(
                    "message.contextId",
                    format!("task {id} belongs to another context; leave contextId out, or send the task's"),
                ));
            }
            if inner.state().is_terminal() {
                return Err(ended(&id, inner.state()));
            }
            inner.context.clone()
        };
        address(&mut self.request.message, &id, context);
        for mut push in std::mem::take(&mut self.push_configs) {
            push.config.task_id = Some(id.clone());
            push.delivered = u64::MAX;
            shared.store.put_push_config(&self.scope, push).await?;
        }
        let (sender, accepted) = oneshot::channel();
        let started = Started::not_yet();
        let incoming = Incoming {
            request: Arc::new(self.request),
            extensions: self.extensions,
            accepted: Some(sender),
            started: started.clone(),
        };
        let runner = start(shared, &hold, Control::Message(incoming)).await?;
        Ok(Continuation { hold, runner, accepted, started })
    }
}

/// A message that was handed to its task.
pub(crate) struct Continuation {
    pub(crate) hold: Hold,
    /// The runner, where the task had none.
    pub(crate) runner: Option<Inline>,
    accepted: oneshot::Receiver<Result<Accepted, Error>>,
    pub(crate) started: Started,
}

impl Continuation {
    /// Waits until the message is in the log.
    pub(crate) async fn accepted(accepted: oneshot::Receiver<Result<Accepted, Error>>) -> Result<Accepted, Error> {
        let gone = || Error::new(ErrorKind::Unavailable, "the task stopped before it took the message; try again");
        accepted.await.map_err(|_| gone())?
    }

    /// Takes it apart: the hold, the runner, what tells that the message is in the log, and when its turn began.
    pub(crate) fn into_pieces(self) -> (Hold, Option<Inline>, oneshot::Receiver<Result<Accepted, Error>>, Started) {
        (self.hold, self.runner, self.accepted, self.started)
    }
}

/// Gives a control to the runner of a task; starts one where there is none, which the caller then runs.
pub(crate) async fn start(shared: &Arc<Shared>, hold: &Hold, control: Control) -> Result<Option<Inline>, Error> {
    {
        let mut inner = hold.lock();
        if inner.running {
            if matches!(control, Control::Message(_)) && inner.inbox.len() >= shared.limits.queued_messages {
                return Err(Error::new(
                    ErrorKind::ResourceExhausted,
                    format!("too many messages wait for task {}; try again later", hold.id),
                ));
            }
            inner.inbox.push_back(control);
            let waker = inner.runner.take();
            drop(inner);
            if let Some(waker) = waker {
                waker.wake();
            }
            return Ok(None);
        }
        inner.running = true;
        inner.broken = None;
    }
    match begin(shared, hold).await {
        Ok(epoch) => {
            // What came in meanwhile waits behind it.
            hold.lock().inbox.push_front(control);
            Ok(Some(Inline::new(Runner::resume(Arc::clone(shared), hold.clone(), epoch))))
        }
        Err(error) => {
            let waiting = {
                let mut inner = hold.lock();
                inner.running = false;
                std::mem::take(&mut inner.inbox)
            };
            if !waiting.is_empty() {
                hold.break_off(error.clone());
            }
            Err(error)
        }
    }
}

async fn begin(shared: &Arc<Shared>, hold: &Hold) -> Result<u64, Error> {
    let epoch = shared.claim(hold).await?;
    shared.turn_begins()?;
    Ok(epoch)
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
