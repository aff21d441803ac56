//! The suite for [`EventBus`]: its contract line by line. Each function is one test; `bus_suite!` runs them all, and
//! `bus_outage_suite!` those that cut nodes off.
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

/// Where the suite gets nodes from: a bus that is new for each test.
#[async_trait]
pub trait BusFixture: Send + Sync + Sized + 'static {
    /// The bus under test.
    type Bus: EventBus;

    /// A bus that nobody else is on.
    fn new() -> Self;

    /// Another node on it.
    async fn join(&self) -> Self::Bus;
}

/// A bus of which nodes can be cut off.
#[async_trait]
pub trait OutageFixture: BusFixture {
    /// Another node on it. From what `cut` returns on nothing reaches it and it reaches nobody, until `mend`: what the
    /// network would still have carried is lost.
    async fn join_by_a_link(&self) -> (Self::Bus, Box<dyn Link>);
}

/// The way between a node and what carries its signals.
#[async_trait]
pub trait Link: Send + Sync {
    /// Cuts it.
    async fn cut(&self);

    /// Mends it.
    async fn mend(&self);
}

/// Makes a `#[test]` of each line of the [`EventBus`](nuncio_engine::EventBus) contract, for nodes from a
/// [`BusFixture`](crate::BusFixture).
#[macro_export]
macro_rules! bus_suite {
    ($fixture:ty) => {
        $crate::bus_suite! { @tests $fixture:
            what_is_published_reaches_every_node
            a_subscription_that_is_there_loses_nothing
            a_subscription_that_comes_back_loses_nothing
            signals_of_a_task_come_in_their_order
            one_of_several_subscriptions_may_leave

            topics_do_not_mix
            any_text_may_be_the_id_of_a_task
            a_letter_is_a_signal

            a_slow_subscription_is_told_and_others_are_not_concerned
            publishing_does_not_wait
            a_reader_may_stop_waiting_at_any_time

            closing_ends_the_subscriptions_of_one_node
            closing_sends_what_waits
            a_bus_that_is_dropped_ends_its_subscriptions
            nobody_joins_a_node_that_has_left
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

/// Makes a `#[test]` of each line of the contract that speaks of outages, for nodes from an
/// [`OutageFixture`](crate::OutageFixture).
#[macro_export]
macro_rules! bus_outage_suite {
    ($fixture:ty) => {
        $crate::bus_suite! { @tests $fixture:
            an_outage_is_told_once_it_is_over
            an_outage_is_known
            an_outage_of_one_node_is_no_other_nodes
            what_is_published_in_an_outage_comes_later
            publishing_in_an_outage_does_not_wait
            too_much_in_an_outage_is_told_by_topic
            outages_may_come_again_and_again
            closing_in_an_outage_ends_in_time
        }
    };
}
