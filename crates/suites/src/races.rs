//! The suite for races in an engine over a store: agents that finish at once, cancellation against completion, readers
//! that stall and readers that reconnect. `race_suite!` runs all of them.
#![expect(clippy::unwrap_used, reason = "these are tests")]

mod cancels;
mod client;
mod cuts;
mod instant;
mod stalls;

pub use cancels::*;
pub use cuts::*;
pub use instant::*;
pub use stalls::*;

/// Defines a `#[test]` for each race. A [`StoreFixture`](crate::StoreFixture) opens the stores. Each test takes a
/// second or two.
#[macro_export]
macro_rules! race_suite {
    ($fixture:ty) => {
        $crate::race_suite! { @tests $fixture:
            instant_agents_are_streamed_to_their_end
            instant_agents_are_subscribed_to_until_their_end
            instant_agents_are_polled_to_their_end
            a_hundred_cancels_and_a_completion_have_a_single_result
            a_stalled_reader_blocks_no_reader_and_misses_no_event
            a_reader_with_fifty_reconnects_receives_each_event_once
        }
    };
    (@tests $fixture:ty: $($test:ident)*) => {$(
        #[test]
        fn $test() {
            $crate::block_on($crate::races::$test::<$fixture>(
                <$fixture as $crate::StoreFixture>::new(),
            ));
        }
    )*};
}
