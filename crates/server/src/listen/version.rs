//! Which version of HTTP a client begins with (RFC 9113, section 3.3), without taking a byte off the connection.

use std::{io, time::Duration};

use tokio::net::TcpStream;

/// What a client of HTTP/2 sends first.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How soon to look again when a part of the preface is there: what is there already cannot be waited for.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    Http1,
    Http2,
}

/// Waits for the first bytes. `None` where the client closes before there are any.
///
/// They are not read, because what is read must be put back in front of the rest, and that doubles hyper's buffer.
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
