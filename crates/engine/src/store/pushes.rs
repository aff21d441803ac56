//! Push configurations, and their pending records.

use nuncio_model::{PushConfigId, Scope, TaskId, TaskPushNotificationConfig, Timestamp};

/// A push configuration as it is stored: with its secrets, and with how far delivery has come.
#[derive(Debug, Clone, PartialEq)]
pub struct PushConfig {
    /// The configuration. Its id and its task's are set.
    pub config: TaskPushNotificationConfig,
    /// How it wants to be written to: a word for who delivers, `None` for the protocol's own way.
    pub format: Option<Box<str>>,
    /// The sequence number of the last record that was delivered, or that precedes the configuration. Stored as the
    /// last of the log where it is beyond it.
    pub delivered: u64,
}

/// A push configuration that has pending records.
#[derive(Debug, Clone, PartialEq)]
pub struct DuePush {
    /// Whose task it is.
    pub scope: Scope,
    /// The configuration. Its id and its task's are set.
    pub config: TaskPushNotificationConfig,
    /// The sequence number of the last record that was delivered.
    pub delivered: u64,
    /// The sequence number of the last pending record.
    pub pending: u64,
    /// How many attempts at the next record have failed.
    pub attempts: u32,
}

/// How an attempt to deliver went.
#[derive(Debug, Clone, PartialEq)]
pub struct PushSettlement {
    /// Whose task it is.
    pub scope: Scope,
    /// The task.
    pub task: TaskId,
    /// The configuration.
    pub id: PushConfigId,
    /// The sequence number of the last record that is delivered now, or given up.
    pub delivered: u64,
    /// How many attempts at the next record have failed; 0 after a success.
    pub attempts: u32,
    /// When the next attempt is due.
    pub next_attempt: Timestamp,
    /// Why the last attempt failed, for people; without secrets.
    pub error: Option<String>,
}
