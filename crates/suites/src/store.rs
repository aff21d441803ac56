//! The suite for [`TaskStore`]. Each function tests one promise of the contract; `store_suite!` runs all of them.
#![expect(clippy::unwrap_used, reason = "these are tests")]

mod agents;
mod commits;
mod concurrency;
mod content;
mod durability;
mod erasure;
mod lists;
mod logs;
pub(super) mod messages;
mod outbox;
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
pub use durability::*;
pub use erasure::*;
pub use lists::*;
pub use logs::*;
pub use messages::*;
use nuncio_engine::store::TaskStore;
pub use outbox::*;
pub use pages::*;
pub use purges::*;
pub use pushes::*;
pub use scopes::*;
pub use sizes::*;
pub use work::*;

/// Opens the stores for the suite. Each test has its own data.
#[async_trait]
pub trait StoreFixture: Send + Sync + Sized + 'static {
    /// The store under test.
    type Store: TaskStore;

    /// Whether the tasks are stored after the store is dropped and opened again.
    const DURABLE: bool;

    /// Whether the log of a parked task is kept for longer than a test takes.
    const KEEPS_LOGS: bool = true;

    /// A place without tasks.
    fn new() -> Self;

    /// Opens the store. The previous store was dropped without `close`, as in a crash.
    async fn open(&self) -> Self::Store;
}

/// Defines a `#[test]` for each promise of [`TaskStore`](nuncio_engine::TaskStore). A
/// [`StoreFixture`](crate::StoreFixture) opens the stores.
#[macro_export]
macro_rules! store_suite {
    ($fixture:ty) => {
        $crate::store_suite! { @tests $fixture:
            creates_a_task
            creates_a_task_that_has_ended
            a_task_is_created_once
            appends_records
            a_commit_at_a_wrong_position_conflicts
            a_commit_under_another_epoch_conflicts
            a_commit_without_records_releases_a_task
            a_task_without_a_snapshot_is_folded
            changes_in_memory_do_not_reach_the_store
            check_succeeds_until_close
            a_store_belongs_to_an_agent

            a_single_concurrent_commit_succeeds
            a_single_concurrent_creation_succeeds
            commits_of_different_tasks_do_not_conflict
            readers_see_whole_commits
            lists_contain_tasks_that_move
            the_total_matches_the_page

            the_longest_ids_are_stored
            every_kind_of_content_is_stored
            random_logs_fold_to_their_task

            a_foreign_task_looks_like_a_missing_task
            tenants_and_callers_are_separate

            records_are_in_order_without_gaps
            no_records_follow_the_end
            a_portion_is_limited_by_records_and_bytes
            request_fields_are_stored_with_the_message
            a_parked_task_keeps_its_log
            the_log_of_an_ended_task_is_complete_or_compacted
            a_parked_task_continues
            sequences_follow_the_request

            lists_are_sorted_by_time_and_id
            lists_filter_by_context_and_state
            lists_filter_by_time_inclusively
            a_change_of_status_moves_a_task
            a_list_shows_the_last_commit
            random_lists_equal_a_sorted_vector

            a_remembered_message_is_refused
            messages_of_an_existing_task_are_remembered
            an_old_message_is_unknown
            messages_of_callers_are_separate
            a_refused_commit_remembers_nothing
            a_single_concurrent_duplicate_is_stored
            remembered_messages_survive_a_restart
            old_messages_are_forgotten

            pages_join_to_the_list
            pages_limited_by_bytes_join_to_the_list
            pages_are_correct_while_tasks_change
            a_foreign_token_is_refused
            a_token_is_valid_for_its_list_only

            push_configs_are_sorted_by_id
            a_push_config_of_the_same_id_is_replaced
            deleting_a_push_config_twice_is_no_error
            a_missing_task_has_no_push_configs
            a_push_config_keeps_its_format

            a_config_of_a_new_task_has_every_record_pending
            a_later_config_has_later_records_pending
            a_config_can_have_earlier_records_pending
            delivered_records_are_not_pending
            a_failed_push_waits_for_its_next_attempt
            a_clock_set_back_delays_no_push
            due_pushes_are_sorted
            a_removed_config_has_nothing_pending
            pending_records_are_kept
            records_of_a_replaced_config_can_be_compacted

            a_purge_deletes_old_tasks_by_state
            a_purge_respects_its_limit
            a_purge_selects_tenants
            a_purge_keeps_tasks_at_work_or_with_pending_pushes
            resting_tasks_are_listed_oldest_first
            logs_of_tasks_at_rest_can_be_compacted

            erasing_removes_exactly_the_matching_tasks
            an_erased_id_can_be_used_again
            erased_tasks_do_not_return
            a_scan_returns_every_task_once
            a_scan_is_correct_while_tasks_change

            appends_to_a_large_task_are_cheap
            a_list_without_artifacts_does_not_read_them

            tasks_at_work_are_listed_in_pages
            a_claim_reports_whether_the_task_was_at_work
            a_task_released_before_rest_is_not_at_work

            a_task_at_work_is_not_an_orphan
            tasks_survive_a_restart
            lists_survive_a_restart
            a_task_running_at_a_crash_is_an_orphan
            a_claim_fences_the_previous_owner
            pending_pushes_survive_a_restart
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
