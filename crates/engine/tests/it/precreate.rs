//! Tasks with a given id.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt, future::join_all};
use nuncio_engine::{Agent, AgentError, Engine, Limits, TaskStore, Turn};
use nuncio_model::{
    AgentCard, Call, Error, ErrorKind, Message, NewTask, Reply, Request, Role, Scope, StreamResponse, Task, TaskId,
    TaskPushNotificationConfig, TaskState, Value,
    op::{SendMessageConfiguration, SendMessageRequest, SendStreamingMessageRequest},
};
use tokio::{sync::Semaphore, task::yield_now, time::sleep};

use crate::{
    push::Anywhere,
    rigged::{Fate, Rigged},
    support::*,
};

/// A message to the task `id`, which the message creates if necessary.
fn request(id: &str, call: impl Into<Call>) -> Request {
    let metadata = [("made-by".to_owned(), Value::from("test"))].into_iter().collect();
    let new_task = NewTask { id: TaskId::from(id), metadata: Some(Box::new(metadata)), webhooks_of: None };
    Request { new_task: Some(Box::new(new_task)), ..Request::new(Scope::open(), call) }
}

async fn ask_for(engine: &Engine, request: Request) -> Result<Task, Error> {
    match within(engine.call(request)).await? {
        Reply::Task(task) => Ok(Arc::unwrap_or_clone(task)),
        other => panic!("not a task: {other:?}"),
    }
}

async fn begin(engine: &Engine, id: &str, text: &str) -> Result<Task, Error> {
    ask_for(engine, request(id, SendMessageRequest::new(Message::user(text)))).await
}

/// Asks for input until it is told to stop, and says whether the task existed before.
async fn asks(turn: Turn) -> Result<(), AgentError> {
    let seen = turn.task().map_or_else(|| "nothing".to_owned(), |task| task.history.len().to_string());
    match turn.message().text().as_str() {
        "stop" => turn.complete(format!("saw {seen}")).await,
        _ => turn.ask(format!("saw {seen}")).await,
    }
}

fn said(task: &Task) -> String {
    task.status.message.as_deref().map(Message::text).unwrap_or_default()
}

/// The task in the store after its end or interruption.
async fn at_rest(engine: &Engine, id: &str) -> Task {
    let task = Task::new(id.into(), "".into());
    within(async {
        loop {
            let task = get(engine, &task).await;
            if task.state().is_terminal() || task.state().is_interrupted() {
                return task;
            }
            yield_now().await;
        }
    })
    .await
}

#[tokio::test]
async fn a_precreated_task_has_the_given_id_metadata_and_context_and_is_new_to_the_agent() {
    let engine = engine(asks);
    let message = Message::user("start").with_context_id("session");
    let task = ask_for(&engine, request("settled", SendMessageRequest::new(message))).await.unwrap();
    assert_eq!((task.id.as_str(), task.context_id.as_ref()), ("settled", Some(&"session".into())));
    assert_eq!(task.metadata.as_ref().unwrap()["made-by"], "test");
    assert_state(&task, TaskState::InputRequired);
    assert_eq!((history(&task), said(&task)), (vec!["start".to_owned()], "saw nothing".to_owned()));
    assert_eq!(task.history[0].task_id, Some(task.id.clone()));
    assert_eq!(task.history[0].context_id, task.context_id);

    let without = begin(&engine, "another", "start").await.unwrap();
    assert!(without.context_id.is_some_and(|context| !context.is_empty()));
    quiet(&engine).await;
}

#[tokio::test]
async fn a_message_to_an_existing_task_continues_the_task() {
    let engine = engine(asks);
    let first = begin(&engine, "settled", "start").await.unwrap();
    let second = begin(&engine, "settled", "more").await.unwrap();
    assert_eq!((&second.id, &second.context_id, &second.metadata), (&first.id, &first.context_id, &first.metadata));
    assert_eq!(history(&second), ["start", "saw nothing", "more"]);
    assert_eq!(said(&second), "saw 3");
    // A message without a new task also reaches the task.
    let last = send(&engine, follow(&first, "stop")).await.unwrap();
    assert_state(&last, TaskState::Completed);

    let error = begin(&engine, "settled", "again").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
    assert_eq!(history(&get(&engine, &first).await).len(), 5);
    let message = Message::user("x").with_context_id("elsewhere");
    begin(&engine, "open", "start").await.unwrap();
    let error = ask_for(&engine, request("open", SendMessageRequest::new(message))).await.unwrap_err();
    assert_eq!(error.field_violations()[0].field, "message.contextId");
    quiet(&engine).await;
}

#[tokio::test]
async fn a_bare_answer_completes_it() {
    let engine = engine(|turn| async move { turn.reply("hello").await });
    let task = begin(&engine, "settled", "hi").await.unwrap();
    assert_state(&task, TaskState::Completed);
    assert_eq!(said(&task), "hello");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_many_messages_creates_the_task_and_the_others_continue_it() {
    let (at_work, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let firsts = Arc::new(AtomicUsize::new(0));
    let counted = (Arc::clone(&most), Arc::clone(&firsts));
    let engine = builder(move |turn| {
        let (at_work, (most, firsts)) = (Arc::clone(&at_work), counted.clone());
        async move {
            most.fetch_max(at_work.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            if turn.task().is_none() {
                firsts.fetch_add(1, Ordering::SeqCst);
            }
            yield_now().await;
            at_work.fetch_sub(1, Ordering::SeqCst);
            turn.ask(turn.message().text()).await
        }
    })
    .store(Rigged::new())
    .build();
    for round in 0..8 {
        let id = format!("settled-{round}");
        let calls = (0..50).map(|i| {
            let (engine, id) = (engine.clone(), id.clone());
            tokio::spawn(async move { begin(&engine, &id, &i.to_string()).await })
        });
        for task in join_all(calls).await {
            assert_eq!(task.unwrap().unwrap().id.as_str(), id);
        }
        let task = at_rest(&engine, &id).await;
        let mut sent: Vec<usize> = task
            .history
            .iter()
            .filter(|message| message.role == Role::User)
            .map(|message| message.text().parse().unwrap())
            .collect();
        sent.sort_unstable();
        assert_eq!(sent, (0..50).collect::<Vec<_>>());
    }
    assert_eq!((most.load(Ordering::SeqCst), firsts.load(Ordering::SeqCst)), (1, 8));
    quiet(&engine).await;
}

#[tokio::test]
async fn its_stream_begins_with_it() {
    let engine = engine(asks);
    let call = |text: &str| SendStreamingMessageRequest(SendMessageRequest::new(Message::user(text)));
    let first = events(within(engine.call(request("settled", call("start")))).await.unwrap());
    let seen = rest(first).await;
    assert_eq!(summaries(&seen), ["task:submitted", "input-required"]);
    assert!(matches!(&seen[0].response, StreamResponse::Task(task) if task.id.as_str() == "settled"));
    let second = events(within(engine.call(request("settled", call("stop")))).await.unwrap());
    assert_eq!(summaries(&rest(second).await), ["task:working", "completed"]);
    let third = within(engine.call(request("settled", call("x")))).await;
    assert_eq!(third.err().unwrap().kind(), ErrorKind::UnsupportedOperation);
    quiet(&engine).await;
}

#[tokio::test]
async fn an_id_of_another_scope_is_not_found() {
    let engine = engine(asks);
    let task = begin(&engine, "settled", "secret").await.unwrap();
    let before = get(&engine, &task).await;
    let foreign = Request { scope: other_scope(), ..request("settled", SendMessageRequest::new(Message::user("x"))) };
    let error = ask_for(&engine, foreign).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskNotFound);
    // The same error as for an id that no task has.
    let missing = Error::task_not_found("settled");
    assert_eq!((error.message(), error.metadata()), (missing.message(), missing.metadata()));
    assert_eq!(get(&engine, &task).await, before);
    quiet(&engine).await;
}

#[tokio::test]
async fn a_refused_message_creates_no_task() {
    let mut limits = Limits::default();
    limits.running_turns = 1;
    let store = Rigged::new();
    let engine = builder(|turn| async move {
        turn.begin().await?;
        std::future::pending().await
    })
    .store(Arc::clone(&store) as _)
    .limits(limits)
    .build();
    // A webhook of an agent without push notifications.
    let configuration = SendMessageConfiguration {
        task_push_notification_config: Some(TaskPushNotificationConfig {
            url: "http://x".into(),
            ..Default::default()
        }),
        ..Default::default()
    };
    let with_hook = SendMessageRequest::new(Message::user("x")).with_configuration(configuration);
    let error = ask_for(&engine, request("hooked", with_hook)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PushNotificationNotSupported);
    // One turn above the limit.
    let running = send(&engine, at_once(Message::user("x"))).await.unwrap();
    let error = begin(&engine, "crowded", "x").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ResourceExhausted);
    for id in ["hooked", "crowded"] {
        assert!(store.inner().load(&Scope::open(), &id.into()).await.unwrap().is_none(), "{id}");
    }
    cancel(&engine, &running).await.unwrap();
    quiet(&engine).await;
}

#[tokio::test]
async fn a_failing_store_creates_no_task_and_the_next_message_tries_again() {
    for fate in [Fate::Fails, Fate::Panics] {
        let store = Rigged::new();
        let engine = builder(asks).store(Arc::clone(&store) as _).build();
        store.commits([fate]);
        let failed = tokio::spawn({
            let engine = engine.clone();
            async move { begin(&engine, "settled", "start").await }
        });
        match within(failed).await {
            Ok(outcome) => assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Unavailable),
            Err(error) => assert!(error.is_panic() && fate == Fate::Panics),
        }
        assert!(store.inner().load(&Scope::open(), &"settled".into()).await.unwrap().is_none());
        let task = begin(&engine, "settled", "start").await.unwrap();
        assert_eq!(said(&task), "saw nothing");
        quiet(&engine).await;
    }
}

#[tokio::test]
async fn a_precreated_task_without_its_message_is_settled() {
    // The claim or the commit refuses the message, or the task is created and the caller does not learn this.
    let failures: [(&[Fate], &[Fate]); 4] = [
        (&[], &[Fate::Fails]),
        (&[], &[Fate::Conflicts]),
        (&[Fate::Goes, Fate::Fails], &[]),
        (&[Fate::FailsAfterWriting], &[]),
    ];
    for (commits, claims) in failures {
        let store = Rigged::new();
        let mut limits = Limits::default();
        limits.commit_retry = std::time::Duration::ZERO;
        let engine = builder(asks).store(Arc::clone(&store) as _).limits(limits).build();
        store.commits(commits.iter().copied());
        store.claims(claims.iter().copied());
        begin(&engine, "settled", "start").await.unwrap_err();
        let task = at_rest(&engine, "settled").await;
        assert_state(&task, TaskState::Failed);
        assert!(said(&task).ends_with("did not reach it"), "{}", said(&task));
        quiet(&engine).await;
        assert_eq!(store.at_work(), 0);
    }
}

#[tokio::test]
async fn a_caller_that_leaves_at_any_moment_leaves_no_running_task() {
    for polls in 0..16 {
        let store = Rigged::new();
        let engine = builder(asks).store(Arc::clone(&store) as _).build();
        let mut call = Box::pin(engine.call(request("settled", SendMessageRequest::new(Message::user("start")))));
        for _ in 0..polls {
            if (&mut call).now_or_never().is_some() {
                break;
            }
            yield_now().await;
        }
        drop(call);
        quiet(&engine).await;
        if store.inner().load(&Scope::open(), &"settled".into()).await.unwrap().is_some() {
            let task = at_rest(&engine, "settled").await;
            assert!(task.state() == TaskState::InputRequired || said(&task).ends_with("did not reach it"), "{task:?}");
        }
        within(async {
            while store.at_work() > 0 {
                yield_now().await;
            }
        })
        .await;
        quiet(&engine).await;
    }
}

/// The store has a queue, like stores with group commits: the commit is written although its caller has left.
#[tokio::test(start_paused = true)]
async fn a_caller_that_leaves_during_precreate_leaves_no_running_task() {
    let store = Rigged::new();
    let queue = Arc::new(Semaphore::new(0));
    *store.queue.lock().unwrap() = Some(Arc::clone(&queue));
    let engine = builder(asks).store(Arc::clone(&store) as _).build();
    let mut call = Box::pin(engine.call(request("settled", SendMessageRequest::new(Message::user("start")))));
    for _ in 0..10 {
        assert!((&mut call).now_or_never().is_none());
        yield_now().await;
    }
    drop(call);
    // Longer than the delay of the recovery queue.
    sleep(Duration::from_secs(5)).await;
    assert!(store.inner().load(&Scope::open(), &"settled".into()).await.unwrap().is_none());
    queue.add_permits(10);
    within(async {
        while store.inner().load(&Scope::open(), &"settled".into()).await.unwrap().is_none() || store.at_work() > 0 {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    let task = get(&engine, &Task::new("settled".into(), "".into())).await;
    assert_state(&task, TaskState::Failed);
    assert!(said(&task).ends_with("did not reach it"), "{}", said(&task));
}

/// The task is available for the next message for a moment. Then it fails without a message.
#[tokio::test(start_paused = true)]
async fn a_precreated_task_with_a_refused_message_is_settled() {
    let store = Rigged::new();
    let mut limits = Limits::default();
    limits.task_events = 1;
    let engine = builder(asks).store(Arc::clone(&store) as _).limits(limits).build();
    let error = begin(&engine, "settled", "x").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PayloadTooLarge);
    let task = within(async {
        loop {
            let task = get(&engine, &Task::new("settled".into(), "".into())).await;
            if task.state().is_terminal() {
                return task;
            }
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    assert_state(&task, TaskState::Failed);
    assert_eq!(store.at_work(), 0);
    assert_eq!(store.orphans(10).await.unwrap(), []);
}

/// An agent that resumes, and records the tasks of its turns.
struct Resumes(Arc<Mutex<Vec<Option<usize>>>>);

impl Agent for Resumes {
    async fn run(&self, turn: Turn) -> Result<(), AgentError> {
        self.0.lock().unwrap().push(turn.task().map(|task| task.artifacts.len()));
        turn.complete("done").await
    }

    fn resumes(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn a_precreated_task_without_a_message_fails_after_a_crash() {
    // The state after a crash: the task was created, and has no message.
    let store = Rigged::new();
    let before = builder(asks).store(Arc::clone(&store) as _).build();
    let mut call = Box::pin(before.call(request("settled", SendMessageRequest::new(Message::user("start")))));
    while store.inner().load(&Scope::open(), &"settled".into()).await.unwrap().is_none() {
        assert!((&mut call).now_or_never().is_none());
        yield_now().await;
    }
    std::mem::forget(call);
    let left = store.inner().load(&Scope::open(), &"settled".into()).await.unwrap().unwrap();
    assert_eq!((left.sequence, left.task.state()), (1, TaskState::Submitted));

    let seen = Arc::<Mutex<Vec<_>>>::default();
    let after = Engine::builder(Resumes(Arc::clone(&seen)))
        .card(AgentCard::new("test", "Under test."))
        .store(Arc::clone(&store) as _)
        .build();
    let orphan = nuncio_engine::store::Orphan { scope: Scope::open(), id: "settled".into() };
    *store.orphans.lock().unwrap() = vec![orphan];
    within(after.recover()).await.unwrap();
    let task = at_rest(&after, "settled").await;
    assert_state(&task, TaskState::Failed);
    assert!(said(&task).ends_with("did not reach it"), "{}", said(&task));
    assert!(seen.lock().unwrap().is_empty());
    quiet(&after).await;
}

#[tokio::test]
async fn a_repeated_turn_without_a_status_is_not_new_to_the_agent() {
    let store = Rigged::new();
    let before = builder(|turn| async move {
        turn.artifact("half").chunk("one").await?;
        std::future::pending().await
    })
    .store(Arc::clone(&store) as _)
    .build();
    let task = ask_for(&before, request("settled", at_once(Message::user("start")))).await.unwrap();
    while get(&before, &task).await.artifacts.is_empty() {
        yield_now().await;
    }
    let seen = Arc::<Mutex<Vec<_>>>::default();
    let after = Engine::builder(Resumes(Arc::clone(&seen)))
        .card(AgentCard::new("test", "Under test."))
        .store(Arc::clone(&store) as _)
        .build();
    *store.orphans.lock().unwrap() = vec![nuncio_engine::store::Orphan { scope: Scope::open(), id: task.id.clone() }];
    within(after.recover()).await.unwrap();
    assert_state(&at_rest(&after, "settled").await, TaskState::Completed);
    assert_eq!(*seen.lock().unwrap(), [Some(1)]);
}

#[tokio::test]
async fn a_task_can_have_the_webhooks_of_another_with_their_secrets() {
    let store = Rigged::new();
    let guard = Arc::new(crate::push::Anywhere);
    let engine = builder(asks).push_guard(guard).store(Arc::clone(&store) as _).build();
    let configs = ["before", "named"].map(|id| TaskPushNotificationConfig {
        task_id: Some("before".into()),
        id: Some(id.into()),
        url: "https://hooks.example/a".into(),
        token: Some("secret".into()),
        ..Default::default()
    });
    begin(&engine, "before", "stop").await.unwrap();
    for config in configs {
        within(engine.call(Request::new(Scope::open(), config))).await.unwrap();
    }
    let mut reopens = request("after", SendMessageRequest::new(Message::user("stop")));
    reopens.new_task.as_mut().unwrap().webhooks_of = Some("before".into());
    ask_for(&engine, reopens).await.unwrap();
    let mut known = store.inner().push_configs(&Scope::open(), &"after".into()).await.unwrap().unwrap();
    known.sort_by_key(|known| known.config.id.clone());
    let known = known.iter().map(|known| &known.config);
    let known: Vec<_> = known
        .map(|it| (it.id.as_ref().unwrap().as_str(), it.task_id.as_ref().unwrap().as_str(), it.token.as_deref()))
        .collect();
    assert_eq!(known, [("after", "after", Some("secret")), ("named", "after", Some("secret"))]);
    // The webhooks of a task in another scope are not copied.
    let mut others = request("other", SendMessageRequest::new(Message::user("stop")));
    others.new_task.as_mut().unwrap().webhooks_of = Some("before".into());
    others.scope.principal = nuncio_model::Principal::named("mallory");
    ask_for(&engine, others.clone()).await.unwrap();
    assert!(store.inner().push_configs(&others.scope, &"other".into()).await.unwrap().unwrap().is_empty());
    quiet(&engine).await;
}

#[tokio::test]
async fn a_webhook_during_the_creation_of_its_task_belongs_to_the_task() {
    let store = Rigged::new();
    let queue = Arc::new(Semaphore::new(0));
    *store.queue.lock().unwrap() = Some(Arc::clone(&queue));
    let engine = builder(asks).push_guard(Arc::new(Anywhere)).store(Arc::clone(&store) as _).build();
    let mut begun = Box::pin(begin(&engine, "settled", "start"));
    for _ in 0..10 {
        assert!((&mut begun).now_or_never().is_none());
        yield_now().await;
    }
    let config = TaskPushNotificationConfig {
        task_id: Some("settled".into()),
        id: Some("hook".into()),
        url: "https://example.com/hook".to_owned(),
        ..Default::default()
    };
    within(engine.call(request("settled", config.clone()))).await.unwrap();
    queue.add_permits(100);
    begun.await.unwrap();
    let webhooks = store.inner().push_configs(&Scope::open(), &"settled".into()).await.unwrap().unwrap();
    assert_eq!(webhooks.into_iter().map(|webhook| webhook.config).collect::<Vec<_>>(), [config]);
    quiet(&engine).await;
}
