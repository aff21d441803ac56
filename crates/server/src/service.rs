//! What all bindings share: a call with all that its head says goes into the engine, and its reply comes out (CARD-10).

use std::{sync::Arc, time::Duration};

use http::{HeaderMap, HeaderValue, Response, request::Parts};
use nuncio_engine::Engine;
use nuncio_model::{Call, Error, ErrorKind, EventStream, Principal, Reply, Request, Scope};
use nuncio_wire::Versions;
use tracing::Instrument as _;

use crate::{
    body::Body,
    card::Cards,
    drain::Drain,
    head,
    load::{Load, StreamPermit},
    read::BodyLimits,
    sse::{Envelope, EventBody},
};

/// The engine, and what stands around it.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) engine: Engine,
    pub(crate) versions: Versions,
    pub(crate) cards: Cards,
    pub(crate) body_limits: BodyLimits,
    pub(crate) keep_alive: Duration,
    pub(crate) load: Load,
    pub(crate) drain: Drain,
    /// The value of `WWW-Authenticate` beside a 401.
    pub(crate) challenge: Option<HeaderValue>,
}

/// What came of a call, and what goes with it into the head of the response.
pub(crate) struct Answer {
    pub(crate) outcome: Outcome,
    pub(crate) extensions: Vec<Box<str>>,
}

/// What came of a call.
pub(crate) enum Outcome {
    /// A reply; never a stream.
    Reply(Reply),
    /// A stream, and its place among those that may be open.
    Events(EventStream, StreamPermit),
}

/// A request, the place of its stream where it opens one, and the extensions that are active.
type Prepared = (Request, Option<StreamPermit>, Vec<Box<str>>);

impl Service {
    /// Calls an operation for this caller, who sent a request with this head. The version has been looked at before.
    pub(crate) async fn call(&self, principal: Principal, head: &Parts, call: Call) -> Result<Answer, Error> {
        let method = call.method();
        let span = tracing::debug_span!(
            "call",
            otel.name = method.name(),
            otel.kind = "server",
            a2a.method.name = method.name(),
            a2a.tenant = call.tenant().map(tracing::field::display),
        );
        // What is prepared is not async, so that it is not part of a future that stays.
        let result = match self.prepare(principal, head, call) {
            Ok((request, permit, extensions)) => {
                let reply = self.engine.call(request).instrument(span).await;
                reply.map(|reply| Answer { outcome: self.outcome(reply, permit, head), extensions })
            }
            Err(error) => Err(error),
        };
        if let Err(error) = &result {
            log(error, method.name());
        }
        result
    }

    fn prepare(&self, principal: Principal, head: &Parts, call: Call) -> Result<Prepared, Error> {
        if matches!(call, Call::GetExtendedAgentCard(_)) {
            self.cards.check_extended(&principal)?;
        }
        let permit = call.method().is_streaming().then(|| self.load.stream()).transpose()?;
        let scope = Scope::new(call.tenant().cloned().unwrap_or_default(), principal);
        let (extensions, last_event) = (head::extensions(&head.headers), head::last_event(&head.headers));
        let active = self.engine.active_extensions(&extensions);
        Ok((Request { call, scope, extensions, last_event }, permit, active))
    }

    fn outcome(&self, reply: Reply, permit: Option<StreamPermit>, head: &Parts) -> Outcome {
        match (reply, permit) {
            (Reply::Events(events), Some(permit)) => Outcome::Events(events, permit),
            (Reply::Card(card), _) => Outcome::Reply(Reply::Card(Arc::new(self.cards.complete(&card, head)))),
            (reply, _) => Outcome::Reply(reply),
        }
    }

    /// The response that streams these events as server-sent events.
    pub(crate) fn stream(&self, events: EventStream, permit: StreamPermit, envelope: Envelope) -> Response<Body> {
        EventBody::response(events, envelope, self.keep_alive, &self.drain, permit)
    }

    /// Adds to the head of a refusal what its error calls for.
    pub(crate) fn complete_refusal(&self, error: &Error, headers: &mut HeaderMap) {
        if error.kind() == ErrorKind::Unauthenticated
            && let Some(challenge) = &self.challenge
        {
            headers.insert(http::header::WWW_AUTHENTICATE, challenge.clone());
        }
        if let Some(after) = error.retry_after() {
            headers.insert(http::header::RETRY_AFTER, HeaderValue::from(after.as_secs().max(1)));
        }
    }
}

/// The log has the cause; the peer has the message.
pub(crate) fn log(error: &Error, method: &'static str) {
    match error.kind() {
        ErrorKind::Internal | ErrorKind::Unavailable | ErrorKind::InvalidAgentResponse => {
            let cause = std::error::Error::source(error);
            tracing::error!(method, cause, "{error}");
        }
        kind => tracing::debug!(method, ?kind, "{error}"),
    }
}
