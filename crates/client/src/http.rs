//! HTTP for cards and all three bindings: one request, its redirects, one answer.
//!
//! Credentials are added to each request of a redirect separately, so only allowed origins get the credentials.

mod answer;
mod classify;
pub(crate) mod log;
mod secrets;

use std::{
    future::Future,
    sync::{Arc, OnceLock},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, header};
use nuncio_http::{ClientSettings, Roots};
use url::Url;

pub(crate) use answer::{Answer, Piece};
pub(crate) use secrets::{Secrets, header};

use crate::{error::ClientError, failure::Failure, settings::HttpSettings};

/// Sends HTTP requests with one set of settings. Clones share connections.
#[derive(Debug, Clone)]
pub(crate) struct Http(Arc<HttpPool>);

#[derive(Debug)]
struct HttpPool {
    settings: HttpSettings,
    clients: [OnceLock<reqwest::Client>; 4],
}

/// A request that is not sent yet.
pub(crate) struct Outbound<'a> {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) secrets: &'a Secrets,
    /// The longest silence of the peer, before the head of its answer and within the body.
    pub(crate) silence: Option<Duration>,
    /// The longest silence after the first event, if shorter.
    pub(crate) stall: Option<Duration>,
    /// HTTP/2 with prior knowledge and without redirects, for gRPC.
    pub(crate) grpc: bool,
}

impl Http {
    pub(crate) fn new(settings: HttpSettings) -> Self {
        Self(Arc::new(HttpPool { settings, clients: Default::default() }))
    }

    pub(crate) fn settings(&self) -> &HttpSettings {
        &self.0.settings
    }

    /// Sends a request and waits for the head of its answer.
    pub(crate) async fn send(&self, mut request: Outbound<'_>) -> Result<Answer, ClientError> {
        let mut hops = if request.grpc { 0 } else { self.settings().redirects };
        loop {
            let answer = self.send_once(&request).await?;
            let Some(next) = redirect(&answer, &request.url) else { return Ok(answer) };
            let refuse = |reason| {
                let (origin, to) = (origin_of(&request.url), next.to_string());
                Err(Failure::Redirected { origin, to: request.secrets.redactor().text(&to), reason }.into())
            };
            if hops == 0 {
                return refuse(if request.grpc { "gRPC has no redirects" } else { "too many redirects" });
            }
            if request.url.scheme() == "https" && next.scheme() != "https" {
                return refuse("the target does not use TLS");
            }
            hops -= 1;
            if answer.status == StatusCode::SEE_OTHER && request.method != Method::HEAD {
                request.method = Method::GET;
                request.body = Bytes::new();
            }
            request.url = next;
        }
    }

    async fn send_once(&self, request: &Outbound<'_>) -> Result<Answer, ClientError> {
        let Outbound { method, url, headers, body, secrets, silence, stall, grpc } = request;
        let (silence, grpc) = (*silence, *grpc);
        let origin = origin_of(url);
        let mut headers = headers.clone();
        let mut url = url.clone();
        secrets.place(&mut url, &mut headers, grpc)?;
        log::request(method, &url, &headers, body, secrets.redactor(), grpc);
        let request = self.client(url.scheme() == "https", grpc)?.request(method.clone(), url).headers(headers);
        let request = if body.is_empty() { request } else { request.body(body.clone()) };
        let connect = self.settings().timeouts.connect;
        let response = within(silence, &origin, request.send()).await?;
        let response = response.map_err(|error| classify::sending(&origin, connect, error))?;
        let answer = Answer::new(origin, response, (silence, *stall), secrets.redactor().clone());
        log::answer(&answer);
        Ok(answer)
    }

    /// The connection pool for this kind of request. Reading the system's certificates takes time, so only requests
    /// over TLS cause this.
    fn client(&self, tls: bool, grpc: bool) -> Result<&reqwest::Client, ClientError> {
        let slot = &self.0.clients[usize::from(tls) * 2 + usize::from(grpc)];
        if let Some(client) = slot.get() {
            return Ok(client);
        }
        let client = self.build(tls, grpc)?;
        Ok(slot.get_or_init(|| client))
    }

    fn build(&self, tls: bool, grpc: bool) -> Result<reqwest::Client, ClientError> {
        let settings = self.settings();
        let mut client = ClientSettings::default();
        client.user_agent.clone_from(&settings.user_agent);
        client.connect_timeout = settings.timeouts.connect;
        client.http2_only = grpc;
        client.roots = if tls { Roots::Optional } else { Roots::Omitted };
        client.authorities.clone_from(&settings.authorities);
        client.insecure = tls && settings.insecure;
        client.build().map_err(|error| ClientError::Setup(error.to_string()))
    }
}

/// The target of a redirect.
fn redirect(answer: &Answer, from: &Url) -> Option<Url> {
    let is_redirect = matches!(answer.status.as_u16(), 301 | 302 | 303 | 307 | 308);
    let location = answer.headers.get(header::LOCATION).filter(|_| is_redirect)?;
    from.join(location.to_str().ok()?).ok().filter(|next| matches!(next.scheme(), "http" | "https"))
}

/// Waits for a peer up to the limit.
pub(crate) async fn within<T>(
    limit: Option<Duration>,
    origin: &str,
    work: impl Future<Output = T>,
) -> Result<T, Failure> {
    let Some(after) = limit else { return Ok(work.await) };
    let timed_out = |_| Failure::TimedOut { origin: origin.to_owned(), after };
    tokio::time::timeout(after, work).await.map_err(timed_out)
}

/// The origin of a URL, for people.
pub(crate) fn origin_of(url: &Url) -> String {
    url.origin().ascii_serialization()
}
