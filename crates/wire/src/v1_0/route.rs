//! The paths of 1.0 (section 11.3), each also with a tenant in front.

use http::Method as Verb;
use nuncio_model::{Method, Tenant};

use crate::rest::{
    RouteError, Routed,
    path::{Segment, segments},
    resource,
};

/// What a path means. Where it has a meaning without a tenant, its first segment is none.
pub(super) fn find(verb: &Verb, path: &str) -> Result<Routed, RouteError> {
    let segments = segments(path).ok_or(RouteError::NotFound)?;
    match (resolve(verb, &segments), &*segments) {
        (Err(refusal), [tenant, rest @ ..]) => {
            let routed = resolve(verb, rest).map_err(|other| refusal.or(other))?;
            Ok(Routed { tenant: Some(Tenant::from(tenant.text())), ..routed })
        }
        (result, _) => result,
    }
}

/// The table of paths, without the tenant.
fn resolve(verb: &Verb, path: &[Segment<'_>]) -> Result<Routed, RouteError> {
    match path {
        [card] if card.text() == "extendedAgentCard" => resource::only_get(verb, Method::GetExtendedAgentCard),
        path => resource::find(verb, path),
    }
}
