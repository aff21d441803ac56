//! The origins of allowed pages, in the form of browsers.

use http::HeaderValue;
use url::{Origin, Url};

/// Parses an origin or `*`. Other spellings are converted to the form of browsers. Any other text is refused, because
/// no page would match.
pub(super) fn read(text: &str) -> Result<HeaderValue, String> {
    let wrong = |what: &str| format!("`{text}` is no origin: {what}");
    let written = if ["*", "null"].contains(&text) {
        text.to_owned()
    } else {
        let url = Url::parse(text).map_err(|_| wrong("it does not begin with a scheme and ://"))?;
        let is_bare = matches!(url.path(), "" | "/") && url.query().is_none() && url.fragment().is_none();
        match url.origin() {
            _ if url.host_str().is_none() => return Err(wrong("it does not begin with a scheme and ://")),
            _ if !is_bare || !url.username().is_empty() || url.password().is_some() => {
                return Err(wrong("it has more than a scheme, a host and a port"));
            }
            origin @ Origin::Tuple(..) => origin.ascii_serialization(),
            // A scheme that is not of the web, as browsers' extensions have.
            Origin::Opaque(_) => text.trim_end_matches('/').to_owned(),
        }
    };
    written.parse().map_err(|_| wrong("no header can hold it"))
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn origins_are_written_as_browsers_do() {
        for (text, written) in [
            ("https://app.example", "https://app.example"),
            ("https://app.example/", "https://app.example"),
            ("HTTPS://App.Example:443", "https://app.example"),
            ("http://localhost:3000", "http://localhost:3000"),
            ("https://b\u{fc}cher.example", "https://xn--bcher-kva.example"),
            ("chrome-extension://abcdef", "chrome-extension://abcdef"),
            ("*", "*"),
            ("null", "null"),
        ] {
            assert_eq!(read(text).unwrap(), written, "{text}");
        }
        for text in
            ["app.example", "app.example:443", "https://app.example/a", "https://ann@app.example", "", "https://a/?b"]
        {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
