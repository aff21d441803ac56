//! gRPC of 1.0 (section 10 "gRPC Protocol Binding"), based on the tables of [`crate::proto`].

use http::HeaderMap;
use nuncio_model::{Call, Error, Method, Reply, StreamResponse};

use super::V1_0;
use crate::{
    dialect::{Dialect, Events, GrpcDialect, sealed::Sealed},
    proto::{self, metadata},
};

#[derive(Debug)]
pub(super) struct Grpc;

impl Sealed for Grpc {}

impl Events for Grpc {
    fn slot(&self) -> usize {
        7
    }

    fn encode_event(&self, event: &StreamResponse, to: &mut Vec<u8>) {
        proto::encode_event(event, to);
    }

    fn decode_event(&self, bytes: &[u8]) -> Result<StreamResponse, Error> {
        proto::decode_event(bytes)
    }
}

impl GrpcDialect for Grpc {
    fn dialect(&self) -> &'static dyn Dialect {
        &V1_0
    }

    fn method(&self, path: &str) -> Option<Method> {
        proto::method_of_path(path)
    }

    fn path(&self, method: Method) -> Option<&'static str> {
        Some(proto::path(method))
    }

    fn decode_call(&self, method: Method, message: &[u8]) -> Result<Call, Error> {
        proto::decode_call(method, message)
    }

    fn encode_call(&self, call: &Call, to: &mut Vec<u8>) -> Result<(), Error> {
        proto::encode_call(call, to);
        Ok(())
    }

    fn encode_reply(&self, method: Method, reply: &Reply, to: &mut Vec<u8>) -> Result<(), Error> {
        proto::encode_reply(method, reply, to)
    }

    fn decode_reply(&self, method: Method, message: &[u8]) -> Result<Reply, Error> {
        proto::decode_reply(method, message)
    }

    fn write_error(&self, error: &Error, to: &mut HeaderMap) {
        metadata::write_error(error, to);
    }
}
