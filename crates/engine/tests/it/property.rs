//! Random agents, random clients with random delays, and random failures of the store. The log of each task stays
//! complete, all clients see the same log, and no task is left running.

mod agent;
mod check;
mod client;

use std::{sync::Arc, time::Duration};

use nuncio_engine::{Engine, Limits};
use nuncio_model::{Reply, Task, op::ListTasksRequest};
use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{Config, TestRunner},
};
use tokio::{runtime::Runtime, task::yield_now};

use self::{
    agent::Step,
    client::{Action, Op, World},
};
use crate::{
    rigged::{Fate, Rigged},
    support::*,
};

#[derive(Debug, Clone)]
struct Case {
    /// The actions of the agent in a turn. A message selects a script.
    scripts: Vec<Vec<Step>>,
    ops: Vec<Op>,
    commits: Vec<Fate>,
    claims: Vec<Fate>,
    window: usize,
    queued_messages: usize,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Work),
        8 => (0..4_u8, any::<bool>()).prop_map(|(artifact, append)| Step::Piece { artifact, append }),
        4 => (0..6_u8).prop_map(Step::Yield),
        1 => (1..700_u16).prop_map(Step::Flood),
        2 => Just(Step::Ask),
        1 => Just(Step::NeedAuth),
        1 => Just(Step::Complete),
        1 => Just(Step::Fail),
        1 => Just(Step::Reply),
        1 => Just(Step::Error),
        1 => Just(Step::Panic),
        1 => Just(Step::UntilCanceled),
        1 => Just(Step::ForEver),
        1 => Just(Step::BreakTheProtocol),
        1 => Just(Step::LeaveSomethingBehind),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        3 => any::<u8>().prop_map(Action::Send),
        3 => any::<u8>().prop_map(Action::SendAtOnce),
        3 => any::<u8>().prop_map(Action::Stream),
        4 => (any::<u8>(), any::<u8>()).prop_map(|(task, script)| Action::Follow(task, script)),
        3 => (any::<u8>(), any::<u8>()).prop_map(|(task, script)| Action::FollowAtOnce(task, script)),
        3 => (any::<u8>(), any::<u8>()).prop_map(|(task, script)| Action::FollowStream(task, script)),
        4 => any::<u8>().prop_map(|task| Action::Subscribe(task, None)),
        3 => (any::<u8>(), 0..20_u64).prop_map(|(task, last)| Action::Subscribe(task, Some(last))),
        1 => any::<u8>().prop_map(Action::Cancel),
        2 => any::<u8>().prop_map(Action::Get),
        1 => Just(Action::List),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    (action(), 0..40_u8, prop::option::weighted(0.3, 0..20_u8)).prop_map(|(action, delay, polls)| Op {
        action,
        delay,
        polls,
    })
}

fn case(fate: impl Strategy<Value = Fate> + Clone) -> impl Strategy<Value = Case> {
    (
        vec(vec(step(), 0..8), 1..4),
        vec(op(), 1..16),
        vec(fate.clone(), 0..20),
        vec(fate, 0..6),
        prop_oneof![Just(1), Just(8), Just(8_192)],
        prop_oneof![Just(1), Just(64)],
    )
        .prop_map(|(scripts, ops, commits, claims, window, queued_messages)| Case {
            scripts,
            ops,
            commits,
            claims,
            window,
            queued_messages,
        })
}

impl Case {
    fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        limits.window = self.window;
        limits.queued_messages = self.queued_messages;
        limits.slow_reader = Duration::from_millis(2);
        limits.cancel_grace = Duration::from_millis(2);
        limits.first_event_timeout = Duration::from_millis(2);
        limits.first_event_timeout_streaming = Duration::from_millis(1);
        limits.linger = Duration::from_millis(2);
        limits.commit_retry = Duration::from_millis(15);
        limits
    }

    async fn run(self) {
        let store = Rigged::new();
        let engine = agent::engine(self.scripts.clone(), self.limits(), &store);
        store.commits(self.commits.iter().copied());
        store.claims(self.claims.iter().copied());
        let world = World::new(engine.clone(), self.scripts.len());
        let ops: Vec<_> = self.ops.iter().map(|op| tokio::spawn(Arc::clone(&world).perform(op.clone()))).collect();
        within(async {
            // Until all clients are done, tasks that wait for input are canceled, including later tasks.
            while !ops.iter().all(tokio::task::JoinHandle::is_finished)
                || engine.running() > 0
                || open(&engine).await.next().is_some()
            {
                for _ in 0..50 {
                    yield_now().await;
                }
                for task in open(&engine).await {
                    drop(cancel(&engine, &task).await);
                }
            }
        })
        .await;
        for op in ops {
            op.await.unwrap();
        }
        quiet(&engine).await;
        check::check(&store, &world, &tasks(&engine).await).await;
    }
}

async fn tasks(engine: &Engine) -> Vec<Task> {
    let query = ListTasksRequest { page_size: Some(100), include_artifacts: Some(true), ..Default::default() };
    let Reply::Tasks(page) = call(engine, query).await.unwrap() else { panic!() };
    page.tasks
}

async fn open(engine: &Engine) -> impl Iterator<Item = Task> {
    tasks(engine).await.into_iter().filter(|task| !task.state().is_terminal())
}

fn hold(runtime: &Runtime, fate: impl Strategy<Value = Fate> + Clone) {
    let config = Config { failure_persistence: None, max_shrink_iters: 2_000, ..Config::default() };
    let config = Config { cases: std::env::var("PROPTEST_CASES").map_or(64, |_| config.cases), ..config };
    let outcome = TestRunner::new(config).run(&case(fate), |case| {
        let run = runtime.block_on(async { tokio::spawn(case.run()).await });
        run.map_err(|error| TestCaseError::fail(format!("{error}")))
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

fn on_one_thread() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn on_two_threads() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// A store that fails rarely.
fn moody() -> impl Strategy<Value = Fate> + Clone {
    prop_oneof![
        12 => Just(Fate::Goes),
        2 => Just(Fate::Fails),
        2 => Just(Fate::FailsAfterWriting),
    ]
}

#[test]
fn the_log_is_complete_for_all_readers_on_one_thread() {
    hold(&on_one_thread(), Just(Fate::Goes));
}

#[test]
fn the_log_is_complete_for_all_readers_on_two_threads() {
    hold(&on_two_threads(), Just(Fate::Goes));
}

#[test]
fn the_log_is_complete_over_a_failing_store_on_one_thread() {
    hold(&on_one_thread(), moody());
}

#[test]
fn the_log_is_complete_over_a_failing_store_on_two_threads() {
    hold(&on_two_threads(), moody());
}
