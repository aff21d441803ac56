//! Which version a request speaks (section 3.6; contradictions C-26 to C-28).
//!
//! A request of 1.0 says so; one of an older version is known by its method, path or gRPC service, and may say which it
//! is. What it says and what it is must agree.

use std::borrow::Cow;

use nuncio_model::{Error, ErrorKind, Method};
use serde_json::value::RawValue;

use crate::{
    dialect::{Dialect, FileBytes, GrpcDialect, JsonRpcDialect, RestDialect, Version, dialect, dialect_with},
    rest::{self, RouteError, Routed},
    v1_0,
};

/// The header of the version, and the query parameter that may stand in for it.
pub const VERSION_HEADER: &str = "A2A-Version";

/// What a request without a version means (VER-6).
const UNDECLARED: &str = "0.3";

/// The versions that a server speaks, and how it takes requests that name none.
#[derive(Debug, Clone)]
pub struct Versions {
    spoken: Vec<Version>,
    lenient: bool,
    /// `None`: by the client.
    files: Option<FileBytes>,
}

/// What a JSON-RPC method means.
#[derive(Debug, Clone, Copy)]
pub struct Meant {
    /// The dialect to take it in.
    pub dialect: &'static dyn JsonRpcDialect,
    /// An older one that has the method too. It comes first where it [claims](Dialect::claims) the call.
    pub older: Option<&'static dyn JsonRpcDialect>,
}

impl Meant {
    /// The dialect in which a call of this method is refused whose params none can read: that which gave the method its
    /// name.
    pub fn refusing(&self, method: &str) -> &'static dyn JsonRpcDialect {
        let named = |dialect: &dyn JsonRpcDialect| dialect.method(method).and_then(|it| dialect.method_name(it));
        match self.older {
            Some(older) if named(older) == Some(method) && named(self.dialect) != Some(method) => older,
            _ => self.dialect,
        }
    }
}

impl Default for Versions {
    fn default() -> Self {
        Self { spoken: Version::ALL.to_vec(), lenient: false, files: None }
    }
}

impl Versions {
    /// Speaks only these.
    pub fn only(versions: impl IntoIterator<Item = Version>) -> Self {
        let mut spoken: Vec<_> = versions.into_iter().collect();
        spoken.sort_unstable();
        spoken.dedup();
        Self { spoken, lenient: false, files: None }
    }

    /// Whether a request without a version is read by the version that its method or path belongs to (VER-11) also
    /// where that is one whose requests say so. Without this it is of an older version (VER-6), or refused.
    pub fn with_lenient(mut self, lenient: bool) -> Self {
        self.lenient = lenient;
        self
    }

    /// How files are sent where versions leave that open, to all clients. By default each client gets the form that its
    /// SDK reads: [`FileBytes::of_client`].
    pub fn with_file_bytes(mut self, files: FileBytes) -> Self {
        self.files = Some(files);
        self
    }

    /// The same dialect with files in the form for this client. `user_agent` gives the client's `User-Agent`; it is asked
    /// only where the form depends on the client.
    pub fn rest_for_client<'a>(
        &self,
        dialect: &'static dyn RestDialect,
        user_agent: impl FnOnce() -> Option<&'a str>,
    ) -> &'static dyn RestDialect {
        let version = dialect.dialect().version();
        self.files_for_client(version, user_agent)
            .and_then(|files| dialect_with(version, files).rest())
            .unwrap_or(dialect)
    }

    /// As [`rest_for_client`](Self::rest_for_client), for gRPC.
    pub fn grpc_for_client<'a>(
        &self,
        dialect: &'static dyn GrpcDialect,
        user_agent: impl FnOnce() -> Option<&'a str>,
    ) -> &'static dyn GrpcDialect {
        let version = dialect.dialect().version();
        self.files_for_client(version, user_agent)
            .and_then(|files| dialect_with(version, files).grpc())
            .unwrap_or(dialect)
    }

    fn files_for_client<'a>(
        &self,
        version: Version,
        user_agent: impl FnOnce() -> Option<&'a str>,
    ) -> Option<FileBytes> {
        let depends = self.files.is_none() && FileBytes::matter_in(version);
        depends.then(|| FileBytes::of_client(user_agent().unwrap_or_default()))
    }

    /// The dialect of a version as it is spoken here.
    pub fn dialect(&self, version: Version) -> &'static dyn Dialect {
        dialect_with(version, self.files.unwrap_or_default())
    }

    /// Oldest first.
    pub fn spoken(&self) -> &[Version] {
        &self.spoken
    }

    /// The newest that is spoken: how a server answers a request whose version it cannot tell.
    pub fn newest(&self) -> &'static dyn Dialect {
        self.dialect(self.spoken.last().copied().unwrap_or(Version::LATEST))
    }

    /// The dialect of a JSON-RPC call. `declared` is what [`declared`] found.
    ///
    /// A version that is not spoken here, or that lacks a method that another has, is `VersionNotSupported`; a method
    /// that is in none is `MethodNotFound`.
    pub fn for_method(&self, declared: Option<&str>, method: &str) -> Result<Meant, Error> {
        let has = |version: &Version| dialect(*version).jsonrpc().method(method).is_some();
        let unknown = || Error::new(ErrorKind::MethodNotFound, format!("there is no method {method}"));
        if let Some(declared) = declared {
            let version = self.resolve(declared)?;
            return match Version::ALL.iter().rev().find(|version| has(version)) {
                _ if has(&version) => Ok(Meant { dialect: self.dialect(version).jsonrpc(), older: None }),
                Some(other) => Err(self.contradiction(method, *other, version)),
                None => Err(unknown()),
            };
        }
        let mut meant = self.newest_first().filter(|version| self.takes_undeclared(*version) && has(version));
        if let Some(version) = meant.next() {
            let older =
                meant.map(|version| self.dialect(version)).find(|older| older.claims_any()).map(Dialect::jsonrpc);
            return Ok(Meant { dialect: self.dialect(version).jsonrpc(), older });
        }
        match Version::ALL.iter().rev().find(|version| has(version)) {
            Some(version) => Err(self.undeclared(*version)),
            // Names with a slash are those of older versions, also of one that is not built in.
            None if method.contains('/') && !self.speaks_older() => Err(self.missing()),
            None => Err(unknown()),
        }
    }

    /// The dialect and the operation of an HTTP+JSON request.
    ///
    /// An unknown path or verb is found before a version that is not spoken. Without a declaration, a path that an
    /// older version has is of that one, also where one is lenient: in 1.0, `/v1/tasks` is a path of a tenant `v1`.
    pub fn for_path(
        &self,
        declared: Option<&str>,
        http_method: &http::Method,
        path: &str,
    ) -> Result<(&'static dyn RestDialect, Routed), RouteError> {
        let wanted = declared.map(|declared| self.resolve(declared));
        let mut refusal = RouteError::NotFound;
        let newest_first = || Version::ALL.iter().rev().copied();
        let undeclared_first =
            newest_first().filter(|it| !it.is_declared()).chain(newest_first().filter(|it| it.is_declared()));
        for version in undeclared_first {
            let Some(dialect) = self.dialect(version).rest() else { continue };
            match dialect.route(http_method, path) {
                Ok(routed) => match &wanted {
                    Some(Ok(wanted)) if *wanted == version => return Ok((dialect, routed)),
                    Some(Ok(wanted)) => {
                        refusal = refusal.or(RouteError::Version(self.contradiction("this path", version, *wanted)));
                    }
                    Some(Err(error)) => refusal = refusal.or(RouteError::Version(error.clone())),
                    None if self.spoken.contains(&version) && self.takes_undeclared(version) => {
                        return Ok((dialect, routed));
                    }
                    None => refusal = refusal.or(RouteError::Version(self.undeclared(version))),
                },
                // Why a path of a version that is not spoken is wrong is of no interest.
                Err(other) if self.spoken.contains(&version) => refusal = refusal.or(other),
                Err(_) => {}
            }
        }
        Err(refusal)
    }

    /// The dialect and the operation of a gRPC call, by its path. An unknown path is found before a version that is not
    /// spoken.
    pub fn for_service(&self, declared: Option<&str>, path: &str) -> Result<(&'static dyn GrpcDialect, Method), Error> {
        let wanted = declared.map(|declared| self.resolve(declared));
        let mut refusal = None;
        for version in Version::ALL.iter().rev().copied() {
            let Some(dialect) = self.dialect(version).grpc() else { continue };
            let Some(method) = dialect.method(path) else { continue };
            let why = match &wanted {
                Some(Ok(wanted)) if *wanted == version => return Ok((dialect, method)),
                Some(Ok(wanted)) => self.contradiction(path, version, *wanted),
                Some(Err(error)) => error.clone(),
                None if self.spoken.contains(&version) && self.takes_undeclared(version) => {
                    return Ok((dialect, method));
                }
                None => self.undeclared(version),
            };
            refusal.get_or_insert(why);
        }
        Err(refusal.unwrap_or_else(|| Error::new(ErrorKind::MethodNotFound, format!("there is no method {path}"))))
    }

    /// The dialect in which a JSON-RPC request is refused that is not taken as a call: of the version that it declares,
    /// else of the newest that has its method, as far as that is known; else of 0.3, which a request that declares none
    /// means (VER-6), unless one is lenient; else of the newest.
    pub fn refusing_method(&self, declared: Option<&str>, method: Option<&str>) -> &'static dyn JsonRpcDialect {
        let has = |version: &Version| method.is_some_and(|it| dialect(*version).jsonrpc().method(it).is_some());
        let named = declared.and_then(|declared| self.resolve(declared).ok());
        let meant = || self.resolve(UNDECLARED).ok().filter(|_| declared.is_none() && !self.lenient);
        let version = named.or_else(|| self.newest_first().find(has)).or_else(meant);
        version.map_or_else(|| self.newest(), |version| self.dialect(version)).jsonrpc()
    }

    /// The dialect in which an HTTP+JSON request is refused whose call is not known yet: of the version that it
    /// declares, else of that which the path is of, else the newest that is spoken over this binding. `None` where none
    /// is.
    pub fn refusing_path(&self, declared: Option<&str>, path: &str) -> Option<&'static dyn RestDialect> {
        let declared = declared.and_then(|declared| self.dialect(self.resolve(declared).ok()?).rest());
        let spoken = || self.newest_first().filter_map(|version| self.dialect(version).rest());
        declared.or_else(|| spoken().find(|dialect| dialect.owns(path))).or_else(|| spoken().next())
    }

    /// Whether a service of gRPC is that of a version that is spoken.
    pub fn have_service(&self, service: &str) -> bool {
        self.spoken.iter().any(|version| {
            let path = dialect(*version).grpc().and_then(|grpc| grpc.path(Method::SendMessage));
            path.and_then(|path| path.strip_prefix('/')?.split_once('/')).is_some_and(|(name, _)| name == service)
        })
    }

    fn newest_first(&self) -> impl Iterator<Item = Version> {
        self.spoken.iter().rev().copied()
    }

    fn takes_undeclared(&self, version: Version) -> bool {
        self.lenient || !version.is_declared()
    }

    fn speaks_older(&self) -> bool {
        self.spoken.iter().any(|version| !version.is_declared())
    }

    fn resolve(&self, declared: &str) -> Result<Version, Error> {
        let version = declared.parse().ok().filter(|version| self.spoken.contains(version));
        version.ok_or_else(|| self.unsupported(declared))
    }

    /// What says that it is of one version and is of another.
    fn contradiction(&self, what: &str, is: Version, declared: Version) -> Error {
        self.refuse(format!("{what} is of version {is}, and not of version {declared} that the request declares"))
    }

    /// What is of this version, and does not say so although it should, or is of a version that is not spoken.
    fn undeclared(&self, version: Version) -> Error {
        if !self.spoken.contains(&version) {
            self.unsupported(version.as_str())
        } else if self.speaks_older() {
            self.refuse(format!("a request of version {version} must say so: {VERSION_HEADER}: {version}"))
        } else {
            self.missing()
        }
    }

    fn missing(&self) -> Error {
        let newest = self.newest().version();
        self.refuse(format!(
            "a request without {VERSION_HEADER} means version {UNDECLARED}, which is not supported here; \
             one of version {newest} must say so: {VERSION_HEADER}: {newest}"
        ))
    }

    /// The message says what there is, too: most clients show nothing else.
    fn unsupported(&self, version: &str) -> Error {
        let only = if self.spoken.is_empty() { String::new() } else { format!(", only {}", self.list()) };
        self.refuse(format!("version {version} is not supported here{only}"))
    }

    fn refuse(&self, message: String) -> Error {
        Error::new(ErrorKind::VersionNotSupported, message).with_metadata("supportedVersions", self.list())
    }

    fn list(&self) -> String {
        self.spoken.iter().map(|version| version.as_str()).collect::<Vec<_>>().join(", ")
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

/// How many extensions a request can declare; more are not looked at.
pub const MAX_EXTENSIONS: usize = 64;

/// Service parameters that stand among the params of a call.
#[derive(Debug, Default)]
pub struct Parameters {
    /// The version, which counts where neither header nor query has one.
    pub version: Option<Cow<'static, str>>,
    /// The extensions, beside those of the header; at most [`MAX_EXTENSIONS`].
    pub extensions: Vec<Box<str>>,
    /// The params to be decoded in the place of those that came, where a dialect does not read them as they are.
    pub params: Option<Box<RawValue>>,
}

/// The service parameters among the params of a JSON-RPC call, where the method is of a dialect that has them there.
/// Other params are not looked at.
pub fn parameters(method: &str, params: Option<&RawValue>) -> Parameters {
    v1_0::aliases::parameters(method, params)
}
