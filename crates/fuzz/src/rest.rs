//! Requests of HTTP+JSON: a line with verb, path and query, followed by the body.

use http::Method as Verb;
use nuncio_model::{Call, Error, ErrorKind};
use nuncio_wire::{
    RestDialect, Version, Versions, dialect, negotiate,
    rest::{self, RouteError},
};

use crate::call;

/// Decodes the operation and the call of a request, in each version.
pub(crate) fn request(input: &[u8]) {
    let line = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let (line, body) = (&input[..line], input.get(line + 1..).unwrap_or_default());
    let Some((verb, target)) = std::str::from_utf8(line).ok().and_then(|line| line.split_once(' ')) else { return };
    let Ok(verb) = verb.parse::<Verb>() else { return };
    let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
    negotiated(&verb, path, query);
    for version in Version::ALL {
        let Some(rest) = dialect(*version).rest() else { continue };
        let routed = match rest.route(&verb, path) {
            Ok(routed) => routed,
            Err(refusal) => {
                refused(rest, &refusal);
                continue;
            }
        };
        let read = || rest::decode_call(rest, &routed, query, Some(rest.content_type()), body);
        let (write, decode) = (|call: &_| written(rest, call), |request: &[u8]| read_back(rest, request));
        call::read("a call of HTTP+JSON", *version, &read, &write, &decode);
    }
}

fn negotiated(verb: &Verb, path: &str, query: Option<&str>) {
    let declared = negotiate::declared(None, query);
    for versions in [Versions::default(), Versions::default().with_lenient(true)] {
        match versions.for_path(declared.as_deref(), verb, path) {
            Ok((dialect, routed)) => assert_eq!(dialect.route(verb, path).ok(), Some(routed)),
            Err(refusal) => assert_ne!(refusal.to_error().message(), ""),
        }
    }
}

fn refused(rest: &dyn RestDialect, refusal: &RouteError) {
    let (status, body) = rest::write_refusal(rest, refusal);
    assert_eq!(status, refusal.status());
    let kind = rest::parse_error(status, &body).kind();
    assert!(matches!(kind, ErrorKind::MethodNotFound | ErrorKind::VersionNotSupported), "{kind:?} of {refusal:?}");
}

/// The request as a client writes it.
fn written(rest: &dyn RestDialect, call: &Call) -> Result<Vec<u8>, Error> {
    let request = rest.encode_call(call)?;
    let mut to = format!("{} {}\n", request.method, request.path).into_bytes();
    to.extend(request.body.unwrap_or_default());
    Ok(to)
}

fn read_back(rest: &dyn RestDialect, request: &[u8]) -> Result<Call, Error> {
    let line = request.iter().position(|byte| *byte == b'\n').expect("there is a line");
    let (verb, target) = std::str::from_utf8(&request[..line]).expect("text").split_once(' ').expect("a verb");
    let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
    let verb = verb.parse().map_err(Error::internal)?;
    let routed = rest.route(&verb, path).map_err(|refusal| refusal.to_error())?;
    rest::decode_call(rest, &routed, query, Some(rest.content_type()), &request[line + 1..])
}
