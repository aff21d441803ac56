//! Receivers that accept connections and never answer, and deliveries to other receivers meanwhile.

use std::{sync::Arc, time::Duration};

use nuncio_engine::{Engine, TaskStore};
use nuncio_model::{
    Message, Principal, Request as Call, Scope, Tenant,
    op::{SendMessageConfiguration, SendMessageRequest},
};
use nuncio_push::{Dispatcher, DispatcherBuilder, Places};

use crate::support::{AtWork, Received, Webhook, config, engine, lenient, memory, until_settled, within};

async fn send_as(caller: &Principal, engine: &Engine, url: String) {
    let configuration =
        SendMessageConfiguration { task_push_notification_config: Some(config(url)), ..Default::default() };
    let request = SendMessageRequest::new(Message::user("1")).with_configuration(configuration);
    engine.call(Call::new(Scope::new(Tenant::default(), caller.clone()), request)).await.unwrap();
}

/// Creates tasks of a caller with silent webhooks, each on its own host; a timeout that never comes.
async fn with_silent_hosts(caller: &Principal, count: usize) -> (Engine, Silent, DispatcherBuilder) {
    let silent = Silent::start().await;
    let store: Arc<dyn TaskStore> = memory();
    let engine = engine(store, &lenient());
    for number in 0..count {
        send_as(caller, &engine, silent.url(number)).await;
    }
    let dispatcher = Dispatcher::builder(&engine, lenient()).timeout(Duration::from_hours(1));
    (engine, silent, dispatcher)
}

/// Accepts connections at many loopback addresses, and never answers.
struct Silent {
    port: u16,
    accepted: tokio::sync::watch::Receiver<usize>,
}

impl Silent {
    async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("0.0.0.0:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (count, accepted) = tokio::sync::watch::channel(0);
        tokio::spawn(async move {
            let mut connections = Vec::new();
            while let Ok((connection, _)) = listener.accept().await {
                connections.push(connection);
                count.send_modify(|count| *count += 1);
            }
        });
        Self { port, accepted }
    }

    fn url(&self, number: usize) -> String {
        format!("http://127.1.{}.{}:{}/", number / 250, number % 250 + 1, self.port)
    }

    async fn until(&self, count: usize) {
        within(self.accepted.clone().wait_for(|accepted| *accepted >= count)).await.unwrap();
    }

    fn now(&self) -> usize {
        *self.accepted.borrow()
    }
}

fn has_ended(received: &[Received]) -> bool {
    received.iter().any(Received::is_end)
}

#[tokio::test]
async fn silent_webhooks_of_one_caller_leave_places_to_others() {
    let (alice, bob) = (Principal::named("alice"), Principal::named("bob"));
    let (engine, silent, dispatcher) = with_silent_hosts(&alice, 400).await;
    let _dispatcher = AtWork::start(dispatcher);
    let part = Places::of(DispatcherBuilder::CONCURRENCY).unproven_per_caller;
    silent.until(part).await;
    let webhook = Webhook::start([]).await;
    // The place of the new host is behind those of 400 others.
    send_as(&bob, &engine, webhook.url("/")).await;
    webhook.until(has_ended).await;
    assert_eq!(silent.now(), part);
}

#[tokio::test]
async fn a_proven_host_has_places_beside_unknown_hosts() {
    let (alice, webhook) = (Principal::Open, Webhook::start([]).await);
    let (engine, silent, dispatcher) = with_silent_hosts(&alice, 0).await;
    let _dispatcher = AtWork::start(dispatcher);
    send_as(&alice, &engine, webhook.url("/first")).await;
    webhook.until(has_ended).await;
    until_settled(engine.store()).await;
    for number in 0..400 {
        send_as(&alice, &engine, silent.url(number)).await;
    }
    silent.until(Places::of(DispatcherBuilder::CONCURRENCY).unproven).await;
    send_as(&alice, &engine, webhook.url("/second")).await;
    webhook.until(|received| received.iter().filter(|it| it.is_end()).count() == 2).await;
    assert_eq!(silent.now(), Places::of(DispatcherBuilder::CONCURRENCY).unproven);
}
