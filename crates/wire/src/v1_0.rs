//! Version 1.0. The model has the names and the JSON of 1.0, so most values need no conversion (sections 5 and 9).

pub(crate) mod aliases;
mod call;
mod grpc;
mod jsonrpc;
mod outgoing;
mod reply;
mod rest;
mod route;

use nuncio_model::{Error, StreamResponse};

use crate::{
    dialect::{Dialect, GrpcDialect, JsonRpcDialect, Notice, RestDialect, Version, sealed::Sealed},
    json,
};

/// The dialect of version 1.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct V1_0;

impl Sealed for V1_0 {}

impl Dialect for V1_0 {
    fn version(&self) -> Version {
        Version::V1_0
    }

    fn jsonrpc(&self) -> &'static dyn JsonRpcDialect {
        &jsonrpc::JsonRpc
    }

    fn rest(&self) -> Option<&'static dyn RestDialect> {
        Some(&rest::Rest)
    }

    fn grpc(&self) -> Option<&'static dyn GrpcDialect> {
        Some(&grpc::Grpc)
    }

    fn notice(&self, _event: &StreamResponse) -> Notice {
        Notice::Event
    }

    fn encode_notice(&self, event: &StreamResponse, to: &mut Vec<u8>) {
        json::write(event, to);
    }

    fn notice_type(&self) -> &'static str {
        crate::rest::CONTENT_TYPE
    }
}

/// Events have the same form in both JSON bindings.
macro_rules! json_events {
    ($binding:ty) => {
        impl crate::dialect::sealed::Sealed for $binding {}

        impl crate::dialect::Events for $binding {
            fn slot(&self) -> usize {
                0
            }

            fn encode_event(&self, event: &nuncio_model::StreamResponse, to: &mut Vec<u8>) {
                crate::json::write(event, to);
            }

            fn decode_event(&self, json: &[u8]) -> Result<nuncio_model::StreamResponse, nuncio_model::Error> {
                super::read_event(json)
            }
        }
    };
}
use json_events;

fn read_event(json: &[u8]) -> Result<StreamResponse, Error> {
    match json::answer(json) {
        Ok(StreamResponse::ArtifactUpdate(update)) => {
            Ok(StreamResponse::ArtifactUpdate(aliases::with_inner_marks(update, json)))
        }
        Err(error) => aliases::bare_event(json).ok_or(error),
        read => read,
    }
}
