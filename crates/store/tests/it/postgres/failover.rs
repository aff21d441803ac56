//! A primary and its standby. When the standby is promoted, nodes continue with the standby, and no acknowledged data
//! is lost.

use std::sync::Arc;

use nuncio_engine::{
    StoreError, TaskStore,
    bus::{EventBus as _, RemoteBus, Signal, Topic},
    store::Lease,
};
use nuncio_model::Scope;
use nuncio_store::{PostgresBroker, PostgresError, PostgresStore};
use nuncio_testbed::{
    Database, Postgres, Proxy, Server as _,
    bus::{self, next, wake},
};

use super::{
    faults::{Writers, quick, within},
    place::options,
};

/// Two servers, a proxy for each, and a node that knows both proxies.
struct Pair {
    servers: [Postgres; 2],
    ways: [Proxy; 2],
    // Must stay alive, so that the database keeps its name.
    _database: Database,
    url: String,
    store: Arc<PostgresStore>,
    bus: RemoteBus,
}

impl Pair {
    async fn new() -> Self {
        let servers = Postgres::pair().unwrap();
        let database = servers[0].database().unwrap();
        let ways = servers.each_ref().map(|server| Proxy::start(server.address()).unwrap());
        let both = ways.each_ref().map(|way| way.address().to_string()).join(",");
        let (before, after) = database.url().split_once(&servers[0].address()).unwrap();
        let url = format!("{before}{both}{after}");
        let store = Arc::new(PostgresStore::open(&url, quick()).await.unwrap());
        let bus = bus::join(PostgresBroker::new(&url, &quick()).unwrap()).await;
        Self { servers, ways, _database: database, url, store, bus }
    }

    /// Checks all parts of the node: commits, the lease, the bus, and opening another store.
    async fn works(&self, writers: &Writers) {
        writers.until_more(100).await;
        within(|| async { self.store.check().await.is_ok() }).await;
        within(|| async { matches!(self.store.cluster().unwrap().renew().await, Ok(Lease::Kept)) }).await;
        within(|| async { self.bus_works().await }).await;
        PostgresStore::open(&self.url, options()).await.unwrap();
    }

    /// Checks the bus. The first attempts can fail, because the bus must detect the unresponsive server first.
    async fn bus_works(&self) -> bool {
        let Ok(mut subscription) = self.bus.subscribe(Topic::Tasks(1)).await else { return false };
        self.bus.publish(Topic::Tasks(1), wake("task", 1));
        next(&mut subscription).await == Some(Signal::Wake(wake("task", 1)))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_move_to_the_promoted_standby_of_a_killed_primary() {
    let pair = Pair::new().await;
    let writers = Writers::start(&pair.store, quick().longest_call()).await;
    pair.works(&writers).await;
    pair.servers[0].kill().unwrap();
    writers.until_failing().await;
    let error = PostgresStore::open(&pair.url, options()).await.unwrap_err();
    assert!(matches!(error, PostgresError::Unreachable { .. }), "{error}");
    for way in &pair.ways {
        assert!(error.to_string().contains(&way.address().to_string()), "{error}");
    }
    pair.servers[1].promote().unwrap();
    pair.works(&writers).await;
    writers.check(&pair.store).await;
}

/// The primary was suspended, was replaced, and then runs again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_do_not_return_to_a_replaced_primary() {
    let pair = Pair::new().await;
    let writers = Writers::start(&pair.store, quick().longest_call()).await;
    writers.until_more(50).await;
    pair.servers[0].pause().unwrap();
    writers.until_failing().await;
    pair.servers[1].promote().unwrap();
    pair.works(&writers).await;
    pair.servers[0].resume().unwrap();
    // Now only the old primary is reachable, and it accepts connections.
    pair.ways[1].set(|faults| faults.refuses = true);
    pair.ways[1].cut();
    writers.until_failing().await;
    let stale = pair.store.load(&Scope::open(), &"0".into()).await;
    assert!(matches!(stale, Err(StoreError::Unavailable(_))), "{stale:?}");
    pair.ways[1].heal();
    pair.works(&writers).await;
    writers.check(&pair.store).await;
}

/// The standby has left the primary. The primary accepts connections but acknowledges no commits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_leave_a_primary_that_acknowledges_nothing() {
    let pair = Pair::new().await;
    let writers = Writers::start(&pair.store, quick().longest_call()).await;
    writers.until_more(50).await;
    pair.servers[1].promote().unwrap();
    writers.until_failing().await;
    pair.works(&writers).await;
    writers.check(&pair.store).await;
}
