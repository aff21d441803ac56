//! The tenants of an agent (section 4.4.6; the specification leaves their meaning to the server).

mod name;

use std::collections::BTreeSet;

use nuncio_model::{AgentCard, Error, Tenant};

pub use name::InvalidTenant;

/// The tenants that a server answers for. Tasks of one tenant are not seen in another. A request without a tenant is
/// always answered; its tasks are in a scope of their own.
///
/// Over HTTP+JSON the tenant may be the first segment of the path. So with any tenant a mistyped URL works, and begins
/// tasks that nobody finds again.
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
    /// Whatever a request names.
    pub const fn any() -> Self {
        Self(Known::Any)
    }

    /// These and no others. [`Builder::bind`](crate::Builder::bind) refuses names that [`Self::check_name`] refuses.
    pub fn named<T: Into<Tenant>>(tenants: impl IntoIterator<Item = T>) -> Self {
        Self(Known::Named(tenants.into_iter().map(Into::into).collect()))
    }

    /// With the tenants that the interfaces of a card name: clients send these.
    pub(crate) fn with_card(mut self, card: &AgentCard) -> Self {
        if let Known::Named(tenants) = &mut self.0 {
            tenants.extend(card.supported_interfaces.iter().filter_map(|it| it.tenant.clone()));
        }
        self
    }

    /// Whether requests of this tenant are answered.
    pub(crate) fn contains(&self, tenant: &Tenant) -> bool {
        match &self.0 {
            Known::Any => true,
            Known::Named(tenants) => tenant.is_empty() || tenants.contains(tenant),
        }
    }

    /// Refuses a call of a tenant that is not known.
    ///
    /// # Errors
    ///
    /// `InvalidParams` that names the field.
    pub(crate) fn check(&self, tenant: Option<&Tenant>) -> Result<(), Error> {
        match tenant {
            Some(tenant) if !self.contains(tenant) => Err(Error::invalid_params("tenant", UNKNOWN)),
            _ => Ok(()),
        }
    }
}

/// What is said of a tenant that is not known.
pub(crate) const UNKNOWN: &str = "is not a tenant of this agent; `nuncio serve --tenants` names its tenants";
