//! Converts a body of server-sent events to a stream of model events.

use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use http::{HeaderMap, HeaderValue};
use nuncio_model::{Error, EventStream, Reply, Request, StreamEvent, StreamResponse, resume};
use nuncio_wire::{
    rest,
    sse::{Decoder, Event},
};

use crate::{
    failure::{Failure, PeerCode},
    http::{Answer, Piece},
};

struct Reader<R> {
    answer: Answer,
    decoder: Decoder,
    limit: usize,
    read: R,
    is_over: bool,
}

/// The events of a body; `read` reads the data of an event. An error ends the stream.
pub(super) fn events<R>(answer: Answer, limit: usize, read: R) -> EventStream
where
    R: Fn(&str) -> Result<StreamResponse, Error> + Send + 'static,
{
    let reader = Reader { answer, decoder: Decoder::new(limit), limit, read, is_over: false };
    let events = stream::unfold(reader, |mut reader| async move {
        if reader.is_over {
            return None;
        }
        let item = reader.next().await.transpose()?;
        reader.is_over = item.is_err();
        Some((item, reader))
    });
    Box::pin(events.fuse())
}

/// The events of a call that an agent may refuse within its stream: an error in the place of the first event is the
/// error of the call.
pub(super) async fn accepted(mut events: EventStream) -> Result<EventStream, Error> {
    match events.next().await {
        Some(Err(error)) if error.peer_details().is_some() => Err(error),
        first => Ok(Box::pin(stream::iter(first).chain(events))),
    }
}

/// Sends the last received event in the standard header of server-sent events.
pub(super) fn resume(request: &Request, headers: &mut HeaderMap) {
    if let Some(sequence) = request.last_event {
        headers.insert("last-event-id", HeaderValue::from(sequence));
    }
}

/// A stream of one event.
pub(super) fn only(response: StreamResponse) -> Reply {
    let event = Arc::new(StreamEvent::new(None, response));
    Reply::Events(Box::pin(stream::iter([Ok(event)])))
}

impl<R: Fn(&str) -> Result<StreamResponse, Error>> Reader<R> {
    async fn next(&mut self) -> Result<Option<Arc<StreamEvent>>, Error> {
        loop {
            let too_large = |_| Failure::TooLarge { origin: self.answer.origin.clone(), limit: self.limit };
            if let Some(event) = self.decoder.pop().map_err(too_large)? {
                let event = self.event(&event)?;
                self.answer.note_event();
                return Ok(Some(event));
            }
            match self.answer.next().await? {
                Some(Piece::Data(data)) => self.decoder.push(&data),
                Some(Piece::Trailers(_)) => {}
                None => return Ok(None),
            }
        }
    }

    fn event(&self, event: &Event) -> Result<Arc<StreamEvent>, Error> {
        if event.event.as_deref() == Some("error") {
            // The error event of some SDKs for HTTP+JSON. The body has the status.
            let error = rest::parse_error(http::StatusCode::INTERNAL_SERVER_ERROR, event.data.as_bytes());
            return Err((self.read)(&event.data).err().filter(|it| it.peer_details().is_some()).unwrap_or(error));
        }
        let mut response = (self.read)(&event.data)?;
        let number = resume::take(&mut response);
        Ok(Arc::new(StreamEvent::new(number.or(event.sequence()), response)))
    }
}

/// An error of HTTP+JSON in the place of an event.
pub(super) fn error_in(data: &str) -> Option<Error> {
    let value: nuncio_model::Value = serde_json::from_str(data).ok()?;
    let code = value.get("error")?.get("code")?.as_u64().and_then(|code| u16::try_from(code).ok());
    let status = code.and_then(|code| http::StatusCode::from_u16(code).ok());
    let error = rest::parse_error(status.unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR), data.as_bytes());
    Some(match status {
        Some(status) => error.with_source(PeerCode::Http(status.as_u16())),
        None => error,
    })
}
