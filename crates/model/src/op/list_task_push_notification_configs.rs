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
    /// The parameters of `ListTaskPushNotificationConfigs`.
    pub struct ListTaskPushNotificationConfigsRequest {
        /// The tenant, if the interface has a tenant.
        pub tenant: Option<Tenant> => implicit "tenant",
        /// The task.
        pub task_id: TaskId => required "taskId" | "task_id",
        /// The maximum number of configurations in a page; zero means all. A server may return fewer, with a
        /// `nextPageToken`.
        pub page_size: i32 => implicit "pageSize" | "page_size",
        /// The start of the page: the `nextPageToken` of the previous page.
        pub page_token: Option<Box<str>> => implicit "pageToken" | "page_token",
    }
}

json_object! {
    /// A page of configurations. The list is always written, even if empty.
    pub struct ListTaskPushNotificationConfigsResponse {
        /// The configurations.
        pub configs: Vec<TaskPushNotificationConfig> => required "configs",
        /// The start of the next page; empty on the last page.
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
