//! The paths of 1.0 (section 11.3 "URL Patterns and HTTP Methods"), with or without a tenant in front.

use http::Method as Verb;
use nuncio_model::{Method, Tenant};

use super::aliases;
use crate::rest::{
    RouteError, Routed,
    path::{Segment, segments},
    resource,
};

/// The operation of a path. A path that is valid without a tenant has no tenant. A path that 1.0 does not have can be
/// an alias.
pub(super) fn find(verb: &Verb, path: &str) -> Result<Routed, RouteError> {
    let segments = segments(path).ok_or(RouteError::NotFound)?;
    let routed = match (resolve(verb, &segments), &*segments) {
        (Err(refusal), [tenant, rest @ ..]) => resolve(verb, rest)
            .map(|routed| Routed { tenant: Some(Tenant::from(tenant.text())), ..routed })
            .map_err(|other| refusal.or(other.of_tenant(tenant.text()))),
        (result, _) => result,
    };
    match routed {
        Err(RouteError::NotFound) => aliases::find_path(verb, &segments),
        routed => routed,
    }
}

/// The operation of a path without a tenant.
pub(super) fn resolve(verb: &Verb, path: &[Segment<'_>]) -> Result<Routed, RouteError> {
    match path {
        [card] if card.text() == "extendedAgentCard" => resource::only_get(verb, Method::GetExtendedAgentCard),
        path => resource::find(verb, path),
    }
}
