//! The recipients and the places of credentials.

use axum::response::IntoResponse as _;
use http::header;
use nuncio_client::{Binding, Client, ClientError, Credential, Failure};
use serde_json::{Value, json};

use crate::fake::{Fake, card, ok, status, task};

const SECRET: &str = "s3cret-value";

fn rest(schemes: &Value) -> impl Fn(&crate::fake::Seen, &Fake) -> axum::response::Response + use<> {
    let schemes = schemes.clone();
    move |seen, fake| {
        if !seen.path.contains(".well-known") {
            return ok(&task("TASK_STATE_WORKING"));
        }
        let mut card = fake.card("HTTP+JSON");
        card["securitySchemes"] = schemes.clone();
        ok(&card)
    }
}

#[tokio::test]
async fn credentials_are_placed_by_the_card_and_not_sent_for_the_card() {
    let api_key = |location: &str| json!({"k": {"apiKeySecurityScheme": {"location": location, "name": "my-key"}}});
    let bearer = json!({"b": {"httpAuthSecurityScheme": {"scheme": "bearer"}}});
    for (schemes, credential, expected) in [
        (api_key("header"), Credential::api_key(SECRET), "my-key"),
        (api_key("cookie"), Credential::api_key(SECRET), "cookie"),
        (api_key("query"), Credential::api_key(SECRET), "?"),
        (json!({}), Credential::api_key(SECRET), "x-api-key"),
        (bearer, Credential::bearer(SECRET), "authorization"),
        (json!({}), Credential::bearer(SECRET), "authorization"),
    ] {
        let fake = Fake::start(rest(&schemes)).await;
        let client = Client::builder().credential(credential).connect(&fake.url).await.unwrap();
        client.task("t1").await.unwrap();
        let [card, call] = &fake.seen()[..] else { panic!("{:?}", fake.lines()) };
        assert!(!format!("{card:?}").contains(SECRET));
        if expected == "?" {
            assert!(call.path.ends_with(&format!("?my%2Dkey={}", SECRET.replace('-', "%2D"))), "{}", call.path);
        } else {
            assert!(call.header(expected).contains(SECRET), "{call:?}");
            assert!(!call.path.contains('?'));
        }
    }
}

#[tokio::test]
async fn an_interface_on_another_origin_gets_credentials_only_if_trusted() {
    let elsewhere = Fake::start(|_, _| ok(&task("TASK_STATE_WORKING"))).await;
    let url = elsewhere.url.clone();
    let fake = Fake::start(move |_, _| ok(&card(&[(&url, "HTTP+JSON")]))).await;
    let builder = || Client::builder().credential(Credential::bearer(SECRET)).header("x-mine", SECRET);

    let client = builder().connect(&fake.url).await.unwrap();
    assert!(client.withholds_credentials());
    client.task("t1").await.unwrap();
    assert!(!format!("{:?}", elsewhere.seen()).contains(SECRET));

    let client = builder().trust_origin(&elsewhere.url).connect(&fake.url).await.unwrap();
    assert!(!client.withholds_credentials());
    client.task("t1").await.unwrap();
    let call = elsewhere.seen().pop().unwrap();
    assert_eq!((call.header("authorization"), call.header("x-mine")), ("Bearer s3cret-value", SECRET));
    assert!(!format!("{:?}", fake.seen()).contains(SECRET));
}

#[tokio::test]
async fn a_grpc_interface_is_trusted_by_its_card_address_or_by_its_origin() {
    let elsewhere = Fake::start(|_, _| status(503, "")).await;
    let address = elsewhere.url.trim_start_matches("http://").to_owned();
    let named = address.clone();
    let fake = Fake::start(move |_, _| ok(&card(&[(&named, "GRPC")]))).await;
    let builder = || Client::builder().credential(Credential::bearer(SECRET));
    for (trusted, sees) in [
        (vec![], false),
        (vec![&address], true),
        (vec![&elsewhere.url], true),
        (vec![&format!("https://{address}"), &fake.url], false),
    ] {
        let builder = trusted.iter().fold(builder(), |builder, origin| builder.trust_origin(origin));
        let client = builder.connect(&fake.url).await.unwrap();
        assert_eq!(client.url().unwrap().as_str(), format!("{}/", elsewhere.url));
        assert_eq!(client.withholds_credentials(), !sees, "{trusted:?}");
        client.task("t1").await.unwrap_err();
        let call = elsewhere.calls().pop().unwrap();
        assert_eq!(call.header("authorization").contains(SECRET), sees, "{trusted:?}");
    }
    let error = builder().trust_origin("*").connect(&fake.url).await.unwrap_err();
    assert!(matches!(error, ClientError::Origin(_)), "{error:?}");
}

#[tokio::test]
async fn a_redirect_to_another_origin_gets_no_credentials() {
    let elsewhere = Fake::start(|_, _| ok(&task("TASK_STATE_WORKING"))).await;
    let url = elsewhere.url.clone();
    let fake = Fake::start(move |seen, fake| match seen.path.as_str() {
        "/.well-known/agent-card.json" => ok(&fake.card("HTTP+JSON")),
        "/tasks/here" => (http::StatusCode::FOUND, [(header::LOCATION, "/tasks/t1")]).into_response(),
        "/tasks/there" => {
            (http::StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, format!("{url}/tasks/t1"))]).into_response()
        }
        _ => ok(&task("TASK_STATE_WORKING")),
    })
    .await;
    let client = Client::builder().credential(Credential::bearer(SECRET)).connect(&fake.url).await.unwrap();
    client.task("here").await.unwrap();
    assert!(fake.calls().iter().all(|call| call.header("authorization").contains(SECRET)));
    client.task("there").await.unwrap();
    assert_eq!(elsewhere.lines(), ["GET /tasks/t1"]);
    assert!(!format!("{:?}", elsewhere.seen()).contains(SECRET));
}

#[tokio::test]
async fn the_card_request_has_credentials_only_on_request() {
    let fake = Fake::start(|seen, fake| match seen.header("authorization") {
        "" => status(401, ""),
        _ => ok(&fake.card("HTTP+JSON")),
    })
    .await;
    let builder = || Client::builder().credential(Credential::bearer(SECRET));
    let error = builder().connect(&fake.url).await.unwrap_err();
    assert!(error.to_string().contains("(401 unauthorized)"), "{error}");
    builder().show_credentials_for_card(true).connect(&fake.url).await.unwrap();
}

#[tokio::test]
async fn a_wrong_kind_of_credential_is_an_error_before_a_request() {
    let fake = Fake::start(|_, fake| {
        let mut card = fake.card("HTTP+JSON");
        card["securitySchemes"] = json!({"k": {"apiKeySecurityScheme": {"location": "header", "name": "x"}}});
        card["securityRequirements"] = json!([{"schemes": {"k": {}}}]);
        ok(&card)
    })
    .await;
    let client = Client::builder().credential(Credential::bearer(SECRET)).connect(&fake.url).await.unwrap();
    let error = client.task("t1").await.unwrap_err();
    assert!(matches!(error, ClientError::Transport(Failure::Credentials(_))), "{error:?}");
    assert!(fake.calls().is_empty());
}

#[tokio::test]
async fn an_endpoint_of_the_user_gets_credentials() {
    let fake = Fake::start(|_, _| ok(&task("TASK_STATE_WORKING"))).await;
    let builder = Client::builder().credential(Credential::bearer(SECRET));
    let client = builder.endpoint(&fake.url, Binding::HttpJson).unwrap();
    client.task("t1").await.unwrap();
    assert!(fake.calls()[0].header("authorization").contains(SECRET));
}

#[tokio::test]
async fn no_error_shows_a_secret() {
    let fake = Fake::start(|_, _| {
        (http::StatusCode::FOUND, [(header::LOCATION, format!("ftp://x/?k={SECRET}"))]).into_response()
    })
    .await;
    let builder = Client::builder().credential(Credential::bearer(SECRET));
    let client = builder.endpoint(&fake.url, Binding::HttpJson).unwrap();
    let error = client.task("t1").await.unwrap_err();
    assert!(!format!("{error} {error:?}").contains(SECRET), "{error:?}");
}

#[tokio::test]
async fn a_key_for_the_query_is_metadata_over_grpc() {
    let fake = Fake::start(|seen, fake| {
        if !seen.path.contains(".well-known") {
            return status(503, "");
        }
        let mut card = fake.card("GRPC");
        card["securitySchemes"] = json!({"k": {"apiKeySecurityScheme": {"location": "query", "name": "My-Key"}}});
        ok(&card)
    })
    .await;
    let client = Client::builder().credential(Credential::api_key(SECRET)).connect(&fake.url).await.unwrap();
    client.task("t1").await.unwrap_err();
    let call = &fake.calls()[0];
    assert_eq!((call.path.as_str(), call.header("my-key")), ("/lf.a2a.v1.A2AService/GetTask", SECRET));
}
