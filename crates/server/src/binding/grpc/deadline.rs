//! `grpc-timeout`: the time that the client waits for the whole call, including its stream.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use http::HeaderMap;
use nuncio_model::{Error, ErrorKind};
use nuncio_wire::proto::metadata;
use tokio::time::{Sleep, sleep};

/// The client's deadline, if the call has one.
pub(crate) struct Deadline(Option<Pin<Box<Sleep>>>);

impl Deadline {
    /// Reads the deadline from the headers.
    ///
    /// Fails with `InvalidRequest` if the value is not a timeout, and with `DeadlineExceeded` if the timeout is zero.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, Error> {
        let Some(timeout) = headers.get(metadata::TIMEOUT) else { return Ok(Self(None)) };
        let timeout = timeout.to_str().ok().and_then(metadata::parse_timeout);
        let timeout =
            timeout.ok_or_else(|| Error::new(ErrorKind::InvalidRequest, "grpc-timeout is not a valid timeout"))?;
        // A call could complete within no time, but the client does not wait.
        if timeout.is_zero() {
            return Err(exceeded());
        }
        Ok(Self(Some(Box::pin(sleep(timeout)))))
    }

    /// Waits for the outcome of `work`, until the deadline.
    ///
    /// Fails with `DeadlineExceeded`; a started operation then continues without its caller.
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

    /// Ready when the deadline has passed. The task is then woken.
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
