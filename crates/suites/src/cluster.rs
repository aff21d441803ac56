//! The suite for [`Cluster`]. Each function tests one promise of the contract; `cluster_suite!` runs all of them.
#![expect(clippy::unwrap_used, reason = "these are tests")]

mod claims;
mod commands;
mod enqueue;
mod fencing;
mod leases;
mod messages;
mod orphans;
mod sequences;

use std::time::Duration;

use async_trait::async_trait;
pub use claims::*;
pub use commands::*;
pub use enqueue::*;
pub use fencing::*;
pub use leases::*;
pub use messages::*;
use nuncio_engine::store::{Claim, Cluster, Command, CommandId, NodeId, Stored, TaskStore};
pub use orphans::*;
pub use sequences::*;

use super::store::writer::Writer;

/// Creates the stores for the suite. Each test has its own empty store, and several nodes open the store at the same
/// time.
#[async_trait]
pub trait ClusterFixture: Send + Sync + Sized + 'static {
    /// The store under test, as opened by a node.
    type Node: TaskStore;

    /// An empty store without nodes, with leases of this length.
    fn new(lease: Duration) -> Self;

    /// Opens the store as a new node. The node's lease starts now.
    async fn open(&self) -> Self::Node;

    /// Ends the lease of a node at once. The node does not notice.
    async fn expire(&self, node: &Self::Node);
}

/// A lease longer than any test.
const LONG: Duration = Duration::from_mins(10);

/// A lease short enough for a test to wait for its end.
const SHORT: Duration = Duration::from_secs(1);

/// The deadline for an expected event.
const TIMEOUT: Duration = Duration::from_secs(30);

fn cluster(node: &impl TaskStore) -> &dyn Cluster {
    node.cluster().expect("the store is shared")
}

/// Opens two nodes.
async fn two<F: ClusterFixture>(fixture: &F) -> (F::Node, F::Node) {
    (fixture.open().await, fixture.open().await)
}

/// The result of a claim.
#[derive(Debug)]
enum Claimed {
    Owned { stored: Stored, abandoned: bool, commands: Vec<Command> },
    Held(NodeId),
}

async fn claim(node: &impl TaskStore, task: &Writer) -> Claimed {
    match node.claim(&task.scope, task.id()).await.unwrap() {
        Some(Claim::Owned { stored, abandoned, commands }) => Claimed::Owned { stored, abandoned, commands },
        Some(Claim::Held(node)) => Claimed::Held(node),
        None => panic!("{} does not exist", task.id()),
    }
}

/// Claims a task that no other node owns, and returns whether the task was abandoned. The writer continues under the
/// new epoch.
async fn own(node: &impl TaskStore, task: &mut Writer) -> bool {
    match claim(node, task).await {
        Claimed::Owned { stored, abandoned, .. } => {
            assert_eq!((stored.sequence, &*stored.task), (task.sequence(), &task.task));
            task.epoch = stored.epoch;
            abandoned
        }
        Claimed::Held(node) => panic!("{} is held by node {node}", task.id()),
    }
}

fn command(task: &Writer, body: &str) -> Command {
    Command {
        id: CommandId::generate(),
        scope: task.scope.clone(),
        task: task.id().clone(),
        body: body.as_bytes().into(),
    }
}

/// Defines a `#[test]` for each promise of [`Cluster`](nuncio_engine::store::Cluster). A
/// [`ClusterFixture`](crate::ClusterFixture) opens the nodes.
#[macro_export]
macro_rules! cluster_suite {
    ($fixture:ty) => {
        $crate::cluster_suite! { @tests $fixture:
            nodes_have_different_ids
            a_renewal_in_time_keeps_the_node_id
            a_late_renewal_gives_a_new_node_id
            a_lease_ends_after_its_length
            closing_the_store_ends_the_lease

            a_task_at_work_belongs_to_its_owner
            a_missing_task_cannot_be_claimed
            a_released_task_has_no_owner
            a_task_of_a_dead_node_is_taken_over
            a_node_that_lost_its_lease_takes_its_own_tasks_over
            a_claim_of_an_ended_task_changes_nothing
            a_single_node_wins_a_claim

            the_old_owner_is_fenced_from_the_claim_on
            a_commit_precedes_the_claim_or_conflicts
            a_commit_without_a_lease_does_not_own_the_task

            a_command_reaches_the_owner
            a_command_without_an_owner_is_not_stored
            a_command_is_stored_once
            a_repeated_enqueue_reports_the_stored_command
            pending_commands_are_sorted_and_belong_to_the_node
            a_command_is_stored_before_the_release_or_not_at_all

            a_commit_acks_commands
            a_refused_commit_acks_no_command
            a_command_can_be_cancelled_until_a_commit_acks_it
            a_command_is_acked_or_cancelled
            reports_are_stored
            a_lookup_returns_many_commands
            a_claim_returns_the_waiting_commands

            tasks_of_dead_nodes_are_orphans
            a_task_released_before_rest_is_an_orphan
            a_node_lists_its_own_tasks_at_work
            a_task_at_rest_with_an_old_command_is_an_orphan

            a_single_node_commits_a_message
            messages_in_opposite_order_do_not_deadlock

            sequences_of_all_nodes_follow_the_request
        }
    };
    (@tests $fixture:ty: $($test:ident)*) => {$(
        #[test]
        fn $test() {
            $crate::block_on($crate::cluster::$test::<$fixture>());
        }
    )*};
}
