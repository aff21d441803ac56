//! The bus suites over NATS. A proxy cuts nodes off.

use async_trait::async_trait;
use nuncio_engine::bus::RemoteBus;
use nuncio_suites::{BusFixture, Link, OutageFixture};
use nuncio_testbed::{Nats, Proxy, Server as _};

use crate::support::{node, prefix};

struct OnNats {
    server: &'static Nats,
    prefix: String,
}

#[async_trait]
impl BusFixture for OnNats {
    type Bus = RemoteBus;

    fn new() -> Self {
        Self { server: Nats::shared().unwrap(), prefix: prefix() }
    }

    async fn join(&self) -> RemoteBus {
        node(&format!("{}/{}", self.server.url(), self.prefix)).await
    }
}

#[async_trait]
impl OutageFixture for OnNats {
    async fn join_by_a_link(&self) -> (RemoteBus, Box<dyn Link>) {
        let proxy = Proxy::start(self.server.address()).unwrap();
        let bus = node(&format!("nats://{}/{}", proxy.address(), self.prefix)).await;
        (bus, Box::new(proxy))
    }
}

nuncio_suites::bus_suite!(OnNats);
nuncio_suites::bus_outage_suite!(OnNats);
