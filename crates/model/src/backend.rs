//! The interface between a server and an agent: calls, and the facts that a server publishes.

use std::{future::ready, pin::Pin, sync::Arc, time::Duration};

use crate::{card::AgentCard, error::Error, op::Caller};

/// An agent behind a server: an engine of this process, a remote agent, a route of a gateway.
///
/// A server calls the backend, publishes its card with the server's own addresses, asks for its readiness, and shuts
/// the backend down when the server ends. Only [`card`](Self::card) is required; the other methods have defaults for a
/// backend without state of its own.
pub trait Backend: Caller + 'static {
    /// The public card (section 8.2). A server adds its interfaces if the card lists none.
    ///
    /// A server reads the card when it starts.
    fn card(&self) -> Arc<AgentCard>;

    /// The card for authenticated callers (section 3.1.11), for the server's checks at its start. Calls of
    /// `GetExtendedAgentCard` go to the backend like all other calls.
    fn extended_card(&self) -> Option<Arc<AgentCard>> {
        None
    }

    /// The extensions that are active for a call with these requested extensions (section 4.6.2). By default the
    /// requested extensions that the card declares, in the order of the card.
    fn active_extensions(&self, requested: &[Box<str>]) -> Vec<Box<str>> {
        if requested.is_empty() {
            return Vec::new();
        }
        self.card().active_extensions(requested)
    }

    /// Whether the events of streams have sequence numbers, and `SubscribeToTask` resumes a stream after the last event
    /// that the client received (`docs/extensions/resume.md`). A server declares the extension only if the backend
    /// resumes.
    fn resumes(&self) -> bool {
        false
    }

    /// The greatest depth of JSON in a card, in levels; `None` if the backend has no limit. A server refuses a card with
    /// deeper parameters of an extension.
    fn nesting(&self) -> Option<usize> {
        None
    }

    /// The number of turns that run. A server that ends waits until the number is zero, up to its own limit.
    fn running(&self) -> usize {
        0
    }

    /// Checks whether calls can succeed now. A server answers the readiness probes of load balancers with the result.
    ///
    /// # Errors
    ///
    /// `Unavailable` if calls cannot succeed, for example because the store does not answer.
    fn check(&self) -> Checking<'_> {
        Box::pin(ready(Ok(Health::Ready)))
    }

    /// Ends the backend: turns can go on for up to `grace`. A server calls this method after its last request, once for
    /// each place of the backend.
    fn shutdown(&self, grace: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        let _ = grace;
        Box::pin(ready(()))
    }
}

/// The future of [`Backend::check`].
pub type Checking<'a> = Pin<Box<dyn Future<Output = Result<Health, Error>> + Send + 'a>>;

/// Work beside a server, for example the delivery of webhooks. A server starts the work when it begins to serve.
pub trait Background: Send + 'static {
    /// Works until `stop` completes, and then ends what is under way. A server waits some seconds for the end and then
    /// drops the future.
    fn run(self: Box<Self>, stop: Stop) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// Completes when the work must end.
pub type Stop = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The state of a backend that can answer calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Health {
    /// The backend has all that it needs.
    Ready,
    /// Calls succeed, but a part is missing; the text names the part. A load balancer must not stop to send requests,
    /// because other nodes usually miss the same part.
    Degraded(&'static str),
}

impl<B: Backend + ?Sized> Backend for Arc<B> {
    fn card(&self) -> Arc<AgentCard> {
        (**self).card()
    }

    fn extended_card(&self) -> Option<Arc<AgentCard>> {
        (**self).extended_card()
    }

    fn active_extensions(&self, requested: &[Box<str>]) -> Vec<Box<str>> {
        (**self).active_extensions(requested)
    }

    fn resumes(&self) -> bool {
        (**self).resumes()
    }

    fn nesting(&self) -> Option<usize> {
        (**self).nesting()
    }

    fn running(&self) -> usize {
        (**self).running()
    }

    fn check(&self) -> Checking<'_> {
        (**self).check()
    }

    fn shutdown(&self, grace: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        (**self).shutdown(grace)
    }
}
