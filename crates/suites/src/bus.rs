//! The suites for [`EventBus`]. Each function tests one promise of the contract; `bus_suite!` runs all of them, and
//! `bus_outage_suite!` runs the tests that cut nodes off.
#![expect(clippy::unwrap_used, reason = "these are tests")]

mod closing;
mod content;
mod delivery;
mod outages;
mod reading;
mod slow;

use async_trait::async_trait;
pub use closing::*;
pub use content::*;
pub use delivery::*;
use nuncio_engine::bus::EventBus;
pub use outages::*;
pub use slow::*;

/// Creates the nodes for the suite. Each test has its own bus.
#[async_trait]
pub trait BusFixture: Send + Sync + Sized + 'static {
    /// The bus under test.
    type Bus: EventBus;

    /// A bus without nodes.
    fn new() -> Self;

    /// Adds a node.
    async fn join(&self) -> Self::Bus;
}

/// A bus with nodes that a test can cut off.
#[async_trait]
pub trait OutageFixture: BusFixture {
    /// Adds a node behind a link. After `cut` has returned, no signal passes in either direction until `mend`, and
    /// signals on their way are lost.
    async fn join_by_a_link(&self) -> (Self::Bus, Box<dyn Link>);
}

/// The connection between a node and the broker.
#[async_trait]
pub trait Link: Send + Sync {
    /// Interrupts the connection.
    async fn cut(&self);

    /// Restores the connection.
    async fn mend(&self);
}

/// Defines a `#[test]` for each promise of [`EventBus`](nuncio_engine::EventBus). A [`BusFixture`](crate::BusFixture)
/// adds the nodes.
#[macro_export]
macro_rules! bus_suite {
    ($fixture:ty) => {
        $crate::bus_suite! { @tests $fixture:
            a_signal_reaches_every_subscription_of_every_node
            a_subscription_receives_every_later_signal
            a_repeated_subscription_receives_every_later_signal
            signals_of_a_task_arrive_in_order
            dropping_a_subscription_affects_no_other

            a_subscription_receives_only_its_topic
            any_text_can_be_a_task_id
            every_command_is_signalled

            a_slow_subscription_receives_lost_and_others_lose_nothing
            publish_does_not_wait
            the_future_of_next_can_be_dropped

            closing_ends_the_subscriptions_of_the_node
            closing_sends_queued_signals
            dropping_the_bus_ends_its_subscriptions
            a_closed_bus_refuses_subscriptions
        }
    };
    (@tests $fixture:ty: $($test:ident)*) => {$(
        #[test]
        fn $test() {
            $crate::block_on(async {
                $crate::bus::$test(<$fixture as $crate::BusFixture>::new()).await;
            });
        }
    )*};
}

/// Defines a `#[test]` for each promise about outages. An [`OutageFixture`](crate::OutageFixture) adds the nodes.
#[macro_export]
macro_rules! bus_outage_suite {
    ($fixture:ty) => {
        $crate::bus_suite! { @tests $fixture:
            subscriptions_receive_lost_after_an_outage
            check_and_subscribe_fail_during_an_outage
            an_outage_of_a_node_affects_no_other_node
            signals_published_during_an_outage_arrive_later
            publish_does_not_wait_during_an_outage
            an_overflow_during_an_outage_is_reported_per_topic
            each_of_several_outages_is_reported
            closing_during_an_outage_respects_the_timeout
        }
    };
}
