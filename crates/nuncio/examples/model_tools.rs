//! An agent with a language model that can call tools: `cargo run --example model_tools`.
//!
//! By default the model is a script in this file, so the example needs no network. To use a real model, set
//! `OPENAI_BASE_URL` (for example `https://api.openai.com/v1` or `http://127.0.0.1:11434/v1`), `OPENAI_API_KEY` and
//! `MODEL`.

#![expect(clippy::print_stdout, reason = "an example shows what it got")]

use futures_util::StreamExt as _;
use nuncio::{Agent, AgentError, Engine, Turn};
use serde_json::{Value, json};

/// The maximum number of rounds with tool calls.
const ROUNDS: usize = 5;

struct Assistant {
    http: reqwest::Client,
    url: String,
    key: String,
    model: String,
}

impl Agent for Assistant {
    async fn run(&self, turn: Turn) -> Result<(), AgentError> {
        let mut messages = vec![json!({"role": "user", "content": turn.message().text()})];
        for _ in 0..ROUNDS {
            let answer = self.ask(&messages).await?;
            messages.push(answer.clone());
            let calls = answer["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
            if calls.is_empty() {
                // The end of `run` completes the task.
                return turn.artifact("answer").finish(answer["content"].as_str().unwrap_or_default()).await;
            }
            for call in calls {
                let function = &call["function"];
                turn.working(format!("calling {}", function["name"].as_str().unwrap_or_default())).await?;
                let result = call_tool(function);
                messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": result}));
            }
        }
        turn.fail(format!("the model called tools {ROUNDS} times and gave no answer")).await
    }
}

impl Assistant {
    async fn ask(&self, messages: &[Value]) -> Result<Value, AgentError> {
        let body = json!({"model": self.model, "messages": messages, "tools": [multiply_tool()]});
        let url = format!("{}/chat/completions", self.url);
        let request = self.http.post(url).bearer_auth(&self.key).json(&body);
        let answer: Value = request.send().await?.error_for_status()?.json().await?;
        Ok(answer["choices"][0]["message"].clone())
    }
}

fn multiply_tool() -> Value {
    let number = json!({"type": "number"});
    let parameters = json!({"type": "object", "properties": {"a": number, "b": number}, "required": ["a", "b"]});
    json!({"type": "function", "function": {"name": "multiply", "parameters": parameters}})
}

/// Runs a tool. An error is also a result for the model, so that the model can try again.
fn call_tool(function: &Value) -> String {
    let arguments: Value =
        function["arguments"].as_str().and_then(|it| serde_json::from_str(it).ok()).unwrap_or_default();
    match (function["name"].as_str(), arguments["a"].as_f64(), arguments["b"].as_f64()) {
        (Some("multiply"), Some(a), Some(b)) => (a * b).to_string(),
        (name, ..) => format!("cannot call {name:?} with {arguments}"),
    }
}

/// The scripted model of this example: calls the tool first, then answers with the result of the tool.
async fn scripted_model(body: String) -> String {
    let request: Value = serde_json::from_str(&body).unwrap_or_default();
    let last = request["messages"].as_array().and_then(|messages| messages.last()).cloned().unwrap_or_default();
    let message = if last["role"] == "tool" {
        json!({"role": "assistant", "content": format!("21 times 2 is {}.", last["content"].as_str().unwrap_or_default())})
    } else {
        let function = json!({"name": "multiply", "arguments": r#"{"a": 21, "b": 2}"#});
        json!({"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": function}]})
    };
    json!({"choices": [{"message": message}]}).to_string()
}

async fn serve_scripted_model() -> std::io::Result<String> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let router = axum::Router::new().route("/chat/completions", axum::routing::post(scripted_model));
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(url)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = if let Ok(url) = std::env::var("OPENAI_BASE_URL") { url } else { serve_scripted_model().await? };
    let key = std::env::var("OPENAI_API_KEY").unwrap_or_default();
    let model = std::env::var("MODEL").unwrap_or_else(|_| "scripted".into());
    let assistant = Assistant { http: reqwest::Client::new(), url, key, model };

    let client = nuncio::local(Engine::builder(assistant).build());
    let mut events = client.send_stream("What is 21 times 2?").await?;
    while let Some(event) = events.next().await {
        println!("{:?}", event?);
    }
    Ok(())
}
