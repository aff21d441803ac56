//! Logins, and the errors of refused logins.

use std::error::Error as _;

use nuncio_engine::bus::{EventBus, RemoteBus, Signal, Topic};
use nuncio_testbed::{
    Nats, NatsOptions, Server as _,
    bus::{next, wake},
};

use crate::support::node;

pub(crate) async fn works(bus: &RemoteBus) {
    bus.check().await.unwrap();
    let mut subscription = bus.subscribe(Topic::Tasks(1)).await.unwrap();
    bus.publish(Topic::Tasks(1), wake("task", 1));
    assert_eq!(next(&mut subscription).await, Some(Signal::Wake(wake("task", 1))));
}

/// The logged reason why the bus is not available.
pub(crate) async fn refusal(bus: &RemoteBus) -> String {
    let error = bus.check().await.unwrap_err();
    format!("{error}: {}", error.source().unwrap())
}

#[tokio::test]
async fn a_user_and_a_password_are_sent() {
    let server = Nats::start(NatsOptions::new().with_args(["--user", "nuncio", "--pass", "s3cr:et"])).unwrap();
    let address = server.address();
    works(&node(&format!("nats://nuncio:s3cr%3Aet@{address}")).await).await;
    let refused = refusal(&node(&format!("nats://nuncio:guessed@{address}")).await).await;
    assert!(refused.contains("authorization violation"), "{refused}");
    assert!(!refused.contains("guessed"), "{refused}");
}

#[tokio::test]
async fn a_token_is_sent() {
    let server = Nats::start(NatsOptions::new().with_args(["--auth", "s3cret"])).unwrap();
    works(&node(&format!("nats://s3cret@{}", server.address())).await).await;
    let refused = refusal(&node(server.url()).await).await;
    assert!(refused.contains("authorization violation"), "{refused}");
}

/// A user needs permissions for the subjects of the prefix only.
#[tokio::test]
async fn permissions_for_the_prefix_are_sufficient() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nats.conf");
    let user = r#"authorization { users = [
        { user: "nuncio", password: "x", permissions: { publish: "agents.>", subscribe: "agents.>" } }
    ] }"#;
    std::fs::write(&path, user).unwrap();
    let server = Nats::start(NatsOptions::new().with_args(["-c", path.to_str().unwrap()])).unwrap();
    works(&node(&format!("nats://nuncio:x@{}/agents", server.address())).await).await;
    let refused = refusal(&node(&format!("nats://nuncio:x@{}/others", server.address())).await).await;
    assert!(refused.to_lowercase().contains("permissions violation"), "{refused}");
}

#[tokio::test]
async fn the_error_names_an_unreachable_server() {
    let port = nuncio_testbed::Port::take().unwrap();
    let refused = refusal(&node(&format!("nats://user:secret@127.0.0.1:{port}")).await).await;
    assert!(refused.contains(&format!("127.0.0.1:{port}")), "{refused}");
    assert!(!refused.contains("secret"), "{refused}");
}

#[tokio::test]
async fn the_error_names_a_missing_credentials_file() {
    let refused = refusal(&node("nats://127.0.0.1?credentials=/nowhere/nuncio.creds").await).await;
    assert!(refused.contains("/nowhere/nuncio.creds"), "{refused}");
}
