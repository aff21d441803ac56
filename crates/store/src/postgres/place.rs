//! Parses the URL of a database.

use std::{borrow::Cow, fmt, time::Duration};

use nuncio_model::address::{Address, Login};
use percent_encoding::percent_decode_str;
use tokio_postgres::{
    Config,
    config::{Host, SslMode, TargetSessionAttrs},
};

use super::{error::PostgresError, options::PostgresOptions, tls::Trust};

/// A database and a schema in the database. The text form contains no password.
#[derive(Clone)]
pub(super) struct DatabaseUrl {
    pub(super) config: Config,
    pub(super) trust: Trust,
    pub(super) schema: String,
}

impl DatabaseUrl {
    /// Parses a URL, `postgres://USER:PASSWORD@HOST:PORT/DATABASE`. Known parameters: `schema`, `sslmode`,
    /// `sslrootcert`, and the other parameters of PostgreSQL's own programs that `tokio-postgres` knows.
    pub(super) fn parse(url: &str, options: &PostgresOptions) -> Result<Self, PostgresError> {
        if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
            return Err(PostgresError::Url("it does not begin with postgres:// or postgresql://".to_owned()));
        }
        let address = Address::parse(url).map_err(|error| PostgresError::Url(error.to_string()))?;
        let (mut schema, mut mode, mut roots) = (None, None, None);
        // The login and the parameters that this function handles are not passed to the other parser, whatever the
        // encoding of their names.
        let mut rest = Vec::new();
        for (name, value) in address.parameters() {
            match &*decoded(name)? {
                "schema" => schema = Some(decoded(value)?),
                "sslmode" => mode = Some(decoded(value)?),
                "sslrootcert" => roots = Some(decoded(value)?),
                _ => rest.push(format!("{name}={value}")),
            }
        }
        let parsed = format!("postgres://{}?{}", address.place, rest.join("&")).parse();
        let mut config: Config = parsed.map_err(|error| PostgresError::Url(super::error::explain(&error)))?;
        if let Some(login) = address.login {
            log_in(&mut config, login)?;
        }
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            let reason = "it contains no host; for a socket on this machine, use ?host=/run/postgresql";
            return Err(PostgresError::Url(reason.to_owned()));
        }
        let (ports, servers) = (config.get_ports().len(), count(&config));
        if ports > 1 && ports != servers {
            return Err(PostgresError::Url(format!("it contains {servers} server(s) and {ports} ports")));
        }
        let schema = options.schema.as_deref().map(str::to_owned).or(schema).unwrap_or_else(|| "nuncio".to_owned());
        check_schema(&schema)?;
        let (ssl, trust) = trust(mode.as_deref(), roots.as_deref())?;
        // As in PostgreSQL's own programs, sockets in the file system never use TLS.
        let (ssl, trust) = if is_local(&config) { (SslMode::Disable, Trust::Unverified) } else { (ssl, trust) };
        config.ssl_mode(ssl);
        set_up(&mut config, &schema, options);
        Ok(Self { config, trust, schema })
    }

    /// The configuration of each server, with a name for messages.
    pub(super) fn each(&self) -> Box<[(String, Config)]> {
        (0..count(&self.config)).map(|number| (server(&self.config, number), alone(&self.config, number))).collect()
    }

    /// A hint for a connection that failed, if the cause is clear.
    pub(super) fn advice(&self, error: &tokio_postgres::Error) -> Option<&'static str> {
        super::error::advice_on_tls(error, !is_local(&self.config) && self.config.get_ssl_mode() == SslMode::Disable)
    }
}

/// The number of servers.
fn count(config: &Config) -> usize {
    config.get_hosts().len().max(config.get_hostaddrs().len())
}

/// The configuration of one of the servers.
fn alone(config: &Config, number: usize) -> Config {
    let mut alone = Config::new();
    if let Some(user) = config.get_user() {
        alone.user(user);
    }
    if let Some(password) = config.get_password() {
        alone.password(password);
    }
    if let Some(database) = config.get_dbname() {
        alone.dbname(database);
    }
    if let Some(options) = config.get_options() {
        alone.options(options);
    }
    if let Some(name) = config.get_application_name() {
        alone.application_name(name);
    }
    match config.get_hosts().get(number) {
        Some(Host::Tcp(host)) => drop(alone.host(host)),
        #[cfg(unix)]
        Some(Host::Unix(path)) => drop(alone.host_path(path)),
        None => {}
    }
    if let Some(address) = config.get_hostaddrs().get(number) {
        alone.hostaddr(*address);
    }
    if let Some(port) = config.get_ports().get(number).or(config.get_ports().first()) {
        alone.port(*port);
    }
    for (time, set) in [
        (config.get_connect_timeout(), Config::connect_timeout as fn(&mut Config, Duration) -> &mut Config),
        (config.get_tcp_user_timeout(), Config::tcp_user_timeout),
        (config.get_keepalives_interval().as_ref(), Config::keepalives_interval),
    ] {
        if let Some(time) = time {
            set(&mut alone, *time);
        }
    }
    if let Some(retries) = config.get_keepalives_retries() {
        alone.keepalives_retries(retries);
    }
    alone.keepalives(config.get_keepalives()).keepalives_idle(config.get_keepalives_idle());
    alone.ssl_mode(config.get_ssl_mode()).ssl_negotiation(config.get_ssl_negotiation());
    alone.channel_binding(config.get_channel_binding()).load_balance_hosts(config.get_load_balance_hosts());
    alone.target_session_attrs(config.get_target_session_attrs());
    alone
}

/// The host and the port of a server. The default port is omitted.
fn server(config: &Config, number: usize) -> String {
    let host = match config.get_hosts().get(number) {
        Some(Host::Tcp(host)) => host.clone(),
        #[cfg(unix)]
        Some(Host::Unix(path)) => path.display().to_string(),
        None => config.get_hostaddrs().get(number).map(ToString::to_string).unwrap_or_default(),
    };
    let port = config.get_ports().get(number).or(config.get_ports().first()).filter(|port| **port != 5432);
    port.map_or(host.clone(), |port| format!("{host}:{port}"))
}

fn decoded(text: &str) -> Result<String, PostgresError> {
    let wrong = |_| PostgresError::Url("it contains bytes that are not UTF-8 after decoding".to_owned());
    percent_decode_str(text).decode_utf8().map(Cow::into_owned).map_err(wrong)
}

/// Sets the user and the password. Values in parameters take precedence over values before the host.
fn log_in(config: &mut Config, login: Login<'_>) -> Result<(), PostgresError> {
    if login.user.contains('@') || login.password.is_some_and(|password| password.contains('@')) {
        let reason = "it contains more than one `@`; write each `@` in the user or password as %40";
        return Err(PostgresError::Url(reason.to_owned()));
    }
    if config.get_user().is_none() && !login.user.is_empty() {
        config.user(decoded(login.user)?);
    }
    if let Some(password) = login.password.filter(|_| config.get_password().is_none()) {
        config.password(percent_decode_str(password).collect::<Vec<_>>());
    }
    Ok(())
}

/// Whether all servers are sockets in the file system.
fn is_local(config: &Config) -> bool {
    #[cfg(unix)]
    let is_path = |host: &Host| matches!(host, Host::Unix(_));
    #[cfg(not(unix))]
    let is_path = |_: &Host| false;
    !config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() && config.get_hosts().iter().all(is_path)
}

/// Allows only plain names, which need no quotes in SQL.
fn check_schema(schema: &str) -> Result<(), PostgresError> {
    let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    let begins = schema.starts_with(|letter: char| letter.is_ascii_lowercase() || letter == '_');
    let reason = match () {
        () if !begins || schema.len() > 63 || !schema.chars().all(is_plain) => {
            "is not a name of at most 63 lower-case letters, digits and underscores"
        }
        () if schema.starts_with("pg_") || schema == "information_schema" => {
            "is reserved by PostgreSQL; choose another name"
        }
        () => return Ok(()),
    };
    Err(PostgresError::Url(format!("the schema `{schema}` {reason}")))
}

/// Interprets `sslmode` and `sslrootcert` like PostgreSQL's own programs, with two exceptions: if root certificates are
/// given, TLS is required; and if no mode is given, the host name is verified too.
fn trust(mode: Option<&str>, roots: Option<&str>) -> Result<(SslMode, Trust), PostgresError> {
    let wrong = |reason: String| Err(PostgresError::Url(reason));
    Ok(match (mode, roots) {
        (Some("disable"), _) => (SslMode::Disable, Trust::Unverified),
        (None | Some("prefer"), None) => (SslMode::Prefer, Trust::Unverified),
        (Some("require"), None) => (SslMode::Require, Trust::Unverified),
        (Some("verify-full"), None) | (None | Some("verify-full"), Some("system")) => (SslMode::Require, Trust::System),
        (Some("verify-ca"), None) => {
            return wrong(
                "sslmode `verify-ca` needs sslrootcert=FILE with the trusted certificates; or use sslmode=verify-full"
                    .to_owned(),
            );
        }
        (Some("prefer" | "require" | "verify-ca"), Some("system")) => {
            return wrong(
                "sslrootcert `system` trusts many issuers, so the host name must be verified; use sslmode=verify-full"
                    .to_owned(),
            );
        }
        (None | Some("verify-full"), Some(roots)) => (SslMode::Require, Trust::Roots(roots.into())),
        (Some("prefer" | "require" | "verify-ca"), Some(roots)) => {
            (SslMode::Require, Trust::RootsForAnyName(roots.into()))
        }
        (Some(mode), _) => {
            return wrong(format!(
                "sslmode `{mode}` is unknown; use disable, prefer, require, verify-ca or verify-full"
            ));
        }
    })
}

/// Sets the options of each connection, including keepalive settings for detecting a dead connection.
fn set_up(config: &mut Config, schema: &str, options: &PostgresOptions) {
    let given = config.get_options().map(|given| format!("{given} ")).unwrap_or_default();
    let milliseconds = |time: Duration| time.as_millis();
    config.options(format!(
        "{given}-c search_path={schema} -c plan_cache_mode=force_generic_plan -c jit=off -c statement_timeout={} \
         -c lock_timeout={} -c idle_in_transaction_session_timeout={} -c client_connection_check_interval=1000 \
         -c tcp_user_timeout={} -c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3",
        milliseconds(options.statement_timeout),
        milliseconds(options.lock_timeout),
        milliseconds(options.statement_timeout),
        milliseconds(options.answer_timeout),
    ));
    if config.get_application_name().is_none() {
        config.application_name("nuncio");
    }
    config.connect_timeout(options.connect_timeout);
    config.tcp_user_timeout(options.answer_timeout);
    config.keepalives(true);
    config.keepalives_idle(Duration::from_secs(5));
    config.keepalives_interval(Duration::from_secs(2));
    config.keepalives_retries(3);
    // If the URL names several servers, only a writable server is used.
    if config.get_target_session_attrs() == TargetSessionAttrs::Any && count(config) > 1 {
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    }
}

/// The text form: `user@host:port/database, schema nuncio`.
impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(user) = self.config.get_user() {
            write!(f, "{user}@")?;
        }
        for number in 0..count(&self.config) {
            let comma = if number == 0 { "" } else { "," };
            write!(f, "{comma}{}", server(&self.config, number))?;
        }
        write!(f, "/{}", self.config.get_dbname().or(self.config.get_user()).unwrap_or_default())?;
        write!(f, ", schema {}", self.schema)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<DatabaseUrl, PostgresError> {
        DatabaseUrl::parse(url, &PostgresOptions::new())
    }

    #[test]
    fn the_text_of_a_database_does_not_contain_the_password() {
        for (url, text) in [
            ("postgres://ann:secret@db.example:5433/tasks", "ann@db.example:5433/tasks, schema nuncio"),
            ("postgresql://ann:secret@db.example/tasks?schema=other", "ann@db.example/tasks, schema other"),
            ("postgres://ann:secret@a:1,b:2/tasks?connect_timeout=1", "ann@a:1,b:2/tasks, schema nuncio"),
            ("postgres://ann@/tasks?host=/run/pg&password=secret", "ann@/run/pg/tasks, schema nuncio"),
        ] {
            assert_eq!(parse(url).unwrap().to_string(), text);
        }
        let options = PostgresOptions::new().with_schema("mine");
        assert_eq!(DatabaseUrl::parse("postgres://h/d?schema=other", &options).unwrap().schema, "mine");
    }

    #[test]
    fn url_errors_do_not_contain_the_password() {
        for url in [
            "mysql://ann:secret@h/d",
            "postgres://ann:secret@h/d?schema=Robert'); DROP",
            "postgres://ann:secret@h/d?schema=pg_catalog",
            "postgres://ann:secret@h/d?sslmode=maybe",
            "postgres://ann:secret@h/d?nonsense=1",
            "postgres://ann:secret@h:port/d",
        ] {
            let error = parse(url).err().unwrap();
            assert!(matches!(error, PostgresError::Url(_)), "{error}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }

    #[test]
    fn reserved_schema_names_are_refused() {
        for (schema, reason) in [
            ("pg_catalog", "is reserved by PostgreSQL; choose another name"),
            ("information_schema", "is reserved by PostgreSQL; choose another name"),
            ("Tasks", "is not a name of at most 63 lower-case letters, digits and underscores"),
        ] {
            let error = parse(&format!("postgres://h/d?schema={schema}")).err().unwrap().to_string();
            assert!(error.contains(&format!("the schema `{schema}` {reason};")), "{error}");
        }
    }

    #[test]
    fn sslmode_and_sslrootcert_select_the_verification() {
        let mode = |query: &str| {
            let place = parse(&format!("postgres://h/d{query}")).unwrap();
            (place.config.get_ssl_mode(), place.trust)
        };
        assert_eq!(mode(""), (SslMode::Prefer, Trust::Unverified));
        assert_eq!(mode("?sslmode=disable"), (SslMode::Disable, Trust::Unverified));
        assert_eq!(mode("?sslmode=require"), (SslMode::Require, Trust::Unverified));
        // A percent-encoded name is the same parameter.
        assert_eq!(mode("?ssl%6Dode=require"), (SslMode::Require, Trust::Unverified));
        assert_eq!(mode("?sslmode=verify-full"), (SslMode::Require, Trust::System));
        assert_eq!(mode("?sslrootcert=system"), (SslMode::Require, Trust::System));
        let (any, named) = (Trust::RootsForAnyName("/a b.pem".into()), Trust::Roots("/a b.pem".into()));
        for weak in ["prefer", "require", "verify-ca"] {
            assert_eq!(mode(&format!("?sslmode={weak}&sslrootcert=/a%20b.pem")), (SslMode::Require, any.clone()));
        }
        assert_eq!(mode("?sslmode=verify-full&sslrootcert=/a%20b.pem"), (SslMode::Require, named.clone()));
        assert_eq!(mode("?sslrootcert=/a%20b.pem"), (SslMode::Require, named));
        for wrong in ["verify-ca", "allow", "", "require&sslrootcert=system", "verify-ca&sslrootcert=system"] {
            assert!(parse(&format!("postgres://h/d?sslmode={wrong}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn special_characters_in_a_password_do_not_change_the_tls_mode() {
        let place = parse("postgres://ann:p%3Fs%40s/:#&w@h/d?sslmode=require").unwrap();
        assert_eq!(place.config.get_ssl_mode(), SslMode::Require);
        assert_eq!((place.config.get_user(), place.config.get_password()), (Some("ann"), Some(&b"p?s@s/:#&w"[..])));
        assert_eq!(place.to_string(), "ann@h/d, schema nuncio");
        let other = parse("postgres://ann:a@h/d?user=bob&password=b").unwrap();
        assert_eq!((other.config.get_user(), other.config.get_password()), (Some("bob"), Some(&b"b"[..])));
        for (url, hint) in [
            ("postgres://ann:p?ss@h/d?sslmode=require", "%3F"),
            ("postgres://ann:p?ss@h/d", "%3F"),
            ("postgres://ann:p@ss@h/d", "%40"),
            ("postgres://ann@/d", "?host="),
        ] {
            let error = parse(url).err().unwrap().to_string();
            assert!(error.contains(hint) && !error.contains("ss@"), "{error}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_socket_is_connected_to_without_tls() {
        for url in ["postgres://ann@/d?host=/run/pg&sslmode=require", "postgres://%2Frun%2Fpg/d?sslrootcert=/none.pem"]
        {
            let place = parse(url).unwrap();
            assert_eq!((place.config.get_ssl_mode(), place.trust), (SslMode::Disable, Trust::Unverified));
        }
        let mixed = parse("postgres://%2Frun%2Fpg,h/d?sslmode=require").unwrap();
        assert_eq!(mixed.config.get_ssl_mode(), SslMode::Require);
    }
}
