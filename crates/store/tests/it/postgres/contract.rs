//! The contracts of stores and clusters.

use std::time::Duration;

use async_trait::async_trait;
use nuncio_engine::TaskStore as _;
use nuncio_store::PostgresStore;
use nuncio_suites::{ClusterFixture, StoreFixture};

use super::place::{Place, options};

struct InSchema(Place);

#[async_trait]
impl StoreFixture for InSchema {
    type Store = PostgresStore;
    const DURABLE: bool = true;

    fn new() -> Self {
        Self(Place::new())
    }

    async fn open(&self) -> PostgresStore {
        self.0.end_leases().await;
        self.0.open(options()).await
    }
}

mod one_node {
    use super::InSchema;
    nuncio_suites::store_suite!(InSchema);
    nuncio_suites::race_suite!(InSchema);
}

/// Several nodes that use one schema.
struct Nodes {
    place: Place,
    lease: Duration,
}

#[async_trait]
impl ClusterFixture for Nodes {
    type Node = PostgresStore;

    fn new(lease: Duration) -> Self {
        Self { place: Place::new(), lease }
    }

    async fn open(&self) -> PostgresStore {
        self.place.open(options().with_lease(self.lease)).await
    }

    async fn expire(&self, node: &PostgresStore) {
        let node = i64::try_from(node.cluster().unwrap().node().0).unwrap();
        let sql = "UPDATE nodes SET expires = clock_timestamp() WHERE node = $1";
        self.place.client().await.execute(sql, &[&node]).await.unwrap();
    }
}

mod nodes {
    use super::Nodes;
    nuncio_suites::cluster_suite!(Nodes);
}
