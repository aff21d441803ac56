//! `GetExtendedAgentCard` (section 3.1.11).

use std::sync::Arc;

use nuncio_model::{Error, ErrorKind, Reply, Scope};

use crate::shared::Shared;

pub(super) fn call(shared: &Arc<Shared>, scope: &Scope) -> Result<Reply, Error> {
    if !scope.principal.is_authenticated() {
        return Err(Error::new(ErrorKind::Unauthenticated, "the extended card is for authenticated callers"));
    }
    match &shared.extended_card {
        Some(card) => Ok(Reply::Card(Arc::clone(card))),
        None => Err(Error::new(
            ErrorKind::ExtendedAgentCardNotConfigured,
            "an extended card is declared, and none is configured",
        )),
    }
}
