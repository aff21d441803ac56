//! The last look at the hint of a failure, when the command and its target are known.

use nuncio_client::speaks_tls;
use url::Url;

use super::{CliError, Code};

/// Removes the failed command from the hint. If a port with TLS was called without TLS, the hint says so.
pub(super) async fn last(mut error: CliError, place: Option<Url>) -> CliError {
    let words: Vec<String> = std::env::args().skip(1).collect();
    error.hint = error.hint.and_then(|hint| without(&hint, &words));
    // A port that speaks TLS closes the connection, or answers 400; any other answer is of a port without TLS.
    let may_be_tls = match error.code {
        Code::Unreachable | Code::CardNotFound | Code::Internal | Code::Agent(_) => {
            matches!(error.a2a_code, None | Some(400)) && !error.message.contains("(404 ")
        }
        _ => false,
    };
    let is_answered = matches!(error.code, Code::Agent(_)) && error.a2a_code.is_none();
    if let Some(mut url) = place.filter(|_| may_be_tls && !is_answered)
        && speaks_tls(&url).await
        && url.set_scheme("https").is_ok()
    {
        let url = url.as_str().trim_end_matches('/');
        error.hint = Some(format!("the port speaks TLS, and was called without: say {url}"));
    }
    error
}

/// A hint without the parts that suggest this command.
fn without(hint: &str, words: &[String]) -> Option<String> {
    let is_other = |part: &&str| {
        let Some(command) = part.split_once("`nuncio ").and_then(|(_, rest)| rest.split_once('`')) else { return true };
        !command.0.split_whitespace().all(|word| words.iter().any(|given| given == word))
    };
    let parts: Vec<_> = hint.split("; ").filter(is_other).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_failed_is_not_suggested() {
        let shows = "`nuncio card get` shows what the agent wants; give --bearer or --api-key";
        let validate = "`nuncio card get --validate` shows what is wrong";
        for (hint, words, left) in [
            (shows, "card get -a x", Some("give --bearer or --api-key")),
            (shows, "send x", Some(shows)),
            (validate, "card get --validate x", None),
            (validate, "card get x", Some(validate)),
            ("usage: nuncio card get; --help says more", "card get", Some("usage: nuncio card get; --help says more")),
        ] {
            let words: Vec<_> = words.split(' ').map(str::to_owned).collect();
            assert_eq!(without(hint, &words).as_deref(), left, "{hint} {words:?}");
        }
    }
}
