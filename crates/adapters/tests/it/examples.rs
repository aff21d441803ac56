//! The examples in each language: the same agent with the same conversation.

use nuncio_adapters::{JsonLines, Program};
use nuncio_engine::Engine;
use nuncio_model::{Message, Part, Task, TaskState};
use serde_json::json;

use crate::support::{answer, go_on, send, status_text, task};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/agents");

/// Characters that JSON must escape, and characters with a meaning in other languages: quotes, a backslash at the end
/// of a word, the special characters of `sed`.
const PLACE: &str = "Café \u{1f1f5} \"Old\\\" & \\1/%s\\";

fn planner(interpreter: &str, file: &str) -> Engine {
    Engine::builder(JsonLines::new(Program::new(interpreter).with_args([format!("{FOLDER}/{file}")]))).build()
}

fn status(task: &Task) -> (TaskState, String) {
    (task.state(), status_text(task))
}

async fn plans_a_trip(engine: Engine) {
    let task = send(&engine, PLACE).await;
    assert_eq!(status(&task), (TaskState::InputRequired, format!("How many days in {PLACE}?")));
    let task = go_on(&engine, &task, "a few").await;
    assert_eq!(status(&task), (TaskState::InputRequired, "A number from 1 to 5, please.".to_owned()));
    let task = go_on(&engine, &task, "2").await;
    assert_eq!(status(&task), (TaskState::Completed, format!("Enjoy {PLACE}!")));
    let plan = "Day 1: walk through the old town\nDay 2: visit a museum\n";
    let [output, file, data] = &task.artifacts[..] else { panic!("{:?}", task.artifacts) };
    assert_eq!(output.text(), plan);
    let expected = Part::raw(plan.as_bytes()).with_filename("plan.txt").with_media_type("text/plain");
    assert_eq!(file.parts, [expected]);
    assert_eq!(data.parts, [Part::data(json!({"place": PLACE, "days": 2}))]);
    assert!(task.history.iter().any(|message| message.text() == format!("Planning 2 days in {PLACE}")));
}

#[tokio::test]
async fn the_planner_in_python_plans_a_trip() {
    plans_a_trip(planner("python3", "planner.py")).await;
}

#[tokio::test]
async fn the_planner_in_node_plans_a_trip() {
    plans_a_trip(planner("node", "planner.mjs")).await;
}

#[tokio::test]
async fn the_planner_in_shell_plans_a_trip() {
    plans_a_trip(planner("sh", "planner.sh")).await;
}

#[tokio::test]
async fn the_output_follows_the_requested_schema() {
    let engine = planner("python3", "shape.py");
    let ask = async |metadata: Option<serde_json::Value>| {
        let part = json!({"text": "three little words", "metadata": metadata});
        let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [part]});
        let message: Message = serde_json::from_value(message).unwrap();
        task(answer(&engine, message).await)
    };
    let task = ask(Some(json!({"schema": {"type": "object", "required": ["letters", "words"]}}))).await;
    assert_eq!(task.state(), TaskState::Completed);
    let data = Part::data(json!({"letters": 18, "words": 3})).with_media_type("application/json");
    assert_eq!(task.artifacts[0].parts, [data]);
    let task = ask(Some(json!({"schema": {"required": ["colour"]}}))).await;
    assert_eq!(status(&task), (TaskState::Failed, "this agent knows nothing of colour".to_owned()));
    assert_eq!(ask(None).await.artifacts[0].text(), "3 words");
}
