//! The reasons why a server does not start.

use std::{io, net::SocketAddr};

use crate::{mount::MountError, tenants::InvalidTenant};

/// The reason why a server does not start.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// The server would accept callers without authentication from beyond this machine.
    #[error(
        "refusing to listen on {0}: without authentication, any client that reaches this address could use the agent\n\
         hint: give callers tokens, or listen on a loopback address such as 127.0.0.1"
    )]
    Open(SocketAddr),
    /// Some clients cannot read a card.
    #[error(
        "the agent's card cannot be served: params of its extension {extension} nest deeper than {levels} levels of lists \
         and objects, which readers of protobuf refuse\n\
         hint: put the nested data into a document, and its URL into the card"
    )]
    Card {
        /// The URI of the extension.
        extension: Box<str>,
        /// The engine's limit of nesting.
        levels: usize,
    },
    /// A card requires credentials, and the server accepts callers without credentials.
    #[error(
        "the agent's card requires credentials, but this server does not check credentials\n\
         hint: give callers tokens, or remove the security requirements from the card"
    )]
    Unenforced,
    /// None of the server's versions has a binding that the card lists.
    #[error(
        "the card would list no interface: the enabled versions have none of the listed bindings\n\
         hint: list JSON-RPC, which all versions have, or enable more versions"
    )]
    Bindings,
    /// The name of a tenant cannot be the first segment of a path.
    #[error(
        "{0}\n\
         hint: a tenant is the first segment of a path, such as `acme` in /acme/tasks; choose another name"
    )]
    Tenant(#[from] InvalidTenant),
    /// The agents cannot be at their places.
    #[error(transparent)]
    Mounts(#[from] MountError),
    /// The address cannot be resolved.
    #[error("the address to listen on cannot be resolved")]
    Resolve(#[source] io::Error),
    /// The server cannot listen on the address, for example because another process uses the port.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
}

nuncio_model::debug_is_text!(BindError);
