//! TLS connections to the server, with rustls.

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

/// The rule for accepting a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trust {
    /// Accepts any certificate. The connection is encrypted, but the identity of the server is not verified.
    Unverified,
    /// Accepts a certificate for the host name, issued by an authority that the system trusts.
    System,
    /// Accepts a certificate for the host name, issued by an authority in this PEM file.
    Roots(PathBuf),
    /// Accepts a certificate with any name, issued by an authority in this PEM file.
    RootsForAnyName(PathBuf),
}

/// Opens TLS connections.
#[derive(Clone)]
pub(super) struct Tls(Arc<ClientConfig>);

impl Tls {
    pub(super) fn new(trust: &Trust) -> Result<Self, PostgresError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let failed = |error: rustls::Error| PostgresError::Url(format!("TLS cannot be set up: {error}"));
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(failed)?;
        let own = |roots, verifies_name| Arc::new(Verifier { roots, verifies_name, provider });
        let mut config = match trust {
            Trust::System => builder.with_platform_verifier().map_err(failed)?,
            Trust::Unverified => builder.dangerous().with_custom_certificate_verifier(own(None, false)),
            Trust::Roots(path) => builder.dangerous().with_custom_certificate_verifier(own(Some(read(path)?), true)),
            Trust::RootsForAnyName(path) => {
                builder.dangerous().with_custom_certificate_verifier(own(Some(read(path)?), false))
            }
        }
        .with_no_client_auth();
        config.alpn_protocols = vec![b"postgresql".to_vec()];
        Ok(Self(Arc::new(config)))
    }
}

/// Reads the certificates of a PEM file.
fn read(path: &Path) -> Result<Roots, PostgresError> {
    let unreadable = |why: String| PostgresError::Url(format!("sslrootcert {} cannot be used: {why}", path.display()));
    let certificates = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let certificates = certificates.map_err(|error| unreadable(error.to_string()))?;
    let mut anchors = RootCertStore::empty();
    for certificate in &certificates {
        anchors.add(certificate.clone()).map_err(|error| unreadable(error.to_string()))?;
    }
    if anchors.is_empty() {
        return Err(unreadable("it contains no certificate".to_owned()));
    }
    Ok(Roots { certificates, anchors })
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Tls {
    type Stream = Stream<S>;
    type TlsConnect = ToHost;
    type Error = Infallible;

    /// `name` is `None` for a socket in the file system, which uses no TLS.
    fn make_tls_connect(&mut self, domain: &str) -> Result<ToHost, Infallible> {
        let name = ServerName::try_from(domain).ok().map(|name| name.to_owned());
        Ok(ToHost { connector: TlsConnector::from(Arc::clone(&self.0)), name })
    }
}

/// Prepares a TLS connection to one host.
pub(super) struct ToHost {
    connector: TlsConnector,
    /// `None` if the host cannot be the name in a certificate.
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
            None => {
                Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidInput, "TLS needs a host name or an IP address")))
            }
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

/// The trusted certificates.
#[derive(Debug)]
struct Roots {
    certificates: Vec<CertificateDer<'static>>,
    anchors: RootCertStore,
}

/// Verifies certificates against the roots, if there are roots. Always verifies that the server has the private key of
/// its certificate.
#[derive(Debug)]
struct Verifier {
    roots: Option<Roots>,
    /// Whether the certificate must contain the host name.
    verifies_name: bool,
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
        // A self-signed server certificate is in the file itself and is not an authority.
        if !certificates.contains(certificate) {
            let algorithms = self.provider.signature_verification_algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&parsed, anchors, between, now, algorithms)?;
        }
        if self.verifies_name {
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
