//! Any filter as an agent.

use nuncio_adapters::{Exec, Program};
use nuncio_engine::Engine;
use nuncio_model::{Message, Part, Role, TaskState};

use crate::support::{Feed, answer, cancel, chunks, exec, output, send, status_text, task};

fn cut_at(delimiter: &str, script: &str) -> Engine {
    Engine::builder(Exec::new(Program::shell(script)).with_delimiter(delimiter)).build()
}

#[tokio::test]
async fn a_filter_answers_with_its_output() {
    let task = send(&exec("tr a-z A-Z"), "héllo there\n").await;
    assert_eq!(task.state(), TaskState::Completed);
    assert_eq!(output(&task), "HéLLO THERE\n");
    assert_eq!(
        (&*task.artifacts[0].name.clone().unwrap(), task.artifacts[0].artifact_id.as_str()),
        ("output", "output")
    );
}

#[tokio::test]
async fn text_goes_in_and_out_byte_for_byte() {
    let text = "héllo ✓\r\n\n\ttab\u{2028}\0 end\r\n";
    assert_eq!(output(&send(&exec("cat"), text).await), text);
}

#[tokio::test]
async fn the_last_line_reaches_a_program_that_reads_lines() {
    assert_eq!(
        output(&send(&exec(r#"while read -r line; do echo "got $line"; done"#), "a\nb").await),
        "got a\ngot b\n"
    );
    assert_eq!(output(&send(&exec("wc -c"), "äb").await).trim(), "4");
}

#[tokio::test]
async fn a_line_is_a_chunk_and_the_last_is_marked() {
    let (updates, state) = Feed::open(&exec(r"printf 'a\nb\nc\n'"), "go").await.rest().await;
    let lines = [("a\n", false, false), ("b\n", true, false), ("c\n", true, true)];
    assert_eq!(chunks(&updates), lines.map(|(text, append, last)| (text.to_owned(), append, last)));
    assert_eq!(state, TaskState::Completed);
}

#[tokio::test]
async fn a_line_is_sent_before_the_next_one_is_there() {
    let engine = exec("echo one; exec sleep 1000");
    let mut feed = Feed::open(&engine, "go").await;
    let first = feed.artifact().await;
    assert_eq!((first.artifact.text().as_str(), first.append, first.last_chunk), ("one\n", false, false));
    cancel(&engine, &feed.task).await;
}

#[tokio::test]
async fn an_empty_chunk_follows_if_the_last_line_was_already_sent() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("go");
    let script = format!("mkfifo {0}; echo one; read line < {0}", fifo.display());
    let mut feed = Feed::open(&exec(&script), "go").await;
    assert_eq!(feed.artifact().await.artifact.text(), "one\n");
    tokio::fs::write(&fifo, "on\n").await.unwrap();
    let (updates, state) = feed.rest().await;
    assert_eq!((chunks(&updates), state), (vec![(String::new(), true, true)], TaskState::Completed));
}

#[tokio::test]
async fn the_artifact_does_not_depend_on_the_speed_of_the_output() {
    for script in ["echo a; echo b", "echo a; sleep 0.2; echo b; sleep 0.2"] {
        assert_eq!(
            send(&exec(script), "go").await.artifacts[0].parts,
            [Part::text("a\n"), Part::text("b\n")],
            "{script}"
        );
    }
}

#[tokio::test]
async fn a_delimiter_cuts_the_output_and_is_left_out() {
    let (updates, _) = Feed::open(&cut_at("--", "printf 'a\n--b-c----d'"), "go").await.rest().await;
    let pieces = [("a\n", false, false), ("b-c", true, false), ("", true, false), ("d", true, true)];
    assert_eq!(chunks(&updates), pieces.map(|(text, append, last)| (text.to_owned(), append, last)));
}

#[tokio::test]
async fn an_empty_delimiter_has_no_effect() {
    assert_eq!(output(&send(&cut_at("", "cat"), "a\nb").await), "a\nb\n");
}

#[tokio::test]
async fn no_output_completes_the_task_without_an_artifact() {
    let task = send(&exec("cat > /dev/null"), "x").await;
    assert_eq!((task.state(), task.artifacts.len()), (TaskState::Completed, 0));
}

#[tokio::test]
async fn a_program_need_not_read_its_input() {
    assert_eq!(output(&send(&exec("echo hi"), "x".repeat(2_000_000)).await), "hi\n");
}

#[tokio::test]
async fn a_large_input_and_a_large_output_do_not_deadlock() {
    let text = "0123456789abcde\n".repeat(20_000);
    assert_eq!(output(&send(&exec("cat"), text.clone()).await), text);
}

#[tokio::test]
async fn an_exit_code_fails_the_task_and_stderr_is_the_reason() {
    let task = send(&exec("echo part; echo 'no paper' >&2; echo 'no ink' >&2; exit 7"), "x").await;
    assert_eq!(task.state(), TaskState::Failed);
    assert_eq!(status_text(&task), "the program ended with exit code 7\nno paper\nno ink");
    assert_eq!(output(&task), "part\n");
}

#[tokio::test]
async fn the_reason_has_only_the_last_lines_of_stderr() {
    let task = send(&exec("for i in $(seq 1 30); do echo line $i >&2; done; exit 1"), "x").await;
    let status_text = status_text(&task);
    assert_eq!(status_text.lines().count(), 21);
    assert_eq!((status_text.lines().nth(1), status_text.lines().last()), (Some("line 11"), Some("line 30")));
}

#[tokio::test]
async fn a_signal_fails_the_task() {
    let task = send(&exec("kill -9 $$"), "x").await;
    assert_eq!(
        (task.state(), status_text(&task).as_str()),
        (TaskState::Failed, "the program was killed by signal 9 (SIGKILL)")
    );
}

#[tokio::test]
async fn a_missing_program_fails_the_task() {
    let agent = Exec::new(Program::new("no-such-program"));
    assert_eq!(agent.program().check().unwrap_err().to_string(), "there is no program `no-such-program`");
    let task = send(&Engine::builder(agent).build(), "x").await;
    assert_eq!(task.state(), TaskState::Failed);
    assert!(status_text(&task).starts_with("cannot start `no-such-program`: No such file"), "{}", status_text(&task));
}

#[tokio::test]
async fn binary_output_is_one_part_of_bytes() {
    let task = send(&exec(r"printf 'text\n\377\n\376 ok\n'"), "x").await;
    let bytes = Part::raw(*b"\xff\n\xfe ok\n").with_media_type("application/octet-stream");
    assert_eq!(task.artifacts[0].parts, [Part::text("text\n"), bytes]);
}

#[tokio::test]
async fn a_binary_piece_is_a_part_of_bytes() {
    let task = send(&cut_at(",", r"printf 'text,\377,more'"), "x").await;
    let bytes = Part::raw([0xff]).with_media_type("application/octet-stream");
    assert_eq!(task.artifacts[0].parts, [Part::text("text"), bytes, Part::text("more")]);
}

#[tokio::test]
async fn every_part_of_the_message_reaches_the_program() {
    let parts = vec![Part::text("see"), Part::url("https://example.com/x"), Part::raw([1, 2]), Part::data(true)];
    let response = answer(&exec("cat"), Message::new(Role::User, parts)).await;
    let nuncio_model::op::SendMessageResponse::Task(task) = response else { panic!("a task") };
    assert_eq!(output(&task), "see [file: https://example.com/x] [binary 2 bytes] true\n");
}

#[tokio::test]
async fn the_program_has_the_ids_and_no_removed_variables() {
    let program = Program::shell("echo $NUNCIO_TASK_ID $NUNCIO_CONTEXT_ID $NUNCIO_EPOCH $MINE ${HOME+home}")
        .with_env("MINE", "mine")
        .without_env("HOME");
    let task = send(&Engine::builder(Exec::new(program)).build(), "x").await;
    let context = task.context_id.clone().unwrap();
    assert_eq!(output(&task).trim_end(), format!("{} {context} 1 mine", task.id));
}

#[tokio::test]
async fn the_text_of_a_message_is_never_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let bait = folder.path().join("bait");
    let text = format!("$(touch {0}); touch {0} `touch {0}`", bait.display());
    assert_eq!(output(&send(&exec("cat"), text.clone()).await), format!("{text}\n"));
    assert!(!bait.exists());
}

#[tokio::test]
async fn background_processes_end_with_the_turn() {
    let task = send(&exec("sleep 1000 & echo $!"), "x").await;
    assert_eq!(task.state(), TaskState::Completed);
    crate::support::ended(&output(&task)).await;
}

#[tokio::test]
async fn a_message_that_asks_for_a_schema_is_rejected_before_the_program_runs() {
    let folder = tempfile::tempdir().unwrap();
    let ran = folder.path().join("ran");
    let metadata = serde_json::json!({"schema": {"type": "object"}}).as_object().cloned().unwrap();
    let message = Message::user(Part::text("x").with_metadata(metadata));
    let task = task(answer(&exec(&format!("touch {}", ran.display())), message).await);
    assert_eq!(task.state(), TaskState::Rejected);
    assert!(status_text(&task).contains("JSON schema"), "{}", status_text(&task));
    assert!(!ran.exists());
}
