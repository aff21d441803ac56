//! Server reflection: descriptions of the services, for tools such as grpcurl. One stream has many requests.

use bytes::Bytes;
use futures_util::stream;
use http::Response;
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody, combinators::UnsyncBoxBody};
use nuncio_model::{Error, ErrorKind, Principal};
use nuncio_wire::{
    Versions,
    proto::{
        frame::{self, Frames},
        metadata, reflection,
    },
};

use super::{
    body::{going_away, success},
    head_of,
};
use crate::{
    body::{Body, BoxError, RequestBody},
    drain::Drain,
    load::StreamPermit,
    service::Service,
};

/// The largest request in bytes.
const MAX_REQUEST: usize = 64 * 1024;

/// Answers the requests in this body in their order.
pub(super) fn answer(service: &Service, principal: &Principal, body: RequestBody) -> Result<Response<Body>, Error> {
    let requests = ReflectionRequests {
        body,
        frames: Frames::new(MAX_REQUEST),
        versions: service.versions.clone(),
        drain: service.drain.clone(),
        _permit: service.load.stream(principal)?,
    };
    let frames = stream::unfold(Some(requests), |requests| async {
        let mut requests = requests?;
        Some(match requests.responses().await {
            Ok(Some(responses)) => (Frame::data(responses), Some(requests)),
            Ok(None) => (Frame::trailers(success()), None),
            Err(error) => {
                let mut trailers = http::HeaderMap::new();
                metadata::write_error(&error, &mut trailers);
                (Frame::trailers(trailers), None)
            }
        })
    });
    let frames = futures_util::StreamExt::map(frames, Ok::<_, BoxError>);
    Ok(head_of(Body::Boxed(UnsyncBoxBody::new(StreamBody::new(frames)))))
}

/// The requests of a stream.
struct ReflectionRequests {
    body: RequestBody,
    frames: Frames,
    versions: Versions,
    drain: Drain,
    _permit: StreamPermit,
}

impl ReflectionRequests {
    /// The responses to the next requests; `None` at the end of the body.
    async fn responses(&mut self) -> Result<Option<Bytes>, Error> {
        let mut responses = Vec::new();
        while responses.is_empty() {
            let piece = tokio::select! {
                piece = self.body.frame() => piece,
                () = self.drain.streams_end() => return Err(going_away()),
            };
            let Some(piece) = piece else {
                self.frames.finish()?;
                return Ok(None);
            };
            let piece = piece
                .map_err(|error| Error::new(ErrorKind::InvalidRequest, "the body is incomplete").with_source(error))?;
            let Ok(data) = piece.into_data() else { continue };
            self.frames.push(data);
            while let Some(request) = self.frames.next()? {
                frame::write(&mut responses, usize::MAX, |to| reflection::answer(&request, &self.versions, to))?;
            }
        }
        Ok(Some(responses.into()))
    }
}
