//! Any message survives writing and reading, and any written JSON survives reading and writing.

use nuncio_model::{
    AgentCard, StreamResponse, Task, TaskPushNotificationConfig,
    op::{
        CancelTaskRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest,
        ListTaskPushNotificationConfigsResponse, ListTasksRequest, ListTasksResponse, SendMessageRequest,
        SendMessageResponse,
    },
};
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use serde::{Serialize, de::DeserializeOwned};

use crate::{arbitrary, spec::Messages};

fn survives<T: DeserializeOwned + Serialize + PartialEq + std::fmt::Debug>(name: &str) {
    let strategy = arbitrary::message(&Messages::load(), name);
    let config = Config { cases: 64, failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(&strategy, |json| {
        let message: T =
            serde_json::from_str(&json.to_string()).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let text = serde_json::to_string(&message).unwrap();
        prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), json);
        prop_assert_eq!(serde_json::from_str::<T>(&text).unwrap(), message);
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
}

#[test]
fn tasks_and_events_survive_json() {
    survives::<Task>("Task");
    survives::<StreamResponse>("StreamResponse");
}

#[test]
fn cards_survive_json() {
    survives::<AgentCard>("AgentCard");
}

#[test]
fn requests_survive_json() {
    survives::<SendMessageRequest>("SendMessageRequest");
    survives::<GetTaskRequest>("GetTaskRequest");
    survives::<ListTasksRequest>("ListTasksRequest");
    survives::<CancelTaskRequest>("CancelTaskRequest");
    survives::<TaskPushNotificationConfig>("TaskPushNotificationConfig");
    survives::<ListTaskPushNotificationConfigsRequest>("ListTaskPushNotificationConfigsRequest");
}

#[test]
fn responses_survive_json() {
    survives::<SendMessageResponse>("SendMessageResponse");
    survives::<ListTasksResponse>("ListTasksResponse");
    survives::<ListTaskPushNotificationConfigsResponse>("ListTaskPushNotificationConfigsResponse");
}
