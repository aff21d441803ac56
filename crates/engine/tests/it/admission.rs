//! Limits per caller and in total, and sizes of tasks.

use std::sync::Arc;

use nuncio_engine::{Engine, Limits, TaskStore, store::ListQuery};
use nuncio_limit::RETRY_AFTER;
use nuncio_model::{
    Artifact, Call, Error, ErrorKind, Message, NewTask, Part, Principal, Reply, Request, Scope, StreamResponse, Task,
    TaskArtifactUpdateEvent, TaskState, Tenant,
    op::{CancelTaskRequest, SendMessageRequest},
};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::{rigged::Rigged, support::*};

fn limits(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits);
    limits
}

fn scope(name: &str, tenant: &str) -> Scope {
    Scope::new(Tenant::from(tenant), Principal::named(name))
}

async fn of(engine: &Engine, scope: &Scope, call: impl Into<Call>) -> Result<Task, Error> {
    match within(engine.call(Request::new(scope.clone(), call))).await? {
        Reply::Task(task) => Ok(Arc::unwrap_or_clone(task)),
        other => panic!("{other:?}"),
    }
}

fn start() -> SendMessageRequest {
    at_once(Message::user("start"))
}

fn is_refused(outcome: Result<Task, Error>, limit: &str) {
    let error = outcome.unwrap_err();
    assert_eq!((error.kind(), error.retry_after()), (ErrorKind::ResourceExhausted, Some(RETRY_AFTER)), "{error}");
    assert_eq!(error.metadata()["limit"], limit);
}

/// An agent that waits until it is canceled.
fn patient(limits: Limits) -> Engine {
    let run = |turn: nuncio_engine::Turn| async move {
        turn.begin().await?;
        turn.cancelled().cancelled().await;
        Ok(())
    };
    builder(run).limits(limits).build()
}

#[tokio::test]
async fn a_caller_with_too_many_turns_keeps_no_other_from_its_own() {
    let engine = patient(limits(|limits| (limits.running_turns_per_caller, limits.running_turns) = (2, 4)));
    let (alice, bob) = (scope("alice", ""), scope("bob", ""));
    let first = of(&engine, &alice, start()).await.unwrap();
    of(&engine, &scope("alice", "tenant"), start()).await.unwrap();
    for tenant in ["", "tenant", "another"] {
        is_refused(of(&engine, &scope("alice", tenant), start()).await, "running_turns_per_caller");
    }
    of(&engine, &bob, start()).await.unwrap();
    of(&engine, &bob, start()).await.unwrap();
    is_refused(of(&engine, &scope("carol", ""), start()).await, "running_turns");
    assert_eq!(engine.running(), 4);
    // One task less leaves room for one more.
    of(&engine, &alice, CancelTaskRequest::new(first.id)).await.unwrap();
    within(async {
        while engine.running() == 4 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    is_refused(of(&engine, &bob, start()).await, "running_turns_per_caller");
    of(&engine, &alice, start()).await.unwrap();
}

#[tokio::test]
async fn anonymous_callers_share_the_total_limit() {
    let engine = patient(limits(|limits| (limits.running_turns_per_caller, limits.running_turns) = (1, 3)));
    for _ in 0..3 {
        of(&engine, &Scope::open(), start()).await.unwrap();
    }
    is_refused(of(&engine, &Scope::open(), start()).await, "running_turns");
}

#[tokio::test]
async fn a_task_can_be_canceled_at_any_limit() {
    let engine = builder(|turn| async move {
        if turn.message().text() == "park" {
            return turn.ask("?").await;
        }
        turn.begin().await?;
        turn.cancelled().cancelled().await;
        Ok(())
    });
    let engine = engine.limits(limits(|limits| limits.running_turns_per_caller = 1)).build();
    let alice = scope("alice", "");
    let parked = of(&engine, &alice, SendMessageRequest::new(Message::user("park"))).await.unwrap();
    quiet(&engine).await;
    of(&engine, &alice, start()).await.unwrap();
    is_refused(of(&engine, &alice, follow(&parked, "park")).await, "running_turns_per_caller");
    assert_state(&of(&engine, &alice, CancelTaskRequest::new(parked.id)).await.unwrap(), TaskState::Canceled);
}

#[tokio::test]
async fn waiting_messages_are_limited_per_caller_and_in_total() {
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let engine = builder(move |turn| {
        let gate = Arc::clone(&opened);
        async move {
            turn.begin().await?;
            gate.acquire().await?.forget();
            turn.ask("next").await
        }
    });
    let engine = engine.limits(limits(|limits| (limits.queued_per_caller, limits.queued_in_all) = (2, 3))).build();
    let (alice, bob) = (scope("alice", ""), scope("bob", ""));
    let of_alice = [of(&engine, &alice, start()).await.unwrap(), of(&engine, &alice, start()).await.unwrap()];
    let of_bob = of(&engine, &bob, start()).await.unwrap();
    let more = |task: &Task| at_once(follow(task, "more").message);
    for task in &of_alice {
        of(&engine, &alice, more(task)).await.unwrap();
    }
    is_refused(of(&engine, &alice, more(&of_alice[0])).await, "queued_per_caller");
    of(&engine, &bob, more(&of_bob)).await.unwrap();
    is_refused(of(&engine, &bob, more(&of_bob)).await, "queued_in_all");
    // After the begin of its turn, a message no longer counts as waiting.
    gate.add_permits(1);
    within(async {
        while of(&engine, &alice, more(&of_alice[0])).await.is_err() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    gate.add_permits(99);
    quiet(&engine).await;
}

#[tokio::test]
async fn an_oversized_task_fails_with_the_name_of_the_limit() {
    let engine = builder(|turn| async move {
        let mut artifact = turn.artifact("out");
        for _ in 0..100 {
            artifact.chunk("x".repeat(100)).await?;
        }
        artifact.finish("never").await
    });
    let engine = engine.limits(limits(|limits| limits.task_size = 1_000)).build();
    let task = send(&engine, SendMessageRequest::new(Message::user("hello"))).await.unwrap();
    assert_state(&task, TaskState::Failed);
    let reason = task.status.message.as_ref().unwrap().text();
    assert_eq!(reason, "the task is over its limit of 1000 bytes (task_size)");
    assert_eq!(task.artifacts[0].text().len(), 900, "what there was room for is kept");
    quiet(&engine).await;
}

#[tokio::test]
async fn every_kind_of_content_counts_towards_the_size() {
    let artifact = |part| {
        let artifact = Artifact::new("a", vec![part]);
        StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent { artifact, ..Default::default() })
    };
    let long = "x".repeat(2_000);
    let said = [
        artifact(Part::text(&*long)),
        artifact(Part::raw(long.clone().into_bytes())),
        artifact(Part::url(&*long)),
        artifact(Part::data(json!({"a": [1, long.clone()]}))),
        artifact(Part::text("x").with_metadata([("k".to_owned(), json!(long.clone()))].into_iter().collect())),
        StreamResponse::Message(Message::agent(&*long)),
    ];
    for response in said {
        let event = response.clone();
        let engine = builder(move |turn| {
            let event = event.clone();
            async move {
                turn.begin().await?;
                turn.emit(event).await
            }
        });
        let engine = engine.limits(limits(|limits| limits.task_size = 1_999)).build();
        let task = send(&engine, SendMessageRequest::new(Message::user(""))).await.unwrap();
        assert_state(&task, TaskState::Failed);
        assert!(task.status.message.unwrap().text().contains("task_size"), "{response:?}");
    }
}

/// Nothing is stored and no turn begins, with and without a given task id.
#[tokio::test]
async fn an_oversized_first_message_is_refused_without_a_task() {
    let store = Rigged::new();
    let engine = builder(|turn| async move { turn.complete("done").await }).store(Arc::clone(&store) as _);
    let engine = engine.limits(limits(|limits| limits.task_size = 100)).build();
    let large = Message::user("x".repeat(101));
    let new_task = NewTask { id: "settled".into(), metadata: None, webhooks_of: None };
    let mut precreates = Request::new(Scope::open(), SendMessageRequest::new(large.clone()));
    precreates.new_task = Some(Box::new(new_task));
    for refused in [
        send(&engine, SendMessageRequest::new(large.clone())).await.map(drop),
        send(&engine, at_once(large.clone())).await.map(drop),
        stream(&engine, large).await.map(drop),
        within(engine.call(precreates)).await.map(drop),
    ] {
        let error = refused.unwrap_err();
        assert_eq!((error.kind(), &*error.metadata()["limit"]), (ErrorKind::PayloadTooLarge, "task_size"));
        assert!(
            error.message().starts_with("the message carries 101 bytes, and a task has room for 100 bytes"),
            "{error}"
        );
    }
    let tasks = store.inner().list(&Scope::open(), &ListQuery { page_size: 9, ..ListQuery::default() }).await.unwrap();
    assert_eq!((tasks.total, engine.running()), (0, 0));
    let task = send(&engine, SendMessageRequest::new(Message::user("x".repeat(90)))).await.unwrap();
    assert_state(&task, TaskState::Completed);
}

#[tokio::test]
async fn an_oversized_message_is_refused_and_its_task_continues() {
    let engine = builder(|turn| async move { turn.ask("?").await });
    let engine = engine.limits(limits(|limits| limits.task_size = 100)).build();
    let task = send(&engine, SendMessageRequest::new(Message::user("x".repeat(60)))).await.unwrap();
    quiet(&engine).await;
    let error = send(&engine, follow(&task, &"x".repeat(60))).await.unwrap_err();
    assert_eq!((error.kind(), &*error.metadata()["limit"]), (ErrorKind::PayloadTooLarge, "task_size"));
    let task = send(&engine, follow(&task, "short")).await.unwrap();
    assert_eq!(history(&task).len(), 3);
    assert_state(&task, TaskState::InputRequired);
}

#[tokio::test]
async fn a_task_of_too_many_events_fails_with_the_name_of_the_limit() {
    let engine = builder(|turn| async move {
        for _ in 0..100 {
            turn.begin().await?;
        }
        Ok(())
    });
    let engine = engine.limits(limits(|limits| limits.task_events = 10)).build();
    let task = send(&engine, SendMessageRequest::new(Message::user("hello"))).await.unwrap();
    assert_state(&task, TaskState::Failed);
    assert_eq!(task.status.message.unwrap().text(), "the task is over its limit of 10 events (task_events)");
}
