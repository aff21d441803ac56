//! Faulty agents and stores.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use nuncio_engine::{AgentError, Engine, Limits, Turn};
use nuncio_limit::RETRY_AFTER;
use nuncio_model::{
    AgentCard, Artifact, ErrorKind, Message, Part, Reply, Request, Role, Scope, StreamResponse,
    TaskArtifactUpdateEvent, TaskState,
    op::{SendMessageConfiguration, SendMessageRequest},
};

use crate::support::*;

async fn outcome(engine: &Engine) -> (TaskState, String) {
    let task = send(engine, SendMessageRequest::new(Message::user("x"))).await.unwrap();
    (task.state(), task.status.message.map(|message| message.text()).unwrap_or_default())
}

#[tokio::test]
async fn an_error_fails_the_task_with_a_message_for_the_client() {
    let engine = engine(|_turn| async { Err(AgentError::new("no model").with_source("secret detail")) });
    assert_eq!(outcome(&engine).await, (TaskState::Failed, "no model".to_owned()));
}

#[tokio::test]
async fn the_text_of_a_foreign_error_stays_in_the_log() {
    let engine = engine(|_turn| async {
        "x".parse::<u8>()?;
        Ok(())
    });
    assert_eq!(outcome(&engine).await, (TaskState::Failed, "the agent failed".to_owned()));
}

#[tokio::test]
async fn a_panic_fails_the_task_and_the_engine_goes_on() {
    let engine = engine(|turn| async move {
        turn.begin().await?;
        assert_ne!(turn.message().text(), "x", "boom");
        turn.complete("fine").await
    });
    assert_eq!(outcome(&engine).await, (TaskState::Failed, "the agent panicked".to_owned()));
    let task = send(&engine, SendMessageRequest::new(Message::user("y"))).await.unwrap();
    assert_state(&task, TaskState::Completed);
    assert_eq!(engine.running(), 0);
}

#[tokio::test]
async fn events_after_the_end_are_not_published() {
    let engine = engine(|turn| async move {
        turn.complete("done").await?;
        turn.working("still here").await?;
        turn.fail("no").await
    });
    let events = rest(stream(&engine, Message::user("x")).await.unwrap()).await;
    assert_eq!(summaries(&events), ["task:submitted", "completed"]);
    assert_eq!(outcome(&engine).await, (TaskState::Completed, "done".to_owned()));
}

#[tokio::test]
async fn a_bare_message_after_a_status_fails_the_task() {
    let engine = engine(|turn| async move {
        turn.begin().await?;
        turn.reply("too late").await
    });
    let (state, reason) = outcome(&engine).await;
    assert_eq!(state, TaskState::Failed);
    assert!(reason.contains("bare message"), "{reason}");
}

#[tokio::test]
async fn a_broken_event_fails_the_task_and_names_its_origin() {
    let engine = engine(|turn| async move {
        let update = TaskArtifactUpdateEvent { artifact: Artifact::new("a", Vec::new()), ..Default::default() };
        turn.emit_from("line 3", StreamResponse::ArtifactUpdate(update)).await?;
        turn.complete("done").await
    });
    let (state, reason) = outcome(&engine).await;
    assert_eq!(state, TaskState::Failed);
    assert!(reason.contains("line 3") && reason.contains("no parts"), "{reason}");
}

/// An agent can emit a bare message, a message with a status, or a bare message that completes a task.
#[tokio::test]
async fn messages_of_an_agent_need_its_role_and_content() {
    let empty = || Message { parts: Vec::new(), ..Message::agent("") };
    for (message, complaint) in [(Message::user("I agree"), "in the name of the user"), (empty(), "without parts")] {
        for way in ["bare", "status", "last"] {
            let message = message.clone();
            let engine = engine(move |turn| {
                let message = message.clone();
                async move {
                    match way {
                        "bare" => turn.reply(message).await,
                        "status" => turn.working(message).await,
                        _ => turn.complete(message).await,
                    }
                }
            });
            let (state, reason) = outcome(&engine).await;
            assert_eq!(state, TaskState::Failed, "{way} {complaint}");
            assert!(reason.contains(complaint), "{way}: {reason}");
            let task = send(&engine, at_once(Message::user("x"))).await.unwrap();
            if let Ok(events) = subscribe(&engine, &task).await {
                rest(events).await;
            }
            let task = get(&engine, &task).await;
            let theirs: Vec<_> = task.history.iter().filter(|message| message.role == Role::User).collect();
            assert_eq!(theirs.len(), 1, "{way} {complaint}: {:?}", task.history);
        }
    }
}

#[tokio::test]
async fn missing_fields_of_a_status_message_are_filled_in() {
    let engine = engine(|turn| async move {
        let bare = Message { parts: vec![Part::text("hi")], ..Message::default() };
        turn.complete(bare).await
    });
    let task = send(&engine, SendMessageRequest::new(Message::user("x"))).await.unwrap();
    let message = task.status.message.unwrap();
    assert_eq!(message.role, Role::Agent);
    assert!(!message.message_id.is_empty());
    assert!(task.status.timestamp.is_some());
}

#[tokio::test]
async fn a_failed_write_fails_the_request_only() {
    let store = crate::rigged::Rigged::new();
    let engine = builder(|turn| async move { turn.complete("done").await }).store(store.clone()).build();
    store.full.store(true, Ordering::Release);
    let error = send(&engine, SendMessageRequest::new(Message::user("x"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    // An error before the first event is an error of the call (section 3.1.2 "Send Streaming Message").
    let error = stream(&engine, Message::user("x")).await.err().unwrap();
    assert_eq!((error.kind(), error.retry_after()), (ErrorKind::Unavailable, Some(RETRY_AFTER)));
    store.full.store(false, Ordering::Release);
    assert_eq!(outcome(&engine).await.0, TaskState::Completed);
    assert_eq!(engine.running(), 0);
}

#[tokio::test]
async fn a_task_is_settled_after_a_failure_of_the_store() {
    let store = crate::rigged::Rigged::new();
    let broken = Arc::new(AtomicBool::new(false));
    let limits = {
        let mut limits = Limits::default();
        limits.commit_retry = Duration::from_millis(20);
        limits
    };
    let agent_store = Arc::clone(&store);
    let engine = builder(move |turn| {
        let (store, broken) = (Arc::clone(&agent_store), Arc::clone(&broken));
        async move {
            turn.begin().await?;
            tokio::time::sleep(Duration::from_millis(30)).await;
            if !broken.swap(true, Ordering::AcqRel) {
                store.full.store(true, Ordering::Release);
            }
            turn.complete("done").await
        }
    })
    .limits(limits)
    .store(store.clone())
    .build();
    let error = send(&engine, SendMessageRequest::new(Message::user("x"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    store.full.store(false, Ordering::Release);
    let Reply::Tasks(page) = call(&engine, nuncio_model::op::ListTasksRequest::default()).await.unwrap() else {
        panic!()
    };
    let task = page.tasks[0].clone();
    if let Ok(events) = subscribe(&engine, &task).await {
        rest(events).await;
    }
    let task = get(&engine, &task).await;
    assert_state(&task, TaskState::Failed);
}

#[tokio::test]
async fn a_shutdown_ends_running_turns_with_a_reason() {
    let engine = engine(|turn| async move {
        turn.begin().await?;
        std::future::pending().await
    });
    let task = send(&engine, at_once(Message::user("x"))).await.unwrap();
    within(engine.shutdown(Duration::from_millis(20))).await;
    let task = get(&engine, &task).await;
    assert_state(&task, TaskState::Failed);
    let error = send(&engine, SendMessageRequest::new(Message::user("x"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
}

#[tokio::test]
async fn a_panic_during_a_cutoff_does_not_prevent_the_end_of_the_task() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    let limits = {
        let mut limits = Limits::default();
        limits.cancel_grace = Duration::ZERO;
        limits
    };
    let engine = builder(|turn| async move {
        let _bomb = Bomb;
        turn.begin().await?;
        std::future::pending().await
    })
    .limits(limits)
    .build();
    let task = send(&engine, at_once(Message::user("x"))).await.unwrap();
    assert_state(&cancel(&engine, &task).await.unwrap(), TaskState::Canceled);
    quiet(&engine).await;
}

#[tokio::test]
async fn detached_tasks_of_an_agent_cannot_emit_events() {
    let spoke = Arc::new(tokio::sync::Semaphore::new(0));
    let refused = Arc::clone(&spoke);
    let engine = builder(move |turn| {
        let spoke = Arc::clone(&spoke);
        async move {
            turn.begin().await?;
            tokio::spawn(async move {
                while turn.working("still here").await.is_ok() {}
                spoke.add_permits(1);
            });
            tokio::task::yield_now().await;
            Ok(())
        }
    })
    .build();
    let task = send(&engine, SendMessageRequest::new(Message::user("x"))).await.unwrap();
    assert_state(&task, TaskState::Completed);
    within(refused.acquire()).await.unwrap().forget();
    assert_eq!(get(&engine, &task).await, task);
    quiet(&engine).await;
}

#[tokio::test]
async fn a_turn_can_clean_up_after_its_last_event() {
    let tidied = Arc::new(tokio::sync::Semaphore::new(0));
    let done = Arc::clone(&tidied);
    let engine = builder(move |turn| {
        let tidied = Arc::clone(&tidied);
        async move {
            turn.complete("done").await?;
            tokio::time::sleep(Duration::from_millis(20)).await;
            tidied.add_permits(1);
            Ok(())
        }
    })
    .build();
    let task = send(&engine, SendMessageRequest::new(Message::user("x"))).await.unwrap();
    assert_state(&task, TaskState::Completed);
    within(done.acquire()).await.unwrap().forget();
    quiet(&engine).await;
    assert_eq!(get(&engine, &task).await, task);
}

#[tokio::test]
async fn a_turn_that_lingers_after_its_last_event_is_cut_off() {
    for shuts_down in [false, true] {
        let limits = {
            let mut limits = Limits::default();
            limits.linger = if shuts_down { Duration::from_mins(10) } else { Duration::from_millis(1) };
            limits
        };
        let engine = builder(|turn| async move {
            match turn.message().text().as_str() {
                "reply" => turn.reply("direct").await?,
                _ => turn.complete("done").await?,
            }
            std::future::pending().await
        })
        .limits(limits)
        .build();
        for text in ["reply", "complete"] {
            call(&engine, SendMessageRequest::new(Message::user(text))).await.unwrap();
        }
        if shuts_down {
            within(engine.shutdown(Duration::ZERO)).await;
        }
        quiet(&engine).await;
        let Reply::Tasks(page) = call(&engine, nuncio_model::op::ListTasksRequest::default()).await.unwrap() else {
            panic!()
        };
        assert_eq!(page.tasks.len(), 1);
        assert_state(&page.tasks[0], TaskState::Completed);
    }
}

#[tokio::test]
async fn a_second_bare_message_is_an_error_of_the_call() {
    let agent = |turn: Turn| async move {
        turn.reply("one").await?;
        turn.reply("two").await
    };
    let engine = builder(agent).build();
    let send = || Message::user("x");
    let call = Request::new(Scope::open(), SendMessageRequest::new(send()));
    let error = within(engine.call(call)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse, "{error}");
    let error = stream(&engine, send()).await.map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse, "{error}");
    assert_eq!(engine.running(), 0);
}

#[tokio::test]
async fn accepted_output_modes_are_checked_before_the_agent_runs() {
    let mut card = AgentCard::new("writer", "Writes.");
    card.default_output_modes = vec!["text/markdown".to_owned()];
    let engine = builder(|turn: Turn| async move { turn.complete("done").await }).card(card).build();
    let send = async |modes: &[&str]| {
        let configuration = SendMessageConfiguration {
            accepted_output_modes: modes.iter().map(|mode| (*mode).to_owned()).collect(),
            ..Default::default()
        };
        let request = SendMessageRequest::new(Message::user("x")).with_configuration(configuration);
        within(engine.call(Request::new(Scope::open(), request))).await.map(drop).map_err(|error| error.kind())
    };
    for modes in [&[][..], &["text/plain"], &["image/png", "text/*"], &["*/*"], &["text/markdown"], &[""]] {
        assert_eq!(send(modes).await, Ok(()), "{modes:?}");
    }
    for modes in [&["image/png"][..], &["application/json", "text/html"]] {
        assert_eq!(send(modes).await, Err(ErrorKind::ContentTypeNotSupported), "{modes:?}");
    }
}
