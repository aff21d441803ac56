//! The seam between versions: what a version must know, and the table of versions.
//!
//! Everything that differs between versions of the protocol is behind [`Dialect`], and what differs between them on a
//! binding behind [`JsonRpcDialect`], [`RestDialect`] and [`GrpcDialect`]. Adding a version is a folder with these
//! traits in it, a variant of [`Version`] and a line in [`dialect`].
//!
//! A version is two things. Its *shapes* turn bytes into calls of the model and replies into bytes; they know nothing
//! but the value at hand. Its *plan* says how a call of it is made of calls of 1.0, on either side, where that is
//! more than one to one: an id that the client made is looked up, a stream that must begin with a task gets one. A
//! plan speaks to a [`Caller`], so it does no I/O of its own.

mod binding;
mod files;
pub(crate) mod finality;
#[cfg(any(feature = "v0-1", feature = "v0-2", feature = "v0-3"))]
pub(crate) mod join;
mod plan;
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
    /// Which version it is.
    fn version(&self) -> Version;

    /// JSON-RPC, which every version has.
    fn jsonrpc(&self) -> &'static dyn JsonRpcDialect;

    /// HTTP+JSON, where the version has it.
    fn rest(&self) -> Option<&'static dyn RestDialect> {
        None
    }

    /// gRPC, where the version has it.
    fn grpc(&self) -> Option<&'static dyn GrpcDialect> {
        None
    }

    /// The header that names extensions, of requests and responses; lower-case is the same (section 3.2.6).
    fn extensions_header(&self) -> &'static str {
        "A2A-Extensions"
    }

    /// Server: how a call of this version is made of calls that an engine knows. As it is, unless the version has
    /// another way.
    fn serve<'a>(&self, request: Request, engine: &'a dyn Caller) -> Plan<'a> {
        let _ = engine;
        Plan::Direct(request)
    }

    /// Client: how a call is made of calls that a peer of this version knows. As it is, unless the version has another
    /// way.
    fn ask<'a>(&self, request: Request, peer: &'a dyn Caller) -> Plan<'a> {
        let _ = peer;
        Plan::Direct(request)
    }

    /// Server: whether the version can tell of a call that a newer version could mean as well that it is its own.
    fn claims_any(&self) -> bool {
        false
    }

    /// Server: whether a call that a newer version could mean as well is of this one, because of what it names.
    fn claims<'a>(&self, call: &Call, scope: &Scope, engine: &'a dyn Caller) -> Judging<'a> {
        let _ = (call, scope, engine);
        Box::pin(std::future::ready(false))
    }

    /// What a webhook that was registered in this version is told of an event.
    fn notice(&self, event: &StreamResponse) -> Notice;

    /// Writes the body that tells a webhook of an event: of the event itself or of the task as it then was, as
    /// [`notice`](Self::notice) says.
    fn encode_notice(&self, event: &StreamResponse, to: &mut Vec<u8>);

    /// What the body for a webhook is sent as.
    fn notice_type(&self) -> &'static str {
        "application/json"
    }
}

/// What a webhook is told of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// The event.
    Event,
    /// The whole task, with the status of the event.
    Task,
    /// Nothing: this version does not tell of such events.
    Nothing,
}

/// The dialect of a version.
pub fn dialect(version: Version) -> &'static dyn Dialect {
    dialect_with(version, FileBytes::default())
}

/// The dialect of a version in which files are sent so.
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
    /// Versions are folders of this crate.
    pub trait Sealed {}
}

/// The error for a reply that is not of the kind that the method gives.
pub(crate) fn wrong_reply(method: nuncio_model::Method) -> Error {
    Error::internal(format!("{} was given the reply of another operation", method.name()))
}

/// The error for a list of tasks, which no version before 1.0 has.
#[cfg(any(feature = "v0-1", feature = "v0-2", feature = "v0-3"))]
pub(crate) fn no_list() -> Error {
    let message = "versions before 1.0 cannot list tasks; read them one by one";
    Error::new(nuncio_model::ErrorKind::UnsupportedOperation, message)
}
