//! The client side of gRPC (section 10): protobuf messages in frames over HTTP/2, with the outcome in trailers.

mod show;

use std::{collections::VecDeque, sync::Arc};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{HeaderMap, HeaderValue, Method as Verb, header};
use nuncio_http::redact::Redactor;
use nuncio_model::{Caller, Calling, Error, ErrorKind, EventStream, Reply, Request, StreamEvent, resume};
use nuncio_wire::{
    GrpcDialect,
    proto::{
        frame::{self, FrameError, Frames},
        metadata,
    },
    status,
};

use super::{Link, full_answer::FullAnswer};
use crate::{
    failure::{Failure, PeerCode},
    http::{Answer, Outbound, Piece},
};

/// One HTTP/2 connection for all methods.
pub(crate) struct Grpc {
    link: Link,
    dialect: &'static dyn GrpcDialect,
}

impl Grpc {
    pub(crate) fn new(link: Link, dialect: &'static dyn GrpcDialect) -> Self {
        Self { link, dialect }
    }

    async fn send(&self, request: Request) -> Result<Answer, Error> {
        let mut headers = self.link.headers(self.dialect.dialect(), &request)?;
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(metadata::CONTENT_TYPE));
        headers.insert(header::TE, HeaderValue::from_static("trailers"));
        let call = self.link.call(request.call);
        let method = call.method();
        // The header limits a whole call, and a stream has no limit.
        if !method.is_streaming()
            && let Some(limit) = self.link.limit(self.dialect.dialect(), method)
        {
            let limit = HeaderValue::try_from(metadata::format_timeout(limit)).map_err(Error::internal)?;
            headers.insert(metadata::TIMEOUT, limit);
        }
        show::call(&call, self.link.secrets.redactor());
        let mut url = self.link.base.clone();
        let path = self.dialect.path(method);
        url.set_path(path.ok_or_else(|| self.link.lacks(self.dialect.dialect(), method))?);
        let mut body = Vec::with_capacity(256);
        frame::write(&mut body, self.link.max_message(), |to| self.dialect.encode_call(&call, to))?;
        let outbound = Outbound {
            method: Verb::POST,
            url,
            headers,
            body: Bytes::from(body),
            secrets: &self.link.secrets,
            silence: self.link.silence(method),
            stall: self.link.stall(method),
            grpc: true,
        };
        let answer = self.link.http.send(outbound).await?;
        match outcome(&answer.headers) {
            Some(Err(error)) => Err(error),
            _ if !answer.status.is_success() => Err(self.not_grpc(answer).await),
            None if !metadata::is_grpc(answer.header(header::CONTENT_TYPE).unwrap_or_default()) => {
                Err(self.not_grpc(answer).await)
            }
            _ => Ok(answer),
        }
    }

    /// The error for an answer from another server: a proxy, or an HTTP server at this address.
    async fn not_grpc(&self, answer: Answer) -> Error {
        if answer.status.is_success() {
            return Error::new(ErrorKind::InvalidAgentResponse, "the agent's answer is not gRPC");
        }
        FullAnswer::of(answer, self.link.max_message()).await.map_or_else(|error| error, |full| full.refusal())
    }
}

impl Caller for Grpc {
    fn call(&self, mut request: Request) -> Calling<'_> {
        Box::pin(async move {
            let method = request.call.method();
            // Messages of gRPC have no ids. The extension puts ids into the events; agents without the extension ignore
            // the request.
            if method.is_streaming() && !request.extensions.iter().any(|uri| **uri == *resume::URI) {
                request.extensions.push(resume::URI.into());
            }
            let redactor = self.link.secrets.redactor();
            let work = async {
                let mut messages = Messages::new(self.send(request).await?, self.link.max_message());
                if method.is_streaming() {
                    return Ok(Reply::Events(events(self.dialect, messages, redactor.clone())));
                }
                let Some(message) = messages.next().await? else {
                    return Err(Error::new(ErrorKind::InvalidAgentResponse, "the agent's answer has no message"));
                };
                while messages.next().await?.is_some() {}
                let reply = self.dialect.decode_reply(method, &message)?;
                show::reply(method, &reply, redactor);
                Ok(reply)
            };
            self.link.within(self.dialect.dialect(), method, work).await
        })
    }
}

fn events(dialect: &'static dyn GrpcDialect, messages: Messages, redactor: Redactor) -> EventStream {
    let events = stream::unfold(Some((messages, redactor)), move |reader| async move {
        let (mut messages, redactor) = reader?;
        let message = messages.next().await.transpose()?;
        match message.and_then(|message| dialect.decode_event(&message)) {
            Ok(mut event) => {
                show::event(&event, &redactor);
                let sequence = resume::take(&mut event);
                Some((Ok(Arc::new(StreamEvent::new(sequence, event))), Some((messages, redactor))))
            }
            Err(error) => Some((Err(error), None)),
        }
    });
    Box::pin(events.fuse())
}

/// The messages of an answer, up to the outcome in the trailers.
struct Messages {
    answer: Answer,
    frames: Frames,
    ready: VecDeque<Bytes>,
    is_over: bool,
}

impl Messages {
    fn new(answer: Answer, limit: usize) -> Self {
        Self { answer, frames: Frames::new(limit), ready: VecDeque::new(), is_over: false }
    }

    async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Ok(Some(message));
            }
            if self.is_over {
                return Ok(None);
            }
            match self.answer.next().await? {
                Some(Piece::Data(data)) => {
                    self.frames.push(data);
                    while let Some(message) = self.frames.next().map_err(|error| self.unreadable(error))? {
                        self.ready.push_back(message);
                        self.answer.note_event();
                    }
                }
                Some(Piece::Trailers(trailers)) => {
                    self.is_over = true;
                    outcome(&trailers).unwrap_or(Ok(()))?;
                }
                // Without trailers the call is incomplete, unless the head has the outcome.
                None => {
                    self.is_over = true;
                    self.frames.finish().map_err(|error| self.unreadable(error))?;
                    outcome(&self.answer.headers).unwrap_or_else(|| Err(self.cut_off()))?;
                }
            }
        }
    }

    fn unreadable(&self, error: FrameError) -> Error {
        let origin = self.answer.origin.clone();
        match error {
            FrameError::TooLarge { limit, .. } => Failure::TooLarge { origin, limit }.into(),
            FrameError::CutOff => self.cut_off(),
            other => Error::new(ErrorKind::InvalidAgentResponse, other.to_string()).with_source(other),
        }
    }

    fn cut_off(&self) -> Error {
        let reason = "the answer ended without its outcome".to_owned();
        let source = crate::failure::Cause::new(FrameError::CutOff);
        Failure::Broken { origin: self.answer.origin.clone(), reason, source }.into()
    }
}

/// The outcome in headers or trailers, with the code of the peer.
fn outcome(from: &HeaderMap) -> Option<Result<(), Error>> {
    let outcome = metadata::read_outcome(from)?;
    Some(outcome.map_err(|error| {
        let code = from.get(metadata::STATUS).and_then(|code| code.to_str().ok()?.parse().ok());
        let code = code.unwrap_or_else(|| status::row(error.kind()).grpc);
        error.with_source(PeerCode::Grpc(code))
    }))
}
