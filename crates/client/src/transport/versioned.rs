//! A transport of a version. A call can consist of several calls of that version.

use futures_util::StreamExt as _;
use nuncio_model::{Caller, Calling, Error, ErrorKind, Reply, Request, StreamResponse, Task};
use nuncio_wire::{Dialect, dialect::Plan};

/// Accepts any call, and calls a peer in one version.
pub(crate) struct Versioned {
    dialect: &'static dyn Dialect,
    /// The peer, for calls of its version.
    peer: Box<dyn Caller>,
}

impl Versioned {
    pub(crate) fn new(dialect: &'static dyn Dialect, transport: Box<dyn Caller>) -> Self {
        Self { dialect, peer: transport }
    }
}

impl Caller for Versioned {
    fn call(&self, request: Request) -> Calling<'_> {
        Box::pin(async move {
            let reply = match self.dialect.ask(request, &*self.peer) {
                Plan::Direct(request) => self.peer.call(request).await,
                Plan::Steps(steps) => steps.await,
            };
            match reply? {
                Reply::Task(task) => named(&task).map(|()| Reply::Task(task)),
                Reply::Events(events) => Ok(Reply::Events(Box::pin(events.map(|event| {
                    let event = event?;
                    if let StreamResponse::Task(task) = &event.response {
                        named(task)?;
                    }
                    Ok(event)
                })))),
                reply => Ok(reply),
            }
        })
    }
}

/// Missing members have defaults, but a task without an id cannot be used.
fn named(task: &Task) -> Result<(), Error> {
    if task.id.is_empty() {
        let message = "the agent's answer cannot be read: it is a task without an id";
        return Err(Error::new(ErrorKind::InvalidAgentResponse, message));
    }
    Ok(())
}
