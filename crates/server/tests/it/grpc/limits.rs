//! Limits of size and time.

use std::time::{Duration, Instant};

use nuncio_model::{
    ErrorKind,
    op::{GetTaskRequest, SendStreamingMessageRequest},
};
use nuncio_server::Limits;
use nuncio_wire::proto;

use super::{
    Running,
    client::{Outgoing, text},
    engine,
};

async fn with_limit(size: usize) -> Running {
    let mut limits = Limits::default();
    limits.body = size;
    Running::with(|builder| builder.limits(limits)).await
}

#[tokio::test]
async fn a_message_over_the_limit_exhausts_resources() {
    let running = with_limit(10_000).await;
    let mut message = Vec::new();
    proto::encode_call(&text("").into(), &mut message);
    let rest = 10_000 - message.len();
    let largest = text(&"x".repeat(rest - 4));
    running.client.send(Outgoing::call(largest)).await;
    for size in [10_001, 100_000] {
        let call = text(&"x".repeat(size));
        let answers = [running.client.send(Outgoing::call(call.clone())).await, {
            let call = Outgoing::call(call).in_pieces(999).await;
            running.client.send(call).await
        }];
        for answer in answers {
            assert_eq!((answer.code(), answer.error().kind()), (8, ErrorKind::PayloadTooLarge), "{size}");
            assert_eq!(answer.facts()["limit"], "body");
            // The limit is for the message without its frame.
            assert!(answer.error().message().contains("10000 bytes"), "{}", answer.error());
        }
    }
}

#[tokio::test]
async fn the_limit_is_for_requests_and_a_reply_may_be_larger() {
    let running = with_limit(10_000).await;
    let answer = running.client.send(Outgoing::call(text("large 10000"))).await;
    answer.outcome().unwrap();
    assert!(answer.messages[0].len() > 10_000);
    let answer = running.client.send(Outgoing::call(SendStreamingMessageRequest(text("large 10000")))).await;
    answer.outcome().unwrap();
    assert!(answer.messages.iter().any(|message| message.len() > 10_000));
}

#[tokio::test]
async fn messages_of_many_megabytes_go_both_ways() {
    let running = Running::start().await;
    let large = "x".repeat(6 << 20);
    let answer = running.client.send(Outgoing::call(text(&large))).await;
    answer.outcome().unwrap();
    assert!(answer.messages[0].len() > 12 << 20);
}

#[tokio::test]
async fn a_deadline_ends_a_call() {
    let running = Running::start().await;
    let begin = Instant::now();
    let answer = running.client.send(Outgoing::call(text("silent")).header("grpc-timeout", "100m")).await;
    assert_eq!(answer.code(), 4);
    assert!(begin.elapsed() >= Duration::from_millis(100));
    for timeout in ["0n", "0S", "00000000m"] {
        let answer = running.client.send(Outgoing::call(text("hello")).header("grpc-timeout", timeout)).await;
        assert_eq!(answer.code(), 4, "{timeout}");
    }
    let answer = running.client.send(Outgoing::call(text("hello")).header("grpc-timeout", "soon")).await;
    assert_eq!(answer.code(), 3);
}

#[tokio::test]
async fn a_deadline_ends_a_stream() {
    let running = Running::start().await;
    let call = Outgoing::call(SendStreamingMessageRequest(text("silent"))).header("grpc-timeout", "100m");
    let answer = running.client.send(call).await;
    assert_eq!((answer.code(), answer.error().kind()), (4, ErrorKind::DeadlineExceeded));
    assert!(!answer.messages.is_empty());
}

#[tokio::test]
async fn an_unreachable_store_is_unavailable_with_retry_after() {
    let running = Running::of(engine().store(crate::store::away().await), |builder| builder).await;
    for call in [
        Outgoing::call(GetTaskRequest::new("t")),
        Outgoing::call(text("hello")),
        Outgoing::call(SendStreamingMessageRequest(text("hello"))),
    ] {
        let answer = running.client.send(call).await;
        let error = answer.error();
        assert_eq!((answer.code(), error.kind()), (14, ErrorKind::Unavailable));
        assert_eq!(error.retry_after(), Some(Duration::from_secs(1)));
    }
}
