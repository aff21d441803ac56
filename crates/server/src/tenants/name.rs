//! The names that a tenant can have: a tenant is the first segment of a path over HTTP+JSON (section 11.3).

use std::fmt;

/// The first segments of paths that have a meaning without a tenant, in all versions.
const RESERVED: [&str; 12] = [
    "message:send",
    "message:stream",
    "messages",
    "messages:stream",
    "tasks",
    "tenants",
    "extendedAgentCard",
    "v1",
    "agent",
    ".well-known",
    "healthz",
    "readyz",
];

/// Characters that end or escape a segment of a URL.
const SEPARATORS: [char; 5] = ['/', '\\', '?', '#', '%'];

/// The name cannot be the name of a tenant.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` cannot be the name of a tenant: {reason}")]
pub struct InvalidTenant {
    /// The name.
    pub name: Box<str>,
    reason: Reason,
}

nuncio_model::debug_is_text!(InvalidTenant);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    Empty,
    Space,
    Control,
    Separator(char),
    Dots,
    Reserved,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it is empty"),
            Self::Space => f.write_str("it begins or ends with a space"),
            Self::Control => f.write_str("it has a control character"),
            Self::Separator(it) => write!(f, "`{it}` cannot be in a segment of a path"),
            Self::Dots => f.write_str("a path with this segment means another path"),
            Self::Reserved => f.write_str("the paths of the server begin with it"),
        }
    }
}

impl super::Tenants {
    /// Checks the name of a tenant: a segment of a path that does not collide with the paths of the server.
    ///
    /// [`Builder::bind`](crate::Builder::bind) checks the names of [`Tenants::named`](Self::named), too.
    ///
    /// # Errors
    ///
    /// If the name is empty, cannot be a segment of a path, or is the first segment of a path such as `tasks`.
    pub fn check_name(name: &str) -> Result<(), InvalidTenant> {
        let refused = |reason| Err(InvalidTenant { name: name.into(), reason });
        if name.is_empty() {
            refused(Reason::Empty)
        } else if name.contains(char::is_control) {
            refused(Reason::Control)
        } else if name.trim() != name {
            refused(Reason::Space)
        } else if let Some(separator) = name.chars().find(|letter| SEPARATORS.contains(letter)) {
            refused(Reason::Separator(separator))
        } else if matches!(name, "." | "..") {
            refused(Reason::Dots)
        } else if RESERVED.contains(&name) {
            refused(Reason::Reserved)
        } else {
            Ok(())
        }
    }

    /// Checks the names from the configuration, but not the names from a card: a client can send the latter as a member
    /// in any case.
    pub(crate) fn check_names(&self) -> Result<(), InvalidTenant> {
        match &self.0 {
            super::Known::Any => Ok(()),
            super::Known::Named(names) => names.iter().try_for_each(|name| Self::check_name(name.as_str())),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Tenants;

    #[test]
    fn a_tenant_is_an_unreserved_segment() {
        for name in ["acme", "acme inc", "Łódź", "a.b", "org:acme", "v2", "Tasks", "any"] {
            assert!(Tenants::check_name(name).is_ok(), "{name}");
        }
        for (name, reason) in [
            ("", "it is empty"),
            (" a", "begins or ends with a space"),
            ("a\nb", "control character"),
            ("a/b", "`/` cannot be in a segment"),
            ("a%2fb", "`%` cannot be in a segment"),
            ("..", "means another path"),
            ("tasks", "the paths of the server begin with it"),
            ("v1", "the paths of the server begin with it"),
            ("message:send", "the paths of the server begin with it"),
            (".well-known", "the paths of the server begin with it"),
            ("extendedAgentCard", "the paths of the server begin with it"),
        ] {
            let error = Tenants::check_name(name).unwrap_err().to_string();
            assert!(error.contains(reason), "{name}: {error}");
            assert!(Tenants::named([name]).check_names().is_err());
        }
    }
}
