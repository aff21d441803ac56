//! Uses the first of several interfaces that can be reached (section 5.2).

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use nuncio_model::{Caller, Calling, Error, Reply, Request, card::AgentInterface};
use nuncio_wire::Version;
use url::Url;

use super::older::Older;
use crate::failure::Failure;

/// Transports in the order of preference. If an interface cannot be reached, this call and later calls use the next
/// interface.
pub(crate) struct Fallback {
    candidates: Vec<Candidate>,
    current: AtomicUsize,
    observer: Option<Observer>,
    /// The candidate and the version that the observer knows; `usize::MAX` before the first call.
    observed: AtomicUsize,
}

/// The function that gets the interface in use.
#[derive(Clone)]
pub(crate) struct Observer(pub(crate) Arc<Observe>);

type Observe = dyn Fn(&AgentInterface, Version) + Send + Sync;

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}

/// An interface and its transport.
pub(crate) struct Candidate {
    pub(crate) interface: AgentInterface,
    /// The URL of the calls.
    pub(crate) url: Url,
    pub(crate) version: Version,
    pub(crate) transport: Box<dyn Caller>,
    /// The same interface in an older version, if the card does not tell the version.
    pub(crate) older: Option<Older>,
}

impl Candidate {
    /// The version in use, as far as the version is known.
    fn version(&self) -> Version {
        self.older.as_ref().and_then(Older::version).unwrap_or(self.version)
    }

    async fn call(&self, request: Request) -> Result<Reply, Error> {
        match &self.older {
            Some(older) => older.call(&*self.transport, request).await,
            None => self.transport.call(request).await,
        }
    }
}

impl Fallback {
    /// `candidates` has at least one element.
    pub(crate) fn new(candidates: Vec<Candidate>, observer: Option<Observer>) -> Self {
        Self { candidates, current: AtomicUsize::new(0), observer, observed: AtomicUsize::new(usize::MAX) }
    }

    /// The interface in use.
    pub(crate) fn interface(&self) -> Option<&AgentInterface> {
        self.candidate().map(|candidate| &candidate.interface)
    }

    /// The URL of the interface in use.
    pub(crate) fn url(&self) -> Option<&Url> {
        self.candidate().map(|candidate| &candidate.url)
    }

    /// The version in use.
    pub(crate) fn version(&self) -> Option<Version> {
        self.candidate().map(Candidate::version)
    }

    /// Records the candidate of the last call.
    fn settle(&self, index: usize) {
        self.current.store(index, Ordering::Relaxed);
        if let Some(Observer(observe)) = &self.observer {
            let candidate = &self.candidates[index];
            let is_older = candidate.version() != candidate.version;
            let observed = index * 2 + usize::from(is_older);
            if self.observed.swap(observed, Ordering::Relaxed) != observed {
                observe(&candidate.interface, candidate.version());
            }
        }
    }

    fn candidate(&self) -> Option<&Candidate> {
        self.candidates.get(self.current.load(Ordering::Relaxed))
    }
}

impl Caller for Fallback {
    fn call(&self, request: Request) -> Calling<'_> {
        Box::pin(async move {
            let start = self.current.load(Ordering::Relaxed);
            let mut first_error = None;
            for step in 0..self.candidates.len() {
                let index = (start + step) % self.candidates.len();
                let candidate = &self.candidates[index];
                let interface = &candidate.interface;
                match candidate.call(request.clone()).await {
                    Err(error) if Failure::of(&error).is_some_and(Failure::is_before_sending) => {
                        let (url, binding) = (&interface.url, &interface.protocol_binding);
                        if self.candidates.len() > 1 {
                            tracing::info!(url, binding, %error, "the interface cannot be reached; trying the next");
                        }
                        first_error.get_or_insert(error);
                    }
                    outcome => {
                        self.settle(index);
                        return outcome;
                    }
                }
            }
            Err(first_error.unwrap_or_else(|| Error::internal("an agent without interfaces")))
        })
    }
}
