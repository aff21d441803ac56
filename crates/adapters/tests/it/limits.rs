//! Programs that exceed limits of output or time, or write nothing.

use std::time::Duration;

use nuncio_adapters::{Exec, Program, ProgramLimits};
use nuncio_engine::Engine;
use nuncio_model::{PartRef, TaskState};

use crate::support::{Feed, cancel, ended, exec_within, json_lines_within, output, send, status_text};

fn limits() -> ProgramLimits {
    ProgramLimits::default()
}

#[tokio::test]
async fn a_line_over_the_limit_is_cut_between_characters() {
    let task = send(&exec_within("cat", limits().with_piece(4)), "äöüß\nab").await;
    let parts: Vec<_> = task.artifacts[0].parts.iter().filter_map(PartRef::as_text).collect();
    assert_eq!(parts, ["äö", "üß\n", "ab\n"]);
    let task = send(&exec_within("cat", limits().with_piece(3)), "äöü").await;
    assert_eq!(output(&task), "äöü\n");
}

#[tokio::test]
async fn a_piece_over_the_limit_fails_the_task() {
    let program = Program::new("cat").with_limits(limits().with_piece(1024));
    let engine = Engine::builder(Exec::new(program).with_delimiter("--")).build();
    let task = send(&engine, format!("short--{}", "x".repeat(2000))).await;
    assert_eq!(status_text(&task), "a piece of the program's output is longer than 1 KiB");
    assert_eq!(output(&task), "short");
}

#[tokio::test]
async fn endless_output_ends_at_the_limit() {
    let limits = limits().with_output(64 << 10);
    for engine in [
        exec_within("echo $$ >&2; exec yes", limits.clone()),
        json_lines_within(r#"echo $$ >&2; exec yes '{"text":"x"}'"#, limits),
    ] {
        let task = send(&engine, "go").await;
        assert_eq!(
            (task.state(), status_text(&task).as_str()),
            (TaskState::Failed, "the program wrote more than 64 KiB")
        );
    }
}

#[tokio::test]
async fn an_endless_line_fails_the_task_and_is_named() {
    let script = r#"echo '{"text":"a"}'; tr '\0' x < /dev/zero"#;
    let task = send(&json_lines_within(script, limits().with_piece(1 << 20)), "go").await;
    assert_eq!(task.state(), TaskState::Failed);
    assert_eq!(status_text(&task), "line 2 of the program's output is longer than 1 MiB");
    assert_eq!(output(&task), "a");
}

#[tokio::test]
async fn a_turn_over_its_time_limit_fails_and_its_processes_are_killed() {
    let limits = limits().with_time(Duration::from_millis(300));
    let script = "sleep 1000 & echo $!; while true; do sleep 0.01; echo on >&2; done";
    let task = send(&exec_within(script, limits), "go").await;
    assert_eq!(task.state(), TaskState::Failed);
    assert!(status_text(&task).starts_with("the program took longer than 300ms\non"), "{}", status_text(&task));
    ended(&output(&task)).await;
}

#[tokio::test]
async fn a_silent_program_fails_the_task() {
    let limits = limits().with_silence(Duration::from_millis(200));
    for engine in [
        exec_within("echo $$; exec sleep 1000", limits.clone()),
        json_lines_within(r#"echo "{\"text\":\"$$\"}"; exec sleep 1000"#, limits),
    ] {
        let task = send(&engine, "go").await;
        assert_eq!(
            (task.state(), status_text(&task).as_str()),
            (TaskState::Failed, "the program was silent for 200ms")
        );
        ended(&output(&task)).await;
    }
}

#[tokio::test]
async fn a_program_that_keeps_writing_to_stderr_is_not_silent() {
    let limits = limits().with_silence(Duration::from_millis(500));
    let script = "for i in $(seq 1 15); do sleep 0.05; echo $i >&2; done; echo done";
    let task = send(&exec_within(script, limits), "go").await;
    assert_eq!((task.state(), output(&task).as_str()), (TaskState::Completed, "done\n"));
}

#[tokio::test]
async fn a_turn_waits_for_a_free_place() {
    let engine =
        exec_within("read line; test \"$line\" = stay && exec sleep 1000; echo ran", limits().with_processes(1));
    let staying = Feed::open(&engine, "stay\n").await;
    let mut waiting = Feed::open(&engine, "go\n").await;
    let given_up = Feed::open(&engine, "go\n").await;
    assert_eq!(cancel(&engine, &given_up.task).await.state(), TaskState::Canceled);
    assert_eq!(cancel(&engine, &staying.task).await.state(), TaskState::Canceled);
    assert_eq!(waiting.artifact().await.artifact.text(), "ran\n");
    assert_eq!(waiting.rest().await.1, TaskState::Completed);
}
