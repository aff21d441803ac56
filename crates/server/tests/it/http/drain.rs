//! The shutdown of a server.

use std::time::{Duration, Instant};

use nuncio_server::Limits;
use serde_json::json;
use tokio::net::TcpStream;

use super::{
    Running,
    agent::{message, reply},
    client::until,
};

async fn with_drain(drain: Duration) -> Running {
    let mut limits = Limits::default();
    limits.drain = drain;
    Running::with(|builder| builder.limits(limits)).await
}

#[tokio::test]
async fn running_requests_and_turns_complete() {
    let mut running = with_drain(Duration::from_secs(10)).await;
    let mut feed = running.stream("slow 300").await;
    feed.next().await.unwrap();
    let blocking = tokio::spawn(running.rpc("SendMessage", &message("slow 300")).fetch());
    until(async || running.call("ListTasks", &json!({})).await["totalSize"] == 2).await;
    running.stop();
    let begin = Instant::now();
    assert_eq!(blocking.await.unwrap().json()["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    let last = feed.responses().await.pop().unwrap();
    assert_eq!(last["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
    running.end.await.unwrap();
    assert!(begin.elapsed() < Duration::from_secs(5), "the wait is not longer than necessary: {:?}", begin.elapsed());
}

#[tokio::test]
async fn new_connections_are_refused() {
    let mut running = with_drain(Duration::from_secs(10)).await;
    let feed = running.stream("slow 500").await;
    running.stop();
    until(async || TcpStream::connect(running.address).await.is_err()).await;
    drop(feed);
    running.end.await.unwrap();
}

#[tokio::test]
async fn a_silent_stream_ends_at_once_with_unavailable() {
    let mut running = with_drain(Duration::from_secs(10)).await;
    let task = running.task("ask").await;
    let mut feed = running.rpc("SubscribeToTask", &json!({"id": task["id"]})).open().await;
    assert!(feed.next().await.unwrap().sequence().is_some());
    let begin = Instant::now();
    running.stop();
    let last = feed.next().await.unwrap();
    assert!(last.data.contains("UNAVAILABLE"), "{}", last.data);
    assert!(feed.next().await.is_none());
    running.end.await.unwrap();
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
}

#[tokio::test]
async fn turns_that_do_not_end_are_aborted_and_their_readers_get_an_error() {
    let mut running = with_drain(Duration::from_millis(200)).await;
    let mut feed = running.stream("silent").await;
    feed.next().await.unwrap();
    running.stop();
    let last = feed.responses().await.pop().unwrap();
    assert_eq!(last["statusUpdate"]["status"]["state"], "TASK_STATE_FAILED");
    running.end.await.unwrap();
}

#[tokio::test]
async fn idle_connections_are_closed() {
    let mut running = with_drain(Duration::from_secs(10)).await;
    let task = running.task("ask").await;
    let mut idle = super::client::Raw::connect(running.address).await;
    idle.write("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    idle.read_until("alive\n").await;
    running.call("SendMessage", &reply(&task, "hello")).await;
    running.stop();
    assert_eq!(idle.read_to_end().await, "");
    running.end.await.unwrap();
}
