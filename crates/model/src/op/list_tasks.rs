//! `ListTasks` (section 3.1.4): the caller's tasks, most recently updated first, in pages.

use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess},
};

use super::operation;
use crate::{
    error::FieldViolation,
    id::{ContextId, Tenant},
    json::{Value, from_value, json_object},
    task::{Task, TaskState},
    timestamp::Timestamp,
    validate::{Validate, history_length, member, wrong},
};

json_object! {
    /// The parameters of `ListTasks`.
    pub struct ListTasksRequest {
        /// The tenant, if the interface has a tenant.
        pub tenant: Option<Tenant> => implicit "tenant",
        /// Only tasks of this context.
        pub context_id: Option<ContextId> => implicit "contextId" | "context_id",
        /// Only tasks in this state; unspecified means any state.
        pub status: TaskState => implicit "status" via exact_state,
        /// The maximum number of tasks in a page: 1 to 100; the default is 50.
        pub page_size: Option<i32> => presence "pageSize" | "page_size",
        /// The start of the page: the `nextPageToken` of the previous page.
        pub page_token: Option<Box<str>> => implicit "pageToken" | "page_token",
        /// The maximum number of messages in the history of each task; unset means all.
        pub history_length: Option<i32> => presence "historyLength" | "history_length",
        /// Only tasks with a status of this time or later.
        pub status_timestamp_after: Option<Timestamp> => presence
            "statusTimestampAfter" | "status_timestamp_after" | "lastUpdatedAfter" | "last_updated_after",
        /// Whether the tasks include their artifacts.
        pub include_artifacts: Option<bool> => presence "includeArtifacts" | "include_artifacts",
    }
}

impl ListTasksRequest {
    /// The page size if the client does not specify one.
    pub const DEFAULT_PAGE_SIZE: i32 = 50;
    /// The largest page size.
    pub const MAX_PAGE_SIZE: i32 = 100;
}

json_object! {
    /// A page of tasks. All four members are always written.
    pub struct ListTasksResponse {
        /// The tasks.
        pub tasks: Vec<Task> => required "tasks",
        /// The start of the next page; empty on the last page.
        pub next_page_token: Box<str> => required "nextPageToken" | "next_page_token",
        /// The applied page size.
        pub page_size: i32 => required "pageSize" | "page_size",
        /// The number of matching tasks on all pages.
        pub total_size: i32 => required "totalSize" | "total_size",
    }
}

/// Reads the `status` filter: only proto names and numbers (section 3.1.4, "List Tasks"). If Nuncio accepted a short
/// form, an agent without this leniency would list other tasks for the same request.
fn exact_state<'de, A: MapAccess<'de>>(map: &mut A) -> Result<TaskState, A::Error> {
    struct Exact(TaskState);
    impl<'de> Deserialize<'de> for Exact {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            let value = Value::deserialize(from)?;
            let name = value.as_str().map(str::to_owned);
            match from_value::<TaskState, D::Error>(value)? {
                state if name.as_ref().is_none_or(|name| name == state.as_str()) => Ok(Self(state)),
                _ => Err(de::Error::custom(format_args!("unknown TaskState `{}`", name.unwrap_or_default()))),
            }
        }
    }
    Ok(map.next_value::<Option<Exact>>()?.map_or_else(TaskState::default, |exact| exact.0))
}

operation!(ListTasksRequest, ListTasks -> ListTasksResponse);

impl Validate for ListTasksRequest {
    fn validate_at(&self, path: &str, violations: &mut Vec<FieldViolation>) {
        if self.page_size.is_some_and(|size| !(1..=Self::MAX_PAGE_SIZE).contains(&size)) {
            wrong(violations, member(path, "pageSize"), "must be between 1 and 100");
        }
        history_length(violations, path, self.history_length);
    }
}
