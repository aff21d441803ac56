//! One attempt: a POST with the headers that the configuration wants (NOTIFY-1 to NOTIFY-5, NOTIFY-11).

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{AUTHORIZATION, CONTENT_TYPE},
};
use nuncio_http::{ClientSettings, SetupError, retry_after};
use nuncio_model::error::with_causes;
use reqwest::{Client, Response};

use crate::{
    guard::Guard,
    stamp::{Delivery, Stamp},
};

/// The header of a configuration's `token`.
const TOKEN: HeaderName = HeaderName::from_static("x-a2a-notification-token");

/// The header of a notification's id, by the name that Standard Webhooks has for it.
const ID: HeaderName = HeaderName::from_static("webhook-id");

/// How much of a response is read, and for how long, so that its connection can be used again. What it says does not
/// matter.
const READ: usize = 16 * 1024;
const READING: Duration = Duration::from_secs(1);

/// Posts notifications.
pub(super) struct Post {
    client: Client,
    guard: Guard,
    timeout: Duration,
    stamp: Option<Arc<dyn Stamp>>,
}

/// How an attempt went.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Attempt {
    /// The receiver has it.
    Delivered,
    /// The receiver wants no more.
    Gone,
    /// The receiver lives and does not take this one.
    Refused(String),
    /// Nobody took it.
    Failed(String, Option<Duration>),
    /// It may not be sent there at all.
    Forbidden(String),
}

impl Post {
    /// How long an attempt may take.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(super) fn new(guard: Guard, timeout: Duration, stamp: Option<Arc<dyn Stamp>>) -> Result<Self, SetupError> {
        let mut settings = ClientSettings::default();
        settings.connect_timeout = timeout.min(settings.connect_timeout);
        settings.idle_per_host = 2;
        settings.guard = Some(guard.addresses().clone());
        let client = settings.build()?;
        Ok(Self { client, guard, timeout, stamp })
    }

    /// Tries once.
    pub(super) async fn attempt(&self, delivery: Delivery<'_>, body: Bytes) -> Attempt {
        let url = match self.guard.check_url(&delivery.config.url) {
            Ok(url) => url,
            Err(refusal) => return Attempt::Forbidden(format!("the URL {refusal}")),
        };
        let headers = match self.headers(delivery) {
            Ok(headers) => headers,
            Err(reason) => return Attempt::Failed(reason, None),
        };
        let sent = self.client.post(url).headers(headers).body(body).send();
        match tokio::time::timeout(self.timeout, sent).await {
            Err(_) => Attempt::Failed(format!("no answer within {} s", self.timeout.as_secs_f64()), None),
            Ok(Err(error)) => Attempt::Failed(reason(error), None),
            Ok(Ok(response)) => {
                let attempt = judge(response.status(), retry_after(response.headers()));
                // However that ends.
                drop(tokio::time::timeout(READING, drain(response)).await);
                attempt
            }
        }
    }

    fn headers(&self, delivery: Delivery<'_>) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::with_capacity(8);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(delivery.content_type));
        headers.insert(ID, HeaderValue::try_from(delivery.id).map_err(|_| format!("{ID} cannot carry its value"))?);
        let mut add_secret = |name: HeaderName, value: String| {
            let mut value = HeaderValue::try_from(value).map_err(|_| format!("{name} cannot carry its value"))?;
            value.set_sensitive(true);
            headers.insert(name, value);
            Ok::<_, String>(())
        };
        if let Some(authentication) = &delivery.config.authentication
            && let Some(credentials) = authentication.credentials.as_ref().filter(|it| !it.is_empty())
        {
            let scheme = Some(&*authentication.scheme).filter(|scheme| !scheme.is_empty()).unwrap_or("Bearer");
            add_secret(AUTHORIZATION, format!("{scheme} {credentials}"))?;
        }
        if let Some(token) = delivery.config.token.as_ref().filter(|token| !token.is_empty()) {
            add_secret(TOKEN, token.clone())?;
        }
        if let Some(stamp) = &self.stamp {
            stamp.stamp(&delivery, &mut headers).map_err(|error| format!("the stamp failed: {error}"))?;
        }
        Ok(headers)
    }
}

fn judge(status: StatusCode, asked: Option<Duration>) -> Attempt {
    let answered = || format!("the receiver answered {}", status.as_u16());
    match status.as_u16() {
        200..300 => Attempt::Delivered,
        410 => Attempt::Gone,
        300..400 => Attempt::Failed(format!("{}, and redirects are not followed", answered()), None),
        // These say more about the moment, the address or the credentials than about the event.
        401 | 403 | 404 | 405 | 407 | 408 | 421 | 425 | 429 => Attempt::Failed(answered(), asked),
        400..500 => Attempt::Refused(answered()),
        _ => Attempt::Failed(answered(), asked),
    }
}

async fn drain(mut response: Response) {
    let mut read = 0;
    while read <= READ
        && let Ok(Some(data)) = response.chunk().await
    {
        read += data.len();
    }
}

/// Why there was no answer, without the URL: its query may hold a secret.
fn reason(error: reqwest::Error) -> String {
    with_causes(&error.without_url())
}
