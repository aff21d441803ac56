//! Connecting to the server: with TLS, without TLS, and over a socket in the file system.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use nuncio_engine::TaskStore as _;
use nuncio_model::{Scope, TaskState};
use nuncio_store::PostgresStore;
use nuncio_testbed::{
    Postgres, PostgresOptions as ServerOptions, Server as _,
    tls::{self, SERVER, SERVER_ALONE},
};
use tempfile::TempDir;
use tokio_postgres::NoTls;

use super::place::options;
use crate::support::{create, task};

/// A server and a folder for certificate files.
struct Place {
    server: Postgres,
    folder: TempDir,
}

impl Place {
    fn new(options: ServerOptions) -> Self {
        Self { server: Postgres::start(options).unwrap(), folder: tempfile::tempdir().unwrap() }
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// The URL with the host name in the certificate.
    fn url(&self, parameters: &str) -> String {
        format!("{}?{parameters}", self.server.url().replace("127.0.0.1", "localhost"))
    }

    /// The URL with an IP address that the certificate does not contain.
    fn url_by_address(&self, parameters: &str) -> String {
        format!("{}?{parameters}", self.server.url())
    }

    /// The URL of the socket of the server.
    fn url_by_socket(&self, parameters: &str) -> String {
        let (address, socket) = (self.server.address(), self.server.socket().unwrap());
        let (_, port) = address.rsplit_once(':').unwrap();
        format!("postgres://nuncio@/postgres?host={}&port={port}&{parameters}", socket.display())
    }

    /// Whether all connections of a store at this URL use TLS. Checks that the store works.
    async fn is_encrypted(&self, url: &str) -> bool {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let name = format!("opened-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let url = format!("{url}&application_name={name}");
        let store = PostgresStore::open(&url, options()).await.unwrap_or_else(|error| panic!("{url}: {error}"));
        store.commit(create(&task(&name, TaskState::Completed))).await.unwrap();
        assert!(store.load(&Scope::open(), &name.as_str().into()).await.unwrap().is_some());
        let (client, connection) = tokio_postgres::connect(&self.url_by_socket(""), NoTls).await.unwrap();
        tokio::spawn(connection);
        let sql = "SELECT count(*), count(*) FILTER (WHERE ssl) FROM pg_stat_ssl \
                   JOIN pg_stat_activity USING (pid) WHERE application_name = $1";
        let row = client.query_one(sql, &[&name]).await.unwrap();
        let (all, encrypted) = (row.get::<_, i64>(0), row.get::<_, i64>(1));
        assert!(all >= 2 && (encrypted == 0 || encrypted == all), "{encrypted} of {all}: {url}");
        store.close().await.unwrap();
        encrypted > 0
    }
}

fn roots(mode: &str, file: &Path) -> String {
    format!("sslmode={mode}&sslrootcert={}", file.display())
}

/// The error message when a store cannot be opened.
async fn refusal(url: &str) -> String {
    match PostgresStore::open(url, options()).await {
        Err(error) => error.to_string(),
        Ok(_) => panic!("{url} can be opened"),
    }
}

#[tokio::test]
async fn sslmode_and_sslrootcert_determine_the_certificate_checks() {
    let place = Place::new(ServerOptions::new().with_tls(SERVER));
    let (right, wrong) = (place.file("ca.pem", tls::AUTHORITY), place.file("other.pem", tls::OTHER_AUTHORITY));
    for (url, is_encrypted) in [
        (place.url("sslmode=disable"), false),
        (place.url(""), true),
        (place.url("sslmode=prefer"), true),
        (place.url("sslmode=require"), true),
        (place.url_by_address("sslmode=require"), true),
        (place.url(&roots("require", &right)), true),
        (place.url_by_address(&roots("require", &right)), true),
        (place.url_by_address(&roots("verify-ca", &right)), true),
        (place.url(&roots("verify-full", &right)), true),
        (place.url(&format!("sslrootcert={}", right.display())), true),
    ] {
        assert_eq!(place.is_encrypted(&url).await, is_encrypted, "{url}");
    }
    for mode in ["prefer", "require", "verify-ca", "verify-full"] {
        let refused = refusal(&place.url(&roots(mode, &wrong))).await;
        assert!(refused.contains("UnknownIssuer; ") && refused.contains("sslrootcert=FILE"), "{mode}: {refused}");
    }
    for parameters in [roots("verify-full", &right), format!("sslrootcert={}", right.display())] {
        let refused = refusal(&place.url_by_address(&parameters)).await;
        assert!(refused.contains("not valid for name"), "{refused}");
        assert!(refused.contains("; use the host name in the server's certificate"), "{refused}");
    }
    // No system trusts the test authority.
    for parameters in ["sslmode=verify-full", "sslrootcert=system"] {
        let refused = refusal(&place.url(parameters)).await;
        assert!(refused.contains("; name the file of the trusted certificates"), "{refused}");
    }
}

/// PostgreSQL's documentation starts with such a certificate.
#[tokio::test]
async fn a_self_signed_certificate_can_be_the_root_certificate() {
    let place = Place::new(ServerOptions::new().with_tls(SERVER_ALONE));
    let root = place.file("root.crt", SERVER_ALONE.certificate);
    assert!(place.is_encrypted(&place.url(&roots("verify-full", &root))).await);
    let refused = refusal(&place.url_by_address(&roots("verify-full", &root))).await;
    assert!(refused.contains("not valid for name"), "{refused}");
    let refused = refusal(&place.url(&roots("verify-ca", &place.file("ca.pem", tls::AUTHORITY)))).await;
    assert!(refused.contains("; name the file of the trusted certificates"), "{refused}");
}

#[tokio::test]
async fn a_server_that_requires_tls_refuses_plain_connections() {
    let place = Place::new(ServerOptions::new().with_tls_alone(SERVER));
    let refused = refusal(&place.url("sslmode=disable")).await;
    assert!(refused.contains("; the server may require TLS: use sslmode=verify-full"), "{refused}");
    assert!(place.is_encrypted(&place.url("sslmode=prefer")).await);
}

#[tokio::test]
async fn a_server_without_tls_is_reached_if_sslmode_allows_it() {
    let place = Place::new(ServerOptions::new());
    let root = place.file("ca.pem", tls::AUTHORITY);
    assert!(!place.is_encrypted(&place.url("sslmode=prefer")).await);
    for parameters in ["sslmode=require".to_owned(), roots("prefer", &root), roots("verify-full", &root)] {
        let refused = refusal(&place.url(&parameters)).await;
        assert!(refused.contains("server does not support TLS; turn on `ssl`"), "{parameters}: {refused}");
    }
}

/// The default on Debian. As in PostgreSQL's own programs, `sslmode` has no effect.
#[tokio::test]
async fn a_socket_in_the_file_system_works_with_every_sslmode() {
    let place = Place::new(ServerOptions::new().with_tls(SERVER));
    for parameters in ["", "sslmode=disable", "sslmode=prefer", "sslmode=require", "sslmode=verify-full"] {
        assert!(!place.is_encrypted(&place.url_by_socket(parameters)).await);
    }
    let host = place.server.socket().unwrap().display().to_string().replace('/', "%2F");
    let (_, rest) = place.server.url().split_once("127.0.0.1").unwrap();
    assert!(!place.is_encrypted(&format!("postgres://nuncio@{host}{rest}?")).await);
    // TLS is not the cause of a rejected login.
    let refused = refusal(&place.url_by_socket("user=nobody")).await;
    assert!(!refused.contains("TLS"), "{refused}");
}
