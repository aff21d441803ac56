//! Calls of 0.1 to an engine: ids of clients, sessions, history, webhooks, and tasks seen from other versions.

use std::sync::Arc;

use nuncio_engine::MemoryStore;
use nuncio_model::{
    AgentCard, Call, Caller, Calling, Error, Message, Principal, Reply, Request, Scope, StreamEvent, StreamResponse,
    Tenant,
    op::{
        CancelTaskRequest, GetTaskRequest, ListTasksRequest, ListTasksResponse, SendMessageRequest,
        SubscribeToTaskRequest,
    },
};
use nuncio_wire::{
    Dialect as _,
    v0_1::{METADATA_KEY, V0_1},
};
use serde_json::{Value, json};

use super::harness::{OldestClient, builder, engine, engine_with, message, obey, scope, summaries, task, within};

#[tokio::test]
async fn a_task_has_the_id_of_its_client() {
    let engine = engine();
    let client = OldestClient(&engine, "ann");
    let asked = client.send("t", "ask").await.unwrap();
    assert_eq!((&asked["id"], &asked["status"]["state"]), (&json!("t"), &json!("input-required")));
    assert_eq!(asked["history"], Value::Null);
    assert_eq!(asked["metadata"], Value::Null);
    let session = &asked["sessionId"];
    assert!(session.is_string());
    let done = client.send("t", "water").await.unwrap();
    assert_eq!(
        (&done["id"], &done["sessionId"], &done["status"]["state"]),
        (&json!("t"), session, &json!("completed"))
    );
    let read = client.get("t").await.unwrap();
    assert_eq!(read["history"].as_array().unwrap().len(), 3);
    assert_eq!(read["sessionId"], *session);
    assert_eq!(client.call("tasks/get", json!({"id": "t"})).await.unwrap()["history"], Value::Null);
}

#[tokio::test]
async fn the_session_of_the_client_is_kept() {
    let engine = engine();
    let client = OldestClient(&engine, "ann");
    let mut params = message("t", "ask");
    params["sessionId"] = "mine".into();
    assert_eq!(client.call("tasks/send", params.clone()).await.unwrap()["sessionId"], "mine");
    params["sessionId"] = "another".into();
    assert_eq!(client.call("tasks/send", params).await.unwrap()["sessionId"], "mine");
}

#[tokio::test]
async fn equal_ids_of_two_callers_name_two_tasks() {
    let engine = engine();
    let (ann, bob) = (OldestClient(&engine, "ann"), OldestClient(&engine, "bob"));
    ann.send("t", "ask").await.unwrap();
    let not_found = json!({"code": -32001, "message": "task t was not found", "data": {"taskId": "t"}});
    assert_eq!(bob.get("t").await.unwrap_err(), not_found);
    for method in ["tasks/cancel", "tasks/resubscribe", "tasks/pushNotification/get"] {
        let error = bob.reply(method, &json!({"id": "t"})).await.unwrap_err();
        assert_eq!(super::harness::shown(&error), not_found, "{method}");
    }
    assert_eq!(bob.send("t", "dig").await.unwrap()["status"]["message"]["parts"][0]["text"], "did dig");
    assert_eq!(ann.get("t").await.unwrap()["status"]["state"], "input-required");
}

#[tokio::test]
async fn ids_survive_a_restart() {
    let store = Arc::new(MemoryStore::default());
    let first = engine_with(store.clone());
    OldestClient(&first, "ann").send("t", "ask").await.unwrap();
    drop(first);
    let second = engine_with(store);
    let done = OldestClient(&second, "ann").send("t", "water").await.unwrap();
    assert_eq!((&done["id"], &done["status"]["state"]), (&json!("t"), &json!("completed")));
}

#[tokio::test]
async fn two_messages_with_one_new_id_create_one_task() {
    for _ in 0..20 {
        let engine = builder(|turn| async move { turn.ask("and?").await }).build();
        let client = OldestClient(&engine, "ann");
        let (one, two) = tokio::join!(client.send("t", "one"), client.send("t", "two"));
        assert_eq!(one.unwrap()["sessionId"], two.unwrap()["sessionId"]);
        let tasks = list(&engine, "ann").await;
        assert_eq!(tasks.tasks.len(), 1);
        let texts: Vec<_> = client.get("t").await.unwrap()["history"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|it| it["role"] == "user")
            .map(|it| it["parts"][0]["text"].clone())
            .collect();
        assert_eq!(texts.len(), 2);
    }
}

async fn list(engine: &nuncio_engine::Engine, who: &str) -> ListTasksResponse {
    let reply = engine.call(Request::new(scope(who), ListTasksRequest::default())).await.unwrap();
    ListTasksResponse::try_from(reply).unwrap()
}

#[tokio::test]
async fn other_versions_see_the_task_and_cancel_it() {
    let engine = engine();
    let client = OldestClient(&engine, "ann");
    let events = client.events("tasks/sendSubscribe", message("t", "wait")).await.unwrap();
    let seen = list(&engine, "ann").await.tasks.remove(0);
    assert_ne!(seen.id, "t");
    let mark = &seen.metadata.as_ref().unwrap()[METADATA_KEY];
    assert_eq!(*mark, json!({"taskId": "t", "generation": 1}));
    let cancel = CancelTaskRequest { id: seen.id.clone(), ..Default::default() };
    within(engine.call(Request::new(scope("ann"), cancel))).await.unwrap();
    let events = super::harness::all(events).await;
    assert_eq!(super::harness::summaries(&events).last().unwrap(), "canceled.");
    assert_eq!(events.last().unwrap()["id"], "t");
    // The client cancels the task a second time.
    let error = client.call("tasks/cancel", json!({"id": "t"})).await.unwrap_err();
    assert_eq!(error, json!({"code": -32002, "message": "task t is already canceled", "data": {"taskId": "t"}}));
}

#[tokio::test]
async fn tasks_of_other_versions_are_read_continued_and_canceled() {
    let engine = engine();
    let client = OldestClient(&engine, "ann");
    let begin = || async {
        let send = SendMessageRequest::new(Message::user("ask"));
        task(within(engine.call(Request::new(scope("ann"), send))).await.unwrap()).id.to_string()
    };
    let id = begin().await;
    assert_eq!(client.get(&id).await.unwrap()["id"], *id);
    let done = client.send(&id, "water").await.unwrap();
    assert_eq!((&done["id"], &done["status"]["state"]), (&json!(id), &json!("completed")));
    // The task has ended. A message creates a new task that continues it.
    let again = client.send(&id, "dig").await.unwrap();
    assert_eq!((&again["id"], &again["sessionId"]), (&json!(id), &done["sessionId"]));
    let tasks = list(&engine, "ann").await.tasks;
    assert_eq!(tasks.len(), 2);
    let mark = &tasks.iter().find_map(|task| task.metadata.as_ref()).unwrap()[METADATA_KEY];
    assert_eq!(*mark, json!({"taskId": id, "generation": 1, "continues": id}));

    let other = begin().await;
    assert_eq!(client.call("tasks/cancel", json!({"id": other})).await.unwrap()["status"]["state"], "canceled");
}

#[tokio::test]
async fn states_that_0_1_lacks_become_the_nearest_state() {
    let engine = engine();
    let client = OldestClient(&engine, "ann");
    let no = client.send("a", "reject").await.unwrap();
    assert_eq!(no["status"]["state"], "failed");
    assert_eq!(no["status"]["message"]["metadata"][METADATA_KEY]["state"], "rejected");
    assert_eq!(client.send("b", "log in").await.unwrap()["status"]["state"], "input-required");
    assert_eq!(client.send("b", "water").await.unwrap()["status"]["state"], "completed");
}

#[tokio::test]
async fn a_direct_answer_becomes_a_completed_task() {
    let engine = engine();
    let done = OldestClient(&engine, "ann").send("t", "reply").await.unwrap();
    assert_eq!(done["status"]["state"], "completed");
    assert_eq!(done["status"]["message"]["parts"][0]["text"], "only this");
}

#[tokio::test]
async fn a_task_has_one_webhook() {
    let engine = engine();
    let client = OldestClient(&engine, "ann");
    let mut params = message("t", "ask");
    params["pushNotification"] = json!({"url": "https://hooks.example/1", "token": "secret"});
    client.call("tasks/send", params).await.unwrap();
    let get = || client.call("tasks/pushNotification/get", json!({"id": "t"}));
    let set =
        |config: Value| client.call("tasks/pushNotification/set", json!({"id": "t", "pushNotificationConfig": config}));
    assert_eq!(get().await.unwrap(), json!({"id": "t", "pushNotificationConfig": {"url": "https://hooks.example/1"}}));

    let config = json!({"url": "https://hooks.example/2", "token": "b",
        "authentication": {"schemes": ["Bearer"], "credentials": "c"}});
    assert_eq!(set(config.clone()).await.unwrap(), json!({"id": "t", "pushNotificationConfig": config}));
    assert_eq!(get().await.unwrap()["pushNotificationConfig"]["url"], "https://hooks.example/2");
    let id = list(&engine, "ann").await.tasks[0].id.clone();
    let known = engine.store().push_configs(&scope("ann"), &id).await.unwrap().unwrap();
    assert_eq!(known.len(), 1);
    assert_eq!(known[0].format.as_deref(), Some("0.1"));

    let none = json!({"id": "t", "pushNotificationConfig": null});
    assert_eq!(set(Value::Null).await.unwrap(), none);
    assert_eq!(get().await.unwrap(), none);
    assert_eq!(set(Value::Null).await.unwrap(), none);
}

#[tokio::test]
async fn a_webhook_can_be_set_before_its_task_exists() {
    let engine = engine();
    let client = OldestClient(&engine, "ann");
    let set =
        |config: Value| client.call("tasks/pushNotification/set", json!({"id": "t", "pushNotificationConfig": config}));
    let config = json!({"url": "https://hooks.example/1", "token": "secret"});
    assert_eq!(set(Value::Null).await.unwrap_err()["code"], -32001);
    assert_eq!(set(config.clone()).await.unwrap(), json!({"id": "t", "pushNotificationConfig": config}));
    assert_eq!(client.get("t").await.unwrap_err()["code"], -32001);
    OldestClient(&engine, "bob").send("t", "ask").await.unwrap();
    client.send("t", "ask").await.unwrap();
    let hooks = async |caller: &str| {
        let id = list(&engine, caller).await.tasks[0].id.clone();
        engine.store().push_configs(&scope(caller), &id).await.unwrap().unwrap()
    };
    let known = hooks("ann").await;
    assert_eq!(known.len(), 1);
    assert_eq!((&*known[0].config.url, known[0].format.as_deref()), ("https://hooks.example/1", Some("0.1")));
    assert_eq!(hooks("bob").await, []);
    let get = client.call("tasks/pushNotification/get", json!({"id": "t"})).await.unwrap();
    assert_eq!(get["pushNotificationConfig"]["url"], "https://hooks.example/1");
}

#[tokio::test]
async fn a_task_without_an_id_gets_one() {
    let engine = engine();
    let client = OldestClient(&engine, "ann");
    let mut params = message("t", "ask");
    params.as_object_mut().unwrap().remove("id");
    let first = client.call("tasks/send", params.clone()).await.unwrap();
    let second = client.call("tasks/send", params).await.unwrap();
    let id = first["id"].as_str().unwrap();
    assert!(!id.is_empty() && id != second["id"], "{id}");
    assert_eq!(client.get(id).await.unwrap()["status"]["state"], first["status"]["state"]);
}

#[tokio::test]
async fn a_refused_message_creates_no_task() {
    let mut card = AgentCard::new("garden", "Takes texts.");
    card.default_input_modes = vec!["text/plain".to_owned()];
    card.capabilities.push_notifications = Some(false);
    let engine = builder(obey).card(card).build();
    let client = OldestClient(&engine, "ann");
    let mut params = message("t", "ask");
    params["message"]["parts"] = json!([{"type": "file", "file": {"bytes": "", "mimeType": "image/png"}}]);
    assert_eq!(client.call("tasks/send", params).await.unwrap_err()["code"], -32005);
    let mut params = message("t", "ask");
    params["pushNotification"] = json!({"url": "https://hooks.example/1"});
    assert_eq!(client.call("tasks/send", params).await.unwrap_err()["code"], -32003);
    assert_eq!(client.get("t").await.unwrap_err()["code"], -32001);
}

#[tokio::test]
async fn a_call_with_the_id_of_a_0_1_task_is_claimed_by_0_1() {
    let engine = engine();
    OldestClient(&engine, "ann").send("t", "ask").await.unwrap();
    let claims = async |who: Scope, id: &str| {
        let mut found = Vec::new();
        for call in [
            GetTaskRequest::new(id).into(),
            CancelTaskRequest { id: id.into(), ..Default::default() }.into(),
            SubscribeToTaskRequest::new(id).into(),
        ] {
            found.push(V0_1.claims(&call, &who, &engine).await);
        }
        found
    };
    assert_eq!(claims(scope("ann"), "t").await, [true; 3]);
    assert_eq!(claims(scope("bob"), "t").await, [false; 3]);
    assert_eq!(claims(Scope::new(Tenant::from("x"), Principal::named("ann")), "t").await, [false; 3]);
    let server_id = list(&engine, "ann").await.tasks[0].id.to_string();
    assert_eq!(claims(scope("ann"), &server_id).await, [false; 3]);
    let push = nuncio_model::TaskPushNotificationConfig { task_id: Some("x".into()), ..Default::default() };
    assert!(V0_1.claims(&push.into(), &scope("bob"), &engine).await);
}

#[tokio::test]
async fn unsupported_features_have_the_error_codes_of_0_1() {
    let mut card = AgentCard::new("garden", "Does little.");
    card.capabilities.streaming = Some(false);
    card.capabilities.push_notifications = Some(false);
    let engine = builder(obey).card(card).build();
    let client = OldestClient(&engine, "ann");
    client.send("t", "ask").await.unwrap();
    let refused = |method| client.events(method, message("t", "ask"));
    assert_eq!(refused("tasks/sendSubscribe").await.err().unwrap()["code"], -32006);
    assert_eq!(refused("tasks/resubscribe").await.err().unwrap()["code"], -32006);
    assert_eq!(client.call("tasks/pushNotification/get", json!({"id": "t"})).await.unwrap_err()["code"], -32003);
}

#[tokio::test]
async fn a_bare_message_of_another_engine_becomes_a_task() {
    struct Bare;
    impl nuncio_model::Caller for Bare {
        fn call(&self, request: Request) -> nuncio_model::Calling<'_> {
            Box::pin(async move {
                match request.call {
                    nuncio_model::Call::SendMessage(_) => {
                        Ok(Reply::Message(Box::new(Message::agent("hi").with_context_id("c"))))
                    }
                    nuncio_model::Call::GetTask(call) => Err(nuncio_model::Error::task_not_found(call.id.as_str())),
                    other => panic!("{other:?}"),
                }
            })
        }
    }
    let done = OldestClient(&Bare, "ann").send("t", "x").await.unwrap();
    assert_eq!(
        (&done["id"], &done["sessionId"], &done["status"]["state"]),
        (&json!("t"), &json!("c"), &json!("completed"))
    );
    assert_eq!(done["artifacts"], json!([{"index": 0, "parts": [{"type": "text", "text": "hi"}]}]));
}

#[cfg(feature = "v0-3")]
#[test]
fn shared_method_names_belong_to_later_versions_unless_claimed() {
    use nuncio_wire::{Version, Versions};
    let versions = Versions::default();
    for method in ["tasks/get", "tasks/cancel", "tasks/resubscribe", "tasks/pushNotification/set"] {
        let meant = versions.for_method(None, method).unwrap();
        assert_eq!(meant.dialect.dialect().version(), Version::V0_3, "{method}");
        assert_eq!(meant.older.unwrap().dialect().version(), Version::V0_1, "{method}");
        let declared = versions.for_method(Some("0.1"), method).unwrap();
        assert_eq!(declared.dialect.dialect().version(), Version::V0_1, "{method}");
    }
    let meant = versions.for_method(None, "tasks/send").unwrap();
    assert_eq!(meant.dialect.dialect().version(), Version::V0_1);
}

/// An agent that answers without a task, as an agent behind another server can.
struct Brief;

impl Caller for Brief {
    fn call(&self, request: Request) -> Calling<'_> {
        let answer = Message::agent("only this").with_context_id("c");
        Box::pin(std::future::ready(match &request.call {
            Call::SendMessage(_) => Ok(Reply::Message(Box::new(answer))),
            Call::SendStreamingMessage(_) => {
                let event = StreamEvent::new(None, StreamResponse::Message(answer));
                Ok(Reply::Events(Box::pin(futures_util::stream::iter([Ok(Arc::new(event))]))))
            }
            _ => Err(Error::task_not_found("mine")),
        }))
    }
}

#[tokio::test]
async fn an_answer_without_a_task_becomes_a_completed_task_with_an_artifact() {
    let client = OldestClient(&Brief, "alice");
    let done = client.send("mine", "x").await.unwrap();
    assert_eq!(
        (&done["id"], &done["status"]["state"], &done["sessionId"]),
        (&json!("mine"), &json!("completed"), &json!("c"))
    );
    assert_eq!(done["status"]["message"]["parts"], done["artifacts"][0]["parts"]);
    assert_eq!(done["artifacts"][0]["parts"][0]["text"], "only this");
    let told = client.stream("tasks/sendSubscribe", message("mine", "x")).await;
    assert_eq!(summaries(&told), ["0:only this", "completed."]);
}
