use std::{io, net::IpAddr};

use nuncio_model::AuthenticationInfo;

use super::*;

/// A resolver that knows these names.
struct Names(&'static [(&'static str, &'static [&'static str])]);

#[async_trait]
impl Lookup for Names {
    async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        let (_, addresses) = found.ok_or(io::ErrorKind::NotFound)?;
        Ok(addresses.iter().map(|address| address.parse().unwrap()).collect())
    }
}

const NAMES: Names = Names(&[
    ("public.test", &["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"]),
    ("private.test", &["10.1.2.3"]),
    ("both.test", &["93.184.215.14", "127.0.0.1"]),
    ("mapped.test", &["::ffff:93.184.215.14"]),
]);

fn guard() -> Guard {
    Guard::new().with_lookup(NAMES)
}

fn config(url: &str) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig { url: url.to_owned(), ..Default::default() }
}

async fn refusal(config: TaskPushNotificationConfig) -> String {
    let error = guard().check(&config).await.expect_err(&config.url);
    assert_eq!(error.kind(), nuncio_model::ErrorKind::InvalidParams);
    error.message().to_owned()
}

#[tokio::test]
async fn addresses_that_are_not_public_are_refused_however_they_are_written() {
    for host in [
        "127.0.0.1",
        "127.1",
        "127.255.255.254",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0",
        "0.0.0.0",
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "100.127.255.255",
        "192.0.0.8",
        "192.0.2.1",
        "192.88.99.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.7",
        "203.0.113.7",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "[::]",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:93.184.215.14]",
        "[::ffff:7f00:1]",
        "[::7f00:1]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b:1::7f00:1]",
        "[fe80::1]",
        "[febf::1]",
        "[fec0::1]",
        "[fc00::1]",
        "[fd00::1]",
        "[ff02::1]",
        "[2001:db8::1]",
        "[2001::1]",
        "[2002:7f00:1::]",
        "[3fff::1]",
        "[100::1]",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "a.localhost",
        "printer.local",
        "metadata.google.internal",
    ] {
        for url in [format!("http://{host}/hook"), format!("https://{host}:8443/hook")] {
            let reason = refusal(config(&url)).await;
            assert!(reason.contains("is not a public address"), "{url}: {reason}");
            assert!(reason.contains("--allow-private-webhooks of `nuncio serve`"), "{url}: {reason}");
        }
    }
}

#[tokio::test]
async fn public_addresses_pass() {
    for host in [
        "1.1.1.1",
        "93.184.215.14",
        "172.15.0.1",
        "172.32.0.1",
        "100.63.0.1",
        "100.128.0.1",
        "192.0.1.1",
        "198.17.0.1",
        "223.255.255.255",
        "[2606:4700:4700::1111]",
        "[2001:4860:4860::8888]",
        "[3ffe::1]",
        "public.test",
        "public.test.",
    ] {
        let url = format!("https://{host}/hook?a=b#c");
        guard().check(&config(&url)).await.unwrap_or_else(|error| panic!("{url}: {error}"));
    }
}

#[tokio::test]
async fn names_are_resolved_and_all_of_their_addresses_count() {
    for name in ["private.test", "both.test", "mapped.test"] {
        assert!(refusal(config(&format!("http://{name}/"))).await.contains(name));
    }
    guard().check(&config("https://unknown.test/")).await.expect("one that cannot be resolved passes");
}

#[tokio::test]
async fn a_resolver_that_does_not_answer_refuses_nobody() {
    struct Silent;
    #[async_trait]
    impl Lookup for Silent {
        async fn lookup(&self, _name: &str) -> io::Result<Vec<IpAddr>> {
            std::future::pending().await
        }
    }
    let guard = Guard::new().with_lookup(Silent).with_resolve_timeout(Duration::from_millis(5));
    guard.check(&config("https://slow.test/")).await.unwrap();
}

#[tokio::test]
async fn other_schemes_and_what_is_no_url_are_refused() {
    for (url, reason) in [
        ("", "is not a URL"),
        ("not a url", "is not a URL"),
        ("/hook", "is not a URL"),
        ("http://", "is not a URL"),
        ("http://exa\nmple.com/", "line breaks"),
        ("http://example.com/\r\nX-Injected: 1", "line breaks"),
        ("ftp://example.com/x", "not with ftp:"),
        ("file:///etc/passwd", "not with file:"),
        ("gopher://example.com/", "not with gopher:"),
        ("javascript:alert(1)", "not with javascript:"),
        ("https://user:password@example.com/", "credentials belong in authentication"),
        ("https://user@example.com/", "credentials belong in authentication"),
    ] {
        let said = refusal(config(url)).await;
        assert!(said.starts_with("url: ") && said.contains(reason), "{url}: {said}");
        assert!(!said.contains("password@"), "{said}");
    }
}

#[tokio::test]
async fn what_a_header_cannot_carry_is_refused_by_name() {
    let with = |token: Option<&str>, scheme: &str, credentials: Option<&str>| TaskPushNotificationConfig {
        token: token.map(str::to_owned),
        authentication: Some(AuthenticationInfo {
            scheme: scheme.to_owned(),
            credentials: credentials.map(str::to_owned),
        }),
        ..config("https://public.test/")
    };
    for (config, field) in [
        (with(Some("a\r\nX-Injected: 1"), "Bearer", None), "token"),
        (with(None, "Bearer\r\nX-Injected: 1", Some("c")), "authentication.scheme"),
        (with(None, "Bearer token", Some("c")), "authentication.scheme"),
        (with(None, "Bearer", Some("c\nX-Injected: 1")), "authentication.credentials"),
        (with(None, "Bearer", Some("\0")), "authentication.credentials"),
    ] {
        let said = refusal(config).await;
        assert!(said.starts_with(&format!("{field}: ")), "{said}");
        assert!(!said.contains("Injected"), "{said}");
    }
    guard().check(&with(Some("t"), "Bearer", Some("c d"))).await.unwrap();
    guard().check(&with(None, "", None)).await.unwrap();
}

#[tokio::test]
async fn private_addresses_pass_where_they_are_allowed_and_nothing_else_changes() {
    let guard = guard().allow_private(true);
    for url in ["http://127.0.0.1:8080/hook", "http://localhost/", "http://private.test/", "http://[::1]/"] {
        guard.check(&config(url)).await.unwrap_or_else(|error| panic!("{url}: {error}"));
    }
    guard.check(&config("ftp://127.0.0.1/")).await.unwrap_err();
}
