//! The common part of the bindings: the address, the service parameters (section 3.2.6), the tenant and the time
//! limits.

use std::{future::Future, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use nuncio_model::{Call, Error, ErrorKind, Method, Request, Tenant, resume};
use nuncio_wire::{Dialect, Version, negotiate::VERSION_HEADER};
use url::Url;

use crate::http::{Answer, Http, Outbound, Secrets, origin_of, within};

/// The address of an interface, and the common data of each request.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    pub(crate) http: Http,
    pub(crate) base: Url,
    pub(crate) secrets: Secrets,
    pub(crate) tenant: Option<Tenant>,
    /// The value of `A2A-Version`.
    pub(crate) version: HeaderValue,
    /// The extensions of every request.
    pub(crate) extensions: Vec<Box<str>>,
}

impl Link {
    /// The call with the tenant of the interface: equal to the card, or absent (section 8.3.2).
    pub(crate) fn call(&self, mut call: Call) -> Call {
        call.set_tenant(self.tenant.clone());
        call
    }

    /// The service parameters of a request (section 3.2.6 "Service Parameters").
    pub(crate) fn headers(&self, dialect: &dyn Dialect, request: &Request) -> Result<HeaderMap, Error> {
        let mut headers = HeaderMap::new();
        let version = http::HeaderName::from_bytes(VERSION_HEADER.as_bytes()).map_err(Error::internal)?;
        headers.insert(version, self.version.clone());
        let mut extensions: Vec<&str> = self.extensions.iter().map(|uri| &**uri).collect();
        extensions.extend(request.extensions.iter().map(|uri| &**uri).filter(|uri| !has(&self.extensions, uri)));
        if !extensions.is_empty() {
            let value = HeaderValue::try_from(extensions.join(", "))
                .map_err(|_| Error::new(ErrorKind::InvalidRequest, "an extension's URI cannot be sent"))?;
            let name = http::HeaderName::try_from(dialect.extensions_header()).map_err(Error::internal)?;
            headers.insert(name, value);
        }
        if let Some(sequence) = request.last_event {
            headers.insert(resume::PARAMETER, HeaderValue::from(sequence));
        }
        Ok(headers)
    }

    /// The error for an operation that the version does not have.
    pub(crate) fn lacks(&self, dialect: &dyn Dialect, method: Method) -> Error {
        let (version, origin) = (dialect.version(), origin_of(&self.base));
        let message = format!("{origin} uses version {version}, which has no {}", method.name());
        Error::new(ErrorKind::UnsupportedOperation, message)
    }

    /// Sends the request of an operation to an address below the base.
    pub(crate) async fn send(
        &self,
        operation: Method,
        method: http::Method,
        path: &str,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<Answer, Error> {
        let url = self.join(path).ok_or_else(|| Error::new(ErrorKind::InvalidRequest, "the address is too long"))?;
        let (secrets, silence, stall) = (&self.secrets, self.silence(operation), self.stall(operation));
        let body = Bytes::from(body);
        let outbound = Outbound { method, url, headers, body, secrets, silence, stall, grpc: false };
        Ok(self.http.send(outbound).await?)
    }

    /// An address below the base. The path and the query of the base remain.
    fn join(&self, path: &str) -> Option<Url> {
        if path.is_empty() {
            return Some(self.base.clone());
        }
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        let mut text = self.base.clone();
        text.set_query(None);
        text.set_fragment(None);
        let mut url = Url::parse(&format!("{}{path}", text.as_str().trim_end_matches('/'))).ok()?;
        let queries: Vec<_> = self.base.query().into_iter().chain(query).collect();
        url.set_query(Some(queries.join("&")).filter(|query| !query.is_empty()).as_deref());
        Some(url)
    }

    /// The longest silence of the peer before and within a stream.
    pub(crate) fn silence(&self, method: Method) -> Option<Duration> {
        let timeouts = &self.http.settings().timeouts;
        match method {
            // The client can always repeat a subscription.
            Method::SubscribeToTask => timeouts.idle.into_iter().chain(timeouts.stall).min(),
            method => timeouts.idle.filter(|_| method.is_streaming()),
        }
    }

    /// The longest silence of the peer after a stream has named its task.
    pub(crate) fn stall(&self, method: Method) -> Option<Duration> {
        self.http.settings().timeouts.stall.filter(|_| method.is_streaming())
    }

    /// The time limit of an operation: of the whole answer, or of the start of its stream.
    pub(crate) fn limit(&self, dialect: &dyn Dialect, method: Method) -> Option<Duration> {
        let timeouts = &self.http.settings().timeouts;
        match method {
            Method::SendMessage => timeouts.send,
            // An agent may start its answer with its first event.
            Method::SendStreamingMessage => timeouts.begin,
            // The current task comes first (section 3.1.6). Before 1.0 the agent may send nothing until the next event.
            Method::SubscribeToTask => timeouts.answer.filter(|_| dialect.version() >= Version::V1_0),
            _ => timeouts.answer,
        }
    }

    /// Waits for the answer of an operation, or for the start of its stream, up to the time limit.
    pub(crate) async fn within<T>(
        &self,
        dialect: &dyn Dialect,
        method: Method,
        work: impl Future<Output = Result<T, Error>> + Send,
    ) -> Result<T, Error> {
        within(self.limit(dialect, method), &origin_of(&self.base), work).await?
    }

    /// The largest size in bytes of an answer, an event or a message.
    pub(crate) fn max_message(&self) -> usize {
        self.http.settings().max_message
    }
}

fn has(uris: &[Box<str>], uri: &str) -> bool {
    uris.iter().any(|known| &**known == uri)
}
