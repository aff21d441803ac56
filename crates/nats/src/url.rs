//! Parses the URL of NATS. The URL can contain several hosts, so standard parsers reject the URL.

use std::{path::PathBuf, str::FromStr};

use async_nats::ServerAddr;
use nuncio_model::address::{self, Address, AddressError};
use percent_encoding::percent_decode_str;

use crate::options::{Login, NatsOptions};

/// The default prefix.
const PREFIX: &str = "nuncio";

/// The reason why a URL is invalid. The text contains no part of the password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NatsUrlError {
    /// The scheme is neither `nats://` nor `tls://`.
    #[error("the URL does not begin with nats:// or tls://")]
    Scheme,
    /// The end of the login is ambiguous.
    #[error("{0}")]
    Login(AddressError),
    /// A host is missing or invalid.
    #[error("`{0}` is neither HOST nor HOST:PORT")]
    Host(String),
    /// The prefix is not valid in a subject.
    #[error("the prefix `{0}` must consist of letters, digits, `-` and `_`, separated by single dots")]
    Prefix(String),
    /// A parameter is unknown or empty.
    #[error("`{0}` is not a parameter: use credentials=FILE, ca=FILE, cert=FILE or key=FILE")]
    Parameter(String),
    /// `cert` without `key`, or `key` without `cert`.
    #[error("cert and key must be used together")]
    Identity,
    /// The decoded text is not UTF-8.
    #[error("the decoded user, password or parameters are not UTF-8")]
    Encoding,
}

impl From<AddressError> for NatsUrlError {
    fn from(error: AddressError) -> Self {
        match error {
            AddressError::Scheme => Self::Scheme,
            error @ AddressError::Mark => Self::Login(error),
        }
    }
}

impl FromStr for NatsOptions {
    type Err = NatsUrlError;

    fn from_str(url: &str) -> Result<Self, NatsUrlError> {
        let address = Address::parse(url)?;
        if !matches!(address.scheme, "nats" | "tls") {
            return Err(NatsUrlError::Scheme);
        }
        let (scheme, rest) = (address.scheme, address.place);
        let (hosts, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let mut options = Self {
            servers: hosts.split(',').map(|host| server(scheme, host)).collect::<Result<_, _>>()?,
            prefix: self::prefix(prefix)?,
            login: address.login.map_or(Ok(Login::Anonymous), login)?,
            credentials: None,
            ca: None,
            identity: None,
        };
        options.read(address)?;
        Ok(options)
    }
}

impl NatsOptions {
    fn read(&mut self, address: Address<'_>) -> Result<(), NatsUrlError> {
        let (mut cert, mut key) = (None, None);
        for (name, value) in address.parameters() {
            let path = match name {
                "credentials" => &mut self.credentials,
                "ca" => &mut self.ca,
                "cert" => &mut cert,
                "key" => &mut key,
                _ => return Err(NatsUrlError::Parameter(name.to_owned())),
            };
            if value.is_empty() {
                return Err(NatsUrlError::Parameter(name.to_owned()));
            }
            *path = Some(PathBuf::from(decoded(value)?));
        }
        self.identity = match (cert, key) {
            (Some(cert), Some(key)) => Some((cert, key)),
            (None, None) => None,
            _ => return Err(NatsUrlError::Identity),
        };
        Ok(())
    }
}

fn server(scheme: &str, host: &str) -> Result<ServerAddr, NatsUrlError> {
    // If the `@` of a login is missing, the password stands in the position of the port. The error therefore hides a
    // port that is not a number.
    let wrong = || match host.split_once(':') {
        Some((name, port)) if !port.bytes().all(|byte| byte.is_ascii_digit()) => {
            NatsUrlError::Host(format!("{name}:***"))
        }
        _ => NatsUrlError::Host(host.to_owned()),
    };
    if host.contains(char::is_whitespace) || host.contains('#') {
        return Err(wrong());
    }
    let server: ServerAddr = format!("{scheme}://{host}").parse().map_err(|_| wrong())?;
    if server.host().is_empty() { Err(wrong()) } else { Ok(server) }
}

fn prefix(path: &str) -> Result<String, NatsUrlError> {
    let path = path.strip_suffix('/').unwrap_or(path);
    if path.is_empty() {
        return Ok(PREFIX.to_owned());
    }
    let is_token = |token: &str| {
        !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    if path.split('.').all(is_token) { Ok(path.to_owned()) } else { Err(NatsUrlError::Prefix(path.to_owned())) }
}

fn login(login: address::Login<'_>) -> Result<Login, NatsUrlError> {
    let user = decoded(login.user)?;
    Ok(match login.password {
        Some(password) => Login::User(user, decoded(password)?.into()),
        None => Login::Token(user.into()),
    })
}

fn decoded(text: &str) -> Result<String, NatsUrlError> {
    let text = percent_decode_str(text).decode_utf8().map_err(|_| NatsUrlError::Encoding)?;
    Ok(text.into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use secrecy::ExposeSecret as _;

    use super::*;

    fn read(url: &str) -> NatsOptions {
        url.parse().unwrap_or_else(|error| panic!("{url}: {error}"))
    }

    #[test]
    fn a_url_has_hosts_and_a_prefix() {
        for (url, shown) in [
            ("nats://localhost", "nats://localhost:4222/nuncio"),
            ("nats://a,b:5,[::1]:6/agents.eu-1/", "nats://a:4222,b:5,[::1]:6/agents.eu-1"),
            ("tls://nats.example:443/x?ca=/etc/ca.pem", "tls://nats.example:443/x"),
        ] {
            assert_eq!(read(url).to_string(), shown);
        }
    }

    #[test]
    fn a_login_is_parsed_and_hidden() {
        let options = read("nats://us%40er:p%3Aa/ss:w@rd@localhost/x");
        let Login::User(user, password) = &options.login else { panic!("a user") };
        assert_eq!((&**user, password.expose_secret()), ("us@er", "p:a/ss:w@rd"));
        let Login::Token(token) = read("nats://s3cr%20et@localhost").login else { panic!("a token") };
        assert_eq!(token.expose_secret(), "s3cr et");
        for shown in [format!("{options}"), format!("{options:?}")] {
            assert!(!shown.contains("rd") && !shown.contains("er:"), "{shown}");
        }
        assert!(matches!(read("nats://localhost").login, Login::Anonymous));
    }

    #[test]
    fn files_are_parameters() {
        let options = read("tls://h?credentials=/a%20b.creds&ca=c&cert=d&key=e");
        let path = |path: &str| Some(PathBuf::from(path));
        assert_eq!((options.credentials, options.ca), (path("/a b.creds"), path("c")));
        assert_eq!(options.identity, path("d").zip(path("e")));
    }

    #[test]
    fn errors_of_invalid_urls_contain_no_secrets() {
        use NatsUrlError::{Host, Identity, Login, Parameter, Prefix, Scheme};
        for (url, error) in [
            ("localhost", Scheme),
            ("http://localhost", Scheme),
            ("nats://", Host(String::new())),
            ("nats://a,,b", Host(String::new())),
            ("nats://user:secret@:4222", Host(":4222".into())),
            ("nats://user:secret@a:port", Host("a:***".into())),
            ("nats://user:secret", Host("user:***".into())),
            ("nats://user:sec?secret@a", Login(AddressError::Mark)),
            ("nats://secret?secret@a?ca=x", Login(AddressError::Mark)),
            ("nats://a b", Host("a b".into())),
            ("nats://a/x.*", Prefix("x.*".into())),
            ("nats://a/x..y", Prefix("x..y".into())),
            ("nats://a/x/y", Prefix("x/y".into())),
            ("nats://a?password=secret", Parameter("password".into())),
            ("nats://a?ca=", Parameter("ca".into())),
            ("nats://a?cert=x", Identity),
        ] {
            let found = url.parse::<NatsOptions>().map(|_| ()).unwrap_err();
            assert!(!found.to_string().contains("secret"), "{found}");
            assert_eq!(found, error, "{url}");
        }
    }

    proptest! {
        #[test]
        fn errors_contain_no_part_of_a_password(
            parts in proptest::collection::vec("[?@/:#=%!&,]{0,3}", 1..4),
            query in prop_oneof![Just(""), Just("/x?ca=a.pem"), Just("?cert=a")],
            login in prop_oneof![Just("ann:"), Just("")],
        ) {
            let password = parts.join("s3cr3t") + "s3cr3t";
            let url = format!("nats://{login}{password}@host{query}");
            let told = match url.parse::<NatsOptions>() {
                Ok(options) => format!("{options} {options:?}"),
                Err(error) => format!("{error} {error:?}"),
            };
            prop_assert!(!told.contains("s3cr3t"), "{told} of {url}");
        }
    }
}
