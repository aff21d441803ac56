//! Over TLS: whose certificate is taken, and that nothing goes in plain text where TLS was asked for.

use std::path::{Path, PathBuf};

use nuncio_testbed::{
    Nats, NatsOptions, Server as _,
    bus::PATIENCE,
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

/// Files of certificates.
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

    /// A server that speaks TLS alone, with more arguments.
    fn serve(&self, arguments: &[&str]) -> Nats {
        let files = SERVER.write(self.0.path()).unwrap();
        let own = ["--tls", "--tlscert", text(&files.certificate), "--tlskey", text(&files.key)];
        Nats::start(NatsOptions::new().with_args(own).with_args(arguments.iter().copied())).unwrap()
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// By the name of the certificate.
fn named(server: &Nats) -> String {
    server.address().replace("127.0.0.1", "localhost")
}

#[tokio::test]
async fn a_server_is_known_by_who_signed_its_certificate_and_by_its_name() {
    let files = Files::new();
    let server = files.serve(&[]);
    let (right, wrong) = (files.authority(), files.other_authority());
    for scheme in ["tls", "nats"] {
        works(&node(&format!("{scheme}://{}?ca={}", named(&server), text(&right))).await).await;
        for (url, reason) in [
            (
                format!("{scheme}://{}?ca={}", named(&server), text(&wrong)),
                "; name who signed its certificate with ca=FILE",
            ),
            // Nobody's system trusts it.
            (format!("{scheme}://{}", named(&server)), "; name who signed"),
            (format!("{scheme}://{}?ca={}", server.address(), text(&right)), "; name the host as its certificate does"),
        ] {
            let refused = refusal(&node(&url).await).await;
            assert!(refused.contains(reason), "{url}: {refused}");
        }
    }
}

#[tokio::test]
async fn a_client_may_have_a_certificate_of_its_own() {
    let (files, own) = (Files::new(), tempfile::tempdir().unwrap());
    let authority = files.authority();
    let server = files.serve(&["--tlsverify", "--tlscacert", text(&authority)]);
    let client = CLIENT.write(own.path()).unwrap();
    let url = format!("tls://{}?ca={}", named(&server), text(&authority));
    works(&node(&format!("{url}&cert={}&key={}", text(&client.certificate), text(&client.key))).await).await;
    refusal(&node(&url).await).await;
}

/// A server that is content with plain text is not told who connects.
#[tokio::test]
async fn who_names_certificates_gets_no_plain_text() {
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
        let first = timeout(PATIENCE, talk).await.unwrap();
        // The beginning of a handshake.
        assert_eq!(first[..2], [22, 3], "{first:?}");
        connecting.abort();
    }
    let server = Nats::start(NatsOptions::new()).unwrap();
    let refused = refusal(&node(&format!("nats://{}?ca={}", named(&server), text(&authority))).await).await;
    assert!(refused.contains("it speaks no TLS"), "{refused}");
}
