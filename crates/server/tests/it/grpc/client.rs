//! A client of HTTP/2 that shows all details of a response.

use std::{collections::BTreeMap, convert::Infallible, net::SocketAddr};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::BoxBody};
use hyper::{body::Incoming, client::conn::http2::SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use nuncio_model::{Call, Error, Message, Reply, StreamResponse, op::SendMessageRequest};
use nuncio_wire::proto::{
    self,
    frame::{self, Frames},
    metadata,
};
use tokio::net::TcpStream;

type Body = BoxBody<Bytes, Infallible>;

#[derive(Clone)]
pub(crate) struct Client(SendRequest<Body>);

/// A request.
pub(crate) struct Outgoing {
    path: String,
    headers: Vec<(&'static str, String)>,
    body: Body,
}

/// A complete response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) messages: Vec<Bytes>,
    pub(crate) pieces: usize,
    pub(crate) trailers: Option<HeaderMap>,
}

pub(crate) fn framed(message: &[u8]) -> Bytes {
    let mut body = Vec::new();
    let written = frame::write(&mut body, usize::MAX, |to| {
        to.extend_from_slice(message);
        Ok(())
    });
    written.unwrap();
    body.into()
}

pub(crate) fn text(text: &str) -> SendMessageRequest {
    SendMessageRequest::new(Message::user(text))
}

impl Outgoing {
    pub(crate) fn call(call: impl Into<Call>) -> Self {
        let call = call.into();
        let mut message = Vec::new();
        proto::encode_call(&call, &mut message);
        Self::raw(proto::path(call.method()), framed(&message))
    }

    /// A body without changes, to any path, with the headers of every call.
    pub(crate) fn raw(path: &str, body: impl Into<Bytes>) -> Self {
        let headers = [("content-type", "application/grpc"), ("te", "trailers"), ("a2a-version", "1.0")];
        Self {
            path: path.to_owned(),
            headers: headers.map(|(name, value)| (name, value.to_owned())).into(),
            body: Full::new(body.into()).boxed(),
        }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(it, _)| *it != name);
        self
    }

    /// Sends the body in pieces of this size.
    pub(crate) async fn in_pieces(mut self, size: usize) -> Self {
        let body = self.body.collect().await.unwrap().to_bytes();
        let pieces: Vec<_> =
            body.chunks(size).map(Bytes::copy_from_slice).map(http_body::Frame::data).map(Ok).collect();
        self.body = StreamBody::new(futures_util::stream::iter(pieces)).boxed();
        self
    }

    fn into_request(self) -> Request<Body> {
        let mut request = Request::post(format!("http://localhost{}", self.path));
        for (name, value) in self.headers {
            request = request.header(name, value);
        }
        request.body(self.body).unwrap()
    }
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        let (sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Self(sender)
    }

    pub(crate) async fn open(&self, outgoing: Outgoing) -> Response<Incoming> {
        self.0.clone().send_request(outgoing.into_request()).await.unwrap()
    }

    pub(crate) async fn send(&self, outgoing: Outgoing) -> Answer {
        let (head, mut body) = self.open(outgoing).await.into_parts();
        let mut frames = Frames::new(usize::MAX);
        let (mut messages, mut pieces, mut trailers) = (Vec::new(), 0, None);
        while let Some(frame) = body.frame().await {
            match frame.unwrap().into_data() {
                Ok(data) => {
                    pieces += 1;
                    frames.push(data);
                    while let Some(message) = frames.next().unwrap() {
                        messages.push(message);
                    }
                }
                Err(frame) => trailers = frame.into_trailers().ok(),
            }
        }
        frames.finish().unwrap();
        Answer { status: head.status, headers: head.headers, messages, pieces, trailers }
    }

    pub(crate) async fn call(&self, call: impl Into<Call>) -> Result<Reply, Error> {
        let call = call.into();
        let method = call.method();
        let answer = self.send(Outgoing::call(call)).await;
        answer.outcome()?;
        assert_eq!(answer.messages.len(), 1);
        proto::decode_reply(method, &answer.messages[0])
    }
}

impl Answer {
    /// The outcome, from headers or trailers. One of these must have the outcome.
    pub(crate) fn outcome(&self) -> Result<(), Error> {
        assert_eq!(self.status, StatusCode::OK);
        assert_eq!(self.headers["content-type"], "application/grpc");
        metadata::read_outcome(self.trailers.as_ref().unwrap_or(&self.headers)).unwrap()
    }

    pub(crate) fn code(&self) -> i32 {
        let from = self.trailers.as_ref().unwrap_or(&self.headers);
        from["grpc-status"].to_str().unwrap().parse().unwrap()
    }

    pub(crate) fn error(&self) -> Error {
        self.outcome().unwrap_err()
    }

    pub(crate) fn events(&self) -> Vec<StreamResponse> {
        self.messages.iter().map(|message| proto::decode_event(message).unwrap()).collect()
    }

    /// The metadata of the error.
    pub(crate) fn facts(&self) -> BTreeMap<String, String> {
        self.error().metadata().clone()
    }
}
