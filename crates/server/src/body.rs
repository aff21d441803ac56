//! The bodies of requests, from hyper or axum, and the bodies of responses. The usual bodies are not boxed.

use std::{
    collections::VecDeque,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;

use crate::sse::EventBody;

/// Any error of a body.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

pin_project_lite::pin_project! {
    /// The body of a request.
    #[project = RequestBodyProjection]
    pub(crate) enum RequestBody {
        /// From a connection of this server.
        Hyper { #[pin] body: hyper::body::Incoming },
        /// From a router of which this server is a part.
        Axum { #[pin] body: axum::body::Body },
    }
}

impl http_body::Body for RequestBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = match self.project() {
            RequestBodyProjection::Hyper { body } => ready!(body.poll_frame(cx)).map(|it| it.map_err(BoxError::from)),
            RequestBodyProjection::Axum { body } => ready!(body.poll_frame(cx)).map(|it| it.map_err(BoxError::from)),
        };
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Hyper { body } => body.is_end_stream(),
            Self::Axum { body } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Hyper { body } => body.size_hint(),
            Self::Axum { body } => body.size_hint(),
        }
    }
}

/// The body of a response.
#[derive(Default)]
pub(crate) enum Body {
    /// No data, or no more data.
    #[default]
    Empty,
    /// The whole body.
    Full(Bytes),
    /// The whole body in parts that were encoded separately.
    Pieces(VecDeque<Bytes>),
    /// Server-sent events.
    Events(Pin<Box<EventBody>>),
    /// Any other body.
    Boxed(UnsyncBoxBody<Bytes, BoxError>),
    /// From a router that is merged into this server.
    Axum(axum::body::Body),
}

impl Body {
    /// The whole body.
    pub(crate) fn full(bytes: impl Into<Bytes>) -> Self {
        Self::Full(bytes.into())
    }

    /// These parts, one after another.
    pub(crate) fn pieces<const N: usize>(pieces: [Bytes; N]) -> Self {
        Self::Pieces(pieces.into_iter().filter(|piece| !piece.is_empty()).collect())
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut *self {
            Self::Empty => Poll::Ready(None),
            Self::Full(bytes) => {
                let bytes = std::mem::take(bytes);
                *self = Self::Empty;
                Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
            }
            Self::Pieces(pieces) => Poll::Ready(pieces.pop_front().map(|piece| Ok(Frame::data(piece)))),
            Self::Events(body) => body.as_mut().poll_frame(cx).map(|frame| frame.map(|bytes| Ok(Frame::data(bytes)))),
            Self::Boxed(body) => Pin::new(body).poll_frame(cx),
            Self::Axum(body) => Poll::Ready(ready!(Pin::new(body).poll_frame(cx)).map(|it| it.map_err(BoxError::from))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Full(bytes) => bytes.is_empty(),
            Self::Pieces(pieces) => pieces.is_empty(),
            Self::Events(_) => false,
            Self::Boxed(body) => body.is_end_stream(),
            Self::Axum(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Empty => SizeHint::with_exact(0),
            Self::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Pieces(pieces) => SizeHint::with_exact(pieces.iter().map(|piece| piece.len() as u64).sum()),
            Self::Events(_) => SizeHint::default(),
            Self::Boxed(body) => body.size_hint(),
            Self::Axum(body) => body.size_hint(),
        }
    }
}
