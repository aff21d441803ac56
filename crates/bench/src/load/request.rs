//! Requests as prepared bytes; only the numbers and task ids differ between requests.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use anyhow::{Result, bail};

/// The placeholder for the number of the request.
pub(crate) const NUMBER: &str = "############";
/// The placeholder for the id of a task.
pub(crate) const TASK: &str = "{task}";

static NEXT: AtomicU64 = AtomicU64::new(100_000_000_000);

/// A number that is unique in this run; always twelve digits.
pub(crate) fn next_number() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A request with placeholders for its number and a task id.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    bytes: Vec<u8>,
    numbers: Vec<usize>,
    tasks: Vec<usize>,
    ids: Arc<[String]>,
}

impl Template {
    /// A template of `bytes` with the positions of `NUMBER`.
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        let numbers = memchr::memmem::find_iter(&bytes, NUMBER).collect();
        Self { bytes, numbers, tasks: Vec::new(), ids: Arc::new([]) }
    }

    /// A JSON-RPC call over HTTP/1.1.
    pub(crate) fn jsonrpc(method: &str, params: &str) -> Self {
        Self::new(post("/", &envelope(method, params)))
    }

    /// A JSON-RPC call of a version before 1.0, without a declared version.
    pub(crate) fn jsonrpc_undeclared(method: &str, params: &str) -> Self {
        Self::new(post_with("", "/", &envelope(method, params)))
    }

    /// A JSON-RPC call for each of `ids` in turn; the ids must have the same length.
    pub(crate) fn jsonrpc_about(method: &str, params: &str, ids: Arc<[String]>) -> Result<Self> {
        let place = place(&ids)?;
        let bytes = post("/", &envelope(method, &params.replace(TASK, &place)));
        Ok(Self::new(bytes).about(&place, ids))
    }

    /// An HTTP+JSON call with a body.
    pub(crate) fn rest(path: &str, body: &str) -> Self {
        Self::new(post(path, body))
    }

    /// An HTTP+JSON call without a body.
    pub(crate) fn rest_get(path: &str) -> Self {
        Self::new(format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nA2A-Version: 1.0\r\n\r\n").into_bytes())
    }

    /// The bytes of request `number`.
    pub(crate) fn fill(&mut self, number: u64) -> &[u8] {
        let digits = digits(number);
        for &at in &self.numbers {
            self.bytes[at..at + digits.len()].copy_from_slice(&digits);
        }
        if !self.tasks.is_empty() {
            let id = task_for(&self.ids, number).as_bytes();
            for &at in &self.tasks {
                self.bytes[at..at + id.len()].copy_from_slice(id);
            }
        }
        &self.bytes
    }

    /// The task of request `number`, if any.
    pub(crate) fn task(&self, number: u64) -> Option<&str> {
        (!self.tasks.is_empty()).then(|| task_for(&self.ids, number))
    }

    fn about(mut self, place: &str, ids: Arc<[String]>) -> Self {
        self.tasks = memchr::memmem::find_iter(&self.bytes, place).collect();
        self.ids = ids;
        self
    }
}

/// The twelve digits of a request number.
pub(crate) fn digits(mut number: u64) -> [u8; 12] {
    let mut digits = [b'0'; 12];
    for digit in digits.iter_mut().rev() {
        *digit = b"0123456789"[usize::try_from(number % 10).unwrap_or(0)];
        number /= 10;
    }
    digits
}

/// The JSON of a message with one text part.
pub(crate) fn message(text: &str) -> String {
    format!(r#""message":{{"messageId":"m-{NUMBER}","role":"ROLE_USER","parts":[{{"text":"{text}"}}]}}"#)
}

/// The same message in version 0.3.
pub(crate) fn message_0_3(text: &str) -> String {
    let part = format!(r#"{{"kind":"text","text":"{text}"}}"#);
    format!(r#""message":{{"kind":"message","messageId":"m-{NUMBER}","role":"user","parts":[{part}]}}"#)
}

fn task_for(ids: &[String], number: u64) -> &str {
    let position = number % ids.len().max(1) as u64;
    usize::try_from(position).ok().and_then(|position| ids.get(position)).map_or("", String::as_str)
}

/// A placeholder for an id until the first request, with the same length and not contained in any other text.
fn place(ids: &[String]) -> Result<String> {
    let length = ids.first().map_or(0, String::len);
    if length < 8 || ids.iter().any(|id| id.len() != length) {
        bail!("the task ids do not have the same length, of at least eight bytes");
    }
    Ok("~".repeat(length))
}

fn envelope(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{NUMBER},"method":"{method}","params":{{{params}}}}}"#)
}

fn post(path: &str, body: &str) -> Vec<u8> {
    post_with("A2A-Version: 1.0\r\n", path, body)
}

fn post_with(headers: &str, path: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_in_number_and_task() {
        let ids: Arc<[String]> = ["task-aaaa".to_owned(), "task-bbbb".to_owned()].into();
        let mut template = Template::jsonrpc_about("GetTask", r#""id":"{task}""#, ids).unwrap();
        let text = String::from_utf8(template.fill(100_000_000_001).to_vec()).unwrap();
        assert!(
            text.ends_with(r#"{"jsonrpc":"2.0","id":100000000001,"method":"GetTask","params":{"id":"task-bbbb"}}"#)
        );
        assert!(text.contains("Content-Length: 82\r\n"), "{text}");
        let again = String::from_utf8(template.fill(100_000_000_002).to_vec()).unwrap();
        assert!(again.contains(r#""id":"task-aaaa""#));
    }
}
