//! The common part of all bindings: gives a call, with the facts of its head, to an agent and returns the reply
//! (section 5.2).

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{HeaderMap, HeaderValue, Response, Uri, request::Parts};
use nuncio_limit::Rates;
use nuncio_model::{
    Call, Caller, Calling, Error, ErrorKind, EventStream, Method, Principal, Reply, Request, Scope, StreamEvent,
    Tenant, resume, weight,
};
use nuncio_wire::{Dialect, Version, Versions, dialect::Plan};
use tracing::Instrument as _;

use crate::{
    answers::{Answers, Encoding, LARGE, Outgoing},
    body::{Body, RequestBody},
    browser::{Hosts, Origins},
    calls::CallLine,
    card::BaseUrl,
    clients::Clients,
    drain::Drain,
    head,
    load::{Load, StreamPermit},
    logins::Logins,
    mount::{Mounted, Mounts, Route},
    read::{BodyLimits, FullBody, read_body},
    sse::{Envelope, EventBody},
};

/// The agents, and the limits that they share.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) mounts: Mounts,
    pub(crate) versions: Versions,
    /// The addresses of this server.
    pub(crate) base_url: BaseUrl,
    /// The names of this server; `None` if the server answers for every name.
    pub(crate) hosts: Option<Hosts>,
    pub(crate) origins: Origins,
    /// The clients with logged mistakes.
    pub(crate) clients: Clients,
    /// The largest size of a request's head in bytes.
    pub(crate) head_limit: usize,
    pub(crate) body_limits: BodyLimits,
    pub(crate) keep_alive: Duration,
    pub(crate) load: Load,
    /// Failed logins.
    pub(crate) logins: Logins,
    pub(crate) answers: Arc<Answers>,
    /// The rate limits of callers.
    pub(crate) rates: Option<Rates>,
    pub(crate) drain: Drain,
    /// The value of `WWW-Authenticate` in a 401.
    pub(crate) challenge: Option<HeaderValue>,
}

/// The facts of a request besides its call.
pub(crate) struct Incoming<'a> {
    /// The called agent.
    pub(crate) mount: &'a Mounted,
    pub(crate) principal: Principal,
    pub(crate) head: &'a Parts,
    /// The version of the request.
    pub(crate) dialect: &'static dyn Dialect,
    /// The name of the binding in a card.
    pub(crate) binding: &'static str,
    /// Extensions that the request declares outside of its head.
    pub(crate) extensions: Vec<Box<str>>,
}

/// The result of a call, and the facts for the head of the response.
pub(crate) struct Answer {
    pub(crate) outcome: Outcome,
    pub(crate) extensions: Vec<Box<str>>,
    /// The caller.
    pub(crate) principal: Principal,
}

/// The encoded reply.
pub(crate) enum Written {
    /// A small reply, with the frame of its binding.
    Small(Vec<u8>),
    /// A large reply, without the frame of its binding.
    Large(Bytes),
}

/// The result of a call.
pub(crate) enum Outcome {
    /// A reply; never a stream.
    Reply(Reply),
    /// A stream, and its permit.
    Events(EventStream, StreamPermit),
}

impl Service {
    /// The agent of a request, by the head of the request.
    pub(crate) fn route<'a>(&'a self, uri: &'a Uri, headers: &HeaderMap) -> Route<'a> {
        self.mounts.route(|| self.base_url.authority(uri, headers), self.base_url.path(uri))
    }

    /// The agent of a call, which can name the agent by its tenant.
    ///
    /// Fails with `InvalidParams` if no agent is at the path and the tenant names none.
    pub(crate) fn mount_of<'a>(
        &'a self,
        route: Route<'a>,
        head: &Parts,
        tenant: Option<&Tenant>,
    ) -> Result<&'a Mounted, Error> {
        self.mounts.of_call(route.mount, || self.base_url.authority(&head.uri, &head.headers), tenant)
    }

    /// Replaces the error of an agent without an extended card by the public card, if `asker` is set.
    pub(crate) fn or_public_card(
        mount: &Mounted,
        outcome: Result<Answer, Error>,
        asker: Option<Principal>,
        head: &Parts,
    ) -> Result<Answer, Error> {
        match (outcome, asker) {
            (Err(error), Some(principal)) if error.kind() == ErrorKind::ExtendedAgentCardNotConfigured => {
                let outcome = Outcome::Reply(Reply::Card(Arc::new(mount.cards.public(head))));
                Ok(Answer { principal, outcome, extensions: Vec::new() })
            }
            (outcome, _) => outcome,
        }
    }
}

/// A request, the permit of its stream if the call opens a stream, and the active extensions.
type Prepared = (Request, Option<StreamPermit>, Vec<Box<str>>);

/// A started call, and the data that its answer needs besides the reply.
struct StartedCall<'a> {
    reply: Calling<'a>,
    permit: Option<StreamPermit>,
    extensions: Vec<Box<str>>,
}

impl Service {
    /// Calls an operation for a caller with a request of this version and head.
    ///
    /// Not an `async fn`, because its future would have room for the call until the reply arrives.
    pub(crate) fn answer<'a>(
        &'a self,
        incoming: Incoming<'a>,
        call: Call,
    ) -> impl Future<Output = Result<Answer, Error>> + Send + 'a {
        let (method, head, mount) = (call.method(), incoming.head, incoming.mount);
        let span = tracing::debug_span!(
            "call",
            otel.name = method.name(),
            otel.kind = "server",
            a2a.method.name = method.name(),
            a2a.tenant = call.tenant().map(tracing::field::display),
            a2a.version = incoming.dialect.version().as_str(),
        );
        let principal = incoming.principal.clone();
        let line = CallLine::begin(&call, incoming.dialect.version(), incoming.binding, &incoming.principal);
        let started = self.begin(incoming, call);
        async move {
            let result = match started {
                Ok(StartedCall { reply, permit, extensions }) => reply.instrument(span).await.map(|reply| Answer {
                    outcome: outcome(mount, reply, permit, head, &extensions),
                    extensions,
                    principal,
                }),
                Err(error) => Err(error),
            };
            if let Err(error) = &result {
                log(error, method.name());
            }
            line.end(&result);
            result
        }
    }

    fn begin<'a>(&'a self, incoming: Incoming<'a>, call: Call) -> Result<StartedCall<'a>, Error> {
        let (dialect, mount) = (incoming.dialect, incoming.mount);
        let (request, permit, extensions) = self.prepare(incoming, call)?;
        let reply = match dialect.serve(request, mount) {
            Plan::Direct(request) => mount.call(request),
            Plan::Steps(steps) => steps,
        };
        Ok(StartedCall { reply, permit, extensions })
    }

    fn prepare(&self, incoming: Incoming<'_>, mut call: Call) -> Result<Prepared, Error> {
        let Incoming { mount, principal, head, dialect, extensions, binding: _ } = incoming;
        mount.accept_tenant(&mut call)?;
        let is_stream = call.method().is_streaming();
        let permit = is_stream.then(|| self.load.stream(&principal)).transpose()?;
        let last_event = if is_stream { head::last_event(&head.headers)? } else { None };
        let scope = scope(principal, &call);
        // The head has precedence over the call, as for the version.
        let requested = head::extensions(&head.headers).unwrap_or(extensions);
        let mut active = mount.backend.active_extensions(&requested);
        if mount.cards.resume() && has(&requested, resume::URI) && !has(&active, resume::URI) {
            active.push(resume::URI.into());
        }
        let request = Request {
            extensions: requested,
            last_event,
            push_format: Some(dialect.version()).filter(|it| *it != Version::LATEST).map(Version::as_str),
            ..Request::new(scope, call)
        };
        Ok((request, permit, active))
    }

    /// Reads the body of a request of this caller.
    pub(crate) async fn read(
        &self,
        body: RequestBody,
        head: &Parts,
        limits: BodyLimits,
        principal: &Principal,
    ) -> Result<FullBody, Error> {
        read_body(body, &head.headers, limits, &self.load.bytes, principal).await
    }

    /// Encodes a reply for this caller: `whole` encodes a small reply with the frame of the binding, `bare` encodes a
    /// large reply without the frame.
    ///
    /// Fails as `whole` or `bare` does, and as [`Answers::of_reply`] does.
    pub(crate) async fn write(
        &self,
        principal: &Principal,
        reply: Reply,
        encoding: Encoding,
        whole: impl FnOnce(&Reply, &mut Vec<u8>) -> Result<(), Error>,
        bare: impl FnOnce(&Reply, &mut Vec<u8>) -> Result<(), Error>,
    ) -> Result<Written, Error> {
        let carried = weight::of_reply(&reply);
        if carried >= LARGE {
            let large = self.answers.of_reply(principal, reply, carried, encoding, bare);
            return Box::pin(large).await.map(Written::Large);
        }
        let mut body = Vec::with_capacity(1024);
        whole(&reply, &mut body)?;
        Ok(Written::Small(body))
    }

    /// The body with these bytes. From [`LARGE`] on the bytes count for this caller.
    ///
    /// Fails as [`Answers::of_written`] does.
    pub(crate) async fn full(&self, principal: &Principal, bytes: Vec<u8>, method: Method) -> Result<Bytes, Error> {
        if bytes.len() < LARGE {
            return Ok(bytes.into());
        }
        Box::pin(self.answers.of_written(principal, bytes.into(), method)).await
    }

    /// The response that streams these events of a call as server-sent events.
    ///
    /// Fails if the server has no room for the first event and the call can be repeated.
    pub(crate) fn stream(
        &self,
        method: Method,
        events: EventStream,
        permit: StreamPermit,
        envelope: Envelope,
    ) -> Result<Response<Body>, Error> {
        let events = Outgoing::new(events, &self.answers);
        EventBody::response(method, events, envelope, self.keep_alive, &self.drain, permit)
    }

    /// Adds the headers that an error requires to a refusal.
    pub(crate) fn complete_refusal(&self, error: &Error, headers: &mut HeaderMap) {
        if error.kind() == ErrorKind::Unauthenticated
            && let Some(challenge) = &self.challenge
        {
            headers.insert(http::header::WWW_AUTHENTICATE, challenge.clone());
        }
        if let Some(after) = error.retry_after() {
            headers.insert(http::header::RETRY_AFTER, HeaderValue::from(whole_seconds(after)));
        }
    }
}

fn outcome(mount: &Mounted, reply: Reply, permit: Option<StreamPermit>, head: &Parts, active: &[Box<str>]) -> Outcome {
    match (reply, permit) {
        (Reply::Events(events), Some(permit)) if has(active, resume::URI) => {
            let events = events.map(|event| event.map(StreamEvent::marked));
            Outcome::Events(Box::pin(events), permit)
        }
        (Reply::Events(events), Some(permit)) => Outcome::Events(events, permit),
        (Reply::Card(card), _) => Outcome::Reply(Reply::Card(Arc::new(mount.cards.complete(&card, head)))),
        (reply, _) => Outcome::Reply(reply),
    }
}

/// Rounds up to whole seconds, the unit of the header. A client that returned too early would be refused again.
fn whole_seconds(after: Duration) -> u64 {
    after.as_secs().saturating_add(u64::from(after.subsec_nanos() > 0)).max(1)
}

fn has(uris: &[Box<str>], uri: &str) -> bool {
    uris.iter().any(|known| **known == *uri)
}

/// The scope of a call: its tenant and its caller.
pub(crate) fn scope(principal: Principal, call: &Call) -> Scope {
    Scope::new(call.tenant().cloned().unwrap_or_default(), principal)
}

/// Logs why a reply could not be encoded. A limit has its own line in the log.
pub(crate) fn log_unwritten(error: &Error, method: Method) {
    if !error.metadata().contains_key("limit") {
        log(error, method.name());
    }
}

/// Logs an error with its cause. The peer gets the message only.
pub(crate) fn log(error: &Error, method: &'static str) {
    match error.kind() {
        ErrorKind::Internal | ErrorKind::Unavailable | ErrorKind::InvalidAgentResponse => {
            let cause = std::error::Error::source(error);
            tracing::error!(method, cause, "{error}");
        }
        kind => tracing::debug!(method, ?kind, "{error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_rounded_up() {
        for (after, seconds) in [(0, 1), (1, 1), (999, 1), (1_000, 1), (1_001, 2), (1_900, 2), (60_000, 60)] {
            assert_eq!(whole_seconds(Duration::from_millis(after)), seconds, "{after} ms");
        }
        assert_eq!(whole_seconds(Duration::MAX), u64::MAX);
    }
}
