//! The place of an agent on a server, and the errors of a table of places.

use std::net::Ipv6Addr;

use http::uri::Authority;
use nuncio_model::Tenant;

use super::Mount;
use crate::{
    browser::{AllowedHost, AllowedHostError},
    tenants::{InvalidTenant, Tenants},
};

/// The place of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The path without a slash at its end; empty for the root.
    pub(crate) path: Box<str>,
    /// In lower case; `None` if the agent answers for all hosts.
    pub(crate) host: Option<Box<str>>,
    pub(crate) tenant: Option<Tenant>,
}

/// The reason why agents cannot be at these places.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MountError {
    /// The server has no agent.
    #[error("a server needs at least one agent")]
    Empty,
    /// The path cannot be the place of an agent.
    #[error(
        "`{0}` cannot be the path of an agent: a path begins with a slash, and each segment has letters, digits, `-`, `_`, \
         `.` or `~` and is not the name of a route of the protocol"
    )]
    Path(Box<str>),
    /// The tenant cannot be the name of an agent.
    #[error(transparent)]
    Tenant(#[from] InvalidTenant),
    /// The host cannot be the host of an agent.
    #[error(transparent)]
    Host(#[from] AllowedHostError),
    /// A proxy passes the path of the public URL on or removes it, so the path of an agent cannot begin with it.
    #[error("the path {0} of an agent begins with the path of the public URL")]
    Prefix(Box<str>),
    /// Two agents have the same path or the same tenant, on the same host.
    #[error("two agents are at {0}")]
    Twice(Box<str>),
}

nuncio_model::debug_is_text!(MountError);

impl Place {
    /// Checks the place of a row.
    pub(crate) fn of(mount: &Mount) -> Result<Self, MountError> {
        let path = mount.path.trim_end_matches('/');
        let is_path = path.is_empty() || path.strip_prefix('/').is_some_and(|path| path.split('/').all(is_segment));
        if !is_path {
            return Err(MountError::Path(mount.path.clone()));
        }
        if let Some(tenant) = &mount.tenant {
            Tenants::check_name(tenant.as_str())?;
        }
        if let Some(host) = &mount.host {
            host.parse::<AllowedHost>()?;
        }
        let host = mount.host.as_ref().map(|host| match host.parse::<Ipv6Addr>() {
            Ok(address) => format!("[{address}]").into(),
            Err(_) => host.trim_end_matches('.').to_ascii_lowercase().into(),
        });
        Ok(Self { path: path.into(), host, tenant: mount.tenant.clone() })
    }

    /// Refuses two agents at one place.
    pub(crate) fn check_all(places: &[Self]) -> Result<(), MountError> {
        if places.is_empty() {
            return Err(MountError::Empty);
        }
        for (index, place) in places.iter().enumerate() {
            let same_host = places[..index].iter().filter(|other| other.host == place.host);
            for other in same_host {
                if other.path == place.path {
                    let path = if place.path.is_empty() { "/" } else { &place.path };
                    return Err(MountError::Twice(format!("the path {path}").into()));
                }
                if place.tenant.is_some() && other.tenant == place.tenant {
                    let tenant = place.tenant.as_ref().map_or("", Tenant::as_str);
                    return Err(MountError::Twice(format!("the tenant {tenant}").into()));
                }
            }
        }
        Ok(())
    }

    /// The part of a path below this place: `/x` of `/one/x` for an agent at `/one`, and `/` of `/one`.
    pub(crate) fn below<'p>(&self, path: &'p str) -> Option<&'p str> {
        match path.strip_prefix(&*self.path)? {
            "" => Some("/"),
            rest if rest.starts_with('/') => Some(rest),
            _ => None,
        }
    }

    /// Whether the path is this path, or begins with it.
    pub(crate) fn is_at_or_below(&self, path: &str) -> bool {
        self.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    pub(crate) fn is_root(&self) -> bool {
        self.path.is_empty()
    }

    /// Whether requests for this host are for the agent.
    pub(crate) fn has_host(&self, host: Option<&Authority>) -> bool {
        match (&self.host, host) {
            (None, _) => true,
            (Some(own), Some(host)) => own.eq_ignore_ascii_case(host.host().trim_end_matches('.')),
            (Some(_), None) => false,
        }
    }

    /// Refuses tenants of an agent that are the place of another agent. A request would reach one agent by the path, and
    /// the other by the tenant.
    pub(crate) fn check_tenants(places: &[Self], index: usize, tenants: &Tenants) -> Result<(), MountError> {
        let place = &places[index];
        let others = places.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, other)| other);
        for other in others.filter(|other| other.host.is_none() || place.host.is_none() || other.host == place.host) {
            let is_taken = |tenant: &&Tenant| {
                *other.path == format!("{}/{tenant}", place.path)
                    || place.is_root() && other.tenant.as_ref() == Some(*tenant)
            };
            if let Some(tenant) = tenants.names().find(is_taken) {
                let path = &place.path;
                return Err(MountError::Twice(
                    format!("{path}/{tenant}: one as a tenant of the agent at {path}/").into(),
                ));
            }
        }
        Ok(())
    }
}

fn is_segment(segment: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    segment.bytes().all(is_plain) && Tenants::check_name(segment).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &str) -> Place {
        Place { path: path.into(), host: None, tenant: None }
    }

    #[test]
    fn a_path_below_a_place_begins_with_a_slash() {
        let one = place("/one");
        for (path, below) in
            [("/one", Some("/")), ("/one/", Some("/")), ("/one/x/y", Some("/x/y")), ("/ones", None), ("/", None)]
        {
            assert_eq!(one.below(path), below, "{path}");
        }
        assert_eq!((place("").below("/x"), place("").below("/")), (Some("/x"), Some("/")));
    }

    #[test]
    fn a_host_is_compared_without_case_and_final_dot() {
        let one = Place { host: Some("one.example".into()), ..place("") };
        for (host, is_its) in
            [(Some("one.example"), true), (Some("ONE.example."), true), (Some("two.example"), false), (None, false)]
        {
            let host = host.map(|host| host.parse().unwrap());
            assert_eq!(one.has_host(host.as_ref()), is_its, "{host:?}");
        }
        assert!(place("").has_host(None) && place("").has_host(Some(&"any".parse().unwrap())));
    }
}
