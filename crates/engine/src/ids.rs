//! The form of ids in requests. The length is bounded, because a store uses ids in its keys. Control characters are not
//! permitted, because ids are written to logs and terminals.

use nuncio_model::{Call, Error, Request, TaskPushNotificationConfig, error::FieldViolation, op::SendMessageRequest};

use crate::limits::Limits;

/// Refuses a call with an id that is too long or contains a control character. The error is `InvalidParams` and names
/// each such field.
pub(crate) fn check(request: &Request, limits: &Limits) -> Result<(), Error> {
    let mut check = IdCheck { limits, violations: Vec::new() };
    check.id("tenant", request.scope.tenant.as_str());
    if let Some(new_task) = &request.new_task {
        check.id("id", new_task.id.as_str());
    }
    match &request.call {
        Call::SendMessage(call) => check.message(call),
        Call::SendStreamingMessage(call) => check.message(call),
        Call::GetTask(call) => check.id("id", call.id.as_str()),
        Call::CancelTask(call) => check.id("id", call.id.as_str()),
        Call::SubscribeToTask(call) => check.id("id", call.id.as_str()),
        Call::ListTasks(call) => check.id("contextId", call.context_id.as_ref().map_or("", |id| id.as_str())),
        Call::CreateTaskPushNotificationConfig(call) => check.config("", call),
        Call::GetTaskPushNotificationConfig(call) => {
            check.id("taskId", call.task_id.as_str());
            check.id("id", call.id.as_str());
        }
        Call::ListTaskPushNotificationConfigs(call) => check.id("taskId", call.task_id.as_str()),
        Call::DeleteTaskPushNotificationConfig(call) => {
            check.id("taskId", call.task_id.as_str());
            check.id("id", call.id.as_str());
        }
        Call::GetExtendedAgentCard(_) => {}
    }
    if check.violations.is_empty() { Ok(()) } else { Err(Error::violations(check.violations)) }
}

struct IdCheck<'a> {
    limits: &'a Limits,
    violations: Vec<FieldViolation>,
}

impl IdCheck<'_> {
    fn id(&mut self, field: &str, id: &str) {
        self.length(field, id, "an id", self.limits.id_length);
        if id.chars().any(char::is_control) {
            // Control characters could change the display of logs and terminals.
            let description = "has a control character, which an id may not have".to_owned();
            self.violations.push(FieldViolation { field: field.to_owned(), description });
        }
    }

    fn length(&mut self, field: &str, text: &str, what: &str, longest: usize) {
        if text.len() > longest {
            let description = format!("is {} bytes long; {what} may have {longest}", text.len());
            self.violations.push(FieldViolation { field: field.to_owned(), description });
        }
    }

    fn message(&mut self, call: &SendMessageRequest) {
        let message = &call.message;
        self.id("message.messageId", message.message_id.as_str());
        self.id("message.contextId", message.context_id.as_ref().map_or("", |id| id.as_str()));
        self.id("message.taskId", message.task_id.as_ref().map_or("", |id| id.as_str()));
        let configuration = call.configuration.as_ref();
        if let Some(config) = configuration.and_then(|it| it.task_push_notification_config.as_ref()) {
            self.config("configuration.taskPushNotificationConfig.", config);
        }
    }

    fn config(&mut self, path: &str, config: &TaskPushNotificationConfig) {
        self.id(&format!("{path}taskId"), config.task_id.as_ref().map_or("", |id| id.as_str()));
        self.id(&format!("{path}id"), config.id.as_ref().map_or("", |id| id.as_str()));
        let credentials = config.authentication.as_ref().and_then(|it| it.credentials.as_deref());
        for (field, text) in [
            ("url", Some(&*config.url)),
            ("token", config.token.as_deref()),
            ("authentication.credentials", credentials),
        ] {
            let text = text.unwrap_or_default();
            self.length(&format!("{path}{field}"), text, "this field of a webhook", self.limits.webhook_field);
        }
    }
}
