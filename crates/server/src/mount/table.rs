//! The table of agents: which agent a request is for.

use http::uri::Authority;
use nuncio_model::{Error, Tenant};

use super::{Mounted, Place};

/// The agents of a server. Agents with a host come before agents for all hosts, and long paths before short paths, so
/// that the first agent that matches is the right agent.
#[derive(Debug)]
pub(crate) struct Mounts(Vec<Mounted>);

/// The agent of a request, by the head of the request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route<'a> {
    /// The agent at the path; `None` if no agent is there. A call of JSON-RPC at the root or of gRPC can still name an
    /// agent by its tenant.
    pub(crate) mount: Option<&'a Mounted>,
    /// The path below the agent's place; the path below the server's root if no agent is there.
    pub(crate) path: &'a str,
}

impl Mounts {
    pub(crate) fn new(mut mounts: Vec<Mounted>) -> Self {
        mounts.sort_by_key(|mount| (mount.place.host.is_none(), std::cmp::Reverse(mount.place.path.len())));
        Self(mounts)
    }

    fn host(&self, host: impl FnOnce() -> Option<Authority>) -> Option<Authority> {
        if self.0.iter().any(|mount| mount.place.host.is_some()) { host() } else { None }
    }

    pub(crate) fn all(&self) -> &[Mounted] {
        &self.0
    }

    /// Finds the agent by the host and the path of a request. `path` is the path below the server's root. `host` is
    /// called only if an agent has a host.
    pub(crate) fn route<'a>(&'a self, host: impl FnOnce() -> Option<Authority>, path: &'a str) -> Route<'a> {
        // The usual server has one agent, at the root and for all hosts.
        if let [mount] = &*self.0
            && mount.place.is_root()
            && mount.place.host.is_none()
        {
            return Route { mount: Some(mount), path };
        }
        let host = self.host(host);
        let mut found = self.0.iter().filter(|mount| mount.place.has_host(host.as_ref()));
        let found = found.find_map(|mount| Some((mount, mount.place.below(path)?)));
        match found {
            Some((mount, path)) => Route { mount: Some(mount), path },
            None => Route { mount: None, path },
        }
    }

    /// Finds the agent of a call: the agent that the call's tenant names, or else the agent at the path. A tenant names
    /// an agent only at the root of the server.
    ///
    /// # Errors
    ///
    /// `InvalidParams` if no agent is at the path and the tenant names none.
    pub(crate) fn of_call<'a>(
        &'a self,
        at: Option<&'a Mounted>,
        host: impl FnOnce() -> Option<Authority>,
        tenant: Option<&Tenant>,
    ) -> Result<&'a Mounted, Error> {
        let is_at_root = at.is_none_or(|mount| mount.place.is_root());
        if let Some(tenant) = tenant.filter(|tenant| is_at_root && !tenant.is_empty()) {
            let host = self.host(host);
            let has_tenant = |place: &Place| place.has_host(host.as_ref()) && place.tenant.as_ref() == Some(tenant);
            if let Some(mount) = self.0.iter().find(|mount| has_tenant(&mount.place)) {
                return Ok(mount);
            }
        }
        at.ok_or_else(|| Error::invalid_params("tenant", "must name an agent of this server"))
    }
}
