//! TLS: trusted certificates, and no plain text when TLS is required.

use std::path::{Path, PathBuf};

use nuncio_testbed::{
    Nats, NatsOptions, Server as _,
    bus::TIME_LIMIT,
    tls::{self, CLIENT, SERVER},
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    time::timeout,
};

use crate::{
    login::{refusal, works},
    support::node,
};

/// A folder for certificate files.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn authority(&self) -> PathBuf {
        self.file("ca.pem", tls::AUTHORITY)
    }

    fn other_authority(&self) -> PathBuf {
        self.file("other.pem", tls::OTHER_AUTHORITY)
    }

    /// Starts a server that requires TLS, with further arguments.
    fn serve(&self, arguments: &[&str]) -> Nats {
        let files = SERVER.write(self.0.path()).unwrap();
        let own = ["--tls", "--tlscert", text(&files.certificate), "--tlskey", text(&files.key)];
        Nats::start(NatsOptions::new().with_args(own).with_args(arguments.iter().copied())).unwrap()
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The address of the server with the host name of the certificate.
fn named(server: &Nats) -> String {
    server.address().replace("127.0.0.1", "localhost")
}

#[tokio::test]
async fn a_server_needs_a_trusted_certificate_with_its_name() {
    let files = Files::new();
    let server = files.serve(&[]);
    let (right, wrong) = (files.authority(), files.other_authority());
    for scheme in ["tls", "nats"] {
        works(&node(&format!("{scheme}://{}?ca={}", named(&server), text(&right))).await).await;
        for (url, reason) in [
            (
                format!("{scheme}://{}?ca={}", named(&server), text(&wrong)),
                "; set ca=FILE to the authority of the certificate",
            ),
            // The system does not trust this authority.
            (format!("{scheme}://{}", named(&server)), "; set ca=FILE"),
            (format!("{scheme}://{}?ca={}", server.address(), text(&right)), "; use the host name of the certificate"),
        ] {
            let refused = refusal(&node(&url).await).await;
            assert!(refused.contains(reason), "{url}: {refused}");
        }
    }
}

#[tokio::test]
async fn a_client_certificate_is_sent() {
    let (files, own) = (Files::new(), tempfile::tempdir().unwrap());
    let authority = files.authority();
    let server = files.serve(&["--tlsverify", "--tlscacert", text(&authority)]);
    let client = CLIENT.write(own.path()).unwrap();
    let url = format!("tls://{}?ca={}", named(&server), text(&authority));
    works(&node(&format!("{url}&cert={}&key={}", text(&client.certificate), text(&client.key))).await).await;
    refusal(&node(&url).await).await;
}

/// If certificates are configured, the client does not send the login in plain text, even if the server accepts plain
/// text.
#[tokio::test]
async fn certificates_require_tls() {
    let (files, own) = (Files::new(), tempfile::tempdir().unwrap());
    let authority = files.authority();
    let client = CLIENT.write(own.path()).unwrap();
    let identity = format!("cert={}&key={}", text(&client.certificate), text(&client.key));
    for parameters in [format!("ca={}", text(&authority)), identity] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let url = format!("nats://user:secret@{address}?{parameters}");
        let connecting = tokio::spawn(async move { node(&url).await });
        let talk = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let info =
                "INFO {\"server_id\":\"x\",\"version\":\"2.10.0\",\"max_payload\":1048576,\"tls_required\":false}\r\n";
            stream.write_all(info.as_bytes()).await.unwrap();
            let mut first = [0; 3];
            stream.read_exact(&mut first).await.unwrap();
            first
        };
        let first = timeout(TIME_LIMIT, talk).await.unwrap();
        // The start of a TLS handshake.
        assert_eq!(first[..2], [22, 3], "{first:?}");
        connecting.abort();
    }
    let server = Nats::start(NatsOptions::new()).unwrap();
    let refused = refusal(&node(&format!("nats://{}?ca={}", named(&server), text(&authority))).await).await;
    assert!(refused.contains("the server does not use TLS"), "{refused}");
}
