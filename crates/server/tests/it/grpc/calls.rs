//! Calls with one reply message.

use nuncio_model::{
    Part, Reply, TaskState,
    op::{CancelTaskRequest, GetTaskRequest, ListTasksRequest, SendMessageRequest},
};
use serde_json::json;

use super::{
    Running,
    client::{Outgoing, text},
};

async fn send(running: &Running, request: SendMessageRequest) -> nuncio_model::Task {
    match running.client.call(request).await.unwrap() {
        Reply::Task(task) => (*task).clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_message_is_answered_with_its_task() {
    let running = Running::start().await;
    let answer = running.client.send(Outgoing::call(text("hello"))).await;
    answer.outcome().unwrap();
    assert_eq!(answer.trailers.unwrap()["grpc-status"], "0");
    assert!(!answer.headers.contains_key("grpc-status"));
    let task = send(&running, text("hello")).await;
    assert_eq!((task.state(), task.artifacts[0].text().as_str()), (TaskState::Completed, "hello"));
}

#[tokio::test]
async fn a_task_is_read_listed_and_canceled() {
    let running = Running::start().await;
    let task = send(&running, text("ask")).await;
    assert_eq!(task.state(), TaskState::InputRequired);
    let read = running.client.call(GetTaskRequest::new(task.id.clone())).await.unwrap();
    assert!(matches!(read, Reply::Task(read) if read.id == task.id));
    let list = running.client.call(ListTasksRequest::default()).await.unwrap();
    assert!(matches!(list, Reply::Tasks(list) if list.tasks.len() == 1 && list.page_size == 50));
    let canceled = running.client.call(CancelTaskRequest::new(task.id.clone())).await.unwrap();
    assert!(matches!(canceled, Reply::Task(task) if task.state() == TaskState::Canceled));
}

#[tokio::test]
async fn numbers_are_the_same_as_in_json() {
    let running = Running::start().await;
    let mut request = text("data");
    request.message.parts.push(Part::data(json!({"two": 2, "half": 0.5, "null": null})));
    let task = send(&running, request).await;
    assert_eq!(
        *task.artifacts[0].parts.first().unwrap().as_data().unwrap(),
        json!({"two": 2, "half": 0.5, "null": null})
    );
}

#[tokio::test]
async fn a_body_may_come_byte_by_byte() {
    let running = Running::start().await;
    let answer = running.client.send(Outgoing::call(text("slow")).in_pieces(1).await).await;
    answer.outcome().unwrap();
}

#[tokio::test]
async fn active_extensions_are_named() {
    let running = Running::start().await;
    let call = Outgoing::call(text("hello"))
        .header("a2a-extensions", "https://example.com/b, https://example.com/unknown")
        .header("a2a-extensions", "https://example.com/a");
    let answer = running.client.send(call).await;
    assert_eq!(answer.headers["a2a-extensions"], "https://example.com/a, https://example.com/b");
}

#[tokio::test]
async fn any_patch_of_the_version_is_accepted() {
    let running = Running::start().await;
    let call = Outgoing::call(text("hello")).without("a2a-version").header("a2a-version", "1.0.1");
    running.client.send(call).await.outcome().unwrap();
}
