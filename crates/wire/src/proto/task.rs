//! The tables of tasks, messages and events of streams (sections 4.1 to 4.3).

use nuncio_model::{
    Artifact, AuthenticationInfo, Message, Task, TaskArtifactUpdateEvent, TaskPushNotificationConfig, TaskStatus,
    TaskStatusUpdateEvent,
};

use super::message::message;

message! {
    Task {
        1 id: implicit,
        2 context_id: implicit,
        3 status: always,
        4 artifacts: repeated,
        5 history: repeated,
        6 metadata: presence,
    }

    TaskStatus {
        1 state: implicit,
        2 message: presence,
        3 timestamp: presence,
    }

    Message {
        1 message_id: implicit,
        2 context_id: implicit,
        3 task_id: implicit,
        4 role: implicit,
        5 parts: repeated,
        6 metadata: presence,
        7 extensions: repeated,
        8 reference_task_ids: repeated,
    }

    Artifact {
        1 artifact_id: implicit,
        2 name: implicit,
        3 description: implicit,
        4 parts: repeated,
        5 metadata: presence,
        6 extensions: repeated,
    }

    TaskStatusUpdateEvent {
        1 task_id: implicit,
        2 context_id: implicit,
        3 status: always,
        4 metadata: presence,
    }

    TaskArtifactUpdateEvent {
        1 task_id: implicit,
        2 context_id: implicit,
        3 artifact: always,
        4 append: implicit,
        5 last_chunk: implicit,
        6 metadata: presence,
    }

    TaskPushNotificationConfig {
        1 tenant: implicit,
        2 id: implicit,
        3 task_id: implicit,
        4 url: implicit,
        5 token: implicit,
        6 authentication: presence,
    }

    AuthenticationInfo {
        1 scheme: implicit,
        2 credentials: implicit,
    }
}
