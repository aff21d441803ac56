//! Why a server does not start.

use std::{io, net::SocketAddr};

use crate::{mount::MountError, tenants::InvalidTenant};

/// Why a server does not start.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// It would let everybody in from anywhere.
    #[error(
        "refusing to listen on {0}: without authentication anybody who reaches that address could use the agent\n\
         hint: give callers tokens, or listen on a loopback address such as 127.0.0.1"
    )]
    Open(SocketAddr),
    /// A card says what not every client could read.
    #[error(
        "the agent's card cannot be served: params of its extension {extension} nest deeper than {levels} levels of lists \
         and objects, which readers of protobuf refuse\n\
         hint: put what is so deep behind an address, and name that in the card"
    )]
    Card {
        /// The extension's URI.
        extension: Box<str>,
        /// The engine's limit of nesting.
        levels: usize,
    },
    /// A card requires credentials, and the server takes callers without them.
    #[error(
        "the agent's card says that callers need credentials, and this server does not ask for any\n\
         hint: give callers tokens, or take the security requirements out of the card"
    )]
    Unenforced,
    /// No version that is spoken has a binding that the card is to list.
    #[error(
        "the card would list no interface: the versions that are spoken have none of its bindings\n\
         hint: list JSON-RPC, which all versions have, or speak more versions"
    )]
    Bindings,
    /// A tenant has a name that cannot be the first segment of a path.
    #[error(
        "{0}\n\
         hint: a tenant is the first segment of a path, such as `acme` in /acme/tasks; give it another name"
    )]
    Tenant(#[from] InvalidTenant),
    /// The agents cannot be at their places.
    #[error(transparent)]
    Mounts(#[from] MountError),
    /// The address means nothing.
    #[error("the address to listen on cannot be resolved")]
    Resolve(#[source] io::Error),
    /// The address is taken, or not ours.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

nuncio_model::debug_is_text!(BindError);
