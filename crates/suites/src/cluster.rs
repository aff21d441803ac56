//! The suite for [`Cluster`]: its contract line by line. Each function is one test;
//! `cluster_suite!` runs them all.
#![expect(clippy::unwrap_used, reason = "these are tests")]

mod claims;
mod fencing;
mod leases;
mod letters;
mod messages;
mod orphans;
mod post;
mod sequences;

use std::time::Duration;

use async_trait::async_trait;
pub use claims::*;
pub use fencing::*;
pub use leases::*;
pub use letters::*;
pub use messages::*;
use nuncio_engine::store::{Claim, Cluster, Letter, LetterId, NodeId, Stored, TaskStore};
pub use orphans::*;
pub use post::*;
pub use sequences::*;

use super::store::writer::Writer;

/// Where the suite gets nodes from: a place that is new for each test, and that several nodes can have open at once.
#[async_trait]
pub trait ClusterFixture: Send + Sync + Sized + 'static {
    /// The store under test, as one node has it.
    type Node: TaskStore;

    /// A place without tasks and nodes, where leases are as long as this.
    fn new(lease: Duration) -> Self;

    /// Opens the store as another node, which lives from now on.
    async fn open(&self) -> Self::Node;

    /// Ends a node's lease at once, as its silence would in time. The node does not notice.
    async fn expire(&self, node: &Self::Node);
}

/// A lease that no test outlasts.
const LONG: Duration = Duration::from_mins(10);

/// A lease that a test can wait for.
const SHORT: Duration = Duration::from_secs(1);

/// How long something may take that should happen.
const PATIENCE: Duration = Duration::from_secs(30);

fn cluster(node: &impl TaskStore) -> &dyn Cluster {
    node.cluster().expect("the store is shared")
}

/// Two nodes.
async fn two<F: ClusterFixture>(fixture: &F) -> (F::Node, F::Node) {
    (fixture.open().await, fixture.open().await)
}

/// What came of a claim.
#[derive(Debug)]
enum Claimed {
    Owned { stored: Stored, abandoned: bool, letters: Vec<Letter> },
    Held(NodeId),
}

async fn claim(node: &impl TaskStore, task: &Writer) -> Claimed {
    match node.claim(&task.scope, task.id()).await.unwrap() {
        Some(Claim::Owned { stored, abandoned, letters }) => Claimed::Owned { stored, abandoned, letters },
        Some(Claim::Held(node)) => Claimed::Held(node),
        None => panic!("{} is not there", task.id()),
    }
}

/// Claims a task that nobody else is at work on; whether it was abandoned. The writer goes on under the new epoch.
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

fn letter(task: &Writer, body: &str) -> Letter {
    Letter {
        id: LetterId::generate(),
        scope: task.scope.clone(),
        task: task.id().clone(),
        body: body.as_bytes().into(),
    }
}

/// Makes a `#[test]` of each line of the [`Cluster`](nuncio_engine::store::Cluster) contract, for nodes from a
/// [`ClusterFixture`](crate::ClusterFixture).
#[macro_export]
macro_rules! cluster_suite {
    ($fixture:ty) => {
        $crate::cluster_suite! { @tests $fixture:
            nodes_are_told_apart
            who_renews_in_time_stays_who_it_is
            who_renews_too_late_is_another
            a_lease_ends_by_itself_and_not_before
            a_node_that_closes_has_no_lease

            a_task_at_work_is_held
            a_task_that_is_not_there_is_nobodys
            who_lets_go_of_a_task_owns_it_no_more
            a_task_of_a_node_that_is_gone_is_taken_over
            a_node_that_lost_its_lease_takes_its_own_tasks_over
            a_claim_of_a_task_that_has_ended_changes_nothing
            one_of_many_nodes_wins_a_claim

            the_old_owner_is_fenced_before_and_after_the_new_ones_first_commit
            of_an_owner_and_who_takes_over_one_is_first
            a_node_that_lost_its_lease_makes_no_task_its_own_by_a_commit

            a_letter_is_left_with_who_is_at_work
            nothing_is_left_where_nobody_is_at_work
            a_letter_is_left_once
            a_letter_that_was_left_is_known_to_be_there
            mail_is_in_order_and_of_this_node
            a_letter_is_left_before_the_task_is_let_go_of_or_not_at_all

            a_commit_takes_letters
            a_commit_that_is_refused_takes_no_letter
            a_letter_can_be_taken_back_until_it_is_taken
            a_letter_is_taken_or_taken_back
            marks_are_noted
            letters_are_looked_up_together
            a_claim_brings_the_letters

            tasks_of_nodes_that_are_gone_are_orphans
            a_task_that_was_let_go_of_in_the_middle_is_an_orphan
            a_node_sees_what_it_is_at_work_on
            a_task_at_rest_with_an_old_letter_is_an_orphan

            of_two_nodes_one_takes_a_message
            messages_in_any_order_are_taken_once

            sequences_come_as_they_were_asked_for
        }
    };
    (@tests $fixture:ty: $($test:ident)*) => {$(
        #[test]
        fn $test() {
            $crate::block_on($crate::cluster::$test::<$fixture>());
        }
    )*};
}
