//! The agents of a server, each at its place: a path, a host, a tenant.

mod place;
mod table;

use std::sync::Arc;

use nuncio_model::{Backend, Call, Caller, Calling, Error, Request, Tenant};

pub use place::MountError;
pub(crate) use place::Place;
pub(crate) use table::{Mounts, Route};

use crate::{card::Cards, health::BackendCheck, tenants::Tenants};

/// An agent and its place on a server.
///
/// JSON-RPC, HTTP+JSON and the card are found by the path: an agent at `/one` has its card at
/// `/one/.well-known/agent-card.json`. The paths of gRPC are fixed (section 10), so gRPC finds an agent that is not at
/// the root by its tenant. The card of such an agent lists gRPC with the tenant (`AgentInterface.tenant`).
///
/// ```
/// # use nuncio_model::Backend;
/// # fn example(one: impl Backend, two: impl Backend) {
/// use nuncio_server::{Mount, Server};
///
/// let server = Server::hosting([Mount::at("/one", one), Mount::tenant("two", two)]);
/// # }
/// ```
pub struct Mount {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) path: Box<str>,
    pub(crate) host: Option<Box<str>>,
    pub(crate) tenant: Option<Tenant>,
    pub(crate) tenants: Option<Tenants>,
}

impl Mount {
    /// An agent at the root: all paths that no other agent has.
    pub fn root(backend: impl Backend) -> Self {
        Self::at("", backend)
    }

    /// An agent at a path: `/one`, `/team/one`. Over gRPC no client reaches the agent, unless the agent has a
    /// [tenant](Self::with_tenant), too.
    pub fn at(path: impl Into<Box<str>>, backend: impl Backend) -> Self {
        Self { backend: Arc::new(backend), path: path.into(), host: None, tenant: None, tenants: None }
    }

    /// An agent that has a tenant of its own: the same as an agent at the path `/TENANT` with this
    /// [tenant](Self::with_tenant).
    pub fn tenant(tenant: impl Into<Tenant>, backend: impl Backend) -> Self {
        let tenant = tenant.into();
        Self::at(format!("/{tenant}"), backend).with_tenant(tenant)
    }

    /// The tenant by which gRPC finds the agent, and JSON-RPC at the root of the server. The agent does not see this
    /// tenant: its tasks are the same by path and by tenant.
    pub fn with_tenant(mut self, tenant: impl Into<Tenant>) -> Self {
        self.tenant = Some(tenant.into());
        self
    }

    /// The agent answers requests for this host only. The server then answers for the host, too
    /// ([`Builder::allowed_hosts`](crate::Builder::allowed_hosts)).
    pub fn with_host(mut self, host: impl Into<Box<str>>) -> Self {
        self.host = Some(host.into());
        self
    }

    /// The tenants of the agent, in the place of [`Builder::tenants`](crate::Builder::tenants). These are tenants that
    /// the agent sees: each has its own tasks.
    pub fn with_tenants(mut self, tenants: Tenants) -> Self {
        self.tenants = Some(tenants);
        self
    }
}

impl std::fmt::Debug for Mount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mount")
            .field("path", &self.path)
            .field("host", &self.host)
            .field("tenant", &self.tenant)
            .finish_non_exhaustive()
    }
}

/// An agent of a server that listens.
pub(crate) struct Mounted {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) place: Place,
    pub(crate) cards: Cards,
    pub(crate) tenants: Tenants,
    pub(crate) check: BackendCheck,
}

impl Mounted {
    /// Whether the agent answers calls with this tenant.
    pub(crate) fn has_tenant(&self, tenant: &Tenant) -> bool {
        self.place.tenant.as_ref() == Some(tenant) || self.tenants.contains(tenant)
    }

    /// Takes the agent's own tenant from a call, because the agent does not see this tenant. Refuses a tenant that the
    /// agent does not have.
    pub(crate) fn accept_tenant(&self, call: &mut Call) -> Result<(), Error> {
        if self.place.tenant.is_some() && call.tenant() == self.place.tenant.as_ref() {
            call.set_tenant(None);
        }
        self.tenants.check(call.tenant())
    }
}

/// The backend for calls over the network. A call of an older version can consist of several calls of 1.0, and each
/// passes these checks.
impl Caller for Mounted {
    fn call(&self, request: Request) -> Calling<'_> {
        let checked = match &request.call {
            Call::GetExtendedAgentCard(_) => self.cards.check_extended(&request.scope.principal),
            _ => Ok(()),
        };
        match checked {
            Ok(()) => self.backend.call(request),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }
}

impl std::fmt::Debug for Mounted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mounted").field("place", &self.place).finish_non_exhaustive()
    }
}
