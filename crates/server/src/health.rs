//! Whether the server lives, and whether it is ready for requests: for whatever runs it.

use std::time::Duration;

use http::{HeaderValue, Response, StatusCode, header};
use tokio::time::Instant;

use crate::{body::Body, service::Service};

/// Answers as long as the process does.
pub(crate) const LIVE: &str = "/healthz";

/// Answers 200 while requests are welcome: the store answers and the server is not about to end. Without its bus a node
/// does all that it did, and learns of other nodes' changes by looking at the store: that is said, and no reason to
/// send requests elsewhere, as all nodes are likely to have lost the bus.
pub(crate) const READY: &str = "/readyz";

/// How long the store may take, and the bus.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long an answer of the store holds for others who ask.
const FRESH: Duration = Duration::from_millis(100);

/// When the store was asked last whether it answers, and whether it did.
pub(crate) type StoreCheck = tokio::sync::Mutex<Option<(Instant, bool)>>;

pub(crate) fn alive() -> Response<Body> {
    text(StatusCode::OK, "alive\n")
}

pub(crate) async fn readiness(service: &Service) -> Response<Body> {
    match check(service).await {
        Ok(()) if has_lost_bus(service).await => text(StatusCode::OK, "degraded: the bus cannot be reached\n"),
        Ok(()) => text(StatusCode::OK, "ready\n"),
        Err(reason) => text(StatusCode::SERVICE_UNAVAILABLE, reason),
    }
}

/// Whether requests are welcome, or why not.
pub(crate) async fn check(service: &Service) -> Result<(), &'static str> {
    const SILENT: &str = "the task store does not answer\n";
    if service.drain.has_started() {
        return Err("stopping\n");
    }
    // Anybody may ask, as often as they like: those who do so at the same time have one answer.
    let mut last = service.store_check.lock().await;
    if let Some((at, answers)) = *last
        && at.elapsed() < FRESH
    {
        return if answers { Ok(()) } else { Err(SILENT) };
    }
    let answers = match tokio::time::timeout(PATIENCE, service.engine.store().check()).await {
        Ok(Ok(())) => true,
        Ok(Err(error)) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "the task store does not answer");
            false
        }
        Err(_) => false,
    };
    *last = Some((Instant::now(), answers));
    if answers { Ok(()) } else { Err(SILENT) }
}

async fn has_lost_bus(service: &Service) -> bool {
    let Some(bus) = service.engine.bus() else { return false };
    !matches!(tokio::time::timeout(PATIENCE, bus.check()).await, Ok(Ok(())))
}

fn text(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::Full(bytes::Bytes::from_static(text.as_bytes())));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
