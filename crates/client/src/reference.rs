//! References to agents, and the locations of the cards (section 8.2).

use std::{
    convert::Infallible,
    fmt,
    net::IpAddr,
    path::{Path, PathBuf},
    str::FromStr,
};

use url::Url;

/// The path of a card below the address of an agent: the current path, and the path before 0.3.
const WELL_KNOWN: [&str; 2] = ["/.well-known/agent-card.json", "/.well-known/agent.json"];

/// Names an agent: `localhost:8080`, `https://agents.example/weather`, the URL of a card, or a file with a card.
///
/// - An existing file, a name that ends in `.json`, or a text that begins with `/`, `./`, `../`, `~` or `file:`, is a
///   file.
/// - A text with `://` is a URL.
/// - Any other text is a host with an optional port and path. The scheme is `http` for names and addresses of this
///   machine, else `https`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentRef(Place);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    Url(Url),
    File(PathBuf),
}

/// The text does not name an agent.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` does not name an agent: {reason}")]
pub struct InvalidReference {
    text: String,
    reason: String,
}

nuncio_model::debug_is_text!(InvalidReference);

impl AgentRef {
    pub(crate) fn place(&self) -> &Place {
        &self.0
    }

    /// The URL, unless the reference is a file.
    pub fn as_url(&self) -> Option<&Url> {
        match &self.0 {
            Place::Url(url) => Some(url),
            Place::File(_) => None,
        }
    }

    /// The URLs of possible cards, the most probable first.
    ///
    /// The URL of a JSON document is the URL of the card. A URL with another path may be the URL of the card, the
    /// prefix of the agent, or an endpoint of an agent with its card at the origin.
    pub fn candidates(&self) -> Vec<Url> {
        let Place::Url(url) = &self.0 else { return Vec::new() };
        let prefix = url.path().trim_end_matches('/').to_owned();
        let mut candidates = Vec::new();
        if !prefix.is_empty() {
            candidates.push(url.clone());
            if is_document(Path::new(&prefix)) {
                return candidates;
            }
        }
        let bases = [prefix.clone(), String::new()];
        for base in if prefix.is_empty() { &bases[1..] } else { &bases[..] } {
            for well_known in WELL_KNOWN {
                let mut candidate = url.clone();
                candidate.set_path(&format!("{base}{well_known}"));
                candidate.set_query(None);
                candidate.set_fragment(None);
                candidates.push(candidate);
            }
        }
        candidates
    }
}

impl FromStr for AgentRef {
    type Err = InvalidReference;

    fn from_str(text: &str) -> Result<Self, InvalidReference> {
        let invalid = |reason: String| InvalidReference { text: without_userinfo(text), reason };
        let text = text.trim();
        if text.is_empty() {
            return Err(invalid("it is empty".into()));
        }
        if let Some(path) = as_file(text) {
            return Ok(Self(Place::File(path)));
        }
        let address = match text.split_once("://") {
            Some(_) => text.to_owned(),
            None => format!("{}://{text}", if is_loopback(host_of(text)) { "http" } else { "https" }),
        };
        let url = Url::parse(&address).map_err(|error| invalid(error.to_string()))?;
        match url.scheme() {
            "http" | "https" if !url.username().is_empty() || url.password().is_some() => {
                Err(invalid("credentials do not belong in an address".into()))
            }
            "http" | "https" => Ok(Self(Place::Url(url))),
            scheme => Err(invalid(format!("a card is fetched over http or https, not {scheme}"))),
        }
    }
}

/// Allows a parsed reference in the place of a text.
impl From<Infallible> for InvalidReference {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl TryFrom<&str> for AgentRef {
    type Error = InvalidReference;
    fn try_from(text: &str) -> Result<Self, InvalidReference> {
        text.parse()
    }
}

impl TryFrom<&String> for AgentRef {
    type Error = InvalidReference;
    fn try_from(text: &String) -> Result<Self, InvalidReference> {
        text.parse()
    }
}

impl TryFrom<String> for AgentRef {
    type Error = InvalidReference;
    fn try_from(text: String) -> Result<Self, InvalidReference> {
        text.parse()
    }
}

impl TryFrom<Url> for AgentRef {
    type Error = InvalidReference;
    fn try_from(url: Url) -> Result<Self, InvalidReference> {
        url.as_str().parse()
    }
}

impl TryFrom<PathBuf> for AgentRef {
    type Error = InvalidReference;
    fn try_from(path: PathBuf) -> Result<Self, InvalidReference> {
        Ok(Self(Place::File(path)))
    }
}

impl fmt::Display for AgentRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Place::Url(url) => f.write_str(url.as_str().trim_end_matches('/')),
            Place::File(path) => path.display().fmt(f),
        }
    }
}

/// Whether the name of a path is the name of a JSON document.
pub(crate) fn is_document(path: &Path) -> bool {
    path.extension().is_some_and(|it| it.eq_ignore_ascii_case("json"))
}

fn as_file(text: &str) -> Option<PathBuf> {
    if let Some(rest) = text.strip_prefix("file:") {
        return Some(Url::parse(text).ok().and_then(|url| url.to_file_path().ok()).unwrap_or_else(|| rest.into()));
    }
    if let Some(rest) = text.strip_prefix("~/") {
        return Some(std::env::home_dir().unwrap_or_default().join(rest));
    }
    let looks_like_one = text == "~" || ["/", "./", "../"].iter().any(|start| text.starts_with(start));
    let path = PathBuf::from(text);
    // No host has such a name.
    let looks_like_one = looks_like_one || (is_document(&path) && !text.contains(['/', ':']));
    (looks_like_one || (!text.contains("://") && path.is_file())).then_some(path)
}

/// The host of `host[:port][/path]`.
fn host_of(text: &str) -> &str {
    let authority = text.split(['/', '?', '#']).next().unwrap_or_default();
    match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => authority.split(':').next().unwrap_or_default(),
    }
}

/// Whether a host is a name or an address of this machine, so that requests use no network.
pub fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.');
    let address = host.parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost")
        || host.to_ascii_lowercase().ends_with(".localhost")
        || address.is_ok_and(|address| address.is_loopback() || address.is_unspecified())
}

/// The location of the older card (versions before 0.3) beside the card at this location.
pub(crate) fn older_card(url: &Url) -> Option<Url> {
    let [newer, older] = WELL_KNOWN;
    let base = url.path().strip_suffix(newer)?;
    let mut beside = url.clone();
    beside.set_path(&format!("{base}{older}"));
    Some(beside)
}

/// The text without a password, for an error message.
pub(crate) fn without_userinfo(text: &str) -> String {
    let start = text.find("://").map_or(0, |at| at + 3);
    let authority = text[start..].split(['/', '?', '#']).next().unwrap_or_default();
    match authority.rfind('@') {
        Some(at) => format!("{}***{}", &text[..start], &text[start + at..]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(text: &str) -> Vec<String> {
        text.parse::<AgentRef>().unwrap().candidates().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn http_is_the_default_only_on_this_machine() {
        for (text, first) in [
            ("localhost", "http://localhost/.well-known/agent-card.json"),
            ("127.0.0.1:8080", "http://127.0.0.1:8080/.well-known/agent-card.json"),
            ("[::1]:8080", "http://[::1]:8080/.well-known/agent-card.json"),
            ("agents.localhost:1", "http://agents.localhost:1/.well-known/agent-card.json"),
            ("agents.example", "https://agents.example/.well-known/agent-card.json"),
            ("agents.example:8443", "https://agents.example:8443/.well-known/agent-card.json"),
            ("http://agents.example/", "http://agents.example/.well-known/agent-card.json"),
        ] {
            assert_eq!(candidates(text)[0], first, "{text}");
        }
    }

    #[test]
    fn an_origin_is_tried_at_both_well_known_paths() {
        assert_eq!(
            candidates("http://a.example"),
            ["http://a.example/.well-known/agent-card.json", "http://a.example/.well-known/agent.json"]
        );
    }

    #[test]
    fn a_prefix_is_tried_unchanged_then_below_then_at_the_origin() {
        assert_eq!(
            candidates("localhost:80/weather/"),
            [
                "http://localhost/weather/",
                "http://localhost/weather/.well-known/agent-card.json",
                "http://localhost/weather/.well-known/agent.json",
                "http://localhost/.well-known/agent-card.json",
                "http://localhost/.well-known/agent.json",
            ]
        );
    }

    #[test]
    fn a_document_url_is_the_card() {
        assert_eq!(candidates("https://a.example/x/card.json?v=2"), ["https://a.example/x/card.json?v=2"]);
    }

    #[test]
    fn files_are_recognized_by_their_prefix() {
        for text in
            ["/tmp/none.json", "./none.json", "../none.json", "~/none.json", "file:///tmp/none.json", "none.json"]
        {
            let reference = text.parse::<AgentRef>().unwrap();
            assert!(matches!(reference.place(), Place::File(_)), "{text}");
            assert!(reference.candidates().is_empty());
        }
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        assert!(matches!(manifest.parse::<AgentRef>().unwrap().place(), Place::File(_)));
    }

    #[test]
    fn other_schemes_and_passwords_are_refused() {
        assert!("ftp://a.example".parse::<AgentRef>().unwrap_err().to_string().contains("http or https"));
        assert!("".parse::<AgentRef>().is_err());
        let error = "https://me:s3cret@a.example/x".parse::<AgentRef>().unwrap_err().to_string();
        assert!(error.contains("credentials") && !error.contains("s3cret"), "{error}");
    }
}
