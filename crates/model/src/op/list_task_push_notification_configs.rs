//! `ListTaskPushNotificationConfigs` (section 3.1.9): the webhooks of a task, without their secrets.

use super::operation;
use crate::{
    error::FieldViolation,
    id::{TaskId, Tenant},
    json::json_object,
    push::TaskPushNotificationConfig,
    validate::{Validate, member, require, wrong},
};

json_object! {
    /// Which task, and which page.
    pub struct ListTaskPushNotificationConfigsRequest {
        /// The tenant of the interface, where it has one.
        pub tenant: Option<Tenant> => implicit "tenant",
        /// The task.
        pub task_id: TaskId => required "taskId" | "task_id",
        /// How many a page holds; all where zero. A server may give fewer, and a `nextPageToken`.
        pub page_size: i32 => implicit "pageSize" | "page_size",
        /// Where the page begins: the `nextPageToken` of the page before.
        pub page_token: Option<Box<str>> => implicit "pageToken" | "page_token",
    }
}

json_object! {
    /// A page of configurations. The list is always written, also when it is empty.
    pub struct ListTaskPushNotificationConfigsResponse {
        /// The configurations.
        pub configs: Vec<TaskPushNotificationConfig> => required "configs",
        /// Where the next page begins; empty on the last.
        pub next_page_token: Box<str> => implicit "nextPageToken" | "next_page_token",
    }
}

operation!(ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigs -> ListTaskPushNotificationConfigsResponse);

impl Validate for ListTaskPushNotificationConfigsRequest {
    fn validate_at(&self, path: &str, violations: &mut Vec<FieldViolation>) {
        require(violations, path, "taskId", !self.task_id.is_empty());
        if self.page_size < 0 {
            wrong(violations, member(path, "pageSize"), "must not be negative");
        }
    }
}
