//! The head of an HTTP/1.1 response: the status and the length of the body.

use anyhow::{Context as _, Result, bail};

/// A parsed head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    /// The number of bytes up to the empty line, inclusive.
    pub(crate) length: usize,
    pub(crate) status: u16,
    pub(crate) framing: Framing,
}

/// The method that marks the end of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// By `Content-Length`.
    Length(usize),
    /// By `Transfer-Encoding: chunked`.
    Chunked,
}

/// The head at the start of `bytes`, if complete.
pub(crate) fn parse(bytes: &[u8]) -> Result<Option<Head>> {
    let Some(end) = memchr::memmem::find(bytes, b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = &bytes[..end];
    let status = head.strip_prefix(b"HTTP/1.1 ").and_then(|rest| rest.get(..3));
    let status = status.and_then(number).context("not an HTTP/1.1 response")?;
    let mut framing = None;
    let mut rest = head;
    while let Some(at) = memchr::memchr(b'\n', rest) {
        rest = &rest[at + 1..];
        let line = &rest[..memchr::memchr(b'\r', rest).unwrap_or(rest.len())];
        if let Some(value) = header(line, b"content-length") {
            framing = number(value).map(Framing::Length);
        } else if header(line, b"transfer-encoding").is_some() {
            framing = Some(Framing::Chunked);
        }
    }
    let Some(framing) = framing else {
        bail!("a response without a length: {}", String::from_utf8_lossy(head));
    };
    Ok(Some(Head { length: end + 4, status: u16::try_from(status)?, framing }))
}

fn header<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (found, value) = line.split_at_checked(name.len())?;
    let value = value.strip_prefix(b":")?;
    found.eq_ignore_ascii_case(name).then(|| value.trim_ascii())
}

fn number(digits: &[u8]) -> Option<usize> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_status_and_length() {
        let bytes = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\ncontent-length: 12\r\n\r\nhello";
        let head = parse(bytes).unwrap().unwrap();
        assert_eq!((head.status, head.framing, head.length), (200, Framing::Length(12), bytes.len() - 5));
    }

    #[test]
    fn waits_for_the_whole_head() {
        assert_eq!(parse(b"HTTP/1.1 200 OK\r\ncontent-length: 12\r\n").unwrap(), None);
    }

    #[test]
    fn refuses_a_body_without_a_length() {
        assert!(parse(b"HTTP/1.1 200 OK\r\nserver: x\r\n\r\n").is_err());
    }
}
