//! The tenants of an agent (section 4.4.6; the specification leaves their meaning to the server).

mod name;

use std::collections::BTreeSet;

use nuncio_model::{AgentCard, Error, Tenant};

pub use name::InvalidTenant;

/// The tenants that a server answers for. A tenant cannot see the tasks of another tenant. A request without a tenant
/// is always answered; its tasks have a scope of their own.
///
/// Over HTTP+JSON the tenant may be the first segment of the path. If every tenant is allowed, a mistyped URL works and
/// starts tasks in a scope that no later request names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenants(Known);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Known {
    Any,
    Named(BTreeSet<Tenant>),
}

impl Default for Tenants {
    fn default() -> Self {
        Self::named::<Tenant>([])
    }
}

impl Tenants {
    /// Every tenant that a request names.
    pub const fn any() -> Self {
        Self(Known::Any)
    }

    /// These tenants and no others. [`Builder::bind`](crate::Builder::bind) refuses names that [`Self::check_name`]
    /// refuses.
    pub fn named<T: Into<Tenant>>(tenants: impl IntoIterator<Item = T>) -> Self {
        Self(Known::Named(tenants.into_iter().map(Into::into).collect()))
    }

    /// Adds the tenants that the interfaces of a card name, because clients send these.
    pub(crate) fn with_card(mut self, card: &AgentCard) -> Self {
        if let Known::Named(tenants) = &mut self.0 {
            tenants.extend(card.supported_interfaces.iter().filter_map(|it| it.tenant.clone()));
        }
        self
    }

    /// The tenants, if they are known.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Tenant> {
        let named = if let Known::Named(tenants) = &self.0 { Some(tenants) } else { None };
        named.into_iter().flatten()
    }

    /// Whether the server answers requests of this tenant.
    pub(crate) fn contains(&self, tenant: &Tenant) -> bool {
        match &self.0 {
            Known::Any => true,
            Known::Named(tenants) => tenant.is_empty() || tenants.contains(tenant),
        }
    }

    /// Refuses a call of an unknown tenant.
    ///
    /// # Errors
    ///
    /// `InvalidParams` with the name of the field.
    pub(crate) fn check(&self, tenant: Option<&Tenant>) -> Result<(), Error> {
        match tenant {
            Some(tenant) if !self.contains(tenant) => Err(Error::invalid_params("tenant", UNKNOWN)),
            _ => Ok(()),
        }
    }
}

/// The error text for an unknown tenant.
pub(crate) const UNKNOWN: &str = "is not a tenant of this agent; `nuncio serve --tenants` names its tenants";
