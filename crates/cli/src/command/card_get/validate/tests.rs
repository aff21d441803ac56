//! Mistakes of cards, each at its place, and cards without any.

use serde_json::json;

use nuncio_model::Value;

use super::Findings;

fn check(card: &Value) -> Findings {
    document(card.to_string().as_bytes())
}

fn document(card: &[u8]) -> Findings {
    super::document(card)
}

#[test]
fn a_whole_card_is_valid() {
    let found = check(&json!({
        "name": "n", "description": "", "version": "1", "capabilities": {}, "defaultInputModes": [],
        "defaultOutputModes": [], "skills": [], "supportedInterfaces":
        [{"url": "https://a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]
    }));
    assert!(found.mistakes.is_empty() && found.remarks.is_empty(), "{found:?}");
}

/// A card of 1.0 that is valid.
fn whole() -> Value {
    json!({
        "name": "n", "description": "d", "version": "1", "capabilities": {}, "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"], "skills": [{"id": "s", "name": "s", "description": "s", "tags": []}],
        "supportedInterfaces": [{"url": "https://a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]
    })
}

/// A card of 0.3 that is valid.
fn older() -> Value {
    json!({
        "name": "n", "description": "d", "version": "1", "capabilities": {"stateTransitionHistory": false},
        "defaultInputModes": [], "defaultOutputModes": [], "skills": [], "url": "https://a",
        "protocolVersion": "0.3.0", "preferredTransport": "JSONRPC", "security": [{"b": ["read"]}],
        "securitySchemes": {"b": {"type": "http", "scheme": "bearer"}}, "supportsAuthenticatedExtendedCard": true
    })
}

fn with(mut card: Value, name: &str, value: Value) -> Value {
    card[name] = value;
    card
}

#[test]
fn a_card_for_readers_of_all_versions_is_valid() {
    let mut card = whole();
    for (name, value) in older().as_object().unwrap() {
        card[name] = value.clone();
    }
    card["securitySchemes"]["b"]["httpAuthSecurityScheme"] = json!({"scheme": "bearer", "bearerFormat": "opaque"});
    card["securityRequirements"] = json!([{"schemes": {"b": {"list": ["read"]}}}]);
    card["authentication"] = json!({"schemes": ["Bearer"]});
    let found = check(&card);
    assert!(found.mistakes.is_empty() && found.remarks.is_empty() && found.older.is_none(), "{found:?}");
    // The older form is a matter of older readers.
    card["securitySchemes"]["b"]["type"] = json!("htp");
    let found = check(&card);
    assert_eq!(found.mistakes, [""; 0]);
    assert!(found.remarks.concat().contains("for readers of 0.3: securitySchemes.b.type is none of"), "{found:?}");
}

#[test]
fn a_card_before_1_0_is_held_against_its_version() {
    let found = check(&older());
    assert!(found.mistakes.is_empty() && found.remarks.is_empty() && found.older == Some("0.3"), "{found:?}");
    for (change, mistake) in [
        (("description", json!(null)), "description is missing"),
        (("skills", json!([{"id": "a"}])), "skills[0].name is missing"),
        (("capabilities", json!(["streaming"])), "capabilities is not an object"),
        (("capabilities", json!({"streaming": "True"})), "capabilities.streaming is not true or false"),
        (("url", json!("https://exa mple.com/")), "url `https://exa mple.com/` is not an address for JSONRPC"),
        (("additionalInterfaces", json!([{"url": "https://a"}])), "additionalInterfaces[0].transport is missing"),
        (("securitySchemes", json!({"b": {"scheme": "bearer"}})), "securitySchemes.b.type is missing"),
        (("securitySchemes", json!({"b": {"type": "apiKey", "name": "k", "in": "body"}})), "in is not one of cookie"),
        (("security", json!({"b": []})), "security is not a list of objects"),
        (("security", json!([{"b": "read"}])), "security[0] is not an object of lists of scopes"),
        (("signatures", json!([{"protected": "%", "signature": "QQ"}])), "signatures[0].protected is not base64url"),
    ] {
        let found = check(&with(older(), change.0, change.1));
        assert!(found.mistakes.join("; ").contains(mistake), "{mistake}: {found:?}");
    }
    let found = check(&with(older(), "preferredTransport", json!("REST")));
    assert!(found.mistakes.is_empty(), "{found:?}");
    assert_eq!(found.remarks, ["url is for the binding `REST`; the name is `HTTP+JSON`"]);
    // Some versions have no name for this value.
    let mut first = json!({"name": "n", "url": "https://a", "version": "1", "capabilities": {}, "skills": []});
    let found = check(&first);
    assert!(found.mistakes.is_empty() && found.older == Some("0.1"), "{found:?}");
    first["authentication"] = json!({"schemes": "Bearer"});
    assert_eq!(check(&first).mistakes, ["authentication.schemes is not a list of texts"]);
    first.as_object_mut().unwrap().remove("skills");
    assert!(check(&first).mistakes.contains(&"skills is missing".to_owned()));
    let mut second = older();
    second.as_object_mut().unwrap().remove("protocolVersion");
    let found = check(&second);
    assert!(found.mistakes.is_empty() && found.older == Some("0.2"), "{found:?}");
}

#[test]
fn addresses_and_versions_are_checked_as_the_client_does() {
    for (url, binding, version, mistake) in [
        ("HTTPS://a.example/rpc", "JSONRPC", "1.0", ""),
        ("https://a.example", "jsonrpc", "1.0", ""),
        ("a.example:443", "GRPC", "1.0", ""),
        ("grpcs://a.example", "GRPC", "1.0", ""),
        ("https://", "JSONRPC", "1.0", "is not an address for JSONRPC: empty host"),
        ("https://exa mple.com/", "HTTP+JSON", "1.0", "is not an address for HTTP+JSON: "),
        ("ftp://a", "JSONRPC", "1.0", "the scheme is ftp"),
        ("/rpc", "JSONRPC", "1.0", "the address is not absolute"),
        ("not a host", "GRPC", "1.0", "not host:port"),
        ("https://a", "JSONRPC", "v1.0", "protocolVersion `v1.0` is not Major.Minor"),
        ("https://a", "JSONRPC", "one", "protocolVersion `one` is not Major.Minor"),
    ] {
        let interface = json!({"url": url, "protocolBinding": binding, "protocolVersion": version});
        let found = check(&with(whole(), "supportedInterfaces", json!([interface])));
        let told = found.mistakes.join("; ");
        assert!(found.remarks.is_empty() && told.contains(mistake), "{url} {version}: {found:?}");
        assert_eq!(found.mistakes.is_empty(), mistake.is_empty(), "{url} {version}: {found:?}");
    }
}

#[test]
fn requirements_have_the_form_of_1_0() {
    let card = with(whole(), "securitySchemes", json!({"b": {"httpAuthSecurityScheme": {"scheme": "bearer"}}}));
    let new = json!([{"schemes": {"b": {"list": ["read"]}}}]);
    let found = check(&with(card.clone(), "securityRequirements", new));
    assert!(found.mistakes.is_empty() && found.remarks.is_empty(), "{found:?}");
    let old = json!([{"b": ["read"]}]);
    let found = check(&with(card.clone(), "securityRequirements", old.clone()));
    let told =
        r#"securityRequirements[0] has the form of versions before 1.0; 1.0 has {"schemes":{"b":{"list":["read"]}}}"#;
    assert_eq!(found.mistakes, [told]);
    let skill = json!([{"id": "s", "name": "s", "description": "s", "tags": [], "securityRequirements": old}]);
    assert!(
        check(&with(card.clone(), "skills", skill)).mistakes[0].starts_with("skills[0].securityRequirements[0] has")
    );
    let found = check(&with(card, "security", json!([{"b": []}])));
    assert_eq!(found.remarks, ["security is of versions before 1.0, which has securityRequirements"]);
}

#[test]
fn signatures_have_the_form_of_a_jws() {
    let good = "eyJhbGciOiJFUzI1NiJ9";
    for (protected, signature, mistake) in [
        (good, "QUJD", ""),
        ("not base64url", "QUJD", "signatures[0].protected is not base64url"),
        ("W10", "QUJD", "signatures[0].protected is not the base64url of a JSON object"),
        ("e30", "QUJD", "signatures[0].protected has no `alg`"),
        ("eyJhbGciOiJub25lIn0", "QUJD", "signatures[0].protected has the `alg` none, which signs nothing"),
        (good, "a+b/", "signatures[0].signature is not base64url"),
        (good, "", "signatures[0].signature is empty"),
    ] {
        let signature = json!([{"protected": protected, "signature": signature}]);
        let found = check(&with(whole(), "signatures", signature)).mistakes;
        let wanted: Vec<_> = Some(mistake).filter(|it| !it.is_empty()).into_iter().collect();
        assert_eq!(found, wanted);
    }
}

#[test]
fn each_mistake_is_named_where_it_is() {
    let found = check(&json!({
        "name": "", "description": "d", "version": "1", "capabilities": {}, "defaultInputModes": [],
        "defaultOutputModes": [], "skills": [{"id": "a", "name": "A", "description": "d"}], "colour": "red",
        "securityRequirements": [{"schemes": {"key": {}}}],
        "supportedInterfaces": [{"url": "a:1", "protocolBinding": "JSONRPC", "protocolVersion": "one"}]
    }));
    assert_eq!(
        found.mistakes,
        [
            "name is empty",
            "skills[0].tags is missing",
            "supportedInterfaces[0].url `a:1` is not an address for JSONRPC: the address is not absolute",
            "supportedInterfaces[0].protocolVersion `one` is not Major.Minor, for example 1.0",
            "securityRequirements[0] names `key`, which securitySchemes does not have",
        ]
    );
    assert_eq!(found.remarks, ["colour is not a member that the specification knows"]);
}

#[test]
fn no_mistake_hides_another() {
    let url = |url: Value| {
        let interface = json!({"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"});
        let found = check(&json!({"supportedInterfaces": [interface]})).mistakes;
        found.into_iter().filter(|it| it.starts_with("supportedInterfaces")).collect::<Vec<_>>()
    };
    for wrong in [json!(5), json!(""), json!(null), json!("a:1")] {
        let found = url(wrong);
        assert!(found.len() == 1 && found[0].contains("[0].url"), "one mistake is told once: {found:?}");
    }
    assert!(url(json!("http://a")).is_empty());
    let found = document(br#"{"name": 5, "version": [], "skills": [{"id": 1}, {"id": 2}], "supportedInterfaces": []}"#);
    let all = found.mistakes.join("; ");
    for expected in
        ["name: ", "version: ", "skills[0].id: ", "skills[1].id: ", "description is missing", "Interfaces is empty"]
    {
        assert!(all.contains(expected), "{expected} in {all}");
    }
}

#[test]
fn what_is_not_json_is_said_with_its_place() {
    let found = document(b"{\n  \"name\": \"a\"\n  \"version\": 1\n}");
    assert!(found.mistakes[0].contains("line 3 column 3"), "{found:?}");
    assert_eq!(document(b"[]").mistakes, ["it is not a JSON object"]);
}
