//! The facts in the head of a request besides its path: version, extensions and the last event of a resumed stream
//! (section 3.2.6 "Service Parameters", section 3.6).

use std::borrow::Cow;

use http::{
    HeaderMap, HeaderName, HeaderValue, Request, Uri,
    header::{CONTENT_ENCODING, CONTENT_TYPE, HOST, TRANSFER_ENCODING, USER_AGENT},
    request::Parts,
};
use nuncio_model::{Error, ErrorKind, Size, resume};
use nuncio_wire::{
    Dialect,
    negotiate::{self, MAX_EXTENSIONS},
};

const VERSION: HeaderName = HeaderName::from_static("a2a-version");
const EXTENSIONS: HeaderName = HeaderName::from_static("a2a-extensions");
/// The name of the header in 0.3 and 0.2.
pub(crate) const OLD_EXTENSIONS: HeaderName = HeaderName::from_static("x-a2a-extensions");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const RESUME: HeaderName = HeaderName::from_static(resume::PARAMETER);

/// The version that the request declares.
pub(crate) fn version(parts: &Parts) -> Option<Cow<'_, str>> {
    declared(&parts.uri, &parts.headers)
}

/// The version that a request with this address and these headers declares. A value that is not text, or two different
/// versions, are returned as an unknown version, so that the request is refused.
pub(crate) fn declared<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> Option<Cow<'a, str>> {
    let mut lines = headers.get_all(&VERSION).iter();
    let Some(first) = lines.next() else { return negotiate::declared(None, uri.query()) };
    match first.to_str() {
        Ok(text) if lines.all(|line| line == first) => negotiate::declared(Some(text), uri.query()),
        _ => {
            let lines = headers.get_all(&VERSION).iter().map(|line| String::from_utf8_lossy(line.as_bytes()));
            Some(lines.collect::<Vec<_>>().join(", ").into())
        }
    }
}

/// The name of the client's software, from the client.
pub(crate) fn user_agent(headers: &HeaderMap) -> Option<&str> {
    headers.get(USER_AGENT)?.to_str().ok()
}

/// The extensions that the head declares, if any: as lists, in one header or in several (section 11.2, service
/// parameters), under the header name of any version.
pub(crate) fn extensions(headers: &HeaderMap) -> Option<Vec<Box<str>>> {
    let mut declared = None;
    for name in [&EXTENSIONS, &OLD_EXTENSIONS] {
        let lists = headers.get_all(name).iter().filter_map(|list| list.to_str().ok());
        let uris = lists.flat_map(|list| list.split(',')).map(str::trim).filter(|uri| !uri.is_empty());
        for uri in uris.take(MAX_EXTENSIONS) {
            let known: &mut Vec<Box<str>> = declared.get_or_insert_default();
            if known.len() < MAX_EXTENSIONS && !known.iter().any(|known| **known == *uri) {
                known.push(uri.into());
            }
        }
    }
    declared
}

/// Names the active extensions in the head of a response, under the header name of the version (section 3.2.6 "Service
/// Parameters").
pub(crate) fn echo_extensions(dialect: &dyn Dialect, active: &[Box<str>], headers: &mut HeaderMap) {
    if !active.is_empty()
        && let Ok(name) = HeaderName::try_from(dialect.extensions_header())
        && let Ok(list) = HeaderValue::try_from(active.join(", "))
    {
        headers.insert(name, list);
    }
}

/// The last event that the client received of the stream to resume. `Last-Event-ID` has precedence, because readers of
/// server-sent events update this header by themselves. The service parameter is second.
///
/// # Errors
///
/// `InvalidParams` if the value is not the id of an event.
pub(crate) fn last_event(headers: &HeaderMap) -> Result<Option<u64>, Error> {
    let given = |name| headers.get(name).map_or("", |value: &HeaderValue| value.to_str().unwrap_or("?"));
    match resume::read(given(&LAST_EVENT_ID))? {
        None => resume::read(given(&RESUME)),
        last => Ok(last),
    }
}

/// Refuses a compressed body (RFC 9110, section 8.4), because the server does not decompress.
///
/// # Errors
///
/// `ContentTypeNotSupported`, with a hint.
pub(crate) fn refuse_encoding(headers: &HeaderMap) -> Result<(), Error> {
    let mut lines = headers.get_all(CONTENT_ENCODING).iter();
    let Some(encoding) = lines.find(|it| !it.as_bytes().eq_ignore_ascii_case(b"identity")) else { return Ok(()) };
    let encoding = String::from_utf8_lossy(encoding.as_bytes());
    let message = format!("the server does not decode {encoding}: send the body without Content-Encoding");
    Err(Error::new(ErrorKind::ContentTypeNotSupported, message))
}

/// Refuses a head with more than `limit` bytes. The size is counted as in HTTP/2 for every version of HTTP (RFC 9113,
/// section 6.5.2): the name and the value of each header and of each part of the request line, plus 32 for each.
///
/// # Errors
///
/// `HeadTooLarge`.
pub(crate) fn check_size<B>(limit: usize, request: &Request<B>) -> Result<(), Error> {
    let uri = request.uri();
    let line = [
        (":method", Some(request.method().as_str())),
        (":scheme", uri.scheme_str()),
        (":authority", uri.authority().map(http::uri::Authority::as_str)),
        (":path", uri.path_and_query().map(http::uri::PathAndQuery::as_str)),
    ];
    let line = line.into_iter().filter_map(|(name, value)| Some((name.len(), value?.len())));
    let headers = request.headers().iter().map(|(name, value)| (name.as_str().len(), value.len()));
    let size: usize = line.chain(headers).map(|(name, value)| name + value + 32).sum();
    if size <= limit {
        return Ok(());
    }
    let message = format!(
        "the head of the request, its address and its headers, has {}; {} is the limit",
        Size::of(size),
        Size::of(limit)
    );
    Err(Error::new(ErrorKind::HeadTooLarge, message).with_metadata("limit", "head"))
}

/// Refuses a head without exactly one host (RFC 9112, section 3.2). HTTP/2 has the host in the address.
///
/// # Errors
///
/// `InvalidRequest`.
pub(crate) fn check_host(version: http::Version, headers: &HeaderMap) -> Result<(), Error> {
    let message = match headers.get_all(HOST).iter().count() {
        0 if version == http::Version::HTTP_11 => "a request of HTTP/1.1 must have a Host header",
        0 | 1 => return Ok(()),
        _ => "a request must have one Host header, and not several",
    };
    Err(Error::new(ErrorKind::InvalidRequest, message))
}

/// Refuses a body whose end servers and proxies determine differently (RFC 9112, section 6.1). The only transfer coding
/// of HTTP/1.1 that the server accepts is `chunked`.
///
/// # Errors
///
/// `InvalidRequest`.
pub(crate) fn check_coding(headers: &HeaderMap) -> Result<(), Error> {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => Ok(()),
        (Some(coding), None) if coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked") => Ok(()),
        _ => Err(Error::new(ErrorKind::InvalidRequest, "the Transfer-Encoding of a request must be chunked, once")),
    }
}

/// The media type of the body.
pub(crate) fn content_type(headers: &HeaderMap) -> Option<&str> {
    text(headers, &CONTENT_TYPE)
}

/// The first value of a header, if the value is text.
fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}
