//! Finds the version of a request (section 3.6 "Versioning").
//!
//! A request of 1.0 declares its version. A request of an older version is recognized by its method, path or gRPC
//! service, and can declare its version. A declaration must match the method, path or service.
//!
//! Minor versions must match exactly (section 3.6.2 "Server Responsibilities"). Service parameters are headers
//! (sections 9.2 and 11.2), but the version is also accepted as a query parameter (section 3.6.1 "Client
//! Responsibilities").

use std::borrow::Cow;

use nuncio_model::{Error, ErrorKind, Method};
use serde_json::value::RawValue;

use crate::{
    dialect::{Dialect, FileBytes, GrpcDialect, JsonRpcDialect, RestDialect, Version, dialect, dialect_with},
    rest::{self, RouteError, Routed},
    v1_0,
};

/// The header of the version. A query parameter of the same name can replace the header.
pub const VERSION_HEADER: &str = "A2A-Version";

/// The version of a request that declares none (section 3.6.2 "Server Responsibilities").
const UNDECLARED: &str = "0.3";

/// The versions that a server speaks, and the treatment of requests that declare no version.
#[derive(Debug, Clone)]
pub struct Versions {
    spoken: Vec<Version>,
    lenient: bool,
    /// `None` if the `User-Agent` of the client decides.
    files: Option<FileBytes>,
}

/// The result of the search for a JSON-RPC method.
#[derive(Debug, Clone, Copy)]
pub struct Meant {
    /// The dialect that decodes the call.
    pub dialect: &'static dyn JsonRpcDialect,
    /// An older dialect that also has the method. This dialect wins if it [claims](Dialect::claims) the call.
    pub older: Option<&'static dyn JsonRpcDialect>,
}

impl Meant {
    /// The dialect of the error if no dialect can read the params: the dialect in which the name of the method is the
    /// primary name.
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
    /// Speaks only these versions.
    pub fn only(versions: impl IntoIterator<Item = Version>) -> Self {
        let mut spoken: Vec<_> = versions.into_iter().collect();
        spoken.sort_unstable();
        spoken.dedup();
        Self { spoken, lenient: false, files: None }
    }

    /// By default, a request of 1.0 must declare its version. A request without a version counts as a request of an
    /// older version (section 3.6.2 "Server Responsibilities") or is refused. A lenient server also accepts requests of
    /// 1.0 without a version, by their method or path.
    pub fn with_lenient(mut self, lenient: bool) -> Self {
        self.lenient = lenient;
        self
    }

    /// Sets the encoding of files for all clients, in versions in which peers disagree about the encoding. By default
    /// each client gets the encoding that its SDK reads: [`FileBytes::of_client`].
    pub fn with_file_bytes(mut self, files: FileBytes) -> Self {
        self.files = Some(files);
        self
    }

    /// The same dialect with the encoding of files for this client. `user_agent` returns the `User-Agent` of the
    /// client. The function is called only if the encoding depends on the client.
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

    /// Like [`rest_for_client`](Self::rest_for_client), for gRPC.
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

    /// The dialect of a version with the settings of this server.
    pub fn dialect(&self, version: Version) -> &'static dyn Dialect {
        dialect_with(version, self.files.unwrap_or_default())
    }

    /// The spoken versions, oldest first.
    pub fn spoken(&self) -> &[Version] {
        &self.spoken
    }

    /// The newest spoken version. A server uses this version to answer a request whose version is unknown.
    pub fn newest(&self) -> &'static dyn Dialect {
        self.dialect(self.spoken.last().copied().unwrap_or(Version::LATEST))
    }

    /// The dialect of a JSON-RPC call. `declared` is the result of [`declared`].
    ///
    /// Fails with `VersionNotSupported` if the version is not spoken here, or if the version lacks a method that
    /// another version has. Fails with `MethodNotFound` if no version has the method.
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
            // Method names with a slash belong to older versions. The version can be absent from this build.
            None if method.contains('/') && !self.speaks_older() => Err(self.missing()),
            None => Err(unknown()),
        }
    }

    /// The dialect and the operation of an HTTP+JSON request.
    ///
    /// An unknown path or verb is reported before an unsupported version. Without a declaration, a path that an older
    /// version has belongs to the older version, even if the server is lenient: in 1.0, `/v1/tasks` is a path of the
    /// tenant `v1`.
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
                // The error of a version that is not spoken would not help the caller.
                Err(other) if self.spoken.contains(&version) => refusal = refusal.or(other),
                Err(_) => {}
            }
        }
        Err(refusal)
    }

    /// The dialect and the operation of a gRPC call, by its path. An unknown path is reported before an unsupported
    /// version.
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

    /// The dialect for the error of a JSON-RPC request that does not become a call. The first of these versions:
    ///
    /// - the declared version;
    /// - the newest version that has the method, if the method is known;
    /// - 0.3 for a request without a declaration (section 3.6.2 "Server Responsibilities"), unless the server is
    ///   lenient;
    /// - the newest version.
    pub fn refusing_method(&self, declared: Option<&str>, method: Option<&str>) -> &'static dyn JsonRpcDialect {
        let has = |version: &Version| method.is_some_and(|it| dialect(*version).jsonrpc().method(it).is_some());
        let named = declared.and_then(|declared| self.resolve(declared).ok());
        let meant = || self.resolve(UNDECLARED).ok().filter(|_| declared.is_none() && !self.lenient);
        let version = named.or_else(|| self.newest_first().find(has)).or_else(meant);
        version.map_or_else(|| self.newest(), |version| self.dialect(version)).jsonrpc()
    }

    /// The dialect for the error of an HTTP+JSON request whose call is not known yet. The first of these versions: the
    /// declared version, the version that owns the path, the newest version that is spoken over this binding. `None` if
    /// no version is spoken over this binding.
    pub fn refusing_path(&self, declared: Option<&str>, path: &str) -> Option<&'static dyn RestDialect> {
        let declared = declared.and_then(|declared| self.dialect(self.resolve(declared).ok()?).rest());
        let spoken = || self.newest_first().filter_map(|version| self.dialect(version).rest());
        declared.or_else(|| spoken().find(|dialect| dialect.owns(path))).or_else(|| spoken().next())
    }

    /// Whether a gRPC service belongs to a spoken version.
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

    /// The error for a request if the declared version does not match the method, path or service.
    fn contradiction(&self, what: &str, is: Version, declared: Version) -> Error {
        self.refuse(format!("{what} belongs to version {is}, but the request declares version {declared}"))
    }

    /// The error for a request of this version without a declaration. Either the version is not spoken, or its requests
    /// must declare the version.
    fn undeclared(&self, version: Version) -> Error {
        if !self.spoken.contains(&version) {
            self.unsupported(version.as_str())
        } else if self.speaks_older() {
            self.refuse(format!("a request of version {version} must have the header {VERSION_HEADER}: {version}"))
        } else {
            self.missing()
        }
    }

    fn missing(&self) -> Error {
        let newest = self.newest().version();
        self.refuse(format!(
            "a request without {VERSION_HEADER} means version {UNDECLARED}, which is not supported here; \
             a request of version {newest} must have the header {VERSION_HEADER}: {newest}"
        ))
    }

    /// The message lists the spoken versions, because most clients show only the message.
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

/// The version that a request declares: the header, else the query parameter `A2A-Version` (section 3.6.1 "Client
/// Responsibilities"). The header wins. An empty value counts as absent.
pub fn declared<'a>(header: Option<&'a str>, query: Option<&'a str>) -> Option<Cow<'a, str>> {
    let header = header.map(str::trim).filter(|value| !value.is_empty());
    header.map(Cow::Borrowed).or_else(|| {
        rest::query_pairs(query?)
            .filter_map(Result::ok)
            .find(|(name, value)| name.eq_ignore_ascii_case(VERSION_HEADER) && !value.is_empty())
            .map(|(_, value)| value)
    })
}

/// The maximum number of extensions that a request can declare. Further extensions are ignored.
pub const MAX_EXTENSIONS: usize = 64;

/// Service parameters inside the params of a call.
#[derive(Debug, Default)]
pub struct Parameters {
    /// The version, used if neither the header nor the query declares a version.
    pub version: Option<Cow<'static, str>>,
    /// The extensions, in addition to those of the header. At most [`MAX_EXTENSIONS`].
    pub extensions: Vec<Box<str>>,
    /// The params to decode instead of the original params, if the dialect cannot read the original form.
    pub params: Option<Box<RawValue>>,
}

/// The service parameters inside the params of a JSON-RPC call, if the dialect of the method allows them there. Params
/// of other methods are not parsed.
pub fn parameters(method: &str, params: Option<&RawValue>) -> Parameters {
    v1_0::aliases::parameters(method, params)
}
