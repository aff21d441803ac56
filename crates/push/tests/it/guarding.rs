//! The guard at the time of the call: an address can have changed since the registration of the webhook.

use std::{
    io,
    net::{IpAddr, Ipv4Addr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use nuncio_push::{Dispatcher, Guard, Lookup};

use crate::support::{Answer, AtWork, Webhook, config, engine, lenient, memory, quick, send, until_settled};

/// A name with a public address first, then a loopback address.
#[derive(Clone, Default)]
struct Rebinding(Arc<AtomicUsize>);

#[async_trait]
impl Lookup for Rebinding {
    async fn lookup(&self, _name: &str) -> io::Result<Vec<IpAddr>> {
        let is_first = self.0.fetch_add(1, Ordering::SeqCst) == 0;
        Ok(vec![if is_first { [93, 184, 215, 14].into() } else { Ipv4Addr::LOCALHOST.into() }])
    }
}

#[tokio::test]
async fn a_name_that_changes_its_address_after_registration_is_not_called() {
    let names = Rebinding::default();
    let guard = Guard::new().with_lookup(names.clone());
    let (store, webhook) = (memory(), Webhook::start([]).await);
    let engine = engine(store.clone(), &guard);
    let _dispatcher = AtWork::start(Dispatcher::builder(&engine, guard).retry(quick(2)));
    send(&engine, "1", config(format!("http://rebinding.test:{}/", webhook.address.port()))).await;
    until_settled(&store).await;
    assert!(names.0.load(Ordering::SeqCst) > 2, "it was resolved again for each connection");
    assert!(webhook.now().is_empty());
}

#[tokio::test]
async fn the_address_that_was_checked_is_the_one_that_is_called() {
    let guard = lenient().with_lookup(Rebinding(Arc::new(AtomicUsize::new(1))));
    let (store, webhook) = (memory(), Webhook::start([]).await);
    let engine = engine(store.clone(), &guard);
    let _dispatcher = AtWork::start(Dispatcher::builder(&engine, guard));
    send(&engine, "1", config(format!("http://no.such.name.test:{}/", webhook.address.port()))).await;
    until_settled(&store).await;
    assert_eq!(webhook.now().len(), 3);
    assert_eq!(webhook.now()[0].headers["host"], format!("no.such.name.test:{}", webhook.address.port()));
}

#[tokio::test]
async fn a_private_address_that_is_in_the_store_already_is_not_called() {
    let (store, webhook) = (memory(), Webhook::start([]).await);
    let lenient_engine = engine(store.clone(), &lenient());
    send(&lenient_engine, "1", config(webhook.url("/"))).await;
    let _dispatcher = AtWork::start(Dispatcher::builder(&lenient_engine, Guard::new()).retry(quick(2)));
    until_settled(&store).await;
    assert!(webhook.now().is_empty());
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let target = Webhook::start([]).await;
    for status in [301, 302, 303, 307, 308] {
        let store = memory();
        let answers = (0..100).map(|_| Answer::With(status, "location", target.url("/elsewhere")));
        let webhook = Webhook::start(answers).await;
        let engine = engine(store.clone(), &lenient());
        let _dispatcher = AtWork::start(Dispatcher::builder(&engine, lenient()).retry(quick(2)));
        send(&engine, "1", config(webhook.url("/"))).await;
        until_settled(&store).await;
        assert_eq!(webhook.now().len(), 4, "{status}: two events, twice each");
    }
    assert!(target.now().is_empty());
}
