//! Where a database is: its URL, taken apart.

use std::{fmt, path::PathBuf, time::Duration};

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
        let (address, query) = url.split_once('?').unwrap_or((url, ""));
        let mut schema = None;
        let (mut mode, mut roots) = ("prefer".to_owned(), None);
        let mut rest = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = percent_decode_str(value).decode_utf8_lossy().into_owned();
            match name {
                "schema" => schema = Some(value),
                "sslmode" => mode = value,
                "sslrootcert" => roots = Some(PathBuf::from(value)),
                _ => rest.push(pair),
            }
        }
        let parsed = match &rest[..] {
            [] => address.parse::<Config>(),
            rest => format!("{address}?{}", rest.join("&")).parse(),
        };
        let mut config = parsed.map_err(|error| PostgresError::Url(super::error::explain(&error)))?;
        let schema = options.schema.as_deref().map(str::to_owned).or(schema).unwrap_or_else(|| "nuncio".to_owned());
        check_schema(&schema)?;
        let (ssl, trust) = trust(&mode, roots)?;
        config.ssl_mode(ssl);
        set_up(&mut config, &schema, options);
        Ok(Self { config, trust, schema })
    }
}

/// Plain names alone, so that they need no quotes anywhere.
fn check_schema(schema: &str) -> Result<(), PostgresError> {
    let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    let begins = schema.starts_with(|letter: char| letter.is_ascii_lowercase() || letter == '_');
    if begins && schema.len() <= 63 && schema.chars().all(is_plain) && !schema.starts_with("pg_") {
        return Ok(());
    }
    Err(PostgresError::Url(format!(
        "the schema `{schema}` is not a name of at most 63 small letters, digits and underscores"
    )))
}

fn trust(mode: &str, roots: Option<PathBuf>) -> Result<(SslMode, Trust), PostgresError> {
    match (mode, roots) {
        ("disable", _) => Ok((SslMode::Disable, Trust::Anybody)),
        ("prefer", None) => Ok((SslMode::Prefer, Trust::Anybody)),
        ("require", None) => Ok((SslMode::Require, Trust::Anybody)),
        // As with PostgreSQL's own programs: who names roots wants them looked at.
        ("prefer" | "require" | "verify-full", Some(roots)) => Ok((SslMode::Require, Trust::Roots(roots))),
        ("verify-full", None) => Ok((SslMode::Require, Trust::Platform)),
        _ => Err(PostgresError::Url(format!("sslmode `{mode}` is none of disable, prefer, require and verify-full"))),
    }
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
    if config.get_target_session_attrs() == TargetSessionAttrs::Any && config.get_hosts().len() > 1 {
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    }
}

/// `user@host:port/database, schema nuncio`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(user) = self.config.get_user() {
            write!(f, "{user}@")?;
        }
        for (number, host) in self.config.get_hosts().iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            match host {
                Host::Tcp(host) => write!(f, "{comma}{host}")?,
                #[cfg(unix)]
                Host::Unix(path) => write!(f, "{comma}{}", path.display())?,
            }
            let ports = self.config.get_ports();
            if let Some(port) = ports.get(number).or(ports.first()).filter(|port| **port != 5432) {
                write!(f, ":{port}")?;
            }
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
    fn certificates_are_looked_at_where_that_is_asked_for() {
        let mode = |url| parse(url).map(|place| (place.config.get_ssl_mode(), place.trust)).unwrap();
        assert_eq!(mode("postgres://h/d"), (SslMode::Prefer, Trust::Anybody));
        assert_eq!(mode("postgres://h/d?sslmode=disable"), (SslMode::Disable, Trust::Anybody));
        assert_eq!(mode("postgres://h/d?sslmode=require"), (SslMode::Require, Trust::Anybody));
        assert_eq!(mode("postgres://h/d?sslmode=verify-full"), (SslMode::Require, Trust::Platform));
        let roots = Trust::Roots("/a b.pem".into());
        assert_eq!(mode("postgres://h/d?sslmode=require&sslrootcert=/a%20b.pem"), (SslMode::Require, roots));
    }
}
