//! The test suite of buses for the bus of one process.

use async_trait::async_trait;
use nuncio_engine::bus::LocalBus;
use nuncio_suites::BusFixture;

struct InProcess(LocalBus);

#[async_trait]
impl BusFixture for InProcess {
    type Bus = LocalBus;

    fn new() -> Self {
        Self(LocalBus::new())
    }

    async fn join(&self) -> LocalBus {
        self.0.clone()
    }
}

nuncio_suites::bus_suite!(InProcess);
