//! Cancellation of cooperative and of uncooperative programs; no process remains.

use std::time::Duration;

use nuncio_adapters::{Exec, Program, ProgramLimits};
use nuncio_engine::{Engine, Limits};
use nuncio_model::TaskState;

use crate::support::{Feed, cancel, chunks, ended, eventually, exec, exec_within, json_lines, json_lines_within};

fn soon() -> ProgramLimits {
    ProgramLimits::default().with_grace(Duration::from_millis(100))
}

#[tokio::test]
async fn a_filter_may_clean_up_when_it_is_canceled() {
    let engine = exec("trap 'echo bye; exit 3' TERM; echo on; while true; do sleep 0.01; done");
    let mut feed = Feed::open(&engine, "go").await;
    assert_eq!(feed.artifact().await.artifact.text(), "on\n");
    let canceled = cancel(&engine, &feed.task).await;
    assert_eq!(canceled.state(), TaskState::Canceled);
    let (updates, state) = feed.rest().await;
    assert_eq!((chunks(&updates), state), (vec![("bye\n".to_owned(), true, false)], TaskState::Canceled));
}

#[tokio::test]
async fn a_cancel_ends_the_whole_group() {
    let engine = exec("sleep 1000 & echo $$ $!; wait");
    let mut feed = Feed::open(&engine, "go").await;
    let pids = feed.artifact().await.artifact.text();
    cancel(&engine, &feed.task).await;
    for pid in pids.split_whitespace() {
        ended(pid).await;
    }
}

#[tokio::test]
async fn programs_and_children_that_ignore_a_cancel_are_killed() {
    let stubborn = "trap '' TERM INT HUP; sh -c 'while true; do sleep 1000; done' &";
    for engine in [
        exec_within(&format!("{stubborn} echo $$ $!; while true; do sleep 1000; done"), soon()),
        json_lines_within(
            &format!(r#"{stubborn} echo "{{\"text\":\"$$ $!\"}}"; while true; do sleep 1000; done"#),
            soon(),
        ),
    ] {
        let mut feed = Feed::open(&engine, "go").await;
        let pids = feed.artifact().await.artifact.text();
        assert_eq!(cancel(&engine, &feed.task).await.state(), TaskState::Canceled);
        for pid in pids.split_whitespace() {
            ended(pid).await;
        }
    }
}

#[tokio::test]
async fn a_dropped_turn_kills_its_processes() {
    let mut limits = Limits::default();
    limits.cancel_grace = Duration::from_millis(50);
    let patient = ProgramLimits::default().with_grace(Duration::from_secs(1000));
    let script = "trap '' TERM; sleep 1000 & echo $$ $!; while true; do sleep 1000; done";
    let agent = Exec::new(Program::shell(script).with_limits(patient));
    let engine = Engine::builder(agent).limits(limits).build();
    let mut feed = Feed::open(&engine, "go").await;
    let pids = feed.artifact().await.artifact.text();
    assert_eq!(cancel(&engine, &feed.task).await.state(), TaskState::Canceled);
    let leader = pids.split_whitespace().next().unwrap().to_owned();
    for pid in pids.split_whitespace() {
        ended(pid).await;
    }
    let leader = std::path::PathBuf::from(format!("/proc/{leader}"));
    eventually(|| !leader.exists(), "the leader is reaped").await;
}

#[tokio::test]
async fn the_end_of_the_engine_kills_its_programs() {
    let engine = exec("sleep 1000 & echo $$ $!; wait");
    let mut feed = Feed::open(&engine, "go").await;
    let pids = feed.artifact().await.artifact.text();
    engine.shutdown(Duration::ZERO).await;
    for pid in pids.split_whitespace() {
        ended(pid).await;
    }
}

#[tokio::test]
async fn a_script_receives_a_cancellation_as_a_line() {
    let engine = json_lines(
        r#"
        read -r request
        echo '{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING"}}}'
        echo '{"text":"on"}'
        read -r line
        printf '{"artifactUpdate":{"artifact":{"artifactId":"told","parts":[{"data":%s}]}}}\n' "$line"
        echo '{"statusUpdate":{"status":{"state":"TASK_STATE_CANCELED","message":{"parts":[{"text":"stopped"}]}}}}'
        "#,
    );
    let mut feed = Feed::open(&engine, "go").await;
    assert_eq!(feed.artifact().await.artifact.text(), "on");
    let canceled = cancel(&engine, &feed.task).await;
    assert_eq!(canceled.state(), TaskState::Canceled);
    assert_eq!(crate::support::status_text(&canceled), "stopped");
    let told =
        canceled.artifacts.iter().find(|artifact| artifact.artifact_id == "told").unwrap().parts.first().unwrap();
    assert_eq!(told.as_data().unwrap().as_str(), r#"{"cancel":{}}"#);
}

#[tokio::test]
async fn a_script_that_does_not_read_the_line_gets_the_signal() {
    let engine = json_lines_within(r#"echo "{\"text\":\"$$\"}"; exec sleep 1000"#, soon());
    let mut feed = Feed::open(&engine, "go").await;
    let pid = feed.artifact().await.artifact.text();
    assert_eq!(cancel(&engine, &feed.task).await.state(), TaskState::Canceled);
    ended(&pid).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_output_can_be_canceled() {
    for engine in [exec_within("exec yes", soon()), json_lines_within(r#"exec yes '{"text":"x"}'"#, soon())] {
        let mut feed = Feed::open(&engine, "go").await;
        feed.artifact().await;
        assert_eq!(cancel(&engine, &feed.task).await.state(), TaskState::Canceled);
    }
}
