//! Push configurations.

use std::sync::Arc;

use async_trait::async_trait;
use nuncio_engine::{Limits, PushGuard, Record, TaskStore as _, store::Portion};
use nuncio_model::{
    AuthenticationInfo, Error, ErrorKind, Message, PushConfigId, Reply, Scope, TaskPushNotificationConfig, Timestamp,
    op::{
        DeleteTaskPushNotificationConfigRequest, GetTaskPushNotificationConfigRequest,
        ListTaskPushNotificationConfigsRequest, SendMessageConfiguration, SendMessageRequest,
        SendStreamingMessageRequest,
    },
};
use tokio::sync::Semaphore;

use crate::{rigged::Rigged, support::*};

pub(crate) struct Anywhere;

#[async_trait]
impl PushGuard for Anywhere {
    async fn check(&self, config: &TaskPushNotificationConfig) -> Result<(), Error> {
        if config.url.starts_with("https:") { Ok(()) } else { Err(Error::invalid_params("url", "must be https")) }
    }
}

fn engine_that_pushes() -> nuncio_engine::Engine {
    builder(|turn| async move { turn.complete("done").await }).push_guard(Arc::new(Anywhere)).build()
}

fn config(task: &nuncio_model::Task) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        task_id: Some(task.id.clone()),
        url: "https://example.com/hook".to_owned(),
        token: Some("t0ken".to_owned()),
        authentication: Some(AuthenticationInfo {
            scheme: "Bearer".to_owned(),
            credentials: Some("s3cret".to_owned()),
        }),
        ..Default::default()
    }
}

#[tokio::test]
async fn configurations_are_made_read_listed_and_deleted() {
    let engine = engine_that_pushes();
    let task = send(&engine, SendMessageRequest::new(Message::user("x"))).await.unwrap();
    let mut ids = Vec::new();
    for _ in 0..2 {
        let Reply::PushConfig(made) = call(&engine, config(&task)).await.unwrap() else { panic!() };
        ids.push(made.id.unwrap());
    }
    assert_ne!(ids[0], ids[1]);
    let get = |id: &PushConfigId| GetTaskPushNotificationConfigRequest {
        task_id: task.id.clone(),
        id: id.clone(),
        ..Default::default()
    };
    let Reply::PushConfig(read) = call(&engine, get(&ids[0])).await.unwrap() else { panic!() };
    assert_eq!((read.token, read.authentication.unwrap().credentials), (None, None));
    let list = ListTaskPushNotificationConfigsRequest { task_id: task.id.clone(), page_size: 1, ..Default::default() };
    let Reply::PushConfigs(page) = call(&engine, list.clone()).await.unwrap() else { panic!() };
    assert_eq!(page.configs.len(), 1);
    let list = ListTaskPushNotificationConfigsRequest { page_token: Some(page.next_page_token), ..list };
    let Reply::PushConfigs(other) = call(&engine, list).await.unwrap() else { panic!() };
    assert_eq!((other.configs.len(), &*other.next_page_token), (1, ""));
    assert_ne!(other.configs[0].id, page.configs[0].id);
    for _ in 0..2 {
        let delete = DeleteTaskPushNotificationConfigRequest {
            task_id: task.id.clone(),
            id: ids[0].clone(),
            ..Default::default()
        };
        assert!(matches!(call(&engine, delete).await.unwrap(), Reply::Deleted));
    }
    let error = call(&engine, get(&ids[0])).await.map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskNotFound);
}

#[tokio::test]
async fn a_page_token_of_configurations_is_valid_for_its_list_only() {
    let engine = engine_that_pushes();
    let (task, other) = (
        send(&engine, at_once(Message::user("x"))).await.unwrap(),
        send(&engine, at_once(Message::user("x"))).await.unwrap(),
    );
    let mut made = Vec::new();
    for _ in 0..3 {
        let Reply::PushConfig(config) = call(&engine, config(&task)).await.unwrap() else { panic!() };
        made.push(config.id.unwrap());
        call(&engine, self::config(&other)).await.unwrap();
    }
    made.sort();
    let page = |task: &nuncio_model::Task, token: Option<&str>| {
        let (task_id, page_token) = (task.id.clone(), token.map(Box::from));
        let list = ListTaskPushNotificationConfigsRequest { task_id, page_size: 1, page_token, ..Default::default() };
        let engine = engine.clone();
        async move {
            match call(&engine, list).await? {
                Reply::PushConfigs(page) => Ok(page),
                _ => panic!(),
            }
        }
    };
    let (mut seen, mut token) = (Vec::new(), None::<Box<str>>);
    while token.as_deref() != Some("") {
        let next = page(&task, token.as_deref()).await.unwrap();
        seen.extend(next.configs.into_iter().map(|config| config.id.unwrap()));
        if !next.next_page_token.is_empty() {
            let error: Error = page(&other, Some(&next.next_page_token)).await.unwrap_err();
            assert_eq!(error.field_violations()[0].field, "pageToken");
        }
        token = Some(next.next_page_token);
    }
    assert_eq!(seen, made);
    for garbage in ["garbage", made[0].as_str(), "0", "ü", "", "zzzz"] {
        let error = page(&task, Some(garbage)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidParams, "{garbage}");
        assert_eq!(error.field_violations()[0].field, "pageToken", "{garbage}");
    }
}

#[tokio::test]
async fn a_page_has_at_most_the_limit_of_configurations() {
    let store = Arc::new(nuncio_engine::MemoryStore::default());
    let engine = |push_configs| {
        let mut limits = Limits::default();
        limits.push_configs = push_configs;
        let waits = builder(|turn| async move {
            turn.begin().await?;
            std::future::pending().await
        });
        waits.push_guard(Arc::new(Anywhere)).store(Arc::clone(&store) as _).limits(limits).build()
    };
    let before = engine(3);
    let task = send(&before, at_once(Message::user("x"))).await.unwrap();
    for _ in 0..3 {
        call(&before, config(&task)).await.unwrap();
    }
    // The limit is lower now. A list without a page size still has all configurations.
    let after = engine(2);
    for (page_size, expected) in [(0, 3), (1, 1), (2, 2), (3, 2), (i32::MAX, 2)] {
        let list = ListTaskPushNotificationConfigsRequest { task_id: task.id.clone(), page_size, ..Default::default() };
        let Reply::PushConfigs(page) = call(&after, list).await.unwrap() else { panic!() };
        assert_eq!((page.configs.len(), page.next_page_token.is_empty()), (expected, expected == 3), "{page_size}");
    }
}

#[tokio::test]
async fn the_guard_decides_also_inside_a_message() {
    let engine = engine_that_pushes();
    let task = send(&engine, SendMessageRequest::new(Message::user("x"))).await.unwrap();
    let inside = TaskPushNotificationConfig { url: "http://x".to_owned(), ..config(&task) };
    let error = call(&engine, inside.clone()).await.map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidParams);
    let configuration = SendMessageConfiguration { task_push_notification_config: Some(inside), ..Default::default() };
    let request = SendMessageRequest::new(Message::user("x")).with_configuration(configuration);
    assert_eq!(send(&engine, request).await.unwrap_err().kind(), ErrorKind::InvalidParams);
}

#[tokio::test]
async fn a_configuration_inside_a_message_is_owed_the_first_event() {
    let engine = engine_that_pushes();
    let configuration = SendMessageConfiguration {
        task_push_notification_config: Some(TaskPushNotificationConfig {
            url: "https://example.com/hook".to_owned(),
            ..Default::default()
        }),
        ..Default::default()
    };
    let request = SendMessageRequest::new(Message::user("x")).with_configuration(configuration);
    let task = send(&engine, request).await.unwrap();
    within(engine.push_wakeups().notified()).await;
    let due = engine.store().due_pushes(Timestamp::now(), 10).await.unwrap();
    assert_eq!(due.len(), 1);
    assert_eq!((due[0].delivered, due[0].pending), (0, 2));
    assert_eq!(due[0].config.task_id.as_ref(), Some(&task.id));
    let records = engine.store().events_after(&Scope::open(), &task.id, 0, Portion::records(10)).await.unwrap();
    assert_eq!(records.iter().map(Record::sequence).collect::<Vec<_>>(), [1, 2]);
}

#[tokio::test]
async fn an_agent_without_push_refuses_before_the_task_is_read() {
    let engine = engine(|turn| async move { turn.complete("done").await });
    let missing = TaskPushNotificationConfig {
        task_id: Some("nope".into()),
        url: "https://example.com".to_owned(),
        ..Default::default()
    };
    let error = call(&engine, missing).await.map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PushNotificationNotSupported);
}

fn with_hook(mut request: SendMessageRequest, url: &str) -> SendMessageRequest {
    let config = TaskPushNotificationConfig { url: url.to_owned(), ..Default::default() };
    request.configuration =
        Some(Box::new(SendMessageConfiguration { task_push_notification_config: Some(config), ..Default::default() }));
    request
}

async fn hooks(engine: &nuncio_engine::Engine, task: &nuncio_model::Task) -> usize {
    let list = ListTaskPushNotificationConfigsRequest { task_id: task.id.clone(), ..Default::default() };
    let Reply::PushConfigs(page) = call(engine, list).await.unwrap() else { panic!() };
    page.configs.len()
}

#[tokio::test]
async fn follow_ups_register_webhooks_too_under_the_same_limit() {
    let limits = {
        let mut limits = Limits::default();
        limits.push_configs = 2;
        limits
    };
    let engine = builder(|turn| async move { turn.ask("what else?").await })
        .push_guard(Arc::new(Anywhere))
        .limits(limits)
        .build();
    let task = send(&engine, with_hook(SendMessageRequest::new(Message::user("x")), "https://a")).await.unwrap();
    let task = send(&engine, with_hook(follow(&task, "y"), "https://b")).await.unwrap();
    assert_eq!(hooks(&engine, &task).await, 2);
    let error = send(&engine, with_hook(follow(&task, "z"), "https://c")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ResourceExhausted);
    // Time alone does not help.
    assert_eq!((&*error.metadata()["limit"], error.retry_after()), ("push_configs", None));
    let error = send(&engine, with_hook(follow(&task, "z"), "http://d")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidParams);
    // Neither message reached the task. A webhook without an address is ignored.
    assert_eq!(history(&get(&engine, &task).await), ["x", "what else?", "y"]);
    send(&engine, with_hook(follow(&task, "z"), "")).await.unwrap();
    assert_eq!(hooks(&engine, &task).await, 2);
}

#[tokio::test]
async fn a_message_refused_at_a_limit_registers_no_webhook() {
    let limits = {
        let mut limits = Limits::default();
        (limits.running_turns, limits.queued_messages) = (1, 0);
        limits
    };
    let engine = builder(|turn| async move {
        if turn.message().text() == "ask" {
            return turn.ask("what else?").await;
        }
        turn.begin().await?;
        std::future::pending().await
    });
    let engine = engine.push_guard(Arc::new(Anywhere)).limits(limits).build();
    let rests = send(&engine, SendMessageRequest::new(Message::user("ask"))).await.unwrap();
    quiet(&engine).await;
    let works = send(&engine, at_once(Message::user("work"))).await.unwrap();
    for (task, limit) in [(&rests, "running_turns"), (&works, "queued_messages")] {
        let error = send(&engine, with_hook(follow(task, "more"), "https://a")).await.unwrap_err();
        assert_eq!(error.metadata()["limit"], limit);
        assert_eq!(hooks(&engine, task).await, 0);
    }
    cancel(&engine, &works).await.unwrap();
    quiet(&engine).await;
    send(&engine, with_hook(follow(&rests, "ask"), "https://a")).await.unwrap();
    assert_eq!(hooks(&engine, &rests).await, 1);
}

#[tokio::test]
async fn an_empty_configuration_id_becomes_the_task_id() {
    let engine = engine_that_pushes();
    let hook = |url: &str| TaskPushNotificationConfig {
        id: Some(PushConfigId::default()),
        url: url.to_owned(),
        ..Default::default()
    };
    let request = SendMessageRequest::new(Message::user("x")).with_configuration(SendMessageConfiguration {
        task_push_notification_config: Some(hook("https://a")),
        ..Default::default()
    });
    let task = send(&engine, request).await.unwrap();
    let set = TaskPushNotificationConfig { task_id: Some(task.id.clone()), ..hook("https://b") };
    call(&engine, set).await.unwrap();
    let list = ListTaskPushNotificationConfigsRequest { task_id: task.id.clone(), ..Default::default() };
    let Reply::PushConfigs(page) = call(&engine, list).await.unwrap() else { panic!() };
    let told: Vec<_> = page.configs.iter().map(|it| (it.id.as_ref().unwrap().as_str(), &*it.url)).collect();
    assert_eq!(told, [(task.id.as_str(), "https://b")]);
}

#[tokio::test]
async fn additions_at_the_same_time_keep_to_the_limit() {
    let store = Rigged::new();
    let mut limits = Limits::default();
    limits.push_configs = 2;
    let engine = builder(|turn| async move { turn.ask("more?").await });
    let engine = engine.push_guard(Arc::new(Anywhere)).store(Arc::clone(&store) as _).limits(limits).build();
    let task = send(&engine, SendMessageRequest::new(Message::user("x"))).await.unwrap();
    let outcomes = futures_util::future::join_all((0..8).map(|_| call(&engine, config(&task)))).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 2);
    for refused in outcomes.into_iter().filter_map(Result::err) {
        assert_eq!(refused.metadata()["limit"], "push_configs");
    }
    let kept = store.inner().push_configs(&Scope::open(), &task.id).await.unwrap().unwrap();
    assert_eq!(kept.len(), 2);
}

#[tokio::test]
async fn a_refused_message_does_not_change_webhooks() {
    let store = Rigged::new();
    let mut limits = Limits::default();
    limits.task_size = 10_000;
    let engine = builder(|turn| async move {
        turn.begin().await?;
        std::future::pending().await
    });
    let engine = engine.push_guard(Arc::new(Anywhere)).store(Arc::clone(&store) as _).limits(limits).build();
    let large = "x".repeat(6_000);
    let task = send(&engine, at_once(Message::user(large.as_str()))).await.unwrap();
    let mut first = config(&task);
    first.id = Some("first".into());
    call(&engine, first.clone()).await.unwrap();
    let webhooks = async || store.inner().push_configs(&Scope::open(), &task.id).await.unwrap().unwrap();
    let before = webhooks().await;
    for id in ["first", "second"] {
        let other =
            TaskPushNotificationConfig { id: Some(id.into()), url: "https://other/".into(), ..Default::default() };
        let configuration = SendMessageConfiguration {
            task_push_notification_config: Some(other),
            return_immediately: true,
            ..Default::default()
        };
        let request = SendMessageRequest::new(follow(&task, &large).message).with_configuration(configuration);
        let refused = call(&engine, request.clone()).await.err().unwrap();
        assert_ne!(refused.kind(), ErrorKind::Unavailable, "{refused}");
        assert_eq!(webhooks().await, before, "{id}");
        call(&engine, SendStreamingMessageRequest(request)).await.err().unwrap();
        assert_eq!(webhooks().await, before, "{id}");
    }
}

/// While a message waits for its acceptance, another caller gets the confirmation of a webhook with the same id.
#[tokio::test]
async fn a_refused_message_does_not_remove_a_confirmed_webhook() {
    for url in ["https://other/", "https://example.com/hook"] {
        let store = Rigged::new();
        let mut limits = Limits::default();
        limits.task_size = 10_000;
        let engine = builder(|turn| async move {
            turn.begin().await?;
            std::future::pending().await
        });
        let engine = engine.push_guard(Arc::new(Anywhere)).store(Arc::clone(&store) as _).limits(limits).build();
        let large = "x".repeat(6_000);
        let task = send(&engine, at_once(Message::user(large.as_str()))).await.unwrap();
        let webhooks = async || store.inner().push_configs(&Scope::open(), &task.id).await.unwrap().unwrap();
        let gate = Arc::new(Semaphore::new(0));
        *store.queue.lock().unwrap() = Some(Arc::clone(&gate));
        let sent = |text: &str, url: Option<&str>| {
            let webhook =
                |url: &str| TaskPushNotificationConfig { id: Some("own".into()), url: url.to_owned(), ..config(&task) };
            let configuration = SendMessageConfiguration {
                task_push_notification_config: url.map(webhook),
                return_immediately: true,
                ..Default::default()
            };
            let request = SendMessageRequest::new(follow(&task, text).message).with_configuration(configuration);
            let engine = engine.clone();
            tokio::spawn(async move { call(&engine, request).await.map(drop) })
        };
        let accepted = sent("small", None);
        let refused = sent(&large, Some(url));
        within(async {
            while webhooks().await.is_empty() {
                tokio::task::yield_now().await;
            }
        })
        .await;
        let confirmed = TaskPushNotificationConfig { id: Some("own".into()), ..config(&task) };
        call(&engine, confirmed.clone()).await.unwrap();
        assert!(!refused.is_finished());
        gate.add_permits(10);
        accepted.await.unwrap().unwrap();
        let error = refused.await.unwrap().unwrap_err();
        assert_ne!(error.kind(), ErrorKind::Unavailable, "{error}");
        let stored: Vec<_> = webhooks().await.into_iter().map(|stored| stored.config).collect();
        assert_eq!(stored, [confirmed], "{url}");
    }
}

/// The specification has no error for it, and a task of version 0.1 can be opened again.
#[tokio::test]
async fn an_ended_task_accepts_a_webhook() {
    let engine = engine_that_pushes();
    let task = send(&engine, SendMessageRequest::new(Message::user("x"))).await.unwrap();
    assert!(task.state().is_terminal());
    assert!(matches!(call(&engine, config(&task)).await.unwrap(), Reply::PushConfig(_)));
}
