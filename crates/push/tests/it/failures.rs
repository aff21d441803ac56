//! Receivers that fail in different ways.

use std::{
    io,
    net::IpAddr,
    time::{Duration, Instant},
};

use http::HeaderMap;
use nuncio_model::{Request, Scope, TaskPushNotificationConfig, Timestamp, op::CancelTaskRequest};
use nuncio_push::{Attempt, Dispatcher, Lookup, RequestSigner};

use crate::support::{
    Answer, AtWork, Received, Webhook, config, create, engine, follow_up, lenient, memory, quick, send, until_settled,
    within,
};

fn repeat(status: u16, times: usize) -> impl Iterator<Item = Answer> {
    (0..times).map(move |_| Answer::Status(status))
}

#[tokio::test]
async fn a_dead_receiver_is_given_up_but_for_the_newest_event() {
    let store = memory();
    let webhook = Webhook::start(repeat(500, 1000)).await;
    let engine = engine(store.clone(), &lenient());
    send(&engine, "10", config(webhook.url("/"))).await;
    let _dispatcher = AtWork::start(Dispatcher::builder(&engine, lenient()).retry(quick(3)));
    until_settled(&store).await;
    let submitted = ["task TASK_STATE_SUBMITTED"; 3];
    let completed = ["statusUpdate TASK_STATE_COMPLETED"; 3];
    assert_eq!(webhook.summaries(), [submitted, completed].concat());
}

#[tokio::test]
async fn a_receiver_that_comes_back_in_time_misses_nothing() {
    let store = memory();
    let webhook = Webhook::start(repeat(503, 8)).await;
    let engine = engine(store.clone(), &lenient());
    send(&engine, "10", config(webhook.url("/"))).await;
    let _dispatcher = AtWork::start(Dispatcher::builder(&engine, lenient()).retry(quick(9)));
    until_settled(&store).await;
    assert_eq!(webhook.now().len(), 8 + 12);
}

#[tokio::test]
async fn an_event_that_a_receiver_refuses_is_lost_alone() {
    let store = memory();
    let webhook = Webhook::start([200, 422, 422].map(Answer::Status)).await;
    let engine = engine(store.clone(), &lenient());
    send(&engine, "2", config(webhook.url("/"))).await;
    let _dispatcher = AtWork::start(Dispatcher::builder(&engine, lenient()).retry(quick(2)));
    until_settled(&store).await;
    assert_eq!(
        webhook.summaries(),
        [
            "task TASK_STATE_SUBMITTED",
            "artifactUpdate 1",
            "artifactUpdate 1",
            "artifactUpdate 2",
            "statusUpdate TASK_STATE_COMPLETED"
        ]
    );
}

#[tokio::test]
async fn a_receiver_that_answers_410_loses_its_webhook_and_no_other() {
    let store = memory();
    let gone = Webhook::start([Answer::Status(410)]).await;
    let other = Webhook::start([]).await;
    let engine = engine(store.clone(), &lenient());
    let task = send(&engine, "ask", config(gone.url("/"))).await;
    create(&engine, &task, config(other.url("/"))).await;
    let _dispatcher = AtWork::start(Dispatcher::builder(&engine, lenient()));
    until_settled(&store).await;
    let left = store.push_configs(&Scope::open(), &task).await.unwrap().unwrap();
    assert_eq!(left.iter().map(|it| &*it.config.url).collect::<Vec<_>>(), [other.url("/")]);
    follow_up(&engine, &task, "10").await;
    other.until(|received| received.last().is_some_and(Received::is_end)).await;
    assert_eq!(gone.now().len(), 1);
}

#[tokio::test]
async fn a_receiver_that_never_answers_delays_nobody_else() {
    let silent = Webhook::start((0..100).map(|_| Answer::Never)).await;
    let (store, webhook) = (memory(), Webhook::start([]).await);
    let engine = engine(store.clone(), &lenient());
    let dispatcher =
        AtWork::start(Dispatcher::builder(&engine, lenient()).retry(quick(1000)).timeout(Duration::from_millis(1500)));
    send(&engine, "1", config(silent.url("/"))).await;
    silent.until(|received| received.len() == 1).await;
    let begin = Instant::now();
    send(&engine, "20", config(webhook.url("/"))).await;
    webhook.until(|received| received.last().is_some_and(Received::is_end)).await;
    assert!(begin.elapsed() < Duration::from_millis(1200), "{:?}", begin.elapsed());
    silent.until(|received| received.len() == 2).await;
    within(dispatcher.stop()).await;
}

/// A receiver with many pending notifications does not take all places.
#[tokio::test]
async fn a_receiver_that_never_answers_for_many_tasks_delays_nobody_else() {
    let silent = Webhook::start((0..10_000).map(|_| Answer::Never)).await;
    let (store, webhook) = (memory(), Webhook::start([]).await);
    let engine = engine(store.clone(), &lenient());
    for _ in 0..200 {
        send(&engine, "1", config(silent.url("/"))).await;
    }
    let dispatcher = Dispatcher::builder(&engine, lenient()).retry(quick(1000)).timeout(Duration::from_millis(400));
    let dispatcher = AtWork::start(dispatcher.concurrency(8));
    silent.until(|received| received.len() == 1).await;
    let begin = Instant::now();
    send(&engine, "20", config(webhook.url("/"))).await;
    webhook.until(|received| received.last().is_some_and(Received::is_end)).await;
    // Eight at a time, 200 silent deliveries would take ten seconds, and begin anew.
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    let before = silent.now().len();
    silent.until(|received| received.len() > before).await;
    within(dispatcher.stop()).await;
}

#[tokio::test]
async fn a_receiver_that_nobody_listens_at_fails_no_task() {
    let store = memory();
    let engine = engine(store.clone(), &lenient());
    let _dispatcher = AtWork::start(Dispatcher::builder(&engine, lenient()).retry(quick(2)));
    send(&engine, "1", config("http://127.0.0.1:9/nobody")).await;
    until_settled(&store).await;
}

#[tokio::test]
async fn the_answers_body_does_not_matter_whatever_its_size() {
    let store = memory();
    let webhook = Webhook::start((0..2).map(|_| Answer::Body(vec![b'x'; 8 * 1024 * 1024]))).await;
    let engine = engine(store.clone(), &lenient());
    let _dispatcher = AtWork::start(Dispatcher::builder(&engine, lenient()));
    send(&engine, "1", config(webhook.url("/"))).await;
    until_settled(&store).await;
    assert_eq!(webhook.now().len(), 3);
}

#[tokio::test]
async fn a_status_counts_though_what_follows_it_does_not_end() {
    let store = memory();
    let webhook = Webhook::start([Answer::Endless]).await;
    let engine = engine(store.clone(), &lenient());
    let dispatcher = Dispatcher::builder(&engine, lenient()).retry(quick(20)).timeout(Duration::from_millis(300));
    let _dispatcher = AtWork::start(dispatcher);
    send(&engine, "1", config(webhook.url("/"))).await;
    until_settled(&store).await;
    assert_eq!(webhook.now().len(), 3);
}

/// Panics at the first two attempts of each event for the path `/stamped`.
struct Panicking;

impl RequestSigner for Panicking {
    fn sign(&self, attempt: &Attempt<'_>, _: &mut HeaderMap) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        assert!(attempt.failures >= 2 || !attempt.config.url.ends_with("/stamped"), "not yet");
        Ok(())
    }
}

#[tokio::test]
async fn a_panic_is_a_failed_attempt_and_nobody_elses() {
    let silent = Webhook::start((0..100).map(|_| Answer::Never)).await;
    let (store, webhook) = (memory(), Webhook::start([]).await);
    let engine = engine(store.clone(), &lenient());
    let _dispatcher = AtWork::start(Dispatcher::builder(&engine, lenient()).retry(quick(3)).signer(Panicking));
    send(&engine, "1", config(silent.url("/"))).await;
    silent.until(|received| received.len() == 1).await;
    send(&engine, "1", config(webhook.url("/stamped"))).await;
    webhook.until(|received| received.last().is_some_and(Received::is_end)).await;
    assert_eq!(webhook.now().len(), 3);
    assert_eq!(silent.now().len(), 1, "it is under way still");
}

/// A resolver that panics.
struct Lost;

#[async_trait::async_trait]
impl Lookup for Lost {
    async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        panic!("{name}?");
    }
}

#[tokio::test]
async fn a_delivery_that_always_panics_is_given_up() {
    let store = memory();
    let engine = engine(store.clone(), &lenient());
    let _dispatcher = AtWork::start(Dispatcher::builder(&engine, lenient().with_lookup(Lost)).retry(quick(3)));
    send(&engine, "1", config("http://nobody.example/")).await;
    until_settled(&store).await;
}

#[tokio::test]
async fn a_receiver_may_ask_for_a_longer_pause() {
    let store = memory();
    let webhook = Webhook::start([Answer::With(503, "retry-after", "1".to_owned())]).await;
    let engine = engine(store.clone(), &lenient());
    let _dispatcher = AtWork::start(Dispatcher::builder(&engine, lenient()).retry(quick(9)));
    let begin = Instant::now();
    send(&engine, "1", config(webhook.url("/"))).await;
    until_settled(&store).await;
    assert!(begin.elapsed() >= Duration::from_millis(990), "{:?}", begin.elapsed());
    assert_eq!(webhook.now().len(), 1 + 3);
}

#[tokio::test]
async fn many_webhooks_are_served_side_by_side_within_the_bound() {
    let store = memory();
    let webhook = Webhook::start([]).await;
    let engine = engine(store.clone(), &lenient());
    for number in 0..100 {
        send(&engine, "3", config(webhook.url(&format!("/{number}")))).await;
    }
    let _dispatcher = AtWork::start(Dispatcher::builder(&engine, lenient()).concurrency(4));
    until_settled(&store).await;
    let received = webhook.now();
    assert_eq!(received.len(), 500);
    for number in 0..100 {
        let path = format!("/{number}");
        let of_one: Vec<_> = received.iter().filter(|it| it.path == path).map(Received::summary).collect();
        assert_eq!(of_one[1..4], ["artifactUpdate 1", "artifactUpdate 2", "artifactUpdate 3"]);
    }
}

#[tokio::test]
async fn failures_of_a_webhook_that_was_replaced_do_not_delay_the_new_one() {
    let store = memory();
    let (old, new) = (Webhook::start([Answer::Never]).await, Webhook::start([]).await);
    let engine = engine(store.clone(), &lenient());
    let with_id = |url| TaskPushNotificationConfig { id: Some("p".into()), ..config(url) };
    let task = send(&engine, "hang", with_id(old.url("/"))).await;
    let mut retry = quick(9);
    retry.first = Duration::from_hours(1);
    retry.longest = retry.first;
    let dispatcher = Dispatcher::builder(&engine, lenient()).retry(retry).timeout(Duration::from_secs(2));
    let _dispatcher = AtWork::start(dispatcher);
    old.until(|received| received.len() == 1).await;
    // While it is waited for.
    create(&engine, &task, with_id(new.url("/"))).await;
    engine.call(Request::new(Scope::open(), CancelTaskRequest::new(task.clone()))).await.unwrap();
    let received = new.until(|received| !received.is_empty()).await;
    assert_eq!(received[0].summary(), "statusUpdate TASK_STATE_CANCELED");
    assert_eq!(old.now().len(), 1);
}

#[tokio::test]
async fn waits_without_end_are_waited() {
    let store = memory();
    let webhook = Webhook::start([200, 500].map(Answer::Status)).await;
    let engine = engine(store.clone(), &lenient());
    let mut retry = quick(u32::MAX);
    (retry.first, retry.longest) = (Duration::MAX, Duration::MAX);
    let _dispatcher = AtWork::start(Dispatcher::builder(&engine, lenient()).retry(retry).timeout(Duration::MAX));
    send(&engine, "1", config(webhook.url("/"))).await;
    let far = Timestamp::now().as_millisecond() + 50 * 365 * 24 * 3600 * 1000;
    within(async {
        while store.next_push().await.unwrap().unwrap().as_millisecond() < far {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    assert_eq!(webhook.now().len(), 2);
}
