//! `-o json`: one document of the type of the operation.

use serde_json::{Value, json};

use crate::agent::{Agent, Home, Run};

struct Caller {
    home: Home,
    agent: Agent,
    transport: &'static str,
}

impl Caller {
    fn run(&self, arguments: &[&str]) -> Run {
        let reference = ["-a", &self.agent.address, "--transport", self.transport, "-o", "json"];
        self.home.run(&[arguments, &reference].concat())
    }

    fn task(&self, arguments: &[&str]) -> Value {
        let document = self.run(&[&["send"], arguments].concat()).ok().json();
        assert_eq!(document.as_object().unwrap().len(), 1);
        document["task"].clone()
    }
}

/// The same over every transport.
fn over_each(test: impl Fn(&Caller)) {
    for transport in ["jsonrpc", "rest", "grpc"] {
        let home = Home::new();
        let agent = home.serve(&[]);
        test(&Caller { home, agent, transport });
    }
}

#[test]
fn every_operation_has_its_document() {
    over_each(|caller| {
        let task = caller.task(&["echo hello"]);
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
        assert_eq!(task["artifacts"][0]["parts"][0]["text"], "hello");
        let id = task["id"].as_str().unwrap();
        assert_eq!(caller.run(&["task", "get", id]).ok().json(), task);
        assert_eq!(caller.run(&["task", "get", id, "--history", "0"]).ok().json().get("history"), None);
        assert_eq!(caller.run(&["send", "message hi"]).ok().json()["message"]["parts"][0]["text"], "message: hi");

        let page = caller.run(&["task", "list", "--context", task["contextId"].as_str().unwrap()]).ok().json();
        assert_eq!((&page["totalSize"], &page["nextPageToken"]), (&json!(1), &json!("")));
        assert_eq!(caller.run(&["card", "get"]).ok().json()["name"], "Nuncio demo agent");
    });
}

#[test]
fn a_question_is_answered_in_the_same_task() {
    over_each(|caller| {
        let asked = caller.task(&["input"]);
        assert_eq!(asked["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
        let id = asked["id"].as_str().unwrap();
        let answered = caller.task(&["more", "--task-id", id]);
        assert_eq!((&answered["id"], &answered["status"]["state"]), (&asked["id"], &json!("TASK_STATE_COMPLETED")));
        let other = caller.task(&["echo x", "--context-id", asked["contextId"].as_str().unwrap()]);
        assert_eq!(other["contextId"], asked["contextId"]);
        assert_ne!(other["id"], asked["id"]);
    });
}

#[test]
fn async_returns_at_once_and_wait_waits() {
    over_each(|caller| {
        let task = caller.task(&["slow 0.3", "--async"]);
        let id = task["id"].as_str().unwrap();
        assert!(task["contextId"].is_string());
        let done = caller.run(&["task", "get", id, "--wait", "--poll-interval", "50ms"]).ok().json();
        assert_eq!(done["status"]["state"], "TASK_STATE_COMPLETED");
        let slow = caller.task(&["slow 60", "--async"]);
        let id = slow["id"].as_str().unwrap();
        for _ in 0..2 {
            let canceled = caller.run(&["task", "cancel", id]).ok().json();
            assert_eq!(canceled["status"]["state"], "TASK_STATE_CANCELED");
        }
        let slow = caller.task(&["slow 0.3", "--async"]);
        let done = caller.run(&["task", "subscribe", slow["id"].as_str().unwrap()]).ok().json();
        assert_eq!((&done["id"], &done["status"]["state"]), (&slow["id"], &json!("TASK_STATE_COMPLETED")));
    });
}

#[test]
fn webhooks_are_made_read_listed_and_removed() {
    over_each(|caller| {
        let task = caller.task(&["input"]);
        let id = task["id"].as_str().unwrap();
        let create = ["task", "push-config", "create", id, "--url", "https://93.184.215.14/hook", "--id", "mine"];
        assert_eq!(caller.run(&create).ok().json()["id"], "mine");
        let configs = caller.run(&["task", "push-config", "list", id]).ok().json();
        assert_eq!(configs["configs"][0]["url"], "https://93.184.215.14/hook");
        assert_eq!(caller.run(&["task", "push-config", "get", id, "mine"]).ok().json()["id"], "mine");
        assert_eq!(caller.run(&["task", "push-config", "delete", id, "mine"]).ok().json(), json!({}));
        caller.run(&["task", "push-config", "get", id, "mine"]).error("TaskNotFoundError", 1);
        let again = caller.run(&["task", "push-config", "delete", id, "mine"]).ok();
        assert!(again.out == "{}\n" && again.err.contains("warning: no such configuration: "), "{again:?}");
    });
}

#[test]
fn parts_keep_their_order_and_their_types() {
    let home = Home::new();
    let agent = home.serve(&[]);
    home.write("a.bin", "bytes");
    home.write("d.json", "{\"k\": [1, null]}");
    let arguments = [
        "send",
        "echo first",
        "--data-part",
        "d.json",
        "--text-part",
        "second",
        "--media-type",
        "text/plain",
        "--file-part",
        "a.bin",
        "--file-part",
        "https://example.com/x.png",
        "--data-part",
        "-",
        "-a",
        &agent.address,
        "-o",
        "json",
    ];
    let task = home.run_with(&arguments, &[], "[1]").ok().json()["task"].clone();
    let parts = &task["history"][0]["parts"];
    assert_eq!(parts[0], json!({"text": "echo first"}));
    assert_eq!(parts[1], json!({"data": {"k": [1, null]}, "mediaType": "application/json"}));
    assert_eq!(parts[2], json!({"text": "second", "mediaType": "text/plain"}));
    assert_eq!(parts[3], json!({"raw": "Ynl0ZXM=", "filename": "a.bin", "mediaType": "application/octet-stream"}));
    assert_eq!(parts[4], json!({"url": "https://example.com/x.png", "mediaType": "image/png"}));
    assert_eq!(parts[5], json!({"data": [1], "mediaType": "application/json"}));
}

#[test]
fn a_whole_request_may_be_given() {
    let home = Home::new();
    let agent = home.serve(&[]);
    home.write("r.json", r#"{"message": {"parts": [{"text": "echo x"}]}, "configuration": {"historyLength": 0}}"#);
    let task = home.run(&["send", "--request-payload", "r.json", "-a", &agent.address, "-o", "json"]).ok().json();
    assert_eq!(task["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(task["task"].get("history"), None);
}

#[test]
fn a_card_is_checked_and_an_extended_one_needs_a_caller() {
    let home = Home::new();
    let agent = home.serve(&["--token", "alice=alices-secret"]);
    let get = |more: &[&str]| home.run(&[&["card", "get", "-a", &agent.address, "-o", "json"], more].concat());
    let public = get(&["--validate"]).ok().json();
    let extended = get(&["--extended", "--bearer", "alices-secret"]).ok().json();
    assert!(extended["skills"].as_array().unwrap().len() > public["skills"].as_array().unwrap().len());
    get(&["--extended"]).error("A2ACLI_ERR_CREDENTIALS_MISSING", 4);
}

#[test]
fn a_card_is_valid_if_it_can_be_used() {
    let home = Home::new();
    for serve in [&["--token", "a=made-up-secret-of-24-bytes"][..], &["--versions", "0.3"], &["--versions", "0.1"], &[]]
    {
        let agent = home.serve(serve);
        for place in ["", "/.well-known/agent.json"] {
            let found = home.run(&["card", "get", &format!("http://{}{place}", agent.address), "--validate"]);
            // A card of 1.0 alone has no place for older readers.
            if found.code != 3 {
                let told = found.ok().err;
                assert!(told.starts_with("the card is valid") && told.lines().count() == 1, "{serve:?}: {told}");
            }
        }
    }
    for (name, value) in [
        ("url", "https://exa mple.com/"),
        ("url", "https://"),
        ("url", "ftp://127.0.0.1"),
        ("protocolVersion", "v1.0"),
        ("protocolVersion", "7.0"),
        ("protocolBinding", "SOAP"),
    ] {
        let agent = home.serve(&["--versions", "1.0"]);
        let mut card = home.run(&["card", "get", &agent.address, "-o", "json"]).ok().json();
        let mut interface = card["supportedInterfaces"][0].clone();
        interface[name] = value.into();
        card["supportedInterfaces"] = serde_json::json!([interface]);
        home.write("card.json", &card.to_string());
        let found =
            home.run(&["card", "get", "card.json", "--validate", "-o", "json"]).error("A2ACLI_ERR_CARD_INVALID", 1);
        assert!(found["message"].as_str().unwrap().contains(value), "{found}");
        let sent = home.run(&["send", "x", "-a", "card.json"]);
        // A card that cannot be used is not a mistake of the user (exit code 2).
        assert_eq!(sent.code, 1, "{name} {value}: {}", sent.err);
    }
}
