//! Requests with a single answer, and the checks of the answer.

use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use memchr::memmem::{self, Finder};
use serde::{Deserialize, de::IgnoredAny};

use super::request::{NUMBER, TASK, Template, digits, message, message_0_3};

/// One answer in this number is parsed as JSON; all answers are searched for the expected text.
const PARSED: u64 = 1_000;

/// A kind of request with the check of its answers.
#[derive(Debug)]
pub(crate) struct Unary {
    template: Template,
    expect: Expect,
    completed: Finder<'static>,
    checked: u64,
    keep_ids: bool,
    ids: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
enum Expect {
    /// A completed task whose status message echoes the request's number.
    Echo,
    /// A task in this state.
    State(&'static str),
    /// The requested task, completed.
    ThatTask,
    /// A page of this many completed tasks.
    Page(usize),
}

impl Unary {
    /// `SendMessage` of a three-event echo over JSON-RPC.
    pub(crate) fn echo_jsonrpc() -> Self {
        Self::new(Template::jsonrpc("SendMessage", &echo()), Expect::Echo)
    }

    /// The same in version 0.3.
    pub(crate) fn echo_jsonrpc_0_3() -> Self {
        let template = Template::jsonrpc_undeclared("message/send", &message_0_3(&format!("echo {NUMBER}")));
        Self { completed: Finder::new(r#""state":"completed""#), ..Self::new(template, Expect::Echo) }
    }

    /// The same as [`Self::echo_jsonrpc`] over HTTP+JSON.
    pub(crate) fn echo_rest() -> Self {
        Self::new(Template::rest("/message:send", &format!("{{{}}}", echo())), Expect::Echo)
    }

    /// `SendMessage` with any text; the resulting task must be in `state`.
    pub(crate) fn send(text: &str, state: &'static str) -> Self {
        Self::new(Template::jsonrpc("SendMessage", &message(text)), Expect::State(state))
    }

    /// `SendMessage` without a wait for the task.
    pub(crate) fn send_and_return(text: &str) -> Self {
        let params = format!(r#"{},"configuration":{{"returnImmediately":true}}"#, message(text));
        Self::new(Template::jsonrpc("SendMessage", &params), Expect::State("TASK_STATE_"))
    }

    /// `SendMessage` to a task that waits for a message, without a wait for the result.
    pub(crate) fn go_on(task: String) -> Result<Self> {
        let message = format!(
            r#""message":{{"messageId":"m-{NUMBER}","role":"ROLE_USER","taskId":"{TASK}","parts":[{{"text":"go on"}}]}}"#
        );
        let params = format!(r#"{message},"configuration":{{"returnImmediately":true}}"#);
        let template = Template::jsonrpc_about("SendMessage", &params, [task].into())?;
        Ok(Self::new(template, Expect::State("TASK_STATE_")))
    }

    /// `GetTask` for each of these completed tasks in turn, over JSON-RPC.
    pub(crate) fn get_jsonrpc(ids: Arc<[String]>) -> Result<Self> {
        let template = Template::jsonrpc_about("GetTask", &format!(r#""id":"{TASK}""#), ids)?;
        Ok(Self::new(template, Expect::ThatTask))
    }

    /// `ListTasks` for the first `size` tasks, over JSON-RPC.
    pub(crate) fn list_jsonrpc(size: usize) -> Self {
        let template = Template::jsonrpc("ListTasks", &format!(r#""pageSize":{size}"#));
        Self::new(template, Expect::Page(size))
    }

    /// The same over HTTP+JSON.
    pub(crate) fn list_rest(size: usize) -> Self {
        Self::new(Template::rest_get(&format!("/tasks?pageSize={size}")), Expect::Page(size))
    }

    /// Stores the task id of every further answer.
    pub(crate) fn keeping_ids(mut self) -> Self {
        self.keep_ids = true;
        self
    }

    /// The stored ids.
    pub(crate) fn into_ids(self) -> Vec<String> {
        self.ids
    }

    /// The bytes of request `number`.
    pub(crate) fn request(&mut self, number: u64) -> &[u8] {
        self.template.fill(number)
    }

    /// Checks the answer to request `number`.
    pub(crate) fn check(&mut self, number: u64, body: &[u8]) -> Result<()> {
        let completed = || self.completed.find(body).is_some();
        let right = match self.expect {
            Expect::Echo => completed() && echoes(body, number),
            Expect::State(state) => memmem::find(body, state.as_bytes()).is_some(),
            Expect::ThatTask => {
                let task = self.template.task(number).unwrap_or("no task");
                completed() && memmem::find(body, task.as_bytes()).is_some()
            }
            Expect::Page(size) => self.completed.find_iter(body).count() == size,
        };
        if !right {
            let start = String::from_utf8_lossy(&body[..body.len().min(600)]);
            bail!("not the answer to {:?} {number}: {start}", self.expect);
        }
        if self.checked.is_multiple_of(PARSED) {
            serde_json::from_slice::<IgnoredAny>(body).context("an answer that is not JSON")?;
        }
        self.checked += 1;
        if self.keep_ids {
            self.ids.push(task_id(body)?);
        }
        Ok(())
    }

    fn new(template: Template, expect: Expect) -> Self {
        Self {
            template,
            expect,
            completed: Finder::new("TASK_STATE_COMPLETED"),
            checked: 0,
            keep_ids: false,
            ids: Vec::new(),
        }
    }
}

/// Whether an answer contains the status message for request `number`.
pub(crate) fn echoes(answer: &[u8], number: u64) -> bool {
    let mut echoed = *b"echo: ............";
    echoed[6..].copy_from_slice(&digits(number));
    memmem::find(answer, &echoed).is_some()
}

fn echo() -> String {
    message(&format!("echo {NUMBER}"))
}

fn task_id(body: &[u8]) -> Result<String> {
    #[derive(Deserialize)]
    struct Response {
        result: Outcome,
    }
    #[derive(Deserialize)]
    struct Outcome {
        task: Task,
    }
    #[derive(Deserialize)]
    struct Task {
        id: String,
    }
    let response: Response = serde_json::from_slice(body).context("an answer without a task")?;
    Ok(response.result.task.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_the_answer_to_another_request() {
        let mut echo = Unary::echo_jsonrpc();
        let answer = br#"{"state":"TASK_STATE_COMPLETED","text":"echo: 100000000007"}"#;
        assert!(echo.check(100_000_000_007, answer).is_ok());
        assert!(echo.check(100_000_000_008, answer).is_err());
    }

    #[test]
    fn reads_the_states_of_0_3() {
        let mut echo = Unary::echo_jsonrpc_0_3();
        let answer = br#"{"state":"completed","text":"echo: 100000000007"}"#;
        assert!(echo.check(100_000_000_007, answer).is_ok());
        assert!(echo.check(100_000_000_007, br#"{"state":"failed","text":"echo: 100000000007"}"#).is_err());
    }

    #[test]
    fn refuses_an_error_and_a_short_page() {
        let error = br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}"#;
        assert!(Unary::echo_rest().check(1, error).is_err());
        let one = br#"{"tasks":[{"status":{"state":"TASK_STATE_COMPLETED"}}]}"#;
        assert!(Unary::list_rest(1).check(1, one).is_ok());
        assert!(Unary::list_rest(2).check(1, one).is_err());
    }

    #[test]
    fn keeps_ids() {
        let mut echo = Unary::send("echo x", "TASK_STATE_").keeping_ids();
        let answer = br#"{"result":{"task":{"id":"t-1","status":{"state":"TASK_STATE_WORKING"}}}}"#;
        echo.check(1, answer).unwrap();
        assert_eq!(echo.into_ids(), ["t-1"]);
    }
}
