//! Which tasks of a database are meant.

use clap::Args;
use nuncio_engine::{
    StoreError, TaskStore,
    store::{ScanPage, Scanned},
};
use nuncio_model::{Principal, Scope};
use serde_json::{Value, json};

/// Tasks that are read at a time.
const PAGE: usize = 200;

/// The owner of the tasks.
#[derive(Debug, Clone, Args)]
pub(super) struct Whose {
    /// Only tasks of this tenant; '' for tasks without a tenant
    #[arg(long, value_name = "TENANT")]
    pub(super) tenant: Option<String>,
    /// Only tasks of this caller, by the name of its token
    #[arg(long, value_name = "NAME")]
    pub(super) caller: Option<String>,
    /// Only tasks of this context
    #[arg(long, value_name = "ID")]
    pub(super) context: Option<String>,
}

impl Whose {
    pub(super) fn is_of(&self, scope: &Scope) -> bool {
        self.tenant.as_ref().is_none_or(|tenant| scope.tenant.as_str() == tenant)
            && self.caller.as_ref().is_none_or(|caller| scope.principal.name() == Some(caller))
    }

    pub(super) fn is_meant(&self, scanned: &Scanned) -> bool {
        let context = scanned.stored.task.context_id.as_ref();
        self.is_of(&scanned.scope)
            && self.context.as_ref().is_none_or(|wanted| context.is_some_and(|it| it.as_str() == wanted))
    }
}

/// All tasks of a store, a page at a time.
pub(super) struct Scan<'s> {
    store: &'s dyn TaskStore,
    after: Option<Box<str>>,
    is_over: bool,
}

impl<'s> Scan<'s> {
    pub(super) fn of(store: &'s dyn TaskStore) -> Self {
        Self { store, after: None, is_over: false }
    }

    pub(super) async fn next(&mut self) -> Result<Option<ScanPage>, StoreError> {
        if self.is_over {
            return Ok(None);
        }
        let mut page = self.store.scan(self.after.as_deref(), PAGE).await?;
        self.after = page.next.take();
        self.is_over = self.after.is_none();
        Ok(Some(page))
    }
}

/// A scope for people and programs to read.
pub(super) fn scope_json(scope: &Scope) -> Value {
    match &scope.principal {
        Principal::Named(name) => json!({"tenant": scope.tenant, "caller": name}),
        Principal::Anonymous => json!({"tenant": scope.tenant, "caller": null, "anonymous": true}),
        _ => json!({"tenant": scope.tenant, "caller": null}),
    }
}
