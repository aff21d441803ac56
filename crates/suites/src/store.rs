//! The suite for [`TaskStore`]: its contract line by line. Each function is one test; `store_suite!` runs them all.
#![expect(clippy::unwrap_used, reason = "these are tests")]

mod agents;
mod commits;
mod concurrency;
mod content;
mod debts;
mod durability;
mod erasure;
mod lists;
mod logs;
pub(super) mod messages;
mod pages;
mod purges;
mod pushes;
mod scopes;
mod sizes;
pub(super) mod work;
pub(super) mod writer;

pub use agents::*;
use async_trait::async_trait;
pub use commits::*;
pub use concurrency::*;
pub use content::*;
pub use debts::*;
pub use durability::*;
pub use erasure::*;
pub use lists::*;
pub use logs::*;
pub use messages::*;
use nuncio_engine::store::TaskStore;
pub use pages::*;
pub use purges::*;
pub use pushes::*;
pub use scopes::*;
pub use sizes::*;
pub use work::*;

/// Where the suite gets stores from: a place that is new for each test.
#[async_trait]
pub trait StoreFixture: Send + Sync + Sized + 'static {
    /// The store under test.
    type Store: TaskStore;

    /// Whether a store that is opened again still has its tasks.
    const DURABLE: bool;

    /// Whether the log of a task that waits for its client is kept for longer than a test takes.
    const KEEPS_LOGS: bool = true;

    /// A place without tasks.
    fn new() -> Self;

    /// Opens the store. The one that was opened before was dropped without `close`, as in a crash.
    async fn open(&self) -> Self::Store;
}

/// Makes a `#[test]` of each line of the [`TaskStore`](nuncio_engine::TaskStore) contract, for stores from a
/// [`StoreFixture`](crate::StoreFixture).
#[macro_export]
macro_rules! store_suite {
    ($fixture:ty) => {
        $crate::store_suite! { @tests $fixture:
            creates_a_task
            creates_a_task_that_has_ended
            a_task_is_created_once
            appends_records
            a_commit_elsewhere_than_at_the_end_conflicts
            a_commit_under_another_epoch_conflicts
            a_commit_may_only_let_go
            a_task_without_a_snapshot_is_folded
            what_callers_hold_is_theirs
            answers_and_closes
            tasks_of_an_agent_are_for_no_other

            one_of_many_writers_wins_each_record
            one_of_many_creators_wins
            many_tasks_are_written_at_once
            readers_see_whole_commits
            lists_miss_no_task_that_moves
            a_page_counts_what_it_has

            the_longest_ids_are_kept
            keeps_every_kind_of_content
            random_logs_fold_to_their_task

            a_foreign_task_is_a_missing_task
            tenants_and_callers_do_not_mix

            records_come_in_order_and_without_a_gap
            records_after_the_end_are_none
            a_portion_of_the_log_is_bounded_by_bytes_too
            how_messages_were_sent_is_kept
            the_log_of_a_task_that_waits_is_there
            the_log_of_a_task_that_is_done_is_whole_or_compacted
            a_task_goes_on_after_it_was_parked
            the_ends_of_logs_come_as_they_were_asked_for

            lists_newest_first_and_then_by_id
            lists_by_context_and_state
            lists_since_a_time_inclusive
            a_change_of_status_moves_a_task
            a_list_has_the_task_of_the_last_commit
            random_lists_are_as_a_plain_sort_has_them

            a_remembered_message_is_refused_again
            a_message_of_a_task_at_work_is_remembered
            a_message_is_known_for_its_time
            messages_of_callers_do_not_mix
            a_message_that_was_not_written_is_not_known
            one_of_many_repetitions_is_written
            remembered_messages_survive
            messages_that_nobody_asks_for_any_more_are_forgotten

            pages_join_to_the_list
            pages_that_are_cut_by_bytes_join_to_the_list
            pages_stay_right_when_tasks_change
            a_token_that_was_not_made_here_is_refused
            a_token_is_good_for_its_list_alone

            push_configs_come_back_by_id
            a_push_config_of_the_same_id_is_replaced
            deleting_a_push_config_twice_is_no_error
            push_configs_of_no_task_are_none
            a_push_config_keeps_its_format

            configs_of_a_new_task_are_owed_every_record
            a_later_config_is_owed_later_records
            a_config_can_be_owed_earlier_records
            what_is_settled_is_no_longer_owed
            a_failed_attempt_waits_for_its_time
            a_clock_that_went_back_puts_nothing_off
            debts_are_due_in_order
            a_removed_config_is_owed_nothing
            records_are_kept_while_they_are_owed
            records_that_were_owed_to_a_webhook_that_was_replaced_can_go

            old_tasks_of_a_state_go
            a_purge_takes_no_more_than_it_may
            tenants_have_rules_of_their_own
            what_is_at_work_or_owed_stays
            what_rests_for_long_is_found_oldest_first
            logs_of_tasks_that_rest_can_go

            erasing_takes_those_and_no_others
            what_was_erased_begins_anew
            what_was_erased_does_not_come_back
            a_scan_has_every_task_once
            a_scan_stays_right_when_tasks_come_and_go

            a_big_task_loses_nothing_and_appends_stay_cheap
            a_list_does_not_cost_what_its_artifacts_do

            what_is_at_work_is_seen_in_pages
            who_claims_a_task_is_told_whether_it_was_at_work
            nobody_is_at_work_on_a_task_that_was_let_go_of_in_the_middle

            nothing_of_a_living_process_is_an_orphan
            tasks_survive
            lists_survive
            what_a_crash_left_running_is_an_orphan
            a_claim_shuts_the_earlier_owner_out
            debts_survive
        }
    };
    (@tests $fixture:ty: $($test:ident)*) => {$(
        #[test]
        fn $test() {
            $crate::block_on($crate::store::$test::<$fixture>(
                <$fixture as $crate::StoreFixture>::new(),
            ));
        }
    )*};
}
