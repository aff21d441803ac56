//! The suite for what races in an engine over a store: agents that are done before anyone looks, cancels against a
//! completion, readers that stall and readers that are cut off. `race_suite!` runs it on a store.
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

/// Makes a `#[test]` of each race, on stores from a [`StoreFixture`](crate::StoreFixture). A test takes a
/// second or two.
#[macro_export]
macro_rules! race_suite {
    ($fixture:ty) => {
        $crate::race_suite! { @tests $fixture:
            a_thousand_agents_that_are_done_at_once_are_streamed_to_their_end
            a_thousand_agents_that_are_done_at_once_are_watched_to_their_end
            a_thousand_agents_that_are_done_at_once_are_polled_to_their_end
            a_hundred_cancels_against_a_completion_leave_one_end
            a_reader_that_stalls_holds_up_nobody_and_misses_nothing
            a_reader_that_is_cut_off_fifty_times_sees_each_event_once
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
