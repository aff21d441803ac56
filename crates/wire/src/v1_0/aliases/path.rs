//! The paths of the dialect that 1.0 does not have.

use http::Method as Verb;
use nuncio_model::{Leniency, Method, Tenant};

use crate::{
    rest::{RouteError, Routed, path::Segment},
    v1_0::route::resolve,
};

/// The operation of a path outside of 1.0: `/messages`, and `/tenants/{tenant}` in front of any path.
pub(in crate::v1_0) fn find(verb: &Verb, path: &[Segment<'_>]) -> Result<Routed, RouteError> {
    let found = meant(verb, path)?;
    Leniency::DialectPath.note();
    Ok(found)
}

fn meant(verb: &Verb, path: &[Segment<'_>]) -> Result<Routed, RouteError> {
    match (own(verb, path), path) {
        (Err(RouteError::NotFound), [tenants, tenant, rest @ ..]) if tenants.text() == "tenants" => {
            let routed = resolve(verb, rest).or_else(|refusal| own(verb, rest).map_err(|other| refusal.or(other)));
            let routed = routed.map_err(|refusal| refusal.of_tenant(tenant.text()))?;
            Ok(Routed { tenant: Some(Tenant::from(tenant.text())), ..routed })
        }
        (result, _) => result,
    }
}

/// The operation of a path that only the dialect has.
fn own(verb: &Verb, path: &[Segment<'_>]) -> Result<Routed, RouteError> {
    let [name] = path else { return Err(RouteError::NotFound) };
    let (method, taken, allow) = match name.text() {
        "messages" => (Method::SendMessage, Verb::POST, "POST"),
        "messages:stream" => (Method::SendStreamingMessage, Verb::POST, "POST"),
        "agent-card" => (Method::GetExtendedAgentCard, Verb::GET, "GET"),
        _ => return Err(RouteError::NotFound),
    };
    if *verb == taken { Ok(Routed::new(method)) } else { Err(RouteError::method_not_allowed(allow)) }
}
