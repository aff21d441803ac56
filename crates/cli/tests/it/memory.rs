//! Compares the memory of the process with the documented limits while clients do not read answers.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use serde_json::{Value, json};

use crate::agent::{Agent, Home, eventually};

const MIB: usize = 1 << 20;

/// A number of the process, in bytes.
fn status(agent: &Agent, name: &str) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", agent.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

/// How much more memory the process had at its highest than before, once `during` is over.
fn growth(agent: &Agent, during: impl FnOnce()) -> usize {
    std::fs::write(format!("/proc/{}/clear_refs", agent.child.id()), "5").unwrap();
    let before = status(agent, "VmRSS");
    during();
    status(agent, "VmHWM").saturating_sub(before)
}

/// Sends a call, and reads nothing of what comes.
fn ask(agent: &Agent, method: &str, params: &Value) -> TcpStream {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let mut stream = TcpStream::connect(&agent.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let head = "POST / HTTP/1.1\r\na2a-version: 1.0\r\ncontent-type: application/json\r\nconnection: close";
    write!(stream, "{head}\r\nhost: {}\r\ncontent-length: {}\r\n\r\n{body}", agent.address, body.len()).unwrap();
    stream
}

fn call(agent: &Agent, method: &str, params: &Value) -> Value {
    let mut answer = Vec::new();
    ask(agent, method, params).read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let mut document: Value = serde_json::from_slice(&answer[end + 4..]).unwrap();
    assert!(document.get("error").is_none(), "{document}");
    document["result"].take()
}

/// An agent that answers each message with so many bytes.
fn serve(home: &Home, bytes: usize, arguments: &[&str]) -> Agent {
    let program = format!("head -c {bytes} /dev/zero | tr '\\0' x");
    home.serve(&[arguments, &["--exec", &program]].concat())
}

fn send(agent: &Agent, number: usize) -> String {
    let parts = json!([{"text": "go"}]);
    let message = json!({"messageId": format!("m{number}"), "role": "ROLE_USER", "parts": parts});
    let params = json!({"message": message, "configuration": {"historyLength": 0}});
    call(agent, "SendMessage", &params)["task"]["id"].as_str().unwrap().to_owned()
}

#[test]
fn sixty_readers_who_do_not_read_a_large_task_stay_within_the_limit_of_answers() {
    for store in ["memory", "sqlite:./tasks.db"] {
        let home = Home::new();
        let agent = serve(&home, 24 * MIB, &["--store", store, "--max-answer-bytes", "64M"]);
        let id = send(&agent, 0);
        let mut unread = Vec::new();
        let growth = growth(&agent, || {
            unread.extend((0..60).map(|_| ask(&agent, "GetTask", &json!({"id": id}))));
            // The head of each answer is there: the answer is under way.
            for stream in &mut unread {
                let mut status = [0; 12];
                stream.read_exact(&mut status).unwrap();
                assert_eq!(&status, b"HTTP/1.1 200");
            }
        });
        assert!(growth < 2 * 64 * MIB, "{store}: {} MiB more", growth / MIB);
        drop(unread);
        let again = eventually("the task is read", || Some(call(&agent, "GetTask", &json!({"id": id}))));
        let length = |part: &Value| part["text"].as_str().unwrap().len();
        let parts = again["artifacts"].as_array().unwrap().iter().flat_map(|it| it["parts"].as_array().unwrap());
        assert_eq!(parts.map(length).sum::<usize>(), 24 * MIB);
    }
}

#[test]
fn a_page_of_large_tasks_is_cut_before_it_takes_more_memory_than_its_limit() {
    const TASKS: usize = 24;
    for store in ["memory", "sqlite:./tasks.db"] {
        let home = Home::new();
        let agent = serve(&home, 2 * MIB, &["--store", store, "--max-page-bytes", "16M", "--store-cache", "0"]);
        let mut ids: Vec<_> = (0..TASKS).map(|number| send(&agent, number)).collect();
        let (mut listed, mut pages, mut token) = (Vec::new(), 0, String::new());
        let growth = growth(&agent, || {
            loop {
                let params = json!({"includeArtifacts": true, "pageToken": token});
                let page = call(&agent, "ListTasks", &params);
                assert_eq!(page["totalSize"], TASKS);
                listed.extend(page["tasks"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap().to_owned()));
                pages += 1;
                page["nextPageToken"].as_str().unwrap_or_default().clone_into(&mut token);
                if token.is_empty() {
                    break;
                }
            }
        });
        listed.sort_unstable();
        ids.sort_unstable();
        assert_eq!(listed, ids, "each task once");
        assert!((4..=6).contains(&pages), "{store}: {pages} pages");
        // The tasks of a page and the encoded page.
        assert!(growth < 2 * (16 + 16) * MIB, "{store}: {} MiB more", growth / MIB);
    }
}
