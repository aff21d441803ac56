//! The part that all bindings share: a call with the facts of its head goes to an agent, and the reply comes back
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
    /// The names of this server; `None` if every name is answered for.
    pub(crate) hosts: Option<Hosts>,
    pub(crate) origins: Origins,
    /// The clients whose mistakes were logged.
    pub(crate) clients: Clients,
    /// The size of a request's head in bytes.
    pub(crate) head_limit: usize,
    pub(crate) body_limits: BodyLimits,
    pub(crate) keep_alive: Duration,
    pub(crate) load: Load,
    /// Logins that failed.
    pub(crate) logins: Logins,
    pub(crate) answers: Arc<Answers>,
    /// Where callers are held to a rate.
    pub(crate) rates: Option<Rates>,
    pub(crate) drain: Drain,
    /// The value of `WWW-Authenticate` beside a 401.
    pub(crate) challenge: Option<HeaderValue>,
}

/// What is known of a request beside its call.
pub(crate) struct Incoming<'a> {
    /// The agent that is called.
    pub(crate) mount: &'a Mounted,
    pub(crate) principal: Principal,
    pub(crate) head: &'a Parts,
    /// The version it speaks.
    pub(crate) dialect: &'static dyn Dialect,
    /// The binding, by the name that a card has for it.
    pub(crate) binding: &'static str,
    /// Extensions that it declares elsewhere than in its head.
    pub(crate) extensions: Vec<Box<str>>,
}

/// What came of a call, and what goes with it into the head of the response.
pub(crate) struct Answer {
    pub(crate) outcome: Outcome,
    pub(crate) extensions: Vec<Box<str>>,
    /// Who called.
    pub(crate) principal: Principal,
}

/// The bytes of a reply, before its binding puts something around it.
pub(crate) enum Written {
    /// Of a small one, with what is around it.
    Whole(Vec<u8>),
    /// Of a large one.
    Large(Bytes),
}

/// What came of a call.
pub(crate) enum Outcome {
    /// A reply; never a stream.
    Reply(Reply),
    /// A stream, and its place among those that may be open.
    Events(EventStream, StreamPermit),
}

impl Service {
    /// The agent that a request is for, as far as its head tells.
    pub(crate) fn route<'a>(&'a self, uri: &'a Uri, headers: &HeaderMap) -> Route<'a> {
        self.mounts.route(uri, headers, self.base_url.path(uri))
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
        self.mounts.of_call(route.mount, &head.uri, &head.headers, tenant)
    }

    /// What came of a call, or for one who asked for the extended card, which the agent does not have, the public one.
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

/// A request, the place of its stream where it opens one, and the extensions that are active.
type Prepared = (Request, Option<StreamPermit>, Vec<Box<str>>);

/// A call under way, and what its answer needs beside its reply.
struct StartedCall<'a> {
    reply: Calling<'a>,
    permit: Option<StreamPermit>,
    extensions: Vec<Box<str>>,
}

impl Service {
    /// Calls an operation for this caller, who sent a request with this head, in this version.
    ///
    /// Not an `async fn`, which would have room for the call as long as the reply is waited for.
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
        // As with the version, what the head says wins over what a call says.
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

    /// Writes a reply to this caller: `whole` writes a small one with what is around it, `bare` a large one without.
    ///
    /// Fails as these do, and as [`Answers::of_reply`] does.
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
        Ok(Written::Whole(body))
    }

    /// The body that is these bytes, all written together: counted for this caller where they are many.
    ///
    /// Fails as [`Answers::of_written`] does.
    pub(crate) async fn full(&self, principal: &Principal, bytes: Vec<u8>, method: Method) -> Result<Bytes, Error> {
        if bytes.len() < LARGE {
            return Ok(bytes.into());
        }
        Box::pin(self.answers.of_written(principal, bytes.into(), method)).await
    }

    /// The response that streams these events, of a call of this method, as server-sent events.
    ///
    /// Fails where the first event is too large for now and the call can be repeated.
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

    /// Adds to the head of a refusal what its error calls for.
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

/// A header has seconds alone; who comes back before the time is over is refused once more.
fn whole_seconds(after: Duration) -> u64 {
    after.as_secs().saturating_add(u64::from(after.subsec_nanos() > 0)).max(1)
}

fn has(uris: &[Box<str>], uri: &str) -> bool {
    uris.iter().any(|known| **known == *uri)
}

/// What a caller sees with this call.
pub(crate) fn scope(principal: Principal, call: &Call) -> Scope {
    Scope::new(call.tenant().cloned().unwrap_or_default(), principal)
}

/// Logs why a reply could not be written; where that is a limit, the limit's own line in the log says so.
pub(crate) fn log_unwritten(error: &Error, method: Method) {
    if !error.metadata().contains_key("limit") {
        log(error, method.name());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_as_long_as_the_header_says_has_waited_long_enough() {
        for (after, seconds) in [(0, 1), (1, 1), (999, 1), (1_000, 1), (1_001, 2), (1_900, 2), (60_000, 60)] {
            assert_eq!(whole_seconds(Duration::from_millis(after)), seconds, "{after} ms");
        }
        assert_eq!(whole_seconds(Duration::MAX), u64::MAX);
    }
}
