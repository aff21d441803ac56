//! Server reflection: what is spoken here, question by question on one stream, for tools such as grpcurl.

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

/// No question is longer.
const LONGEST: usize = 64 * 1024;

/// Answers the questions of this body as they come.
pub(super) fn answer(service: &Service, principal: &Principal, body: RequestBody) -> Result<Response<Body>, Error> {
    let questions = Questions {
        body,
        frames: Frames::new(LONGEST),
        versions: service.versions.clone(),
        drain: service.drain.clone(),
        _permit: service.load.stream(principal)?,
    };
    let frames = stream::unfold(Some(questions), |questions| async {
        let mut questions = questions?;
        Some(match questions.answers().await {
            Ok(Some(answers)) => (Frame::data(answers), Some(questions)),
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

/// The client's side of the stream.
struct Questions {
    body: RequestBody,
    frames: Frames,
    versions: Versions,
    drain: Drain,
    _permit: StreamPermit,
}

impl Questions {
    /// The answers to the questions that come next; `None` when there are no more.
    async fn answers(&mut self) -> Result<Option<Bytes>, Error> {
        let mut answers = Vec::new();
        while answers.is_empty() {
            let piece = tokio::select! {
                piece = self.body.frame() => piece,
                () = self.drain.streams_end() => return Err(going_away()),
            };
            let Some(piece) = piece else {
                self.frames.finish()?;
                return Ok(None);
            };
            let piece = piece
                .map_err(|error| Error::new(ErrorKind::InvalidRequest, "the body broke off").with_source(error))?;
            let Ok(data) = piece.into_data() else { continue };
            self.frames.push(data);
            while let Some(question) = self.frames.next()? {
                frame::write(&mut answers, usize::MAX, |to| reflection::answer(&question, &self.versions, to))?;
            }
        }
        Ok(Some(answers.into()))
    }
}
