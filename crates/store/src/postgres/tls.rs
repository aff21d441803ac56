//! TLS to the server, by rustls.

use std::{
    convert::Infallible,
    io,
    path::{Path, PathBuf},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::{
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_cert_signed_by_trust_anchor, verify_server_name,
    },
    crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject as _},
    server::ParsedCertificate,
};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::{Connect, TlsConnector, client};

use super::error::PostgresError;

/// Whose certificate is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trust {
    /// Anybody's: the connection is secret, and the server may be another.
    Anybody,
    /// One for the host's name by who the system trusts.
    Platform,
    /// One for the host's name by who is in this PEM file.
    Roots(PathBuf),
    /// One by who is in this PEM file, for whatever name.
    AnyOf(PathBuf),
}

/// Makes TLS connections.
#[derive(Clone)]
pub(super) struct Tls(Arc<ClientConfig>);

impl Tls {
    pub(super) fn new(trust: &Trust) -> Result<Self, PostgresError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let failed = |error: rustls::Error| PostgresError::Url(format!("TLS cannot be set up: {error}"));
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(failed)?;
        let own = |roots, is_for_name| Arc::new(Verifier { roots, is_for_name, provider });
        let mut config = match trust {
            Trust::Platform => builder.with_platform_verifier().map_err(failed)?,
            Trust::Anybody => builder.dangerous().with_custom_certificate_verifier(own(None, false)),
            Trust::Roots(path) => builder.dangerous().with_custom_certificate_verifier(own(Some(read(path)?), true)),
            Trust::AnyOf(path) => builder.dangerous().with_custom_certificate_verifier(own(Some(read(path)?), false)),
        }
        .with_no_client_auth();
        config.alpn_protocols = vec![b"postgresql".to_vec()];
        Ok(Self(Arc::new(config)))
    }
}

/// The certificates of a PEM file.
fn read(path: &Path) -> Result<Roots, PostgresError> {
    let unreadable = |why: String| PostgresError::Url(format!("sslrootcert {} cannot be used: {why}", path.display()));
    let certificates = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let certificates = certificates.map_err(|error| unreadable(error.to_string()))?;
    let mut anchors = RootCertStore::empty();
    for certificate in &certificates {
        anchors.add(certificate.clone()).map_err(|error| unreadable(error.to_string()))?;
    }
    if anchors.is_empty() {
        return Err(unreadable("there is no certificate in it".to_owned()));
    }
    Ok(Roots { certificates, anchors })
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Tls {
    type Stream = Stream<S>;
    type TlsConnect = ToHost;
    type Error = Infallible;

    /// A socket in the file system has no name, and is connected to without TLS.
    fn make_tls_connect(&mut self, domain: &str) -> Result<ToHost, Infallible> {
        let name = ServerName::try_from(domain).ok().map(|name| name.to_owned());
        Ok(ToHost { connector: TlsConnector::from(Arc::clone(&self.0)), name })
    }
}

/// A TLS connection to one host, to be made.
pub(super) struct ToHost {
    connector: TlsConnector,
    /// None where it can be in no certificate.
    name: Option<ServerName<'static>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for ToHost {
    type Stream = Stream<S>;
    type Error = io::Error;
    type Future = Handshake<S>;

    fn connect(self, stream: S) -> Handshake<S> {
        Handshake(self.name.map(|name| self.connector.connect(name, stream)))
    }
}

pub(super) struct Handshake<S>(Option<Connect<S>>);

impl<S: AsyncRead + AsyncWrite + Unpin> Future for Handshake<S> {
    type Output = io::Result<Stream<S>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Some(connect) => Pin::new(connect).poll(cx).map_ok(Stream),
            None => Poll::Ready(Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "TLS needs a host with the name or the address of a machine",
            ))),
        }
    }
}

pub(super) struct Stream<S>(client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Stream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Stream<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, to)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// Who is trusted.
#[derive(Debug)]
struct Roots {
    certificates: Vec<CertificateDer<'static>>,
    anchors: RootCertStore,
}

/// Takes certificates of these roots, or any; and always has the server prove that it has its key.
#[derive(Debug)]
struct Verifier {
    roots: Option<Roots>,
    /// Whether the certificate must be for the host's name.
    is_for_name: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(Roots { certificates, anchors }) = &self.roots else { return Ok(ServerCertVerified::assertion()) };
        let parsed = ParsedCertificate::try_from(certificate)?;
        // A server that has signed its own is in the file itself, and signs nothing else.
        if !certificates.contains(certificate) {
            let algorithms = self.provider.signature_verification_algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&parsed, anchors, between, now, algorithms)?;
        }
        if self.is_for_name {
            verify_server_name(&parsed, name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
