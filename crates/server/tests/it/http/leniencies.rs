//! Mistakes of clients that the server accepts: one log line for each client and mistake.

use std::sync::{Arc, Mutex};

use nuncio_wire::leniency::TARGET;
use serde_json::{Value, json};
use tracing::field::{Field, Visit};
use tracing_subscriber::{Layer, layer::SubscriberExt as _};

use super::{Running, agent::message};

/// The log lines in the form `mistake client`.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl<S: tracing::Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
        #[derive(Default)]
        struct Line(String, String);
        impl Visit for Line {
            fn record_str(&mut self, field: &Field, value: &str) {
                if field.name() == "leniency" {
                    value.clone_into(&mut self.0);
                }
            }
            fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
                if field.name() == "client" {
                    self.1 = format!("{value:?}");
                }
            }
        }
        if event.metadata().target() == TARGET {
            let mut line = Line::default();
            event.record(&mut line);
            self.0.lock().unwrap().push(format!("{} {}", line.0, line.1));
        }
    }
}

fn with_old_name(text: &str) -> Value {
    let mut params = message(text);
    params["configuration"] = json!({"blocking": true});
    params
}

#[tokio::test]
async fn an_old_name_is_logged_once_for_each_client() {
    let lines = Lines::default();
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(lines.clone()));
    let running = Running::start().await;
    let call = async |agent: &str, params: &Value| {
        running.rpc("SendMessage", params).header("user-agent", agent).fetch().await.json()
    };
    call("one/1", &message("hello")).await;
    assert_eq!(lines.take(), [""; 0]);
    for _ in 0..2 {
        assert!(call("one/1", &with_old_name("hello")).await.get("error").is_none());
    }
    assert_eq!(lines.take(), ["old-name open one/1"]);
    call("two/1", &with_old_name("hello")).await;
    assert_eq!(lines.take(), ["old-name open two/1"]);
    // Another mistake of the first client, and the first mistake again over another binding.
    let mut params = with_old_name("hello");
    params["message"]["role"] = json!("user");
    running.send("POST", "/message:send").header("user-agent", "one/1").json(&params).fetch().await;
    assert_eq!(lines.take(), ["enum-form open one/1"]);
    // The server reads a path and a method of the dialect before the call.
    running.send("POST", "/messages").header("user-agent", "one/1").json(&message("hello")).fetch().await;
    running.rpc("a2a.sendMessage", &message("hello")).header("user-agent", "one/1").fetch().await;
    assert_eq!(lines.take(), ["dialect-path open one/1", "dotted-method open one/1"]);
}
