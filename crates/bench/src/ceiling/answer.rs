//! The typed answer: the task after a three-event echo, with the length of the measured server's answer.

use std::borrow::Cow;

use anyhow::Result;
use serde::Serialize;

use super::request::Request;

pub(super) const TASK: &str = "01985f3c-7a10-7c44-9d2e-5b1f0a6c3e01";
pub(super) const CONTEXT: &str = "01985f3c-7a10-7c44-9d2e-5b1f0a6c3e02";
const REPLY: &str = "01985f3c-7a10-7c44-9d2e-5b1f0a6c3e03";
pub(super) const TIME: &str = "2026-03-02T08:15:09.500Z";

/// A JSON-RPC response with a task.
#[derive(Debug, Serialize)]
pub(super) struct Answer<'a> {
    jsonrpc: &'static str,
    id: u64,
    result: Outcome<'a>,
}

#[derive(Debug, Serialize)]
struct Outcome<'a> {
    task: Task<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Task<'a> {
    pub(super) id: &'a str,
    pub(super) context_id: &'a str,
    pub(super) status: Status<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) artifacts: Vec<Artifact<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) history: Vec<AnswerMessage<'a>>,
}

#[derive(Debug, Serialize)]
pub(super) struct Status<'a> {
    pub(super) state: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<AnswerMessage<'a>>,
    pub(super) timestamp: &'a str,
}

#[derive(Debug, Serialize)]
pub(super) struct Artifact<'a> {
    #[serde(rename = "artifactId")]
    pub(super) id: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) name: &'a str,
    pub(super) parts: Vec<AnswerPart<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AnswerMessage<'a> {
    #[serde(rename = "messageId")]
    id: &'a str,
    context_id: &'a str,
    task_id: &'a str,
    role: &'a str,
    parts: Vec<AnswerPart<'a>>,
}

#[derive(Debug, Serialize)]
pub(super) struct AnswerPart<'a> {
    pub(super) text: Cow<'a, str>,
}

impl<'a> Answer<'a> {
    /// The answer to a request with this `text`; `padding` extends the answer.
    pub(super) fn to(request: &'a Request, text: &'a str, padding: &'a str) -> Self {
        let echoed = text.strip_prefix("echo ").unwrap_or(text);
        Self::with(request.id, &request.params.message.id, text, echoed, padding)
    }

    /// The padding that makes the answer to a load generator's request `bytes` long; empty if the answer is already
    /// long enough.
    pub(super) fn padding_to(bytes: usize) -> Result<String> {
        let bare = Self::with(100_000_000_000, "m-100000000000", "echo 100000000000", "100000000000", "");
        let bare = serde_json::to_vec(&bare)?.len() + r#""name":"","#.len();
        Ok("p".repeat(bytes.saturating_sub(bare)))
    }

    fn with(id: u64, message_id: &'a str, text: &'a str, echoed: &'a str, padding: &'a str) -> Self {
        Self {
            jsonrpc: "2.0",
            id,
            result: Outcome {
                task: Task {
                    id: TASK,
                    context_id: CONTEXT,
                    status: Status {
                        state: "TASK_STATE_COMPLETED",
                        message: Some(message(REPLY, "ROLE_AGENT", format!("echo: {echoed}").into())),
                        timestamp: TIME,
                    },
                    artifacts: vec![Artifact {
                        id: "echo-1",
                        name: padding,
                        parts: vec![AnswerPart { text: echoed.into() }],
                    }],
                    history: vec![message(message_id, "ROLE_USER", text.into())],
                },
            },
        }
    }
}

fn message<'a>(message_id: &'a str, role: &'a str, text: Cow<'a, str>) -> AnswerMessage<'a> {
    AnswerMessage { id: message_id, context_id: CONTEXT, task_id: TASK, role, parts: vec![AnswerPart { text }] }
}
