//! Which version a request speaks (section 3.6; contradictions C-26 to C-28).

use std::borrow::Cow;

use nuncio_model::{Error, ErrorKind};

use crate::{
    dialect::{Dialect, RestDialect, Version, dialect, rest_dialect},
    rest::{self, RouteError, Routed},
};

/// The header of the version, and the query parameter that may stand in for it.
pub const VERSION_HEADER: &str = "A2A-Version";

/// The versions that a server speaks, and how it takes requests that name none.
#[derive(Debug, Clone)]
pub struct Versions {
    spoken: Vec<Version>,
    lenient: bool,
}

impl Default for Versions {
    fn default() -> Self {
        Self { spoken: Version::ALL.to_vec(), lenient: false }
    }
}

impl Versions {
    /// Speaks only these.
    pub fn only(versions: impl IntoIterator<Item = Version>) -> Self {
        let mut spoken: Vec<_> = versions.into_iter().collect();
        spoken.sort_unstable();
        spoken.dedup();
        Self { spoken, lenient: false }
    }

    /// Whether a request without a version is read by the version that its method or path belongs to (VER-11). Without
    /// this it means 0.3 (VER-6), which must then be spoken here.
    pub fn with_lenient(mut self, lenient: bool) -> Self {
        self.lenient = lenient;
        self
    }

    /// Oldest first.
    pub fn spoken(&self) -> &[Version] {
        &self.spoken
    }

    /// The dialect of a JSON-RPC call. `declared` is what [`declared`] found.
    ///
    /// A version that is not spoken here is `VersionNotSupported`; a method that is in none is `MethodNotFound`, but
    /// that is for the caller to find by [`Dialect::method`] where the version is known.
    pub fn for_method(&self, declared: Option<&str>, method: &str) -> Result<&'static dyn Dialect, Error> {
        let by_name =
            || self.spoken.iter().rev().map(|version| dialect(*version)).find(|it| it.method(method).is_some());
        match (declared, by_name()) {
            (Some(declared), _) => self.resolve(declared).map(dialect),
            (None, Some(dialect)) if self.lenient => Ok(dialect),
            (None, Some(_)) => Err(self.missing()),
            (None, None) if method.contains('/') => Err(self.missing()),
            (None, None) => Err(Error::new(ErrorKind::MethodNotFound, format!("there is no method {method}"))),
        }
    }

    /// The dialect and the operation of an HTTP+JSON request.
    ///
    /// An unknown path or verb is found before a version that is not spoken.
    pub fn for_path(
        &self,
        declared: Option<&str>,
        http_method: &http::Method,
        path: &str,
    ) -> Result<(&'static dyn RestDialect, Routed), RouteError> {
        let wanted = declared.map(|declared| self.resolve(declared));
        let mut refusal = RouteError::NotFound;
        for version in self.spoken.iter().rev() {
            let Some(dialect) = rest_dialect(*version) else { continue };
            match dialect.route(http_method, path) {
                Ok(routed) => match &wanted {
                    Some(Ok(wanted)) if wanted == version => return Ok((dialect, routed)),
                    Some(Ok(_)) => {}
                    Some(Err(error)) => refusal = RouteError::Version(error.clone()),
                    None if self.lenient => return Ok((dialect, routed)),
                    None => refusal = RouteError::Version(self.missing()),
                },
                Err(other) => refusal = refusal.or(other),
            }
        }
        Err(refusal)
    }

    /// The version of a call over a binding whose address already says which it is, gRPC for example: refuses one that
    /// declares another, and one that declares none unless lenient.
    pub fn expect(&self, declared: Option<&str>, expected: Version) -> Result<(), Error> {
        match declared.map(|declared| self.resolve(declared).map(|version| (declared, version))) {
            Some(Ok((_, version))) if version == expected => Ok(()),
            Some(Ok((declared, _))) => Err(self.unsupported(declared)),
            Some(Err(error)) => Err(error),
            None if self.lenient => Ok(()),
            None => Err(self.missing()),
        }
    }

    fn resolve(&self, declared: &str) -> Result<Version, Error> {
        declared.parse().ok().filter(|version| self.spoken.contains(version)).ok_or_else(|| self.unsupported(declared))
    }

    fn missing(&self) -> Error {
        self.refuse(format!("a request without {VERSION_HEADER} means version 0.3, which is not supported here"))
    }

    fn unsupported(&self, declared: &str) -> Error {
        self.refuse(format!("version {declared} is not supported here"))
    }

    fn refuse(&self, message: String) -> Error {
        let spoken: Vec<_> = self.spoken.iter().map(|version| version.as_str()).collect();
        Error::new(ErrorKind::VersionNotSupported, message).with_metadata("supportedVersions", spoken.join(", "))
    }
}

/// The version that a request declares: the header, else the query parameter `A2A-Version` (VER-3, C-28). An empty one
/// is none.
pub fn declared<'a>(header: Option<&'a str>, query: Option<&'a str>) -> Option<Cow<'a, str>> {
    let header = header.map(str::trim).filter(|value| !value.is_empty());
    header.map(Cow::Borrowed).or_else(|| {
        rest::query_pairs(query?)
            .filter_map(Result::ok)
            .find(|(name, value)| name.eq_ignore_ascii_case(VERSION_HEADER) && !value.is_empty())
            .map(|(_, value)| value)
    })
}
