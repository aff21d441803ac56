//! Versions 0.2 and 0.3, one family: both have the same shapes and differ in a few habits.

mod ask;
mod call;
mod files;
mod grpc;
mod habits;
mod jsonrpc;
mod kind;
mod message;
mod params;
mod proto;
mod reply;
mod rest;
mod serve;
mod stream;

use std::fmt;

use nuncio_model::{Caller, Request, StreamResponse};

use crate::dialect::{
    Dialect, FileBytes, GrpcDialect, JsonRpcDialect, Notice, Plan, RestDialect, Version, sealed::Sealed,
};

/// The dialects of a version, one for each encoding of files.
macro_rules! family {
    ($version:expr, $habits:expr, $files:expr) => {
        match $files {
            FileBytes::Raw => family!($version, $habits, of FileBytes::Raw),
            FileBytes::Base64 => family!($version, $habits, of FileBytes::Base64),
        }
    };
    ($version:expr, $habits:expr, of $files:expr) => {{
        static FAMILY: Family = Family { version: $version, habits: $habits, files: $files, bindings: &BINDINGS };
        static BINDINGS: Bindings =
            Bindings { jsonrpc: jsonrpc::OlderJsonRpc(&FAMILY), rest: rest::OlderRest(&FAMILY), grpc: grpc::OlderGrpc(&FAMILY) };
        &FAMILY
    }};
}
/// Version 0.2: all of 0.2.0 to 0.2.6.
#[cfg(feature = "v0-2")]
pub fn v0_2(files: FileBytes) -> &'static Family {
    family!(Version::V0_2, habits::OF_0_2, files)
}

/// Version 0.3.
#[cfg(feature = "v0-3")]
pub fn v0_3(files: FileBytes) -> &'static Family {
    family!(Version::V0_3, habits::OF_0_3, files)
}

/// The JSON of the family, in which objects have a `kind`. HTTP+JSON differs: its JSON is the JSON of protobuf
/// messages.
struct Kinded;

/// The dialect of a version of this family.
pub struct Family {
    version: Version,
    habits: habits::Habits,
    files: FileBytes,
    bindings: &'static Bindings,
}

/// The dialects of a version for each binding.
struct Bindings {
    jsonrpc: jsonrpc::OlderJsonRpc,
    rest: rest::OlderRest,
    grpc: grpc::OlderGrpc,
}

impl fmt::Debug for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.version.fmt(f)
    }
}

impl Sealed for Family {}

impl Dialect for Family {
    fn version(&self) -> Version {
        self.version
    }

    fn jsonrpc(&self) -> &'static dyn JsonRpcDialect {
        &self.bindings.jsonrpc
    }

    fn rest(&self) -> Option<&'static dyn RestDialect> {
        Some(&self.bindings.rest)
    }

    fn grpc(&self) -> Option<&'static dyn GrpcDialect> {
        Some(&self.bindings.grpc)
    }

    fn extensions_header(&self) -> &'static str {
        "X-A2A-Extensions"
    }

    fn serve<'a>(&self, request: Request, engine: &'a dyn Caller) -> Plan<'a> {
        serve::serve(request, engine)
    }

    fn ask<'a>(&self, request: Request, peer: &'a dyn Caller) -> Plan<'a> {
        ask::ask(&self.habits, request, peer)
    }

    fn notice(&self, event: &StreamResponse) -> Notice {
        match event {
            StreamResponse::Task(_) | StreamResponse::StatusUpdate(_) => Notice::Task,
            StreamResponse::ArtifactUpdate(_) | StreamResponse::Message(_) => Notice::Nothing,
        }
    }

    fn encode_notice(&self, event: &StreamResponse, to: &mut Vec<u8>) {
        kind::write_event(event, to);
    }
}
