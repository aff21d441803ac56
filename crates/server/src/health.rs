//! Liveness and readiness of the server, for the supervisor of the process.

use std::{borrow::Cow, time::Duration};

use http::{HeaderValue, Response, StatusCode, header};
use nuncio_model::Health;
use tokio::time::Instant;

use crate::{body::Body, mount::Mounted, service::Service};

/// Answers as long as the process runs.
pub(crate) const LIVE: &str = "/healthz";

/// Answers 200 while the server accepts requests: the store answers and the server is not stopping. A node without its
/// bus works, because the node reads changes of other nodes from the store. The response reports the missing bus with
/// status 200, because probably all nodes have lost the bus.
pub(crate) const READY: &str = "/readyz";

/// The longest time for the check of an agent. An engine waits for its store and then for its bus, 2 s each.
const CHECK_TIMEOUT: Duration = Duration::from_secs(4);

/// The time for which the result of a check is used again.
const FRESH: Duration = Duration::from_millis(100);

/// The last check of an agent: its time, and its result.
pub(crate) type BackendCheck = tokio::sync::Mutex<Option<(Instant, Checked)>>;

/// The result of a check of an agent; `None` if calls cannot succeed.
type Checked = Option<Health>;

pub(crate) fn alive() -> Response<Body> {
    text(StatusCode::OK, "alive\n".into())
}

pub(crate) async fn readiness(service: &Service) -> Response<Body> {
    match check(service).await {
        Ok(None) => text(StatusCode::OK, "ready\n".into()),
        Ok(Some(missing)) => text(StatusCode::OK, format!("degraded: {missing}\n").into()),
        Err(reason) => text(StatusCode::SERVICE_UNAVAILABLE, reason.into()),
    }
}

/// Whether the server accepts requests: the missing part if the server can answer nevertheless, or the reason why not.
/// A server with several agents is ready while one of them is ready.
pub(crate) async fn check(service: &Service) -> Result<Option<&'static str>, &'static str> {
    if service.drain.has_started() {
        return Err("stopping\n");
    }
    let checks = service.mounts.all().iter().map(check_backend);
    let checks = futures_util::future::join_all(checks).await;
    let (mut ready, mut missing) = (false, None);
    for checked in checks {
        match checked {
            Some(Health::Degraded(part)) => (ready, missing) = (true, Some(part)),
            Some(_) => ready = true,
            None => missing = missing.or(Some("an agent cannot answer")),
        }
    }
    if ready { Ok(missing) } else { Err("the task store does not answer\n") }
}

/// Checks an agent. Any client can send any number of health requests, so concurrent requests share one check.
async fn check_backend(mount: &Mounted) -> Checked {
    let mut last = mount.check.lock().await;
    if let Some((at, checked)) = *last
        && at.elapsed() < FRESH
    {
        return checked;
    }
    let checked = match tokio::time::timeout(CHECK_TIMEOUT, mount.backend.check()).await {
        Ok(Ok(health)) => Some(health),
        Ok(Err(error)) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "the agent cannot answer calls");
            None
        }
        Err(_) => None,
    };
    *last = Some((Instant::now(), checked));
    checked
}

fn text(status: StatusCode, text: Cow<'static, str>) -> Response<Body> {
    let mut response = Response::new(Body::full(text.into_owned()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
