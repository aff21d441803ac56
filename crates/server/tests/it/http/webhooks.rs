//! A running server delivers to webhooks.

use axum::{Router, extract::State, http::HeaderMap, routing::post};
use nuncio_push::{Dispatcher, Guard};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{
    Running,
    agent::{engine, message},
};

#[tokio::test]
async fn the_shutdown_waits_for_deliveries() {
    let (told, mut notifications) = mpsc::unbounded_channel();
    let keep =
        async |State(told): State<mpsc::UnboundedSender<(HeaderMap, Value)>>, headers: HeaderMap, body: String| {
            told.send((headers, serde_json::from_str(&body).unwrap())).unwrap();
        };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let router = Router::new().route("/hook", post(keep)).with_state(told);
    tokio::spawn(async move { axum::serve(listener, router).await });

    let engine = engine().build();
    let dispatcher = Dispatcher::builder(&engine, Guard::new().allow_private(true)).build().unwrap();
    let mut running = Running::of(engine, |builder| builder.background(dispatcher)).await;
    let mut params = message("stream 3");
    params["configuration"] = json!({"taskPushNotificationConfig": {
        "url": url, "token": "made-up", "authentication": {"scheme": "Bearer", "credentials": "of-mine"},
    }});
    running.call("SendMessage", &params).await;
    for _ in 0..6 {
        let (headers, _body) = notifications.recv().await.unwrap();
        assert_eq!(headers["authorization"], "Bearer of-mine");
        assert_eq!(headers["x-a2a-notification-token"], "made-up");
    }
    running.stop();
    running.end.await.unwrap();
    assert!(notifications.is_empty());
}
