//! Finds the task of an id that a client made.

use std::sync::Arc;

use nuncio_model::{
    Call, Caller, Error, ErrorKind, Operation, Reply, Request, Scope, Task, TaskId, Tenant, op::GetTaskRequest,
};

use crate::{
    dialect::transitions::Log,
    v0_1::id::{Search, server_id},
};

/// Makes calls on behalf of one caller.
pub(super) struct CallerContext<'a> {
    engine: &'a dyn Caller,
    scope: Scope,
    tenant: Option<Tenant>,
    extensions: Vec<Box<str>>,
    push_format: Option<&'static str>,
}

/// The newest task of a client's id.
pub(super) struct Found {
    /// The generation, or 0 for a task that was not created in 0.1 and has its own id.
    pub(super) generation: u32,
    pub(super) task: Arc<Task>,
}

impl<'a> CallerContext<'a> {
    pub(super) fn new(engine: &'a dyn Caller, request: &Request) -> Self {
        Self {
            engine,
            scope: request.scope.clone(),
            tenant: request.call.tenant().cloned(),
            extensions: request.extensions.clone(),
            push_format: request.push_format,
        }
    }

    /// Executes a call on behalf of the caller.
    pub(super) async fn call(&self, call: impl Operation) -> Result<Reply, Error> {
        self.execute(self.request_of(call)).await
    }

    /// The request for a call on behalf of the caller.
    pub(super) fn request_of(&self, call: impl Operation) -> Request {
        let mut call: Call = call.into();
        call.set_tenant(self.tenant.clone());
        Request { push_format: self.push_format, ..Request::new(self.scope.clone(), call) }
    }

    /// Executes a request with more settings than a call.
    pub(super) async fn execute(&self, request: Request) -> Result<Reply, Error> {
        self.engine.call(Request { extensions: self.extensions.clone(), ..request }).await
    }

    /// What reads the logs of tasks for the caller.
    pub(super) fn log(&self) -> Log<'a> {
        let (scope, tenant, extensions) = (self.scope.clone(), self.tenant.clone(), self.extensions.clone());
        Log { engine: self.engine, scope, tenant, extensions }
    }

    /// The server's id of a task.
    pub(super) fn id(&self, client_id: &TaskId, generation: u32) -> TaskId {
        server_id(&self.scope, client_id.as_str(), generation)
    }

    /// Reads the task with a server's id.
    ///
    /// The task is read with its whole history, because an engine can then share the task instead of copying it.
    pub(super) async fn read(&self, id: &TaskId) -> Result<Option<Arc<Task>>, Error> {
        match self.call(GetTaskRequest::new(id.clone())).await {
            Ok(Reply::Task(task)) => Ok(Some(task)),
            Ok(_) => Err(Error::new(ErrorKind::InvalidAgentResponse, "the answer to GetTask is not a task")),
            Err(error) if error.kind() == ErrorKind::TaskNotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether a task was created with this client's id.
    pub(super) async fn has_created(&self, client_id: &TaskId) -> bool {
        matches!(self.read(&self.id(client_id, 1)).await, Ok(Some(_)))
    }

    /// The newest task that was created with a client's id. If there is none, the task of another version with this id.
    pub(super) async fn find_any(&self, client_id: &TaskId) -> Result<Option<Found>, Error> {
        let (mut search, mut found) = (Search::default(), None);
        while let Some(generation) = search.next() {
            let task = self.read(&self.id(client_id, generation)).await?;
            search.found(generation, task.is_some());
            found = task.map(|task| Found { generation, task }).or(found);
        }
        match found {
            Some(found) => Ok(Some(found)),
            None => Ok(self.read(client_id).await?.map(|task| Found { generation: 0, task })),
        }
    }

    /// Like [`find_any`](Self::find_any), but fails with `TaskNotFound` if there is no task.
    pub(super) async fn find(&self, client_id: &TaskId) -> Result<Found, Error> {
        self.find_any(client_id).await?.ok_or_else(|| Error::task_not_found(client_id.as_str()))
    }
}
