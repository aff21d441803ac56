//! The contracts.

use async_trait::async_trait;
use nuncio_engine::testing::StoreFixture;
use nuncio_store::PostgresStore;

use super::place::Place;

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
        self.0.open(self.0.options()).await
    }
}

nuncio_engine::store_suite!(InSchema);
