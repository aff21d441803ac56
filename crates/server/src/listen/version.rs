//! Determines the client's version of HTTP (RFC 9113, section 3.3) without reading from the connection.

use std::{io, time::Duration};

use tokio::net::TcpStream;

/// The first bytes of an HTTP/2 client.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The time until the next look at an incomplete preface. The socket cannot wait for bytes beyond those that have
/// arrived.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    Http1,
    Http2,
}

/// Waits for the first bytes. `None` if the client closes before the first byte.
///
/// The bytes are not read, because hyper would need them again. A prefix before the rest would double hyper's buffer.
pub(super) async fn version(stream: &TcpStream) -> io::Result<Option<Version>> {
    let mut begin = [0; PREFACE.len()];
    loop {
        let length = stream.peek(&mut begin).await?;
        match &begin[..length] {
            [] => return Ok(None),
            begin if !PREFACE.starts_with(begin) => return Ok(Some(Version::Http1)),
            begin if begin.len() == PREFACE.len() => return Ok(Some(Version::Http2)),
            _ => tokio::time::sleep(LOOK_AGAIN).await,
        }
    }
}
