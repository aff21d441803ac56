//! Streams: order, completeness and visibility.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt, future::join_all};
use nuncio_engine::Limits;
use nuncio_limit::RETRY_AFTER;
use nuncio_model::{
    Artifact, ErrorKind, Message, Part, Reply, Request, Scope, StreamResponse, TaskArtifactUpdateEvent, TaskState,
    op::{SendMessageRequest, SubscribeToTaskRequest},
};
use tokio::{sync::Semaphore, time::sleep};

use crate::support::*;

async fn chunks(turn: nuncio_engine::Turn, count: usize) -> Result<(), nuncio_engine::AgentError> {
    let mut artifact = turn.artifact("out");
    for i in 0..count {
        artifact.chunk(format!("{i},")).await?;
    }
    turn.complete("done").await
}

fn expected(count: usize) -> Vec<String> {
    let mut all = vec!["task:submitted".to_owned()];
    all.extend((0..count).map(|i| format!("artifact:{i},")));
    all.push("completed".to_owned());
    all
}

#[tokio::test]
async fn the_first_event_of_a_stream_is_the_task() {
    let engine = engine(|turn| async move { chunks(turn, 1).await });
    let events = rest(stream(&engine, Message::user("hi")).await.unwrap()).await;
    assert_eq!(summaries(&events), expected(1));
    let sequences: Vec<_> = events.iter().map(|event| event.sequence.unwrap()).collect();
    assert_eq!(sequences, [1, 2, 3]);
}

/// The first event and the end of the wait for the event can fall into one step of the runner.
#[tokio::test(start_paused = true)]
async fn a_first_event_at_the_end_of_the_wait_does_not_cancel_the_task() {
    let wait = Limits::default().first_event_timeout_streaming;
    // The stream of a message ends at a question.
    for (state, last) in [(TaskState::Working, "completed"), (TaskState::InputRequired, "input-required")] {
        let engine = engine(move |turn| async move {
            sleep(wait).await;
            turn.status(state, None).await?;
            sleep(Duration::from_millis(100)).await;
            turn.complete("done").await
        });
        let events = rest(stream(&engine, Message::user("hi")).await.unwrap()).await;
        assert_eq!(summaries(&events).last().map(String::as_str), Some(last), "{state:?}: {events:?}");
    }
    let engine = engine(move |turn| async move {
        sleep(wait).await;
        turn.reply("hi").await
    });
    let events = rest(stream(&engine, Message::user("hi")).await.unwrap()).await;
    assert_eq!(events.len(), 1, "{events:?}");
}

#[tokio::test]
async fn a_silent_agent_does_not_delay_the_first_event_for_ever() {
    let limits = {
        let mut limits = Limits::default();
        limits.first_event_timeout_streaming = Duration::from_millis(10);
        limits
    };
    let engine = builder(|turn| async move {
        sleep(Duration::from_millis(500)).await;
        turn.complete("done").await
    })
    .limits(limits)
    .build();
    let begun = tokio::time::Instant::now();
    let mut events = stream(&engine, Message::user("hi")).await.unwrap();
    assert_eq!(summary(&*next(&mut events).await), "task:submitted");
    assert!(begun.elapsed() < Duration::from_millis(300));
    assert_eq!(summaries(&rest(events).await), ["completed"]);
}

#[tokio::test]
async fn a_bare_message_is_the_only_event() {
    let engine = engine(|turn| async move { turn.reply("direct").await });
    let events = rest(stream(&engine, Message::user("hi")).await.unwrap()).await;
    assert_eq!(summaries(&events), ["message:direct"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_dropped_when_the_agent_does_not_pause() {
    let engine = engine(|turn| async move { chunks(turn, 20_000).await });
    let events = rest(stream(&engine, Message::user("hi")).await.unwrap()).await;
    assert_eq!(summaries(&events), expected(20_000));
    let StreamResponse::Task(first) = &events[0].response else { panic!() };
    let task = get(&engine, first).await;
    assert_eq!(task.artifacts[0].parts.len(), 20_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_readers_see_the_same_events_in_the_same_order() {
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let engine = engine(move |turn| {
        let gate = Arc::clone(&gate);
        async move {
            turn.begin().await?;
            drop(gate.acquire().await?);
            chunks(turn, 3_000).await
        }
    });
    let task = send(&engine, at_once(Message::user("hi"))).await.unwrap();
    let readers = join_all((0..20).map(|_| subscribe(&engine, &task))).await;
    let leaves_early = subscribe(&engine, &task).await.unwrap();
    opened.add_permits(1);
    drop(leaves_early);
    let all = join_all(readers.into_iter().map(|reader| rest(reader.unwrap()))).await;
    let first = summaries(&all[0]);
    assert_eq!(first.len(), 3_002);
    for other in &all[1..] {
        assert_eq!(summaries(other)[1..], first[1..]);
    }
}

#[tokio::test]
async fn a_snapshot_and_its_events_have_no_gap() {
    let engine = engine(|turn| async move {
        let mut artifact = turn.artifact("out");
        for i in 0..200 {
            artifact.chunk(format!("{i},")).await?;
            if i % 10 == 0 {
                tokio::task::yield_now().await;
            }
        }
        turn.complete("done").await
    });
    let whole = (0..200).map(|i| format!("{i},")).collect::<Vec<_>>().concat();
    for _ in 0..50 {
        let task = send(&engine, at_once(Message::user("hi"))).await.unwrap();
        let Ok(events) = subscribe(&engine, &task).await else { continue };
        let events = rest(events).await;
        let StreamResponse::Task(snapshot) = &events[0].response else { panic!() };
        let mut text: String = snapshot.artifacts.iter().map(Artifact::text).collect();
        for event in &events[1..] {
            if let StreamResponse::ArtifactUpdate(update) = &event.response {
                text.push_str(&update.artifact.text());
            }
        }
        assert_eq!(text, whole);
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_blocked_reader_does_not_delay_a_task_for_long() {
    let limits = {
        let mut limits = Limits::default();
        limits.window = 64;
        limits.slow_reader = Duration::from_millis(50);
        limits
    };
    let engine = builder(|turn| async move { chunks(turn, 2_000).await }).limits(limits).build();
    let mut stuck = stream(&engine, Message::user("hi")).await.unwrap();
    let first = next(&mut stuck).await;
    let StreamResponse::Task(task) = &first.response else { panic!() };
    let events = rest(subscribe(&engine, task).await.unwrap()).await;
    assert_eq!(summary(events.last().unwrap()), "completed");
    // The reader reads from the store, or gets the error that it is too far behind. There is no gap.
    let mut last = first.sequence.unwrap();
    while let Some(event) = within(stuck.next()).await {
        match event {
            Ok(event) => {
                assert_eq!(event.sequence.unwrap(), last + 1);
                last += 1;
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::ResourceExhausted);
                assert_eq!((&*error.metadata()["limit"], error.retry_after()), ("window", Some(RETRY_AFTER)));
            }
        }
    }
}

#[tokio::test]
async fn a_subscriber_of_a_parked_task_sees_its_next_turn() {
    let engine = engine(|turn| async move {
        if turn.task().is_none() { turn.ask("what else?").await } else { turn.complete("done").await }
    });
    let task = send(&engine, SendMessageRequest::new(Message::user("hi"))).await.unwrap();
    let mut events = subscribe(&engine, &task).await.unwrap();
    assert_eq!(summary(&*next(&mut events).await), "task:input-required");
    send(&engine, SendMessageRequest::new(Message::user("this").with_task_id(task.id.clone()))).await.unwrap();
    assert_eq!(summaries(&rest(events).await), ["working", "completed"]);
}

#[tokio::test]
async fn a_stream_ends_at_input_required_and_stays_through_auth_required() {
    let engine = engine(|turn| async move {
        match (turn.task().is_none(), turn.message().text().as_str()) {
            (true, "input") => turn.ask("what?").await,
            (true, _) => turn.require_auth("who?").await,
            (false, _) => turn.complete("done").await,
        }
    });
    let events = rest(stream(&engine, Message::user("input")).await.unwrap()).await;
    assert_eq!(summaries(&events), ["task:submitted", "input-required"]);
    let mut events = stream(&engine, Message::user("auth")).await.unwrap();
    let first = next(&mut events).await;
    let StreamResponse::Task(task) = &first.response else { panic!() };
    assert_eq!(summary(&*next(&mut events).await), "auth-required");
    send(&engine, SendMessageRequest::new(Message::user("me").with_task_id(task.id.clone()))).await.unwrap();
    assert_eq!(summaries(&rest(events).await), ["working", "completed"]);
}

#[tokio::test]
async fn an_append_creates_an_unknown_artifact_and_a_whole_artifact_replaces() {
    let engine = engine(|turn| async move {
        for (text, append) in [("a", true), ("b", true), ("c", false)] {
            let artifact = Artifact::new(if append { "x" } else { "y" }, vec![Part::text(text)]);
            let update = TaskArtifactUpdateEvent { artifact, append, ..Default::default() };
            turn.emit(StreamResponse::ArtifactUpdate(update)).await?;
        }
        turn.add_artifact(Artifact::new("y", vec![Part::text("d")])).await
    });
    let task = send(&engine, SendMessageRequest::new(Message::user("hi"))).await.unwrap();
    let texts: Vec<_> = task.artifacts.iter().map(Artifact::text).collect();
    assert_eq!(texts, ["ab", "d"]);
}

#[tokio::test]
async fn a_subscription_to_an_ended_or_unknown_task_is_an_error() {
    let engine = engine(|turn| async move { turn.complete("done").await });
    let task = send(&engine, SendMessageRequest::new(Message::user("hi"))).await.unwrap();
    let error = subscribe(&engine, &task).await.map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
    let error = call(&engine, SubscribeToTaskRequest::new("nope")).await.map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskNotFound);
}

#[tokio::test]
async fn a_client_with_a_last_event_gets_the_missed_events() {
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let engine = engine(move |turn| {
        let gate = Arc::clone(&gate);
        async move {
            let mut artifact = turn.artifact("out");
            for i in 0..5 {
                artifact.chunk(format!("{i},")).await?;
            }
            drop(gate.acquire().await?);
            turn.complete("done").await
        }
    });
    let mut events = stream(&engine, Message::user("hi")).await.unwrap();
    let first = next(&mut events).await;
    let StreamResponse::Task(task) = &first.response else { panic!() };
    assert_eq!(summary(&*next(&mut events).await), "artifact:0,");
    drop(events);
    let request =
        Request { last_event: Some(2), ..Request::new(Scope::open(), SubscribeToTaskRequest::new(task.id.clone())) };
    let Reply::Events(events) = engine.call(request).await.unwrap() else { panic!() };
    opened.add_permits(1);
    assert_eq!(
        summaries(&rest(events).await),
        ["artifact:1,", "artifact:2,", "artifact:3,", "artifact:4,", "completed"]
    );
}

#[tokio::test]
async fn an_agent_without_streaming_refuses_streams() {
    let mut card = nuncio_model::AgentCard::new("quiet", "Does not stream.");
    card.capabilities.streaming = Some(false);
    let engine = builder(|turn| async move { turn.ask("?").await }).card(card).build();
    let error = stream(&engine, Message::user("hi")).await.map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
    let task = send(&engine, SendMessageRequest::new(Message::user("hi"))).await.unwrap();
    assert_state(&task, TaskState::InputRequired);
    assert_eq!(subscribe(&engine, &task).await.map(|_| ()).unwrap_err().kind(), ErrorKind::UnsupportedOperation);
}

#[tokio::test]
async fn status_timestamps_do_not_decrease() {
    let engine = engine(|turn: nuncio_engine::Turn| async move {
        turn.begin().await?;
        // The event is only handled after this.
        std::thread::sleep(std::time::Duration::from_millis(5));
        turn.complete("done").await
    });
    let events = rest(stream(&engine, Message::user("work")).await.unwrap()).await;
    let times: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.response {
            StreamResponse::Task(task) => task.status.timestamp,
            StreamResponse::StatusUpdate(update) => update.status.timestamp,
            _ => None,
        })
        .collect();
    assert_eq!(times.len(), 3);
    assert!(times.is_sorted(), "{times:?}");
}
