//! The server as part of a router, and a router as part of the server.

use axum::{Router, routing::get};
use nuncio_server::Server;
use serde_json::json;

use super::{
    Running,
    agent::{engine, message},
};

#[tokio::test]
async fn additional_routes_share_the_port() {
    let routes = Router::new().route("/metrics", get(async || "up 1\n"));
    let running = Running::with(|builder| builder.routes(routes)).await;
    assert_eq!(&*running.send("GET", "/metrics").fetch().await.body, b"up 1\n");
    assert_eq!(running.task("hello").await["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(running.stream("stream 100").await.rest().await.len(), 103);
    assert_eq!(running.send("GET", "/nowhere").fetch().await.rest_error()["status"], "NOT_FOUND");
    assert_eq!(running.send("GET", "/.well-known/agent-card.json").fetch().await.status, 200);
}

#[tokio::test]
async fn the_agent_can_be_part_of_another_router() {
    let server = Server::builder(engine().build()).bind("127.0.0.1:0").await.unwrap();
    let router = Router::new().route("/mine", get(async || "mine")).merge(server.router());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move { axum::serve(listener, router).await });
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": message("hello")});
    let answer = super::client::Outgoing::new(address, "POST", "/").json(&call).fetch().await;
    assert_eq!(answer.json()["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(&*super::client::Outgoing::new(address, "GET", "/mine").fetch().await.body, b"mine");
    serving.abort();
}
