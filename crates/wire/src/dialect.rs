//! The seam between versions: the trait that each version implements, and the table of versions.
//!
//! [`Dialect`] covers everything that differs between versions of the protocol. [`JsonRpcDialect`], [`RestDialect`] and
//! [`GrpcDialect`] cover the differences for each binding. A new version is a folder with implementations of these
//! traits, a variant of [`Version`] and a line in [`dialect`].
//!
//! A version has two parts:
//!
//! - *Shapes* convert bytes into calls of the model, and replies into bytes. They depend only on the value that they
//!   convert.
//! - A *plan* states which calls of 1.0 execute a call of the version, at a server or a client. A plan is needed if the
//!   calls do not correspond one to one. For example, the plan looks up an id that the client made, or reads the task
//!   that a stream must begin with. A plan uses a [`Caller`] and does no I/O of its own.

mod binding;
mod files;
pub(crate) mod finality;
#[cfg(any(feature = "v0-1", feature = "v0-2", feature = "v0-3"))]
pub(crate) mod join;
mod plan;
#[cfg(feature = "v0-1")]
pub(crate) mod transitions;
mod version;
#[cfg(any(feature = "v0-1", feature = "v0-2", feature = "v0-3"))]
pub(crate) mod webhook;

use std::fmt;

use nuncio_model::{Call, Caller, Error, Request, Scope, StreamResponse};

pub use binding::{Events, GrpcDialect, JsonRpcDialect, RestDialect};
pub use files::{FileBytes, UnknownFileBytes};
pub use finality::is_marked_last;
pub use plan::{Judging, Plan};
pub use version::{UnknownVersion, Version};

use crate::v1_0::V1_0;

/// A version of the protocol.
pub trait Dialect: sealed::Sealed + fmt::Debug + Send + Sync {
    /// The version.
    fn version(&self) -> Version;

    /// The dialect of JSON-RPC. Every version has JSON-RPC.
    fn jsonrpc(&self) -> &'static dyn JsonRpcDialect;

    /// The dialect of HTTP+JSON, if the version has HTTP+JSON.
    fn rest(&self) -> Option<&'static dyn RestDialect> {
        None
    }

    /// The dialect of gRPC, if the version has gRPC.
    fn grpc(&self) -> Option<&'static dyn GrpcDialect> {
        None
    }

    /// The header of requests and responses that names extensions. Case is ignored (section 3.2.6 "Service
    /// Parameters").
    fn extensions_header(&self) -> &'static str {
        "A2A-Extensions"
    }

    /// Server: the plan that executes a call of this version with calls that an engine knows. By default the call is
    /// passed on unchanged.
    fn serve<'a>(&self, request: Request, engine: &'a dyn Caller) -> Plan<'a> {
        let _ = engine;
        Plan::Direct(request)
    }

    /// Client: the plan that executes a call with calls that a peer of this version knows. By default the call is
    /// passed on unchanged.
    fn ask<'a>(&self, request: Request, peer: &'a dyn Caller) -> Plan<'a> {
        let _ = peer;
        Plan::Direct(request)
    }

    /// Server: whether [`claims`](Self::claims) can claim a call that is also valid in a newer version.
    fn claims_any(&self) -> bool {
        false
    }

    /// Server: whether a call that is also valid in a newer version belongs to this version, because of the ids in the
    /// call.
    fn claims<'a>(&self, call: &Call, scope: &Scope, engine: &'a dyn Caller) -> Judging<'a> {
        let _ = (call, scope, engine);
        Box::pin(std::future::ready(false))
    }

    /// The kind of notice that a webhook of this version gets for an event.
    fn notice(&self, event: &StreamResponse) -> Notice;

    /// Writes the body of the notice for an event. The body is the event, or the task at the time of the event, as
    /// [`notice`](Self::notice) decides.
    fn encode_notice(&self, event: &StreamResponse, to: &mut Vec<u8>);

    /// The media type of the body of a notice.
    fn notice_type(&self) -> &'static str {
        "application/json"
    }
}

/// The content of a notice for a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// The event.
    Event,
    /// The task, with the status of the event.
    Task,
    /// No notice: this version does not notify webhooks of such events.
    Nothing,
}

/// The dialect of a version, with the default encoding of files.
pub fn dialect(version: Version) -> &'static dyn Dialect {
    dialect_with(version, FileBytes::default())
}

/// The dialect of a version with this encoding of files.
pub fn dialect_with(version: Version, files: FileBytes) -> &'static dyn Dialect {
    #[cfg(not(any(feature = "v0-2", feature = "v0-3")))]
    let _ = files;
    match version {
        #[cfg(feature = "v0-1")]
        Version::V0_1 => &crate::v0_1::V0_1,
        #[cfg(feature = "v0-2")]
        Version::V0_2 => crate::v0_3::v0_2(files),
        #[cfg(feature = "v0-3")]
        Version::V0_3 => crate::v0_3::v0_3(files),
        Version::V1_0 => &V1_0,
    }
}

pub(crate) mod sealed {
    /// Prevents implementations in other crates. Each version is a folder of this crate.
    pub trait Sealed {}
}

/// The error for a reply of another kind than the method returns.
pub(crate) fn wrong_reply(method: nuncio_model::Method) -> Error {
    Error::internal(format!("the reply does not belong to the operation {}", method.name()))
}

/// The error for a list of tasks. No version before 1.0 can list tasks.
#[cfg(any(feature = "v0-1", feature = "v0-2", feature = "v0-3"))]
pub(crate) fn no_list() -> Error {
    let message = "versions before 1.0 cannot list tasks; read them one by one";
    Error::new(nuncio_model::ErrorKind::UnsupportedOperation, message)
}
