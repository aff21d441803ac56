//! Push configurations, and their pending records.

use nuncio_model::{PushConfigId, Scope, TaskId, TaskPushNotificationConfig, Timestamp};

/// A stored push configuration: with its secrets and its delivery state.
#[derive(Debug, Clone, PartialEq)]
pub struct PushConfig {
    /// The configuration, with its id and the id of its task.
    pub config: TaskPushNotificationConfig,
    /// The format of notifications for the dispatcher. `None` is the format of the protocol.
    pub format: Option<Box<str>>,
    /// The sequence number of the last delivered record, or of the last record before the configuration. Limited to the
    /// end of the log.
    pub delivered: u64,
}

/// A push configuration that has pending records.
#[derive(Debug, Clone, PartialEq)]
pub struct DuePush {
    /// The scope of the task.
    pub scope: Scope,
    /// The configuration, with its id and the id of its task.
    pub config: TaskPushNotificationConfig,
    /// The sequence number of the last delivered record.
    pub delivered: u64,
    /// The sequence number of the last pending record.
    pub pending: u64,
    /// The number of failed attempts for the next record.
    pub attempts: u32,
}

/// The result of a delivery attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct PushSettlement {
    /// The scope of the task.
    pub scope: Scope,
    /// The id of the task.
    pub task: TaskId,
    /// The id of the configuration.
    pub id: PushConfigId,
    /// The sequence number of the last record that is delivered or given up.
    pub delivered: u64,
    /// The number of failed attempts for the next record; 0 after a success.
    pub attempts: u32,
    /// The time of the next attempt.
    pub next_attempt: Timestamp,
    /// The reason of the last failure, as text without secrets.
    pub error: Option<String>,
}
