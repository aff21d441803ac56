//! The operations against the service of the specification.

use nuncio_model::{Call, Method, Operation, op};

use crate::spec::Messages;

#[test]
fn operations_are_those_of_the_service() {
    let messages = Messages::load();
    let rpcs = &messages.services["A2AService"].methods;
    let theirs: Vec<_> = rpcs.iter().map(|rpc| (&*rpc.name, rpc.server_streaming)).collect();
    let mut ours: Vec<_> = Method::ALL.iter().map(|method| (method.name(), method.is_streaming())).collect();
    ours.sort_by_key(|(name, _)| theirs.iter().position(|(other, _)| other == name));
    assert_eq!(ours, theirs);
    for method in Method::ALL {
        assert_eq!(Method::from_name(method.name()), Some(method));
    }
    assert_eq!(Method::from_name("sendMessage"), None);
}

#[test]
fn operations_have_the_requests_of_the_service() {
    fn check<T: Operation + Default>(messages: &Messages) {
        let rpc = messages.services["A2AService"].methods.iter().find(|rpc| rpc.name == T::METHOD.name()).unwrap();
        let name = std::any::type_name::<T>().rsplit("::").next().unwrap();
        // Both send operations have one request message in the specification; here both have its fields.
        assert_eq!(name.replace("SendStreamingMessage", "SendMessage"), rpc.request);
        assert_eq!(Into::<Call>::into(T::default()).method(), T::METHOD);
    }
    let messages = Messages::load();
    check::<op::SendMessageRequest>(&messages);
    check::<op::SendStreamingMessageRequest>(&messages);
    check::<op::GetTaskRequest>(&messages);
    check::<op::ListTasksRequest>(&messages);
    check::<op::CancelTaskRequest>(&messages);
    check::<op::SubscribeToTaskRequest>(&messages);
    check::<nuncio_model::TaskPushNotificationConfig>(&messages);
    check::<op::GetTaskPushNotificationConfigRequest>(&messages);
    check::<op::ListTaskPushNotificationConfigsRequest>(&messages);
    check::<op::DeleteTaskPushNotificationConfigRequest>(&messages);
    check::<op::GetExtendedAgentCardRequest>(&messages);
}
