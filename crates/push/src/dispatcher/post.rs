//! One attempt: a POST with the headers of the configuration (section 4.3.3, Push Notification Payload).

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
    signer::{Attempt, RequestSigner},
};

/// The header of a configuration's `token`.
const TOKEN: HeaderName = HeaderName::from_static("x-a2a-notification-token");

/// The header with the id of a notification, as named by Standard Webhooks.
const ID: HeaderName = HeaderName::from_static("webhook-id");

/// How much of a response is read, and for how long, so that the connection can be reused. The content is ignored.
const READ: usize = 16 * 1024;
const READING: Duration = Duration::from_secs(1);

/// Posts notifications.
pub(super) struct Post {
    client: Client,
    guard: Guard,
    timeout: Duration,
    signer: Option<Arc<dyn RequestSigner>>,
}

/// The outcome of an attempt.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The receiver accepted the notification.
    Delivered,
    /// The receiver answered 410 and wants no more notifications.
    Gone,
    /// The receiver answered, and refuses this event.
    Refused(String),
    /// The attempt failed for another reason; with the delay that the receiver asked for.
    Failed(String, Option<Duration>),
    /// The guard forbids the address.
    Forbidden(String),
}

impl Post {
    /// The timeout of an attempt.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(super) fn new(
        guard: Guard,
        timeout: Duration,
        signer: Option<Arc<dyn RequestSigner>>,
    ) -> Result<Self, SetupError> {
        let mut settings = ClientSettings::default();
        settings.connect_timeout = timeout.min(settings.connect_timeout);
        settings.idle_per_host = 2;
        settings.guard = Some(guard.addresses().clone());
        let client = settings.build()?;
        Ok(Self { client, guard, timeout, signer })
    }

    /// Makes one attempt.
    pub(super) async fn attempt(&self, attempt: Attempt<'_>, body: Bytes) -> Outcome {
        let url = match self.guard.check_url(&attempt.config.url) {
            Ok(url) => url,
            Err(refusal) => return Outcome::Forbidden(format!("the URL {refusal}")),
        };
        let headers = match self.headers(attempt) {
            Ok(headers) => headers,
            Err(reason) => return Outcome::Failed(reason, None),
        };
        let sent = self.client.post(url).headers(headers).body(body).send();
        match tokio::time::timeout(self.timeout, sent).await {
            Err(_) => Outcome::Failed(format!("no answer within {} s", self.timeout.as_secs_f64()), None),
            Ok(Err(error)) => Outcome::Failed(reason(error), None),
            Ok(Ok(response)) => {
                let outcome = judge(response.status(), retry_after(response.headers()));
                // The result of reading the body does not matter.
                drop(tokio::time::timeout(READING, drain(response)).await);
                outcome
            }
        }
    }

    fn headers(&self, attempt: Attempt<'_>) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::with_capacity(8);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(attempt.content_type));
        headers.insert(ID, HeaderValue::try_from(attempt.id).map_err(|_| format!("{ID} cannot carry its value"))?);
        let mut add_secret = |name: HeaderName, value: String| {
            let mut value = HeaderValue::try_from(value).map_err(|_| format!("{name} cannot carry its value"))?;
            value.set_sensitive(true);
            headers.insert(name, value);
            Ok::<_, String>(())
        };
        if let Some(authentication) = &attempt.config.authentication
            && let Some(credentials) = authentication.credentials.as_ref().filter(|it| !it.is_empty())
        {
            let scheme = Some(&*authentication.scheme).filter(|scheme| !scheme.is_empty()).unwrap_or("Bearer");
            add_secret(AUTHORIZATION, format!("{scheme} {credentials}"))?;
        }
        if let Some(token) = attempt.config.token.as_ref().filter(|token| !token.is_empty()) {
            add_secret(TOKEN, token.clone())?;
        }
        if let Some(signer) = &self.signer {
            signer.sign(&attempt, &mut headers).map_err(|error| format!("the signer failed: {error}"))?;
        }
        Ok(headers)
    }
}

fn judge(status: StatusCode, asked: Option<Duration>) -> Outcome {
    let answered = || format!("the receiver answered {}", status.as_u16());
    match status.as_u16() {
        200..300 => Outcome::Delivered,
        410 => Outcome::Gone,
        300..400 => Outcome::Failed(format!("{}, and redirects are not followed", answered()), None),
        // These concern the time, the address or the credentials rather than the event.
        401 | 403 | 404 | 405 | 407 | 408 | 421 | 425 | 429 => Outcome::Failed(answered(), asked),
        400..500 => Outcome::Refused(answered()),
        _ => Outcome::Failed(answered(), asked),
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

/// The error without the URL, whose query can contain a secret.
fn reason(error: reqwest::Error) -> String {
    with_causes(&error.without_url())
}
