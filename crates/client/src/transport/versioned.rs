//! A transport in a version whose calls may be made of others.

use async_trait::async_trait;
use futures_util::StreamExt as _;
use nuncio_model::{Caller, Calling, Error, ErrorKind, Reply, Request, StreamResponse, Task};
use nuncio_wire::{Dialect, dialect::Plan};

use super::Transport;

/// Takes any call to a peer that knows those of one version.
pub(crate) struct Versioned {
    dialect: &'static dyn Dialect,
    peer: Peer,
}

/// The peer, which is asked in the calls of its version.
struct Peer(Box<dyn Transport>);

impl Versioned {
    pub(crate) fn new(dialect: &'static dyn Dialect, transport: Box<dyn Transport>) -> Self {
        Self { dialect, peer: Peer(transport) }
    }
}

#[async_trait]
impl Transport for Versioned {
    async fn call(&self, request: Request) -> Result<Reply, Error> {
        let reply = match self.dialect.ask(request, &self.peer) {
            Plan::Direct(request) => self.peer.0.call(request).await,
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
    }
}

/// What an agent leaves out has its default, but without its id a task is none: nothing could be done with it.
fn named(task: &Task) -> Result<(), Error> {
    if task.id.is_empty() {
        let message = "the agent's answer cannot be read: it is a task without an id";
        return Err(Error::new(ErrorKind::InvalidAgentResponse, message));
    }
    Ok(())
}

impl Caller for Peer {
    fn call(&self, request: Request) -> Calling<'_> {
        self.0.call(request)
    }
}
