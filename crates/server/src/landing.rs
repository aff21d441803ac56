//! The response to GET at the root: a page about the agent for people, and a redirect to the card for programs.

use std::fmt::Write as _;

use http::{HeaderMap, HeaderValue, Response, StatusCode, header, request::Parts};
use nuncio_model::AgentCard;

use crate::{
    body::Body,
    card::{self, Cards},
};

/// The page loads nothing and runs nothing, and no other page may frame the page.
const POLICY: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Answers GET or HEAD of the root.
pub(crate) fn answer(cards: &Cards, head: &Parts) -> Response<Body> {
    let base = cards.for_request(&head.uri, &head.headers);
    let card_path = format!("{}{}", base.prefix(), card::PATH);
    let mut response = if wants_html(&head.headers) {
        let page = page(&cards.public_at(&base), &base.url(""), &card_path);
        let mut response = Response::new(Body::full(page));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        response
    } else {
        let mut response = Response::new(Body::Empty);
        *response.status_mut() = StatusCode::TEMPORARY_REDIRECT;
        response.headers_mut().extend(card_path.try_into().ok().map(|path| (header::LOCATION, path)));
        response
    };
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// Whether a client accepts HTML by name, as browsers do.
fn wants_html(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(header::ACCEPT).iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let is_html = parts.next().is_some_and(|it| it.eq_ignore_ascii_case("text/html"));
        is_html && !parts.any(|it| matches!(it, "q=0" | "q=0.0"))
    })
}

fn page(card: &AgentCard, url: &str, card_path: &str) -> String {
    let (name, url) = (escaped(&card.name), escaped(url));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{name}</title>\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<h1><bdi>{name}</bdi></h1>\n\
         <p><bdi>{}</bdi></p>\n",
        escaped(&card.description)
    );
    if !card.skills.is_empty() {
        page.push_str("<h2>Skills</h2>\n<dl>\n");
        for skill in &card.skills {
            let (name, description) = (escaped(&skill.name), escaped(&skill.description));
            // A write to a string does not fail.
            let _ = writeln!(page, "<dt><bdi>{name}</bdi></dt><dd><bdi>{description}</bdi></dd>");
        }
        page.push_str("</dl>\n");
    }
    let token = if card.security_requirements.is_empty() { "" } else { " --bearer SECRET" };
    let _ = write!(
        page,
        "<h2>How to call</h2>\n<p>This is an agent of the Agent2Agent (A2A) protocol. Its \
         <a href=\"{}\">card</a> says what it does and how it is called.</p>\n\
         <pre>nuncio send -a {url}{token} \"hello\"</pre>\n</html>\n",
        escaped(card_path)
    );
    page
}

/// Escapes text for HTML and removes control characters.
fn escaped(text: &str) -> String {
    let mut to = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => to.push_str("&amp;"),
            '<' => to.push_str("&lt;"),
            '>' => to.push_str("&gt;"),
            '"' => to.push_str("&quot;"),
            '\'' => to.push_str("&#39;"),
            '\n' | '\t' => to.push(letter),
            letter if letter.is_control() => {}
            letter => to.push(letter),
        }
    }
    to
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_that_name_html_get_the_page() {
        for (accept, is_html) in [
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true),
            ("application/json, Text/HTML;q=0.1", true),
            ("*/*", false),
            ("application/json", false),
            ("text/html;q=0", false),
            ("text/htmlx", false),
        ] {
            let mut headers = HeaderMap::new();
            assert!(!wants_html(&headers));
            headers.insert(header::ACCEPT, accept.parse().unwrap());
            assert_eq!(wants_html(&headers), is_html, "{accept}");
        }
    }
}
