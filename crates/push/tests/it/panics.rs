//! A store that panics, as the store of an application can.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use nuncio_engine::TaskStore;
use nuncio_push::Dispatcher;
use nuncio_suites::SharedMemory;

use crate::support::{AtWork, Webhook, config, engine, lenient, quick, send, until_settled};

#[tokio::test]
async fn a_delivery_that_panics_is_made_after_a_rest() {
    let panicking = Arc::new(SharedMemory::new(Duration::from_mins(1)).node().await);
    let (store, webhook): (Arc<dyn TaskStore>, _) = (panicking.clone(), Webhook::start([]).await);
    let engine = engine(store.clone(), &lenient());
    send(&engine, "1", config(webhook.url("/"))).await;
    panicking.set(|faults| faults.panics_at_logs = 3);
    let begin = Instant::now();
    let _dispatcher = AtWork::start(Dispatcher::builder(&engine, lenient()).retry(quick(1)));
    until_settled(&store).await;
    assert_eq!(webhook.now().len(), 3);
    assert!(begin.elapsed() >= Duration::from_millis(1500), "{:?}", begin.elapsed());
}
