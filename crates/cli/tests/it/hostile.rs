//! Text of a peer, wherever a peer can put some: no command shows it in a form that commands the terminal, changes the
//! direction of text, or looks like a line of the program.

use serde_json::{Value, json};

use crate::{
    agent::{Home, Run},
    site::Site,
};

const TEXTS: [&str; 6] = [
    "one\nhint: forged\n\u{1b}[31mError: forged\u{1b}[0m",
    "one\r\n  warning: forged\r\u{1b}]0;forged\u{7}\rError: forged",
    "\u{202e}\u{2066}\u{2069}\u{202a}\u{200f}\u{61c}forged",
    "a\u{9b}2J\u{85}hint: forged\u{2028}Error: forged\u{2029}warning: forged\u{b}\u{c}\u{7f}\u{0}",
    "hint: forged",
    "\u{200b}ERROR: forged\n\tResume: forged",
];

/// An agent with the same text in all fields.
fn site(text: &'static str) -> Site {
    Site::start(move |line| {
        let message = json!({"messageId": text, "role": "ROLE_AGENT", "parts": [
            {"text": text}, {"data": {text: text}}, {"url": text, "filename": text, "mediaType": text},
            {"raw": "QQ==", "filename": text, "mediaType": text},
        ], "metadata": {text: text}});
        let artifact = json!({"artifactId": text, "name": text, "description": text, "parts": [{"text": text}]});
        let status = |state: &str| json!({"state": state, "message": message});
        let task = |state: &str| {
            json!({"id": text, "contextId": text, "status": status(state), "artifacts": [artifact],
                "history": [message], "metadata": {text: text}})
        };
        let piece = |text: &str| {
            json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "append": true, "artifact":
                {"artifactId": "a", "parts": [{"text": text}]}}})
        };
        let problem = json!({"error": {"code": 404, "status": text, "message": text, "details": [
            {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": text, "domain": text, "metadata": {"a": text}}]}});
        let path = line.split(' ').nth(1).unwrap();
        let of = |value: &Value| (200, value.to_string());
        match path.split(['?', '#']).next().unwrap() {
            "/message:send" => of(&json!({"message": message})),
            "/message:stream" => {
                let half = text.char_indices().nth(text.chars().count() / 2).unwrap().0;
                let mut events =
                    vec![json!({"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}})];
                events.extend([
                    piece(""),
                    piece(&text[..half]),
                    piece(&text[half..]),
                    piece("\nhi"),
                    piece("nt: forged"),
                ]);
                events.push(
                    json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": status("TASK_STATE_FAILED")}}),
                );
                (200, events.iter().fold(String::new(), |text, event| text + &format!("data: {event}\n\n")))
            }
            "/tasks/t" => of(&task("TASK_STATE_FAILED")),
            "/tasks/waits" => of(&task("TASK_STATE_INPUT_REQUIRED")),
            "/tasks" => of(
                &json!({"tasks": [task("TASK_STATE_WORKING")], "nextPageToken": text, "pageSize": 1, "totalSize": 1}),
            ),
            "/tasks/t/pushNotificationConfigs" => {
                let config = json!({"id": text, "taskId": text, "url": text, "authentication": {"scheme": text}});
                of(&json!({"configs": [config], "nextPageToken": text}))
            }
            "/.well-known/agent-card.json" => of(&card(text, "HTTP+JSON")),
            "/strange/.well-known/agent-card.json" => of(&card(text, text)),
            "/plain/.well-known/agent-card.json" => (500, text.to_owned()),
            "/detail/tasks/t" => (422, json!({"detail": text}).to_string()),
            _ => (404, problem.to_string()),
        }
    })
}

fn card(text: &str, binding: &str) -> Value {
    json!({
        "name": text, "description": text, "version": text, text: text, "provider": {"organization": text, "url": text},
        "documentationUrl": text, "capabilities": {"streaming": true, "pushNotifications": true,
            "extensions": [{"uri": text, "description": text}]},
        "defaultInputModes": [text], "defaultOutputModes": [text],
        "skills": [{"id": text, "name": text, "description": text, "tags": [text], "examples": [text]}],
        "supportedInterfaces": [
            {"url": "/", "protocolBinding": binding, "protocolVersion": "1.0", "tenant": ""},
            {"url": text, "protocolBinding": text, "protocolVersion": text},
        ],
        "securitySchemes": {text: {"apiKeySecurityScheme": {"name": text, "location": text}}},
        "securityRequirements": [{"schemes": {text: {"list": []}}}],
        "signatures": [{"protected": text, "signature": text}],
    })
}

fn check(run: &Run, what: &str) {
    for text in [&run.out, &run.err] {
        let is_odd = |c: &char| {
            c.is_control() && !matches!(c, '\n' | '\t')
                || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        assert_eq!(text.chars().find(is_odd), None, "{what}: {run:?}");
        for line in text.lines() {
            let line: String = line.chars().filter(|c| !c.is_whitespace() && *c != '\u{200b}').collect();
            let line = line.to_lowercase();
            for ours in ["hint:forged", "error:forged", "warning:forged", "resume:forged"] {
                assert!(!line.starts_with(ours), "{what}: {line} in {run:?}");
            }
        }
    }
}

#[test]
fn text_of_a_peer_is_escaped_by_each_command() {
    let home = Home::new();
    for text in TEXTS {
        let site = site(text);
        let card = card(text, "HTTP+JSON").to_string();
        home.write("card.json", &card);
        home.write("strange.json", &self::card(text, text).to_string());
        let endpoint = ["-e", &*site.url, "--transport", "rest"];
        let wrong = format!("{}/wrong", site.url);
        let detail = format!("{}/detail", site.url);
        let plain = format!("{}/plain", site.url);
        for (command, target) in [
            (&["card", "get", "card.json"][..], &[][..]),
            (&["card", "get", "card.json", "--validate"], &[]),
            (&["card", "get", "strange.json", "--validate"], &[]),
            (&["send", "x"], &["-a", "strange.json"]),
            (&["card", "get", &plain], &[]),
            (&["send", "x", "--async"], &endpoint),
            (&["send", "x", "--stream"], &endpoint),
            (&["send", "x", "--wait=true"], &endpoint),
            (&["task", "get", "t"], &endpoint),
            (&["task", "get", "waits"], &endpoint),
            (&["task", "get", "nope"], &endpoint),
            (&["task", "get", "t"], &["-e", &detail, "--transport", "rest"]),
            (&["task", "list"], &endpoint),
            (&["task", "list", "--with-artifacts"], &endpoint),
            (&["task", "cancel", "t"], &endpoint),
            (&["task", "subscribe", "t"], &endpoint),
            (&["task", "push-config", "list", "t"], &endpoint),
            (&["task", "push-config", "get", "t", "c"], &endpoint),
            (&["task", "get", "t"], &["-e", &wrong, "--transport", "jsonrpc"]),
        ] {
            for form in [&[][..], &["-v"], &["--debug"], &["-o", "json"], &["-o", "jsonl"]] {
                let arguments = [command, target, form].concat();
                let run = home.run_with(&arguments, &[("A2ACLI_TIMEOUT", "5s")], "");
                check(&run, &format!("{arguments:?} and {text:?}"));
                let is_shown = [&run.out, &run.err].iter().any(|it| it.contains("forged"));
                assert!(is_shown || command[2..] == [&plain], "the text is shown at all: {arguments:?} {run:?}");
                if form == ["-o", "json"] && !run.out.is_empty() {
                    run.lines_or_document();
                }
            }
        }
    }
}
