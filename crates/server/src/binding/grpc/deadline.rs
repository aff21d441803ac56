//! `grpc-timeout`: how long the client waits for all of a call, its stream included.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use http::HeaderMap;
use nuncio_model::{Error, ErrorKind};
use nuncio_wire::proto::metadata;
use tokio::time::{Sleep, sleep};

/// The end of the client's patience, if it has one.
pub(crate) struct Deadline(Option<Pin<Box<Sleep>>>);

impl Deadline {
    /// What the client says.
    ///
    /// Fails with `InvalidRequest` for what is no timeout, and with `DeadlineExceeded` for one of no length.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, Error> {
        let Some(timeout) = headers.get(metadata::TIMEOUT) else { return Ok(Self(None)) };
        let timeout = timeout.to_str().ok().and_then(metadata::parse_timeout);
        let timeout = timeout.ok_or_else(|| Error::new(ErrorKind::InvalidRequest, "grpc-timeout is no timeout"))?;
        // A call that takes no time at all would be in time for it, and the client does not wait for any.
        if timeout.is_zero() {
            return Err(exceeded());
        }
        Ok(Self(Some(Box::pin(sleep(timeout)))))
    }

    /// Waits for the outcome of `work`, until the deadline.
    ///
    /// Fails with `DeadlineExceeded`; what is under way then goes on without its caller.
    pub(crate) async fn bound<T>(&mut self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        match &mut self.0 {
            None => work.await,
            Some(sleep) => tokio::select! {
                biased;
                outcome = work => outcome,
                () = sleep => Err(exceeded()),
            },
        }
    }

    /// Whether it has come; the task is woken when it does.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Error> {
        match &mut self.0 {
            None => Poll::Pending,
            Some(sleep) => sleep.as_mut().poll(cx).map(|()| exceeded()),
        }
    }
}

fn exceeded() -> Error {
    Error::new(ErrorKind::DeadlineExceeded, "the client's deadline has passed")
}
