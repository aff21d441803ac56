//! Data that nests too deep is refused in every version over every binding, in the error format of the version. Other
//! data is accepted.

use nuncio_client::{Binding, Client};
use nuncio_model::{
    Data, ErrorKind, Message, Part,
    op::{GetTaskRequest, ListTasksRequest, SendMessageConfiguration, SendMessageRequest, SendMessageResponse},
};
use nuncio_wire::Version;
use serde_json::json;

use crate::{matrix::Way, server::serve};

fn message(levels: usize) -> Message {
    let data = (0..levels).fold(json!("x"), |inner, _| json!({"k": inner}));
    Message { parts: vec![Part::text("echo x"), Part::data(data)], ..Message::user("") }
}

async fn send(client: &Client, levels: usize) -> Result<SendMessageResponse, nuncio_client::ClientError> {
    let configuration = SendMessageConfiguration { history_length: Some(10), ..Default::default() };
    client.send(SendMessageRequest::new(message(levels)).with_configuration(configuration)).await
}

/// The name of the field.
fn field(way: Way) -> &'static str {
    match (way.version, way.binding) {
        (Version::V1_0, _) | (_, Binding::JsonRpc) => "message.parts[1].data",
        _ => "message.content[1].data",
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn deeply_nested_data_is_refused_and_other_data_is_kept() {
    let address = serve().await;
    for maker in Way::all() {
        let client = maker.client(&address).await;
        let refused = send(&client, 31).await.unwrap_err();
        let error = refused.as_agent_error().unwrap_or_else(|| panic!("{maker}: {refused}"));
        assert_eq!(error.kind(), ErrorKind::InvalidParams, "{maker}");
        assert!(error.message().contains(field(maker)), "{maker}: {error}");

        let SendMessageResponse::Task(made) = send(&client, 30).await.unwrap() else { panic!("{maker}: no task") };
        let newest = Way { version: Version::LATEST, binding: Binding::Grpc }.client(&address).await;
        let of_context =
            ListTasksRequest { context_id: made.context_id, history_length: Some(10), ..Default::default() };
        let listed = newest.tasks(of_context).await.unwrap().tasks.remove(0);
        assert_eq!(data(&listed.history[0]), data(&message(30)), "{maker}");
        for reader in Way::all() {
            let get = GetTaskRequest { history_length: Some(10), ..GetTaskRequest::new(listed.id.clone()) };
            let read = reader.client(&address).await.call(get).await.unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(data(&read.history[0]), data(&message(30)), "{maker} -> {reader}");
        }
    }
}

fn data(message: &Message) -> Option<&Data> {
    message.parts.get(1).and_then(Part::as_data)
}
