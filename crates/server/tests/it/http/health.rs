//! Liveness and readiness.

use std::{sync::Arc, time::Duration};

use nuncio_engine::{EventBus as _, bus::LocalBus};
use nuncio_store::{SqliteOptions, SqliteStore};

use super::{Running, agent};

#[tokio::test]
async fn the_server_is_live_and_ready() {
    let running = Running::start().await;
    for (path, text) in [("/healthz", "alive\n"), ("/readyz", "ready\n")] {
        let answer = running.send("GET", path).without("a2a-version").fetch().await;
        assert_eq!((answer.status, &*answer.body), (200, text.as_bytes()));
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(running.send("HEAD", path).fetch().await.status, 200);
        assert_eq!(running.send("POST", path).fetch().await.status, 405);
    }
}

/// A load balancer that removed such nodes would remove all nodes.
#[tokio::test]
async fn a_server_without_its_bus_is_degraded_and_accepts_requests() {
    let bus = Arc::new(LocalBus::new());
    let running = Running::of(agent::engine().bus(bus.clone()).build(), |builder| builder).await;
    let ready = async || {
        let answer = running.send("GET", "/readyz").without("a2a-version").fetch().await;
        (answer.status, String::from_utf8(answer.body.to_vec()).unwrap())
    };
    assert_eq!(ready().await, (200, "ready\n".to_owned()));
    bus.close(Duration::ZERO).await;
    // The server uses the result of a check again for 100 ms.
    let degraded = (200, "degraded: the bus cannot be reached\n".to_owned());
    super::client::until(async || ready().await == degraded).await;
    running.task("hello").await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_server_whose_database_was_deleted_is_not_ready() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.db");
    let store = Arc::new(SqliteStore::open(&path, SqliteOptions::new()).await.unwrap());
    let running = Running::of(agent::engine().store(store).build(), |builder| builder).await;
    let ready = async || running.send("GET", "/readyz").without("a2a-version").fetch().await.status;
    assert_eq!(ready().await, 200);
    std::fs::rename(&path, folder.path().join("moved.db")).unwrap();
    super::client::until(async || ready().await == 503).await;
    std::fs::write(&path, "another file").unwrap();
    assert_eq!(ready().await, 503);
    std::fs::rename(folder.path().join("moved.db"), &path).unwrap();
    super::client::until(async || ready().await == 200).await;
}
