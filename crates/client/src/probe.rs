//! Detects TLS on a port, to explain a failure.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};
use url::Url;

/// The time limit of the whole probe.
const TIMEOUT: Duration = Duration::from_secs(1);

/// A ClientHello of TLS 1.2 with one cipher suite and no extensions. A server with TLS answers with a handshake or an
/// alert.
const HELLO: [u8; 50] = {
    let mut hello = [0; 50];
    // The record: a handshake, TLS 1.0 as in all ClientHello records, 45 bytes.
    (hello[0], hello[1], hello[2], hello[4]) = (0x16, 3, 1, 45);
    // The message: a ClientHello of 41 bytes, TLS 1.2, 32 random bytes, no session.
    (hello[5], hello[8], hello[9], hello[10]) = (1, 41, 3, 3);
    // One suite, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, and no compression.
    (hello[45], hello[46], hello[47], hello[48]) = (2, 0xc0, 0x2f, 1);
    hello
};

/// Whether the port of an `http` URL answers a ClientHello with TLS.
///
/// Use this function after a failed request over HTTP: a server with TLS closes such a connection, or answers with
/// bytes that are not HTTP, so the failure does not show the reason. `false` if the URL is not `http`, or no answer
/// arrives within a second.
pub async fn speaks_tls(url: &Url) -> bool {
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else { return false };
    let host = host.trim_matches(['[', ']']);
    let ask = async {
        let mut stream = TcpStream::connect((host, port)).await.ok()?;
        stream.write_all(&HELLO).await.ok()?;
        let mut answer = [0; 2];
        stream.read_exact(&mut answer).await.ok()?;
        // An alert or a handshake, of any version.
        Some(matches!(answer, [0x15 | 0x16, 3]))
    };
    url.scheme() == "http" && timeout(TIMEOUT, ask).await.ok().flatten().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    async fn asked(answer: &'static [u8]) -> bool {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut hello = [0; HELLO.len()];
            stream.read_exact(&mut hello).await.unwrap();
            stream.write_all(answer).await.unwrap();
        };
        tokio::join!(speaks_tls(&url), server).0
    }

    #[tokio::test]
    async fn tls_is_detected_by_a_handshake_or_an_alert() {
        assert!(asked(&[0x15, 3, 3, 0, 2, 2, 70]).await);
        assert!(asked(&[0x16, 3, 3, 0, 80]).await);
        assert!(!asked(b"HTTP/1.1 400 Bad Request\r\n").await);
        assert!(!asked(b"").await);
        assert!(!speaks_tls(&Url::parse("https://127.0.0.1:1").unwrap()).await);
    }
}
