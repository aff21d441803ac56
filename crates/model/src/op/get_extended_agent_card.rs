//! `GetExtendedAgentCard` (section 3.1.11): the card for authenticated callers.

use super::operation;
use crate::{card::AgentCard, error::FieldViolation, id::Tenant, json::json_object, validate::Validate};

json_object! {
    /// The parameters of `GetExtendedAgentCard`.
    pub struct GetExtendedAgentCardRequest {
        /// The tenant, if the interface has a tenant.
        pub tenant: Option<Tenant> => implicit "tenant",
    }
}

operation!(GetExtendedAgentCardRequest, GetExtendedAgentCard -> AgentCard);

impl Validate for GetExtendedAgentCardRequest {
    fn validate_at(&self, _path: &str, _violations: &mut Vec<FieldViolation>) {}
}
