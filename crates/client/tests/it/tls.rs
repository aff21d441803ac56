//! TLS with a trusted certificate, and with an untrusted certificate.

use std::{net::SocketAddr, sync::Arc};

use nuncio_client::{Binding, Client, ClientError, Failure, HttpSettings};
use nuncio_demo::{Demo, DemoOptions};
use nuncio_engine::Engine;
use nuncio_model::op::SendMessageResponse;
use nuncio_server::Server;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    },
    server::TlsStream,
};

const AUTHORITY: &[u8] = include_bytes!("tls/ca.pem");
const CERTIFICATE: &[u8] = include_bytes!("tls/leaf.pem");
const KEY: &[u8] = include_bytes!("tls/key.pem");

/// Accepts connections over TLS.
struct Listener {
    tcp: TcpListener,
    tls: TlsAcceptor,
}

impl axum::serve::Listener for Listener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        loop {
            let (stream, peer) = self.tcp.accept().await.unwrap();
            // A client that does not trust the certificate closes the connection here.
            if let Ok(stream) = self.tls.accept(stream).await {
                return (stream, peer);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.tcp.local_addr()
    }
}

/// Serves the demo agent over TLS until the test ends; returns the URL.
async fn serve() -> String {
    let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}", tcp.local_addr().unwrap().port());
    let certificates = vec![CertificateDer::from_pem_slice(CERTIFICATE).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_no_client_auth().with_single_cert(certificates, key).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];

    let engine = Engine::builder(Demo::new()).card(nuncio_demo::card(&DemoOptions::default())).build();
    let server = Server::builder(engine)
        .bindings(Binding::ALL)
        .public_url(url.parse().unwrap())
        .bind("127.0.0.1:0")
        .await
        .unwrap();
    let listener = Listener { tcp, tls: TlsAcceptor::from(Arc::new(config)) };
    let router = server.router();
    tokio::spawn(async move {
        let _server = server;
        axum::serve(listener, router).await.unwrap();
    });
    url
}

#[tokio::test]
async fn a_certificate_of_a_trusted_authority_is_accepted() {
    let url = serve().await;
    for binding in Binding::ALL {
        let mut settings = HttpSettings::default();
        settings.authorities.push(AUTHORITY.to_vec());
        let client = Client::builder().http(settings).prefer([binding]).connect(&url).await.unwrap();
        assert_eq!(client.interface().unwrap().protocol_binding, binding.name());
        assert!(matches!(client.send("message hi").await.unwrap(), SendMessageResponse::Message(_)), "{binding}");
    }
}

#[tokio::test]
async fn an_untrusted_certificate_is_refused_unless_insecure() {
    let url = serve().await;
    let error = Client::connect(&url).await.unwrap_err();
    assert!(matches!(error, ClientError::Transport(Failure::Tls { .. })), "{error:?}");
    for binding in Binding::ALL {
        let client = Client::builder().endpoint(&url, binding).unwrap();
        let error = client.send("message hi").await.unwrap_err();
        assert!(matches!(error, ClientError::Transport(Failure::Tls { .. })), "{binding}: {error:?}");

        let mut settings = HttpSettings::default();
        settings.insecure = true;
        let client = Client::builder().http(settings).endpoint(&url, binding).unwrap();
        assert!(client.send("message hi").await.is_ok(), "{binding}");
    }
}

#[tokio::test]
async fn an_unreadable_authority_is_a_setup_error() {
    let mut settings = HttpSettings::default();
    settings.authorities.push(b"-----BEGIN CERTIFICATE-----\n?\n-----END CERTIFICATE-----\n".to_vec());
    for binding in Binding::ALL {
        let client = Client::builder().http(settings.clone()).endpoint("https://localhost:1", binding).unwrap();
        let error = client.send("hi").await.unwrap_err();
        assert!(matches!(error, ClientError::Setup(_)), "{binding}: {error:?}");
    }
}
