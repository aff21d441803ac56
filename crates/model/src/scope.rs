//! Callers and the tasks that they can see (section 13.1, "Data Access and Authorization Scoping").

use std::{fmt, sync::Arc};

use crate::id::Tenant;

/// A caller, as identified by an authenticator.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Principal {
    /// The agent requires no authentication: all callers share one scope.
    Open,
    /// A caller without credentials, on a server that also accepts callers with credentials.
    Anonymous,
    /// An authenticated caller.
    Named(Arc<str>),
}

impl Principal {
    /// An authenticated caller of this name.
    pub fn named(name: impl Into<Arc<str>>) -> Self {
        Self::Named(name.into())
    }

    /// The name of an authenticated caller.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Named(name) => Some(name),
            _ => None,
        }
    }

    /// Whether the credentials of the caller were accepted.
    pub const fn is_authenticated(&self) -> bool {
        matches!(self, Self::Named(_))
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open => f.write_str("open"),
            Self::Anonymous => f.write_str("anonymous"),
            Self::Named(name) => f.write_str(name),
        }
    }
}

/// The tasks that a call can see: those of one caller under one tenant. Every call of an engine or a store takes a
/// scope, so a foreign id and a missing id have the same result.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scope {
    /// The tenant; empty if the interface has no tenant.
    pub tenant: Tenant,
    /// The caller.
    pub principal: Principal,
}

impl Scope {
    /// The scope of this caller under this tenant.
    pub fn new(tenant: Tenant, principal: Principal) -> Self {
        Self { tenant, principal }
    }

    /// The scope of an open agent without tenants.
    pub fn open() -> Self {
        Self::new(Tenant::default(), Principal::Open)
    }

    /// The scope as a text, unique for each scope. Stores use the text as a key.
    pub fn key(&self) -> Arc<str> {
        let caller = match &self.principal {
            Principal::Open if self.tenant.is_empty() => return Arc::default(),
            Principal::Open => "",
            Principal::Anonymous => "?",
            Principal::Named(name) => &format!("={name}"),
        };
        format!("{}:{caller}{}", caller.len(), self.tenant).into()
    }

    /// The scope with this [`key`](Self::key); `None` if the text is not a key.
    pub fn from_key(key: &str) -> Option<Self> {
        if key.is_empty() {
            return Some(Self::open());
        }
        let (length, rest) = key.split_once(':')?;
        let (caller, tenant) = rest.split_at_checked(length.parse().ok()?)?;
        let principal = match (caller, caller.strip_prefix('=')) {
            ("", _) => Principal::Open,
            ("?", _) => Principal::Anonymous,
            (_, Some(name)) => Principal::named(name),
            _ => return None,
        };
        // `key` writes each scope in one form only, so any other form is not a key.
        Some(Self::new(Tenant::from(tenant), principal)).filter(|scope| *scope.key() == *key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scope_has_its_own_key_and_is_restored_from_it() {
        let principals = ["", "?", "=", "a", "1:?", "ü"].map(Principal::named);
        let principals = [Principal::Open, Principal::Anonymous].into_iter().chain(principals);
        let scopes: Vec<_> = principals
            .flat_map(|principal| {
                ["", "a", "?", "=a", "1:", "ü"].map(|tenant| Scope::new(tenant.into(), principal.clone()))
            })
            .collect();
        for scope in &scopes {
            assert_eq!(Scope::from_key(&scope.key()).as_ref(), Some(scope), "{}", scope.key());
            assert_eq!(scopes.iter().filter(|other| other.key() == scope.key()).count(), 1);
        }
    }

    #[test]
    fn invalid_keys_have_no_scope() {
        for key in ["x", ":", "1:", "2:=", "1:aa", "0:", "00:a", "+1:?t", "-1:", "2:=\u{fc}", "99999999999999999999:"] {
            assert_eq!(Scope::from_key(key), None, "{key}");
        }
    }
}
