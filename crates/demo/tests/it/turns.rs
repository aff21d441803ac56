//! Behaviours with several turns.

use nuncio_model::{Message, TaskState};

use crate::support::{demo, go_on, send, status, with_id};

use TaskState::{AuthRequired, Completed, InputRequired};

#[tokio::test]
async fn any_next_message_answers_the_question() {
    for question in ["input", "auth"] {
        for text in ["more", "echo x", "fail", "tck-task-failure", question] {
            let engine = demo();
            let task = send(&engine, Message::user(question)).await;
            assert_eq!(status(&go_on(&engine, &task, text).await), (Completed, format!("got: {text}")));
        }
    }
}

#[tokio::test]
async fn a_script_asks_again_on_a_repeated_request() {
    let engine = demo();
    let task = send(&engine, with_id("tck-input-required", "go")).await;
    assert_eq!(task.state(), InputRequired);
    let again = with_id("tck-input-required", "go").with_task_id(task.id.clone());
    assert_eq!(send(&engine, again).await.state(), InputRequired);
    assert_eq!(go_on(&engine, &task, "tck-input-required").await.state(), InputRequired);
    assert_eq!(go_on(&engine, &task, "enough").await.state(), Completed);
}

#[tokio::test]
async fn a_conversation_continues_until_the_answer_is_done() {
    let engine = demo();
    let mut task = send(&engine, with_id("tck-multi-turn", "hello")).await;
    for text in ["one", "two"] {
        assert_eq!(status(&task), (InputRequired, String::new()));
        assert!(task.status.message.is_none());
        task = go_on(&engine, &task, text).await;
    }
    assert_eq!(task.state(), InputRequired);
    assert_eq!(go_on(&engine, &task, "done").await.state(), Completed);
}

#[tokio::test]
async fn credentials_can_arrive_with_the_next_message() {
    let engine = demo();
    let task = send(&engine, with_id("tck-auth-required", "hello")).await;
    assert_eq!(task.state(), AuthRequired);
    assert_eq!(go_on(&engine, &task, "here").await.state(), Completed);
}

#[tokio::test]
async fn a_stream_with_asks_waits_for_a_message() {
    let engine = demo();
    let task = send(&engine, Message::user("stream 2 size=10 asks")).await;
    assert_eq!((task.state(), task.artifacts.len()), (InputRequired, 0));
    let task = go_on(&engine, &task, "now").await;
    assert_eq!((task.state(), task.artifacts[0].text().as_str()), (Completed, "chunk 1\n..chunk 2\n.."));
}
