//! The paths of 1.0 (section 11.3), each also with a tenant in front.

use http::Method as Verb;
use nuncio_model::{Method, Tenant};

use super::aliases;
use crate::rest::{
    RouteError, Routed,
    path::{Segment, segments},
    resource,
};

/// What a path means. Where it has a meaning without a tenant, its first segment is none; where it has none at all in
/// 1.0, it may have one as an alias.
pub(super) fn find(verb: &Verb, path: &str) -> Result<Routed, RouteError> {
    let segments = segments(path).ok_or(RouteError::NotFound)?;
    let routed = match (resolve(verb, &segments), &*segments) {
        (Err(refusal), [tenant, rest @ ..]) => resolve(verb, rest)
            .map(|routed| Routed { tenant: Some(Tenant::from(tenant.text())), ..routed })
            .map_err(|other| refusal.or(other)),
        (result, _) => result,
    };
    match routed {
        Err(RouteError::NotFound) => aliases::find_path(verb, &segments),
        routed => routed,
    }
}

/// The table of paths, without the tenant.
pub(super) fn resolve(verb: &Verb, path: &[Segment<'_>]) -> Result<Routed, RouteError> {
    match path {
        [card] if card.text() == "extendedAgentCard" => resource::only_get(verb, Method::GetExtendedAgentCard),
        path => resource::find(verb, path),
    }
}
