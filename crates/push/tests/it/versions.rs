//! Webhooks get the format of the version under which they were registered.

use nuncio_engine::StoreError;
use nuncio_model::{AuthenticationInfo, Scope, TaskPushNotificationConfig, Value};
use nuncio_push::{Attempt, Dispatcher, RequestSigner};

use crate::support::{
    Answer, AtWork, Received, Webhook, config, create, create_in, engine, follow_up, lenient, memory, quick, send,
    send_in, until_settled, within,
};

const OLD: Option<&str> = Some("0.3");

fn at(received: &[Received], path: &str) -> Vec<Received> {
    received.iter().filter(|it| it.path == path).cloned().collect()
}

/// The task states of 0.3.
fn states(received: &[Received]) -> Vec<String> {
    let state = |it: &Received| it.body.pointer("/status/state").and_then(Value::as_str).unwrap().to_owned();
    for it in received {
        assert_eq!(it.body["kind"], "task", "{}", it.body);
        assert_eq!(it.headers["content-type"], "application/json");
    }
    received.iter().map(state).collect()
}

fn texts(messages: &Value) -> Vec<&str> {
    let parts = messages.as_array().into_iter().flatten();
    parts.map(|message| message.pointer("/parts/0/text").and_then(Value::as_str).unwrap()).collect()
}

#[tokio::test]
async fn one_task_tells_each_webhook_in_its_own_version() {
    let (store, webhook) = (memory(), Webhook::start([]).await);
    let engine = engine(store.clone(), &lenient());
    let _dispatcher = AtWork::start(Dispatcher::builder(&engine, lenient()));
    let with_secrets = |path: &str| TaskPushNotificationConfig {
        token: Some("made-up token".to_owned()),
        authentication: Some(AuthenticationInfo {
            scheme: "Bearer".to_owned(),
            credentials: Some("made-up".to_owned()),
        }),
        ..config(webhook.url(path))
    };
    let task = send_in(OLD, &engine, "ask", with_secrets("/old")).await;
    create(&engine, &task, with_secrets("/new")).await;
    create_in(OLD, &engine, &task, config(webhook.url("/late"))).await;
    follow_up(&engine, &task, "3").await;
    until_settled(&store).await;
    let received = webhook.now();

    let new: Vec<_> = at(&received, "/new").iter().map(Received::summary).collect();
    let expected = ["statusUpdate TASK_STATE_WORKING", "artifactUpdate 1", "artifactUpdate 2", "artifactUpdate 3"];
    assert_eq!(new[..4], expected);
    assert_eq!(new[4..], ["statusUpdate TASK_STATE_COMPLETED"]);

    // A whole task for each change of its status, and nothing for its chunks.
    let (old, late) = (at(&received, "/old"), at(&received, "/late"));
    assert_eq!(states(&old), ["submitted", "input-required", "working", "completed"]);
    assert_eq!(states(&late), ["working", "completed"]);
    for it in &old {
        assert_eq!(it.body["id"], task.as_str());
        assert!(it.body["contextId"].is_string());
        assert_eq!(it.headers["x-a2a-notification-token"], "made-up token");
        assert_eq!(it.headers["authorization"], "Bearer made-up");
    }
    let end = &old[3].body;
    assert_eq!(end["artifacts"][0]["parts"].as_array().unwrap().len(), 3);
    assert_eq!(end.pointer("/status/message/parts/0/text").unwrap(), "done");
    for it in at(&received, "/new") {
        assert_eq!(it.headers["content-type"], "application/a2a+json");
    }
}

#[tokio::test]
async fn a_task_that_is_told_late_is_told_as_it_was() {
    let (store, webhook) = (memory(), Webhook::start([]).await);
    let engine = engine(store.clone(), &lenient());
    let task = send_in(OLD, &engine, "ask", config(webhook.url("/"))).await;
    follow_up(&engine, &task, "1").await;
    let _dispatcher = AtWork::start(Dispatcher::builder(&engine, lenient()));
    until_settled(&store).await;
    let received = webhook.now();
    assert_eq!(states(&received), ["submitted", "input-required", "working", "completed"]);
    assert_eq!(texts(&received[0].body["history"]), ["ask"]);
    let asked = &received[1].body;
    assert_eq!(asked.pointer("/status/message/parts/0/text").unwrap(), "more");
    assert_eq!(texts(&asked["history"]), ["ask"], "what it says now is not what it has said");
    assert_eq!(texts(&received[3].body["history"]), ["ask", "more", "1"]);
}

#[tokio::test]
async fn what_a_version_does_not_tell_is_settled_and_not_owed() {
    let (store, webhook) = (memory(), Webhook::start([]).await);
    let engine = engine(store.clone(), &lenient());
    let _dispatcher = AtWork::start(Dispatcher::builder(&engine, lenient()));
    let task = send_in(OLD, &engine, "hang", config(webhook.url("/"))).await;
    let is_chunked = async || {
        let stored = store.load(&Scope::open(), &task).await?.unwrap();
        Ok::<_, StoreError>(!stored.task.artifacts.is_empty())
    };
    within(async {
        while !is_chunked().await.unwrap() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    until_settled(&store).await;
    assert_eq!(states(&webhook.now()), ["submitted"]);
    let settled = store.push_configs(&Scope::open(), &task).await.unwrap().unwrap();
    let sequence = store.load(&Scope::open(), &task).await.unwrap().unwrap().sequence;
    assert_eq!(settled[0].delivered, sequence);
}

#[tokio::test]
async fn what_fails_is_sent_again_in_order() {
    let answers = [200, 500, 503, 200, 404].map(Answer::Status);
    let (store, webhook) = (memory(), Webhook::start(answers).await);
    let engine = engine(store.clone(), &lenient());
    let task = send_in(OLD, &engine, "ask", config(webhook.url("/"))).await;
    follow_up(&engine, &task, "20").await;
    let _dispatcher = AtWork::start(Dispatcher::builder(&engine, lenient()).retry(quick(20)));
    until_settled(&store).await;
    let received = webhook.now();
    let expected =
        ["submitted", "input-required", "input-required", "input-required", "working", "working", "completed"];
    assert_eq!(states(&received), expected);
}

#[tokio::test]
async fn a_webhook_that_is_registered_again_is_told_in_the_version_of_that() {
    let (store, webhook) = (memory(), Webhook::start([]).await);
    let engine = engine(store.clone(), &lenient());
    let with_id = || TaskPushNotificationConfig { id: Some("one".into()), ..config(webhook.url("/")) };
    let task = send_in(OLD, &engine, "ask", with_id()).await;
    create(&engine, &task, with_id()).await;
    follow_up(&engine, &task, "ask").await;
    let _dispatcher = AtWork::start(Dispatcher::builder(&engine, lenient()));
    until_settled(&store).await;
    let expected = ["statusUpdate TASK_STATE_WORKING", "statusUpdate TASK_STATE_INPUT_REQUIRED"];
    assert_eq!(webhook.summaries(), expected);
    create_in(OLD, &engine, &task, with_id()).await;
    follow_up(&engine, &task, "ask").await;
    until_settled(&store).await;
    assert_eq!(states(&webhook.now()[2..]), ["working", "input-required"]);
}

#[tokio::test]
async fn a_version_that_is_not_spoken_here_is_told_like_the_latest() {
    let (store, webhook) = (memory(), Webhook::start([]).await);
    let engine = engine(store.clone(), &lenient());
    let _dispatcher = AtWork::start(Dispatcher::builder(&engine, lenient()));
    for format in ["0.0", "nonsense", ""] {
        send_in(Some(format), &engine, "1", config(webhook.url("/unknown"))).await;
    }
    send(&engine, "1", config(webhook.url("/latest"))).await;
    until_settled(&store).await;
    let summaries = |path| at(&webhook.now(), path).iter().map(Received::summary).collect::<Vec<_>>();
    let (mut unknown, mut latest) = (summaries("/unknown"), summaries("/latest"));
    assert_eq!(unknown.len(), 3 * latest.len());
    unknown.sort();
    unknown.dedup();
    latest.sort();
    assert_eq!(unknown, latest);
}

#[tokio::test]
async fn a_stamp_sees_what_is_sent_and_as_what() {
    struct Typed;
    impl RequestSigner for Typed {
        fn sign(
            &self,
            attempt: &Attempt<'_>,
            headers: &mut http::HeaderMap,
        ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
            headers.insert("x-signer", format!("{} {}", attempt.content_type, attempt.body.len()).parse()?);
            Ok(())
        }
    }
    let (store, webhook) = (memory(), Webhook::start([]).await);
    let engine = engine(store.clone(), &lenient());
    let _dispatcher = AtWork::start(Dispatcher::builder(&engine, lenient()).signer(Typed));
    send_in(OLD, &engine, "1", config(webhook.url("/"))).await;
    until_settled(&store).await;
    for it in webhook.now() {
        let signer = format!("application/json {}", it.headers["content-length"].to_str().unwrap());
        assert_eq!(it.headers["x-signer"], signer);
    }
}
