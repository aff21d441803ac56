//! A receiver of webhooks: `cargo run --example webhook`.
//!
//! The client registers a webhook with its message and does not wait. The agent's server sends each event to the
//! webhook.

#![expect(clippy::print_stdout, reason = "an example shows what it got")]

use std::sync::Arc;

use axum::{
    Router,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use nuncio::{
    AgentCard, Client, Engine, Message, Server, StreamEvent, StreamResponse, TaskPushNotificationConfig, Turn,
    engine::agent_fn,
    model::op::{SendMessageConfiguration, SendMessageRequest},
    push::{Dispatcher, Guard},
};
use tokio::{net::TcpListener, sync::mpsc};

const TOKEN: &str = "only the agent knows this";

/// Receives an event, and requires the token from the registration of the webhook.
async fn receive(State(events): State<mpsc::Sender<StreamResponse>>, headers: HeaderMap, body: String) -> StatusCode {
    if headers.get("x-a2a-notification-token").is_none_or(|token| token != TOKEN) {
        return StatusCode::FORBIDDEN;
    }
    match serde_json::from_str(&body) {
        Ok(event) => {
            _ = events.send(event).await;
            StatusCode::OK
        }
        Err(_) => StatusCode::BAD_REQUEST,
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (events, mut received) = mpsc::channel(16);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/events", listener.local_addr()?);
    let router = Router::new().route("/events", post(receive)).with_state(events);
    tokio::spawn(async move { axum::serve(listener, router).await });

    // By default, webhooks on this machine and in private networks are refused.
    let guard = Guard::new().allow_private(true);
    let agent = agent_fn(|turn: Turn| async move {
        turn.working("thinking").await?;
        turn.artifact("answer").finish("42").await
    });
    let mut card = AgentCard::new("Answer", "Thinks, and says the answer.");
    card.capabilities.push_notifications = Some(true);
    let engine = Engine::builder(agent).card(card).push_guard(Arc::new(guard.clone())).build();
    let dispatcher = Dispatcher::builder(&engine, guard).build()?;
    let server = Server::builder(engine).background(dispatcher).bind("127.0.0.1:0").await?;
    let address = server.local_addr().to_string();
    tokio::spawn(server.serve(std::future::pending()));

    let client = Client::connect(address).await?;
    let configuration = SendMessageConfiguration {
        task_push_notification_config: Some(TaskPushNotificationConfig::new("", url).with_token(TOKEN)),
        return_immediately: true,
        ..Default::default()
    };
    let request = SendMessageRequest::new(Message::user("what is it?")).with_configuration(configuration);
    let answer = client.send(request).await?;
    println!("sent; the task is {}", answer.task().map_or("none", |task| task.state().short()));

    while let Some(event) = received.recv().await {
        let is_last = matches!(&event, StreamResponse::StatusUpdate(update) if update.status.state.is_terminal());
        println!("received: {:?}", StreamEvent::new(None, event));
        if is_last {
            break;
        }
    }
    Ok(())
}
