//! Where a database is: its URL, taken apart.

use std::{borrow::Cow, fmt, time::Duration};

use nuncio_model::address::{Address, Login};
use percent_encoding::percent_decode_str;
use tokio_postgres::{
    Config,
    config::{Host, SslMode, TargetSessionAttrs},
};

use super::{error::PostgresError, options::PostgresOptions, tls::Trust};

/// A database and a schema in it. Its text has no password.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) config: Config,
    pub(super) trust: Trust,
    pub(super) schema: String,
}

impl Place {
    /// Reads a URL, `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, with the parameters that PostgreSQL's own programs
    /// know, of these `sslmode` and `sslrootcert`, and `schema`.
    pub(super) fn parse(url: &str, options: &PostgresOptions) -> Result<Self, PostgresError> {
        if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
            return Err(PostgresError::Url("it begins with neither postgres:// nor postgresql://".to_owned()));
        }
        let address = Address::parse(url).map_err(|error| PostgresError::Url(error.to_string()))?;
        let (mut schema, mut mode, mut roots) = (None, None, None);
        // No login goes to the other parser, and no parameter that we take by any name that it would understand.
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
            let reason = "it names no host; a server on this machine may have a socket: ?host=/run/postgresql";
            return Err(PostgresError::Url(reason.to_owned()));
        }
        let (ports, servers) = (config.get_ports().len(), count(&config));
        if ports > 1 && ports != servers {
            return Err(PostgresError::Url(format!("it names {servers} server(s) and {ports} ports")));
        }
        let schema = options.schema.as_deref().map(str::to_owned).or(schema).unwrap_or_else(|| "nuncio".to_owned());
        check_schema(&schema)?;
        let (ssl, trust) = trust(mode.as_deref(), roots.as_deref())?;
        // As with PostgreSQL's own programs: there is no TLS over sockets in the file system, whatever is said.
        let (ssl, trust) = if is_local(&config) { (SslMode::Disable, Trust::Anybody) } else { (ssl, trust) };
        config.ssl_mode(ssl);
        set_up(&mut config, &schema, options);
        Ok(Self { config, trust, schema })
    }

    /// Each of its servers, with a name for people.
    pub(super) fn each(&self) -> Box<[(String, Config)]> {
        (0..count(&self.config)).map(|number| (server(&self.config, number), alone(&self.config, number))).collect()
    }

    /// What to do about a connection that failed, where that is clear.
    pub(super) fn advice(&self, error: &tokio_postgres::Error) -> Option<&'static str> {
        super::error::advice_on_tls(error, !is_local(&self.config) && self.config.get_ssl_mode() == SslMode::Disable)
    }
}

/// How many servers there are.
fn count(config: &Config) -> usize {
    config.get_hosts().len().max(config.get_hostaddrs().len())
}

/// The same for one of its servers alone.
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

/// A host and its port, where that is not the usual one.
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
    let wrong = |_| PostgresError::Url("a part of it is not UTF-8 once it is decoded".to_owned());
    percent_decode_str(text).decode_utf8().map(Cow::into_owned).map_err(wrong)
}

/// Parameters win over what is before the host.
fn log_in(config: &mut Config, login: Login<'_>) -> Result<(), PostgresError> {
    if login.user.contains('@') || login.password.is_some_and(|password| password.contains('@')) {
        let reason = "there is more than one `@`; write each but the one before the host as %40";
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

/// Whether the server is a socket in the file system.
fn is_local(config: &Config) -> bool {
    #[cfg(unix)]
    let is_path = |host: &Host| matches!(host, Host::Unix(_));
    #[cfg(not(unix))]
    let is_path = |_: &Host| false;
    !config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() && config.get_hosts().iter().all(is_path)
}

/// Plain names alone, so that they need no quotes anywhere.
fn check_schema(schema: &str) -> Result<(), PostgresError> {
    let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    let begins = schema.starts_with(|letter: char| letter.is_ascii_lowercase() || letter == '_');
    let reason = match () {
        () if !begins || schema.len() > 63 || !schema.chars().all(is_plain) => {
            "is not a name of at most 63 small letters, digits and underscores"
        }
        () if schema.starts_with("pg_") || schema == "information_schema" => "is PostgreSQL's own: choose another name",
        () => return Ok(()),
    };
    Err(PostgresError::Url(format!("the schema `{schema}` {reason}")))
}

/// What PostgreSQL's own programs take a mode and roots for; but where roots are named nothing goes without TLS, and
/// without a mode they are for the host's name.
fn trust(mode: Option<&str>, roots: Option<&str>) -> Result<(SslMode, Trust), PostgresError> {
    let wrong = |reason: String| Err(PostgresError::Url(reason));
    Ok(match (mode, roots) {
        (Some("disable"), _) => (SslMode::Disable, Trust::Anybody),
        (None | Some("prefer"), None) => (SslMode::Prefer, Trust::Anybody),
        (Some("require"), None) => (SslMode::Require, Trust::Anybody),
        (Some("verify-full"), None) | (None | Some("verify-full"), Some("system")) => {
            (SslMode::Require, Trust::Platform)
        }
        (Some("verify-ca"), None) => {
            return wrong(
                "sslmode `verify-ca` needs sslrootcert=FILE, who is trusted; else say verify-full".to_owned(),
            );
        }
        (Some("prefer" | "require" | "verify-ca"), Some("system")) => {
            return wrong(
                "sslrootcert `system` trusts so many that the name counts: say sslmode=verify-full".to_owned(),
            );
        }
        (None | Some("verify-full"), Some(roots)) => (SslMode::Require, Trust::Roots(roots.into())),
        (Some("prefer" | "require" | "verify-ca"), Some(roots)) => (SslMode::Require, Trust::AnyOf(roots.into())),
        (Some(mode), _) => {
            return wrong(format!("sslmode `{mode}` is none of disable, prefer, require, verify-ca and verify-full"));
        }
    })
}

/// What each connection is to be like, and how soon a dead one is noticed.
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
    // Of several servers the one that can be written to.
    if config.get_target_session_attrs() == TargetSessionAttrs::Any && count(config) > 1 {
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    }
}

/// `user@host:port/database, schema nuncio`.
impl fmt::Display for Place {
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

    fn parse(url: &str) -> Result<Place, PostgresError> {
        Place::parse(url, &PostgresOptions::new())
    }

    #[test]
    fn a_place_is_told_without_its_password() {
        for (url, text) in [
            ("postgres://ann:secret@db.example:5433/tasks", "ann@db.example:5433/tasks, schema nuncio"),
            ("postgresql://ann:secret@db.example/tasks?schema=other", "ann@db.example/tasks, schema other"),
            ("postgres://ann:secret@a:1,b:2/tasks?connect_timeout=1", "ann@a:1,b:2/tasks, schema nuncio"),
            ("postgres://ann@/tasks?host=/run/pg&password=secret", "ann@/run/pg/tasks, schema nuncio"),
        ] {
            assert_eq!(parse(url).unwrap().to_string(), text);
        }
        let options = PostgresOptions::new().with_schema("mine");
        assert_eq!(Place::parse("postgres://h/d?schema=other", &options).unwrap().schema, "mine");
    }

    #[test]
    fn what_is_wrong_with_a_url_is_told_without_its_password() {
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
    fn a_schema_of_the_server_itself_is_said_to_be_one() {
        for (schema, reason) in [
            ("pg_catalog", "is PostgreSQL's own: choose another name"),
            ("information_schema", "is PostgreSQL's own: choose another name"),
            ("Tasks", "is not a name of at most 63 small letters, digits and underscores"),
        ] {
            let error = parse(&format!("postgres://h/d?schema={schema}")).err().unwrap().to_string();
            assert!(error.contains(&format!("the schema `{schema}` {reason};")), "{error}");
        }
    }

    #[test]
    fn certificates_are_looked_at_where_that_is_asked_for() {
        let mode = |query: &str| {
            let place = parse(&format!("postgres://h/d{query}")).unwrap();
            (place.config.get_ssl_mode(), place.trust)
        };
        assert_eq!(mode(""), (SslMode::Prefer, Trust::Anybody));
        assert_eq!(mode("?sslmode=disable"), (SslMode::Disable, Trust::Anybody));
        assert_eq!(mode("?sslmode=require"), (SslMode::Require, Trust::Anybody));
        // However it is written.
        assert_eq!(mode("?ssl%6Dode=require"), (SslMode::Require, Trust::Anybody));
        assert_eq!(mode("?sslmode=verify-full"), (SslMode::Require, Trust::Platform));
        assert_eq!(mode("?sslrootcert=system"), (SslMode::Require, Trust::Platform));
        let (any, named) = (Trust::AnyOf("/a b.pem".into()), Trust::Roots("/a b.pem".into()));
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
    fn what_was_said_of_tls_holds_whatever_the_password_is() {
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
            assert_eq!((place.config.get_ssl_mode(), place.trust), (SslMode::Disable, Trust::Anybody));
        }
        let mixed = parse("postgres://%2Frun%2Fpg,h/d?sslmode=require").unwrap();
        assert_eq!(mixed.config.get_ssl_mode(), SslMode::Require);
    }
}
