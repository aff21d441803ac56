//! What clients of versions before 1.0 want of HTTP.

use serde_json::json;

use super::Running;

#[tokio::test]
async fn who_asks_for_a_stream_of_0_3_is_refused_inside_one() {
    let running = Running::start().await;
    let call = |method| running.rpc(method, &json!({"id": "no-such-task"})).without("a2a-version");
    let answer = call("tasks/resubscribe").fetch().await;
    assert_eq!((answer.status, answer.media_type()), (200, "text/event-stream"));
    let mut feed = call("tasks/resubscribe").open().await;
    let events = feed.rest().await;
    assert_eq!(events.len(), 1);
    let document: serde_json::Value = serde_json::from_str(&events[0].data).unwrap();
    assert_eq!((&document["id"], &document["error"]["code"]), (&json!(1), &json!(-32001)));
    assert_eq!(call("tasks/get").fetch().await.media_type(), "application/json");
    let newest = running.rpc("SubscribeToTask", &json!({"id": "no-such-task"})).fetch().await;
    assert_eq!(newest.media_type(), "application/json");
}
