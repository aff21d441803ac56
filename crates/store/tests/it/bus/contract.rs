//! The contract of buses. Nodes that a test disconnects use a proxy.

use async_trait::async_trait;
use nuncio_engine::bus::RemoteBus;
use nuncio_suites::{BusFixture, Link, OutageFixture};
use nuncio_testbed::{Database, Postgres, Proxy, Server as _};

use super::node;

struct OnPostgres {
    server: &'static Postgres,
    database: Database,
}

#[async_trait]
impl BusFixture for OnPostgres {
    type Bus = RemoteBus;

    fn new() -> Self {
        let server = Postgres::shared().unwrap();
        Self { server, database: server.database().unwrap() }
    }

    async fn join(&self) -> RemoteBus {
        node(self.database.url()).await
    }
}

#[async_trait]
impl OutageFixture for OnPostgres {
    async fn join_by_a_link(&self) -> (RemoteBus, Box<dyn Link>) {
        let proxy = Proxy::start(self.server.address()).unwrap();
        let bus = node(&self.database.url_by(&proxy.address().to_string()).unwrap()).await;
        (bus, Box::new(proxy))
    }
}

nuncio_suites::bus_suite!(OnPostgres);
nuncio_suites::bus_outage_suite!(OnPostgres);
