//! Sends a message again after a broken connection, but only to an agent that recognizes a repeated message by its id.

use std::time::Duration;

use nuncio_model::{AgentCard, Call, Caller, Error, Reply, Request, card::extension};
use nuncio_wire::Version;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::{
    failure::{Failure, passes},
    settings::Reconnect,
};

/// A message that may be sent again, and the end of the time for repetitions.
pub(crate) struct Resend {
    request: Request,
    until: Option<Instant>,
}

impl Resend {
    /// `None` if the agent could execute a repeated message twice.
    pub(super) fn of(request: &Request, card: Option<&AgentCard>, version: Option<Version>) -> Option<Self> {
        let message = match &request.call {
            Call::SendMessage(call) => &call.message,
            Call::SendStreamingMessage(call) => &call.0.message,
            _ => return None,
        };
        // Messages of 0.1 have no ids.
        if message.message_id.is_empty() || version.is_some_and(|version| version.as_str() == "0.1") {
            return None;
        }
        let declared = card?.capabilities.extensions.iter().find(|declared| declared.uri == extension::IDEMPOTENCY)?;
        let window = declared.params.as_ref().and_then(|params| params.get("windowSeconds")).and_then(Value::as_f64);
        let until = window.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or_default());
        Some(Self { request: request.clone(), until: until.and_then(|window| Instant::now().checked_add(window)) })
    }

    /// Sends the message until an answer arrives, or the attempts or the time are over. Only after a broken connection.
    pub(super) async fn send(
        &self,
        transport: &dyn Caller,
        reconnect: &Reconnect,
        mut error: Error,
    ) -> Result<Reply, Error> {
        if !matches!(Failure::of(&error), Some(Failure::Broken { .. })) {
            return Err(error);
        }
        for attempt in 0..reconnect.attempts {
            let wait = error.retry_after().unwrap_or_else(|| reconnect.delay(attempt)).min(reconnect.max_delay);
            if !self.may_wait(wait) {
                break;
            }
            tracing::debug!(%error, attempt, "the connection broke; sending the message again");
            sleep(wait).await;
            match transport.call(self.request.clone()).await {
                Err(next) if is_transient(&next) => error = next,
                outcome => return outcome,
            }
        }
        Err(error)
    }

    /// The request, if the time for repetitions lasts longer than this delay.
    pub(crate) fn request_after(&self, wait: Duration) -> Option<Request> {
        self.may_wait(wait).then(|| self.request.clone())
    }

    fn may_wait(&self, wait: Duration) -> bool {
        self.until.is_none_or(|until| wait < until.saturating_duration_since(Instant::now()))
    }
}

/// Whether a later attempt may succeed.
fn is_transient(error: &Error) -> bool {
    match Failure::of(error) {
        Some(failure) => matches!(failure, Failure::Broken { .. } | Failure::Unreachable { .. }),
        None => passes(error.kind()),
    }
}
