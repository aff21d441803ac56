//! The required behaviour of every bus after faults of its server or of the network.
#![expect(clippy::missing_panics_doc, reason = "these are tests")]

use std::time::{Duration, Instant};

use async_trait::async_trait;
use nuncio_engine::bus::{Broker, EventBus as _, RemoteBus, Signal, Subscription, Topic, Wake};
use nuncio_suites::Link;
use tokio::time::timeout;

use crate::{Proxy, Server};

/// The maximum time for any step.
pub const TIME_LIMIT: Duration = Duration::from_secs(20);

const TOPIC: Topic = Topic::Tasks(1);

#[async_trait]
impl Link for Proxy {
    async fn cut(&self) {
        self.set(|faults| faults.refuses = true);
        Self::cut(self);
    }

    async fn mend(&self) {
        self.heal();
    }
}

/// A node after the end of its connection attempt: connected or refused.
pub async fn join(broker: impl Broker) -> RemoteBus {
    let bus = RemoteBus::start(broker);
    let _ = bus.check().await;
    bus
}

/// A wake-up signal.
pub fn wake(task: &str, sequence: u64) -> Wake {
    Wake { task: task.into(), sequence }
}

/// The next signal of a subscription.
pub async fn next(subscription: &mut Box<dyn Subscription>) -> Option<Signal> {
    timeout(TIME_LIMIT, subscription.next()).await.expect("a signal comes in time")
}

/// Waits until the bus is connected (`answers`), or disconnected.
pub async fn until_it_answers(bus: &RemoteBus, answers: bool) {
    let wait = async {
        while bus.check().await.is_ok() != answers {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(TIME_LIMIT, wait).await.expect("the bus comes and goes in time");
}

/// Two nodes with a private server, which is killed and started again.
pub async fn a_server_that_was_killed_and_started_again_has_its_subscriptions(
    server: &dyn Server,
    [here, there]: [RemoteBus; 2],
) {
    let mut subscription = here.subscribe(TOPIC).await.expect("it answers");
    server.kill().expect("it is killed");
    until_it_answers(&here, false).await;
    there.publish(TOPIC, wake("in the outage", 1));
    server.restart().expect("it starts");
    until_it_answers(&here, true).await;
    until_it_answers(&there, true).await;
    there.publish(TOPIC, wake("after", 1));
    let mut has_lost = false;
    loop {
        match next(&mut subscription).await {
            Some(Signal::Lost) => has_lost = true,
            Some(Signal::Wake(signal)) if signal == wake("after", 1) => break,
            other => assert_eq!(other, Some(Signal::Wake(wake("in the outage", 1)))),
        }
    }
    assert!(has_lost, "what was published while nobody was there may have been missed");
}

/// Two nodes with a private server that hangs: the connections stay open without data.
pub async fn a_server_that_hangs_is_noticed_within_seconds(server: &dyn Server, [here, there]: [RemoteBus; 2]) {
    let mut subscription = here.subscribe(TOPIC).await.expect("it answers");
    server.pause().expect("it stands still");
    let began = Instant::now();
    assert!(here.subscribe(Topic::Tasks(2)).await.is_err(), "nothing is promised that cannot be kept");
    until_it_answers(&here, false).await;
    assert!(began.elapsed() < Duration::from_secs(8), "it took {:?}", began.elapsed());
    server.resume().expect("it goes on");
    until_it_answers(&here, true).await;
    assert_eq!(next(&mut subscription).await, Some(Signal::Lost));
    until_it_answers(&there, true).await;
    there.publish(TOPIC, wake("after", 1));
    assert_eq!(next(&mut subscription).await, Some(Signal::Wake(wake("after", 1))));
}

/// Two nodes, one of them behind a proxy that drops data; the connection looks intact from both ends.
pub async fn what_a_network_swallowed_is_sent_again(proxy: &Proxy, here: RemoteBus, there: RemoteBus) {
    let mut subscription = there.subscribe(TOPIC).await.expect("it answers");
    proxy.set(|faults| faults.holds = true);
    here.publish(TOPIC, wake("swallowed", 1));
    until_it_answers(&here, false).await;
    // The data held by the proxy is lost by the cut.
    proxy.cut();
    proxy.heal();
    assert_eq!(next(&mut subscription).await, Some(Signal::Wake(wake("swallowed", 1))));
}
