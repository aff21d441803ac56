//! The content and order of notifications.

use http::HeaderMap;
use nuncio_model::{AuthenticationInfo, Scope, TaskPushNotificationConfig};
use nuncio_push::{Attempt, Dispatcher, RequestSigner};

use crate::support::{
    Answer, AtWork, Received, Webhook, config, create, engine, follow_up, lenient, memory, quick, send, until_settled,
};

/// The notifications of a task that counts to `number`.
fn count(to: u32) -> Vec<String> {
    let mut expected = vec!["task TASK_STATE_SUBMITTED".to_owned()];
    expected.extend((1..=to).map(|number| format!("artifactUpdate {number}")));
    expected.push("statusUpdate TASK_STATE_COMPLETED".to_owned());
    expected
}

fn has_ended(received: &[Received]) -> bool {
    received.last().is_some_and(Received::is_end)
}

#[tokio::test]
async fn events_come_in_order_each_once_with_both_headers() {
    let (store, webhook) = (memory(), Webhook::start([]).await);
    let engine = engine(store.clone(), &lenient());
    let dispatcher = AtWork::start(Dispatcher::builder(&engine, lenient()));
    let config = TaskPushNotificationConfig {
        token: Some("made-up token".to_owned()),
        authentication: Some(AuthenticationInfo {
            scheme: "Basic".to_owned(),
            credentials: Some("bWFkZTp1cA==".to_owned()),
        }),
        ..config(webhook.url("/hook?a=b"))
    };
    send(&engine, "100", config).await;
    let received = webhook.until(has_ended).await;
    assert_eq!(received.iter().map(Received::summary).collect::<Vec<_>>(), count(100));
    for it in received {
        assert_eq!(it.path, "/hook");
        assert_eq!(it.headers["authorization"], "Basic bWFkZTp1cA==");
        assert_eq!(it.headers["x-a2a-notification-token"], "made-up token");
        assert_eq!(it.headers["content-type"], "application/a2a+json");
    }
    until_settled(&store).await;
    dispatcher.stop().await;
}

#[tokio::test]
async fn without_token_and_credentials_there_are_no_headers_for_them() {
    let webhook = Webhook::start([]).await;
    let engine = engine(memory(), &lenient());
    let _dispatcher = AtWork::start(Dispatcher::builder(&engine, lenient()));
    let authentication = Some(AuthenticationInfo { scheme: "Bearer".to_owned(), credentials: None });
    send(&engine, "1", TaskPushNotificationConfig { authentication, ..config(webhook.url("/")) }).await;
    for it in webhook.until(has_ended).await {
        assert!(!it.headers.contains_key("authorization"));
        assert!(!it.headers.contains_key("x-a2a-notification-token"));
    }
}

#[tokio::test]
async fn what_fails_is_sent_again_before_what_comes_after_it() {
    let answers = [200, 500, 503, 200, 404].map(Answer::Status);
    let (store, webhook) = (memory(), Webhook::start(answers).await);
    let engine = engine(store.clone(), &lenient());
    let _dispatcher = AtWork::start(Dispatcher::builder(&engine, lenient()).retry(quick(20)));
    send(&engine, "2", config(webhook.url("/"))).await;
    webhook.until(has_ended).await;
    until_settled(&store).await;
    let (mut summaries, expected) = (webhook.summaries(), count(2));
    let last = expected.last().unwrap().clone();
    assert_eq!(summaries.len(), 4 + 3, "{summaries:?}");
    summaries.dedup();
    assert_eq!(summaries, expected);
    assert_eq!(webhook.summaries()[1..4], [&*expected[1]; 3]);
    assert_eq!(webhook.summaries().last(), Some(&last));
}

#[tokio::test]
async fn a_restart_goes_on_where_the_store_says() {
    let store = memory();
    let webhook = Webhook::start([Answer::Status(200), Answer::Status(200)]).await;
    webhook.answer((0..2).map(|_| Answer::Status(200)).chain((0..1000).map(|_| Answer::Status(500))));
    {
        let engine = engine(store.clone(), &lenient());
        let dispatcher = AtWork::start(Dispatcher::builder(&engine, lenient()).retry(quick(1000)));
        send(&engine, "3", config(webhook.url("/"))).await;
        webhook.until(|received| received.len() > 5).await;
        dispatcher.stop().await;
    }
    let before = webhook.now().len();
    webhook.answer([]);
    let engine = engine(store.clone(), &lenient());
    let _dispatcher = AtWork::start(Dispatcher::builder(&engine, lenient()).retry(quick(1000)));
    webhook.until(has_ended).await;
    until_settled(&store).await;
    assert_eq!(webhook.summaries()[before..], count(3)[2..]);
}

#[tokio::test]
async fn a_webhook_that_comes_later_gets_what_comes_later() {
    let (store, webhook) = (memory(), Webhook::start([]).await);
    let engine = engine(store.clone(), &lenient());
    let _dispatcher = AtWork::start(Dispatcher::builder(&engine, lenient()));
    let task = send(&engine, "ask", config(webhook.url("/early"))).await;
    create(&engine, &task, config(webhook.url("/late"))).await;
    follow_up(&engine, &task, "1").await;
    until_settled(&store).await;
    let received = webhook.now();
    let at =
        |path: &str| -> Vec<String> { received.iter().filter(|it| it.path == path).map(Received::summary).collect() };
    let (early, late) = (at("/early"), at("/late"));
    assert_eq!(early[..2], ["task TASK_STATE_SUBMITTED", "statusUpdate TASK_STATE_INPUT_REQUIRED"]);
    assert_eq!(early[2..], late);
    assert_eq!(late.last().unwrap(), "statusUpdate TASK_STATE_COMPLETED");
}

#[tokio::test]
async fn a_webhook_that_is_deleted_hears_nothing_more() {
    let store = memory();
    let webhook = Webhook::start((0..1000).map(|_| Answer::Status(500))).await;
    let engine = engine(store.clone(), &lenient());
    let _dispatcher = AtWork::start(Dispatcher::builder(&engine, lenient()).retry(quick(1000)));
    let task = send(&engine, "50", config(webhook.url("/"))).await;
    webhook.until(|received| received.len() > 2).await;
    let id = store.push_configs(&Scope::open(), &task).await.unwrap().unwrap()[0].config.id.clone().unwrap();
    assert!(store.delete_push_config(&Scope::open(), &task, &id).await.unwrap());
    // One attempt may be under way.
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    let heard = webhook.now().len();
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    assert_eq!(webhook.now().len(), heard);
}

#[tokio::test]
async fn a_stamp_adds_headers_and_knows_the_attempt() {
    struct Numbered;
    impl RequestSigner for Numbered {
        fn sign(
            &self,
            attempt: &Attempt<'_>,
            headers: &mut HeaderMap,
        ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
            let signer = format!("{}/{}/{}", attempt.sequence, attempt.failures, attempt.body.len() > 10);
            headers.insert("x-signer", signer.parse()?);
            Ok(())
        }
    }
    let webhook = Webhook::start([Answer::Status(500)]).await;
    let engine = engine(memory(), &lenient());
    let _dispatcher = AtWork::start(Dispatcher::builder(&engine, lenient()).retry(quick(9)).signer(Numbered));
    send(&engine, "1", config(webhook.url("/"))).await;
    let received = webhook.until(has_ended).await;
    let stamps: Vec<_> = received.iter().map(|it| it.headers["x-signer"].to_str().unwrap()).collect();
    assert_eq!(stamps[..3], ["1/0/true", "1/1/true", "2/0/true"]);
}

#[tokio::test]
async fn all_attempts_of_an_event_have_its_id_and_no_other_event_has_it() {
    let webhook = Webhook::start([500, 200, 503, 500].map(Answer::Status)).await;
    let engine = engine(memory(), &lenient());
    let _dispatcher = AtWork::start(Dispatcher::builder(&engine, lenient()).retry(quick(9)));
    let hook = |path: &str| TaskPushNotificationConfig { id: Some("a b".into()), ..config(webhook.url(path)) };
    let task = send(&engine, "2", hook("/one")).await;
    let received = webhook.until(has_ended).await;
    let ids: Vec<_> = received.iter().map(|it| it.headers["webhook-id"].to_str().unwrap()).collect();
    let expected = [1, 1, 2, 2, 2, 3, 4].map(|sequence| format!("{task}/a%20b/{sequence}"));
    assert_eq!(ids, expected);
}
