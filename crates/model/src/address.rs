//! The addresses of stores and buses, as users write them: `SCHEME://[LOGIN@]PLACE[?PARAMETERS]`.
//!
//! Code that connects and code that shows an address use the same parser, so that no code shows a part of a password as
//! another part of the address. The parser is in this crate because the stores, the buses, the server and the command
//! have no other crate in common.

use std::{fmt, ops::Range};

/// The parts of an address, not decoded.
#[derive(Clone, Copy)]
pub struct Address<'a> {
    /// The text before `://`.
    pub scheme: &'a str,
    /// The login of the caller.
    pub login: Option<Login<'a>>,
    /// The hosts, and the text after them.
    pub place: &'a str,
    query: &'a str,
}

/// A login: the text before the last `@`.
#[derive(Clone, Copy)]
pub struct Login<'a> {
    /// The text up to the first colon: a user, or a token if there is no password.
    pub user: &'a str,
    /// The text after the colon.
    pub password: Option<&'a str>,
}

/// The reason why an address cannot be parsed. The error contains no part of the address.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum AddressError {
    /// The address has no `://`.
    Scheme,
    /// The address has an `@` after a `?`: the end of a login, or a part of a parameter.
    Mark,
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheme => "it does not begin with a scheme and ://",
            Self::Mark => {
                "an `@` stands behind a `?`; in a user or password write `?` as %3F, and in a parameter write `@` as %40"
            }
        })
    }
}

impl std::error::Error for AddressError {}

crate::debug_is_text!(AddressError);

impl<'a> Address<'a> {
    /// Parses an address. A password can contain `:`, `/`, `#` and `@` without escapes, but not `?`.
    ///
    /// # Errors
    ///
    /// If the address has no scheme, or if an `@` after a `?` is ambiguous.
    pub fn parse(text: &'a str) -> Result<Self, AddressError> {
        let (scheme, rest) = text.split_once("://").ok_or(AddressError::Scheme)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        if query.contains('@') {
            return Err(AddressError::Mark);
        }
        let (login, place) = rest.rsplit_once('@').map_or((None, rest), |(login, place)| (Some(login), place));
        let login = login.map(|login| match login.split_once(':') {
            Some((user, password)) => Login { user, password: Some(password) },
            None => Login { user: login, password: None },
        });
        Ok(Self { scheme, login, place, query })
    }

    /// The names and values of the parameters after `?`; a name alone has an empty value.
    pub fn parameters(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let pairs = self.query.split('&').filter(|pair| !pair.is_empty());
        pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")))
    }
}

/// Whether a parameter is a password, or can be one because its name has escapes.
pub fn is_secret(name: &str) -> bool {
    name.contains('%') || name.to_ascii_lowercase().contains("password")
}

/// The secret parts of an address: the password (or the whole login, if the login is a token) and the passwords in the
/// parameters. In a text that is not a valid address, all parts that can be passwords are secret.
pub fn secrets(address: &str) -> Vec<&str> {
    secret_ranges(address).into_iter().map(|range| &address[range]).collect()
}

/// The address without its secrets, for display.
pub fn without_secrets(address: &str) -> String {
    let mut shown = address.to_owned();
    for range in secret_ranges(address).into_iter().rev() {
        shown.replace_range(range, "***");
    }
    shown
}

/// The positions of the secrets in an address, in order.
fn secret_ranges(address: &str) -> Vec<Range<usize>> {
    if let Some(path) = address.strip_prefix("sqlite:") {
        // A path of SQLite can contain an `@`; with another scheme, the text before the `@` is a login.
        let login = path.strip_prefix("//").and_then(|rest| Some((rest.find(':')?, rest.rfind('@')?)));
        let start = "sqlite://".len();
        return login
            .filter(|(colon, at)| colon < at)
            .map(|(colon, at)| start + colon + 1..start + at)
            .into_iter()
            .collect();
    }
    if let Some(password) = keyword_password(address) {
        return vec![password];
    }
    let start = address.find("://").map_or(0, |scheme| scheme + 3);
    let is_postgres = start > 0 && address.starts_with("postgres");
    // In an address with `?` and `@` in an unusual order, all possible passwords are secret.
    let login = match address.rfind('@').filter(|at| *at >= start) {
        Some(at) => match address[start..at].find(':') {
            Some(colon) => Some(start + colon + 1..at),
            // A name alone is a user.
            None if is_postgres => None,
            None => Some(start..at),
        },
        // The text after the colon is not a port, so the login has no `@`.
        None if start > 0 => {
            let end = address[start..].find(['/', '?']).map_or(address.len(), |end| start + end);
            let colon = address[start..end].find(':').filter(|_| !are_hosts(&address[start..end]));
            colon.map(|colon| start + colon + 1..address.len())
        }
        None => None,
    };
    let mut ranges: Vec<_> = login.into_iter().chain(secret_parameters(address)).collect();
    ranges.retain(|range| !range.is_empty());
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|next, before| {
        let overlaps = next.start <= before.end;
        if overlaps {
            before.end = before.end.max(next.end);
        }
        overlaps
    });
    ranges
}

/// The start of a password in the keyword form `host=a password=b`. The end of the password is unknown, so the rest of
/// the text is secret.
fn keyword_password(text: &str) -> Option<Range<usize>> {
    if text.contains("://") {
        return None;
    }
    let name = text.to_ascii_lowercase().find("password")?;
    Some(name + text[name..].find('=')? + 1..text.len())
}

/// The values of passwords in the parameters, at any position.
fn secret_parameters(address: &str) -> impl Iterator<Item = Range<usize>> {
    address.match_indices(['?', '&']).filter_map(|(mark, _)| {
        let pair = &address[mark + 1..];
        let pair = &pair[..pair.find('&').unwrap_or(pair.len())];
        let (name, value) = pair.split_once('=').filter(|(name, _)| is_secret(name))?;
        let value_start = mark + 1 + name.len() + 1;
        Some(value_start..value_start + value.len())
    })
}

fn are_hosts(hosts: &str) -> bool {
    hosts.split(',').all(|host| {
        let port = match host.strip_prefix('[').and_then(|host| host.split_once(']')) {
            Some((_, port)) => port.strip_prefix(':'),
            None => host.split_once(':').map(|(_, port)| port),
        };
        port.is_none_or(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_address_is_split_at_the_end_of_its_login() {
        let address = Address::parse("nats://us%40er:p:a/s#s@w@a,b:1/x?ca=/a.pem&flag&&key=").unwrap();
        let login = address.login.unwrap();
        assert_eq!((address.scheme, login.user, login.password), ("nats", "us%40er", Some("p:a/s#s@w")));
        assert_eq!(address.place, "a,b:1/x");
        assert_eq!(address.parameters().collect::<Vec<_>>(), [("ca", "/a.pem"), ("flag", ""), ("key", "")]);
        let token = Address::parse("nats://t0ken@a").unwrap().login.unwrap();
        assert_eq!((token.user, token.password), ("t0ken", None));
        assert!(Address::parse("nats://a").unwrap().login.is_none());
    }

    #[test]
    fn an_ambiguous_login_is_refused() {
        for text in ["x://ann:p?ss@h/d", "x://ann:p?ss@h/d?sslmode=require", "x://ann:p@h/d?name=a@b", "x://?@"] {
            assert_eq!(Address::parse(text).err(), Some(AddressError::Mark), "{text}");
        }
        assert_eq!(Address::parse("ann@host").err(), Some(AddressError::Scheme));
    }

    #[test]
    fn an_address_is_displayed_without_its_password() {
        for (address, shown) in [
            ("nats://ann:s3cret@host/x", "nats://ann:***@host/x"),
            ("nats://t0ken@a,b", "nats://***@a,b"),
            ("postgres://ann:p@ss/w@host/d?schema=x", "postgres://ann:***@host/d?schema=x"),
            ("postgres://host/d", "postgres://host/d"),
            ("postgres://a:1,[::1]:2/d", "postgres://a:1,[::1]:2/d"),
            ("postgresql://ann@host/d", "postgresql://ann@host/d"),
            ("sqlite:./a@b.db", "sqlite:./a@b.db"),
            ("memory", "memory"),
            ("postgres://h/d?user=a&password=s3cret&schema=x", "postgres://h/d?user=a&password=***&schema=x"),
            ("postgres://a:a@h/d?sslpassword=s3cret", "postgres://a:***@h/d?sslpassword=***"),
            ("postgres://h/d?pass%77ord=s3cret", "postgres://h/d?pass%77ord=***"),
            ("postgres://h?password=a@b", "postgres://h?password=***"),
            ("postgres://h/d?password=", "postgres://h/d?password="),
            // Invalid addresses.
            ("postgres://ann:p?ss@host/d", "postgres://ann:***@host/d"),
            ("postgres://ann:p?a=b@host/d?password=s3cret", "postgres://ann:***@host/d?password=***"),
            ("postgres://h:5432/d?password=a@b", "postgres://h:***"),
            ("postgres://h/d?password=a?b", "postgres://h/d?password=***"),
            ("postgres://ann:s3cret/d", "postgres://ann:***"),
            ("postgres:ann:s3cret@h/d", "postgres:***@h/d"),
            ("t0ken@h", "***@h"),
            ("host=h user=ann password = 's3cr et' dbname=d", "host=h user=ann password =***"),
            ("PGPASSWORD=s3cret", "PGPASSWORD=***"),
            ("sqlite://ann:s3cret@h/d", "sqlite://ann:***@h/d"),
            ("sqlite:///a/b:c.db", "sqlite:///a/b:c.db"),
        ] {
            assert_eq!(without_secrets(address), shown, "{address}");
        }
    }

    proptest! {
        #[test]
        fn no_part_of_a_password_is_shown(
            parts in proptest::collection::vec("[?@/:#=%!&]{0,3}", 1..5),
            scheme in prop_oneof![Just("postgres"), Just("postgresql"), Just("nats"), Just("tls")],
            query in prop_oneof![Just(""), Just("?schema=x"), Just("?a=b&sslmode=require")],
            is_parameter: bool,
        ) {
            let password = parts.join("s3cr3t") + "s3cr3t";
            let address = if is_parameter {
                let mark = if query.is_empty() { "?" } else { "&" };
                format!("{scheme}://ann@host:1/d{query}{mark}password={}", password.replace('&', "%26"))
            } else {
                format!("{scheme}://ann:{password}@host:1/d{query}")
            };
            let shown = without_secrets(&address);
            prop_assert!(!shown.contains("s3cr3t"), "{} of {}", shown, address);
            prop_assert!(shown.starts_with(scheme));
            let hidden: usize = secrets(&address).iter().map(|secret| secret.matches("s3cr3t").count()).sum();
            prop_assert_eq!(hidden, parts.len());
        }
    }
}
