//! Any script as a full agent.

use std::time::Duration;

use nuncio_adapters::ProgramLimits;
use nuncio_model::{
    Message, Part, Role, TaskState,
    op::{SendMessageConfiguration, SendMessageRequest, SendMessageResponse},
};
use serde_json::json;

use crate::support::{
    Feed, answer, call, chunks, ended, go_on, json_lines, json_lines_within, output, send, status_text,
};

/// A script that writes these lines.
fn lines(lines: &[&str]) -> String {
    lines.iter().fold(String::new(), |script, line| script + "echo '" + line + "'\n")
}

#[tokio::test]
async fn texts_are_chunks_of_the_default_artifact_and_the_last_is_marked() {
    let script = lines(&[r#"{"text":"a "}"#, "", r#"  {"text":"b ✓"}  "#, r#"{"text":""}"#]);
    let (updates, state) = Feed::open(&json_lines(&script), "go").await.rest().await;
    let texts = [("a ", false, false), ("b ✓", true, true)];
    assert_eq!(chunks(&updates), texts.map(|(text, append, last)| (text.to_owned(), append, last)));
    assert!(updates.iter().all(|update| update.artifact.artifact_id == "output"));
    assert_eq!(state, TaskState::Completed);
}

#[tokio::test]
async fn the_artifact_does_not_depend_on_the_speed_of_the_output() {
    let (a, nothing) = (r#"{"text":"a"}"#, r#"{"text":""}"#);
    for (texts, parts) in
        [(&[a, a][..], &["a", "a"][..]), (&[a, nothing], &["a"]), (&[nothing, a], &["", "a"]), (&[nothing], &[""])]
    {
        for script in [lines(texts), texts.iter().map(|text| lines(&[text]) + "sleep 0.2\n").collect()] {
            let task = send(&json_lines(&script), "go").await;
            assert_eq!(
                task.artifacts[0].parts,
                parts.iter().map(|text| Part::text(*text)).collect::<Vec<_>>(),
                "{script}"
            );
        }
    }
}

#[tokio::test]
async fn events_may_omit_ids_times_and_roles() {
    let script = lines(&[
        r#"{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING","message":{"parts":[{"text":"on it"}]}}}}"#,
        r#"{"artifactUpdate":{"artifact":{"name":"a.bin","parts":[{"raw":"AAEC","filename":"a.bin"}]}}}"#,
        r#"{"artifactUpdate":{"artifact":{"parts":[{"data":{"k":[1,null]}}]},"append":true,"lastChunk":true}}"#,
        r#"{"artifactUpdate":{"artifact":{"parts":[{"url":"https://example.com/x"}],"metadata":{"k":"v"}}}}"#,
        r#"{"statusUpdate":{"status":{"state":"TASK_STATE_COMPLETED","message":{"parts":[{"text":"done"}]}}}}"#,
    ]);
    let task = send(&json_lines(&script), "go").await;
    assert_eq!((task.state(), status_text(&task).as_str()), (TaskState::Completed, "done"));
    let [first, second] = &task.artifacts[..] else { panic!("{:?}", task.artifacts) };
    assert_eq!(first.parts, [Part::raw([0, 1, 2]).with_filename("a.bin"), Part::data(json!({"k": [1, null]}))]);
    assert_eq!(first.name.as_deref(), Some("a.bin"));
    assert_eq!(second.metadata.as_ref().unwrap()["k"], "v");
    let status = task.status.message.as_ref().unwrap();
    assert_eq!(status.role, Role::Agent);
    assert!(!status.message_id.is_empty() && task.status.timestamp.is_some());
    assert_eq!(task.history.last().unwrap().text(), "on it");
}

/// A script that answers with its input.
const MIRROR: &str = r#"
    read -r line
    printf '{"artifactUpdate":{"artifact":{"parts":[{"data":%s}]}}}\n' "$line"
"#;

#[tokio::test]
async fn the_request_arrives_whole() {
    let parts = vec![Part::text("héllo\n✓"), Part::data(json!({"k": [1, null]})), Part::raw([255])];
    let mut request = SendMessageRequest::new(Message::new(Role::User, parts));
    request.metadata = Some(Box::new(json!({"why": "test"}).as_object().unwrap().clone()));
    let configuration =
        SendMessageConfiguration { accepted_output_modes: vec!["text/plain".to_owned()], ..Default::default() };
    let request = request.with_configuration(configuration);
    let SendMessageResponse::Task(task) = call(&json_lines(MIRROR), request.clone()).await else { panic!("a task") };
    let mut seen = task.artifacts[0].parts.first().unwrap().as_data().unwrap().to_value();
    assert_eq!(seen.as_object_mut().unwrap().remove("context").unwrap(), json!([]));
    assert_eq!(seen["message"]["taskId"], task.id.as_str());
    let message = seen["message"].as_object_mut().unwrap();
    message.remove("taskId");
    message.remove("contextId");
    assert_eq!(seen, serde_json::to_value(&request).unwrap());
}

#[tokio::test]
async fn the_context_names_the_earlier_tasks() {
    let engine = json_lines(MIRROR);
    let first = send(&engine, "one").await;
    let message = Message::user("two").with_context_id(first.context_id.clone().unwrap());
    let SendMessageResponse::Task(second) = answer(&engine, message).await else { panic!("a task") };
    assert_eq!(
        second.artifacts[0].parts.first().unwrap().as_data().unwrap().to_value()["context"],
        json!([first.id.as_str()])
    );
}

/// A script that requests input on the first turn, and shows the task on the next turn.
const ASK: &str = r#"
    read -r line
    case "$line" in
    *'"task":{'*)
        printf '{"artifactUpdate":{"artifact":{"artifactId":"seen","parts":[{"data":%s}]}}}\n' "$line"
        echo '{"text":"second"}' ;;
    *)
        echo '{"text":"first"}'
        echo '{"statusUpdate":{"status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"parts":[{"text":"what else?"}]}}}}' ;;
    esac
"#;

#[tokio::test]
async fn a_task_waits_and_the_next_turn_receives_the_task() {
    let engine = json_lines(ASK);
    let asked = send(&engine, "go").await;
    assert_eq!((asked.state(), status_text(&asked).as_str()), (TaskState::InputRequired, "what else?"));
    let done = go_on(&engine, &asked, "this").await;
    assert_eq!(done.state(), TaskState::Completed);
    let texts: Vec<_> = done.artifacts.iter().map(|a| (a.artifact_id.as_str().to_owned(), a.text())).collect();
    let expected = [("output", "first"), ("seen", ""), ("output-2", "second")];
    assert_eq!(texts, expected.map(|(id, text)| (id.to_owned(), text.to_owned())));
    let seen = done.artifacts[1].parts.first().unwrap().as_data().unwrap().member("task").unwrap().to_value();
    let history: Vec<_> = seen["history"].as_array().unwrap().iter().map(|m| &m["parts"][0]["text"]).collect();
    assert_eq!(history, ["go", "what else?", "this"]);
}

#[tokio::test]
async fn a_program_that_keeps_running_after_a_question_is_stopped_and_the_task_still_waits() {
    let limits = ProgramLimits::default().with_grace(Duration::from_millis(50));
    let script = r#"
        echo "{\"text\":\"$$\"}"
        echo '{"statusUpdate":{"status":{"state":"TASK_STATE_INPUT_REQUIRED"}}}'
        exec sleep 1000
    "#;
    let engine = json_lines_within(script, limits);
    let asked = send(&engine, "go").await;
    assert_eq!(asked.state(), TaskState::InputRequired);
    ended(&output(&asked)).await;
    let again = go_on(&engine, &asked, "more").await;
    assert_eq!(again.state(), TaskState::InputRequired);
}

#[tokio::test]
async fn stdin_ends_after_the_last_event() {
    let script = lines(&[r#"{"statusUpdate":{"status":{"state":"TASK_STATE_COMPLETED"}}}"#]) + "exec cat > /dev/null";
    assert_eq!(send(&json_lines(&script), "go").await.state(), TaskState::Completed);
}

#[tokio::test]
async fn a_program_may_continue_after_a_request_for_credentials() {
    let script = lines(&[
        r#"{"statusUpdate":{"status":{"state":"TASK_STATE_AUTH_REQUIRED"}}}"#,
        r#"{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING"}}}"#,
        r#"{"text":"got in"}"#,
    ]);
    let (updates, state) = Feed::open(&json_lines(&script), "go").await.rest().await;
    assert_eq!((chunks(&updates), state), (vec![("got in".to_owned(), false, true)], TaskState::Completed));
}

#[tokio::test]
async fn the_task_still_waits_if_the_program_exits_while_waiting_for_credentials() {
    let script = lines(&[r#"{"statusUpdate":{"status":{"state":"TASK_STATE_AUTH_REQUIRED"}}}"#]) + "exit 3";
    let engine = json_lines(&script);
    let task = send(&engine, "go").await;
    assert_eq!(task.state(), TaskState::AuthRequired);
    // The next message starts a turn, because the earlier turn has ended.
    assert_eq!(go_on(&engine, &task, "x").await.state(), TaskState::AuthRequired);
}

#[tokio::test]
async fn a_bare_message_is_accepted_as_the_answer() {
    let script = lines(&[r#"{"message":{"parts":[{"text":"hi there"}]}}"#]);
    let SendMessageResponse::Message(message) = answer(&json_lines(&script), Message::user("go")).await else {
        panic!("a message")
    };
    assert_eq!((message.text().as_str(), message.role), ("hi there", Role::Agent));
}

#[tokio::test]
async fn exit_code_zero_without_output_completes_the_task() {
    let task = send(&json_lines("cat > /dev/null & exit 0"), "go").await;
    assert_eq!((task.state(), task.artifacts.len()), (TaskState::Completed, 0));
}

#[tokio::test]
async fn an_exit_code_fails_the_task_and_stderr_is_the_reason() {
    let script = lines(&[r#"{"text":"part"}"#]) + "echo 'no paper' >&2; exit 3";
    let (updates, state) = Feed::open(&json_lines(&script), "go").await.rest().await;
    assert_eq!((chunks(&updates), state), (vec![("part".to_owned(), false, false)], TaskState::Failed));
    assert_eq!(status_text(&send(&json_lines(&script), "go").await), "the program ended with exit code 3\nno paper");
}

#[tokio::test]
async fn an_exit_code_after_the_last_event_has_no_effect() {
    let done = lines(&[
        r#"{"statusUpdate":{"status":{"state":"TASK_STATE_COMPLETED","message":{"parts":[{"text":"done"}]}}}}"#,
    ]);
    let task = send(&json_lines(&(done + "exit 9")), "go").await;
    assert_eq!((task.state(), status_text(&task).as_str()), (TaskState::Completed, "done"));
    let asked = lines(&[r#"{"statusUpdate":{"status":{"state":"TASK_STATE_INPUT_REQUIRED"}}}"#]);
    let engine = json_lines(&(asked + "exit 9"));
    let task = send(&engine, "go").await;
    assert_eq!(go_on(&engine, &task, "more").await.state(), TaskState::InputRequired);
}

#[tokio::test]
async fn a_line_that_is_not_json_fails_the_task_and_is_named() {
    let script = lines(&[r#"{"text":"fine so far"}"#, "", "this is not json"]) + "exec sleep 1000";
    let task = send(&json_lines(&script), "go").await;
    assert_eq!(task.state(), TaskState::Failed);
    let expected = "line 3 of the program's output: not JSON: expected ident at column 2; the line is \"this is not json\"; \
                stdout is for JSON lines, and stderr for logs";
    assert_eq!(status_text(&task), expected);
    assert_eq!(output(&task), "fine so far");
}

#[tokio::test]
async fn a_line_that_the_task_does_not_allow_fails_the_task_and_is_named() {
    for (line, complaint) in [
        (r#"{"artifactUpdate":{"artifact":{"artifactId":"a","parts":[]}}}"#, "artifact `a` has no parts"),
        (r#"{"statusUpdate":{"status":{}}}"#, "a status without a state"),
        (
            r#"{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING","message":{"role":"ROLE_USER","parts":[{"text":"yes"}]}}}}"#,
            "a message in the name of the user: the role of an agent's message is ROLE_AGENT",
        ),
        (r#"{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING","message":{}}}}"#, "a message without parts"),
        (r#"{"task":{"id":"x","status":{"state":"TASK_STATE_WORKING"}}}"#, "a whole task instead of a change to it"),
    ] {
        let script = lines(&[r#"{"text":"a"}"#, line]) + "exec sleep 1000";
        let task = send(&json_lines(&script), "go").await;
        assert_eq!(task.state(), TaskState::Failed, "{line}");
        let expected = format!("the agent broke the protocol: {complaint} (line 2 of the program's output)");
        assert_eq!(status_text(&task), expected);
    }
}

#[tokio::test]
async fn an_invalid_bare_message_fails_the_task_and_is_named() {
    for (line, complaint) in [
        (r#"{"message":{}}"#, "a message without parts"),
        (r#"{"message":{"parts":[]}}"#, "a message without parts"),
        (
            r#"{"message":{"role":"ROLE_USER","parts":[{"text":"yes"}]}}"#,
            "a message in the name of the user: the role of an agent's message is ROLE_AGENT",
        ),
    ] {
        let task = send(&json_lines(&(lines(&[line]) + "exec sleep 1000")), "go").await;
        assert_eq!(task.state(), TaskState::Failed, "{line}");
        assert_eq!(
            status_text(&task),
            format!("the agent broke the protocol: {complaint} (line 1 of the program's output)")
        );
    }
}

#[tokio::test]
async fn lines_after_the_end_are_ignored() {
    let limits = ProgramLimits::default().with_grace(Duration::from_millis(50));
    let script = lines(&[
        r#"{"statusUpdate":{"status":{"state":"TASK_STATE_COMPLETED"}}}"#,
        r#"{"text":"one more thing"}"#,
        "and not even JSON",
    ]) + "exec sleep 1000";
    let (updates, state) = Feed::open(&json_lines_within(&script, limits), "go").await.rest().await;
    assert_eq!((updates.len(), state), (0, TaskState::Completed));
}
