use std::{
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
};

use http::Request;
use nuncio_model::{Error, ErrorKind};

use super::*;

/// Authenticates a request with these headers. `Tokens` never waits, so one poll is sufficient.
fn ask(tokens: &Tokens, headers: &[(&str, &str)]) -> Result<Principal, AuthError> {
    let mut request = Request::new(());
    for (name, value) in headers {
        request.headers_mut().append(http::HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
    }
    let (parts, ()) = request.into_parts();
    match pin!(tokens.authenticate(&parts)).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("waits"),
    }
}

fn tokens() -> Tokens {
    Tokens::new().with_entry("alice=a1").unwrap().with_entry("alice=a2").unwrap().with_entry("bob=b=1=").unwrap()
}

#[test]
fn a_caller_is_identified_by_bearer_token_and_by_api_key() {
    for headers in [
        [("authorization", "Bearer a1")],
        [("authorization", "bearer  a2")],
        [("authorization", "BEARER a1")],
        [("x-api-key", "a2")],
    ] {
        assert_eq!(ask(&tokens(), &headers).unwrap(), Principal::named("alice"), "{headers:?}");
    }
    assert_eq!(ask(&tokens(), &[("x-api-key", "b=1=")]).unwrap(), Principal::named("bob"));
    assert_eq!(ask(&tokens(), &[("authorization", "Bearer a1"), ("x-api-key", "a2")]).unwrap().name(), Some("alice"));
}

#[test]
fn wrong_credentials_are_refused_even_if_anonymous_callers_are_accepted() {
    for tokens in [tokens(), tokens().with_anonymous(true)] {
        for headers in [
            &[("authorization", "Bearer no")][..],
            &[("authorization", "Bearer ")],
            &[("authorization", "Bearer")],
            &[("authorization", "")],
            &[("authorization", "Basic YTE6")],
            &[("authorization", "a1")],
            &[("x-api-key", "A1")],
            &[("x-api-key", "")],
            &[("authorization", "Bearer a1"), ("x-api-key", "no")],
            &[("authorization", "Bearer a1"), ("authorization", "Bearer no")],
            &[("authorization", "Bearer a1"), ("x-api-key", "b=1=")],
        ] {
            assert!(matches!(ask(&tokens, headers), Err(AuthError::Invalid)), "{headers:?}");
        }
    }
}

#[test]
fn a_secret_belongs_to_one_caller() {
    let refused = tokens().with("carol", "a2").unwrap_err();
    assert_eq!(refused, TokenError::Shared("alice".to_owned(), "carol".to_owned()));
    assert_eq!(refused.to_string(), "`alice` and `carol` have the same token; each caller needs its own token");
    assert!(tokens().with("alice", "a2").is_ok(), "a repeated entry of one caller is allowed");
}

#[test]
fn a_caller_without_credentials_is_refused_or_anonymous() {
    assert!(matches!(ask(&tokens(), &[]), Err(AuthError::Missing)));
    assert_eq!(ask(&tokens().with_anonymous(true), &[]).unwrap(), Principal::Anonymous);
}

#[test]
fn an_invalid_entry_is_described_without_its_secret() {
    let wrong = |entry: &str| Tokens::new().with_entry(entry).unwrap_err().to_string();
    assert_eq!(wrong("alice"), "a token must have the form NAME=SECRET");
    assert_eq!(wrong("=x"), "a token requires a name before the `=`");
    assert_eq!(wrong("alice="), "the token of `alice` is empty");
    for bad in ["alice=a\nb", "alice= a", "alice=a\u{e9}"] {
        assert_eq!(wrong(bad), "the token of `alice` has characters other than visible ASCII and spaces inside");
    }
}

#[test]
fn both_schemes_and_anonymous_access_are_declared() {
    let json = |tokens: Tokens| {
        let declaration = tokens.declaration();
        (serde(&declaration.schemes), serde(&declaration.requirements))
    };
    let (schemes, requirements) = json(tokens());
    assert_eq!(
        schemes,
        r#"{"apiKey":{"apiKeySecurityScheme":{"location":"header","name":"X-API-Key"}},"bearer":{"httpAuthSecurityScheme":{"scheme":"Bearer"}}}"#
    );
    assert_eq!(requirements, r#"[{"schemes":{"bearer":{}}},{"schemes":{"apiKey":{}}}]"#);
    assert!(json(tokens().with_anonymous(true)).1.ends_with(",{}]"));
}

fn serde(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap()
}

#[test]
fn authentication_errors_become_protocol_errors() {
    assert_eq!(Error::from(AuthError::Missing).kind(), ErrorKind::Unauthenticated);
    assert_eq!(Error::from(AuthError::Forbidden).kind(), ErrorKind::PermissionDenied);
    let unavailable = Error::from(AuthError::Unavailable("no route to the directory".into()));
    assert_eq!(unavailable.kind(), ErrorKind::Unavailable);
    assert!(!unavailable.to_string().contains("directory"));
}
