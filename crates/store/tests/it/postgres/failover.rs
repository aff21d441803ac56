//! A primary and its standby: when the standby is promoted, nodes go on there, and nothing that was acknowledged is
//! lost.

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

/// Both servers, a way to each, and a node that knows both ways.
struct Pair {
    servers: [Postgres; 2],
    ways: [Proxy; 2],
    // Kept for its name.
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

    /// All parts of the node work: it commits, it has its lease, it hears signals, and another one may join.
    async fn works(&self, writers: &Writers) {
        writers.until_more(100).await;
        within(|| async { self.store.check().await.is_ok() }).await;
        within(|| async { matches!(self.store.cluster().unwrap().renew().await, Ok(Lease::Kept)) }).await;
        within(|| async { self.bus_works().await }).await;
        PostgresStore::open(&self.url, options()).await.unwrap();
    }

    /// Not before it has noticed that its server stands still.
    async fn bus_works(&self) -> bool {
        let Ok(mut subscription) = self.bus.subscribe(Topic::Tasks(1)).await else { return false };
        self.bus.publish(Topic::Tasks(1), wake("task", 1));
        next(&mut subscription).await == Some(Signal::Wake(wake("task", 1)))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_go_on_at_a_standby_that_takes_the_place_of_a_primary_that_died() {
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

/// It was taken for dead, and comes back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_do_not_go_back_to_a_primary_that_stood_still() {
    let pair = Pair::new().await;
    let writers = Writers::start(&pair.store, quick().longest_call()).await;
    writers.until_more(50).await;
    pair.servers[0].pause().unwrap();
    writers.until_failing().await;
    pair.servers[1].promote().unwrap();
    pair.works(&writers).await;
    pair.servers[0].resume().unwrap();
    // Only the old one can be reached now, and it lets everybody in.
    pair.ways[1].set(|faults| faults.refuses = true);
    pair.ways[1].cut();
    writers.until_failing().await;
    let stale = pair.store.load(&Scope::open(), &"0".into()).await;
    assert!(matches!(stale, Err(StoreError::Unavailable(_))), "{stale:?}");
    pair.ways[1].heal();
    pair.works(&writers).await;
    writers.check(&pair.store).await;
}

/// Its standby has left it, and it lets everybody in and acknowledges nothing.
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
