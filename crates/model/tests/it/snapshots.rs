//! The JSON of each type with all fields set.

use nuncio_model::{
    AgentCard, StreamResponse, Task, TaskPushNotificationConfig,
    op::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest,
        ListTaskPushNotificationConfigsResponse, ListTasksRequest, ListTasksResponse, SendMessageRequest,
        SendMessageResponse, SubscribeToTaskRequest,
    },
};
use serde::{Serialize, de::DeserializeOwned};

use crate::{sample, spec::Messages};

/// All forms of a message in one document, in the order in which the model writes fields.
fn wire<T: Serialize + DeserializeOwned>(name: &str) -> String {
    let forms = sample::full(&Messages::load(), name);
    let written =
        forms.into_iter().map(|json| serde_json::to_string(&serde_json::from_value::<T>(json).unwrap()).unwrap());
    written.collect::<Vec<_>>().join("\n")
}

macro_rules! snapshots {
    ($($test:ident: $($type:ident),*;)*) => {$(
        #[test]
        fn $test() {
            $(insta::assert_snapshot!(stringify!($type), wire::<$type>(stringify!($type)));)*
        }
    )*};
}

snapshots! {
    task: Task;
    events: StreamResponse;
    card: AgentCard;
    messages: SendMessageRequest, SendMessageResponse;
    reading: GetTaskRequest, ListTasksRequest, ListTasksResponse;
    steering: CancelTaskRequest, SubscribeToTaskRequest;
    push: TaskPushNotificationConfig, GetTaskPushNotificationConfigRequest, DeleteTaskPushNotificationConfigRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse;
    extended_card: GetExtendedAgentCardRequest;
}
