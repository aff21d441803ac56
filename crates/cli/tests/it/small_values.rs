//! Resident memory of a server under attacks by JSON of many small values: at most twice its limits.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
};

use serde_json::Value;

use crate::agent::{Agent, Home};

/// Limits of 80 MiB in total and no limit of values, so that only the size in memory limits values.
const LIMITS: &[&str] = &[
    "--max-values=100000000",
    "--max-body=4M",
    "--max-bytes=16M",
    "--caller-bytes=16M",
    "--max-held-bytes=32M",
    "--caller-held-bytes=32M",
    "--max-kept-bytes=16M",
    "--store-cache=16M",
];
const LIMITED: usize = 80 << 20;

/// A file in `/proc` that any process may read.
fn status(agent: &Agent, field: &str) -> usize {
    let status = fs::read_to_string(format!("/proc/{}/status", agent.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    let number = line.trim_start_matches(':').trim().trim_end_matches(" kB");
    number.parse::<usize>().unwrap() << 10
}

/// A server and its resident memory at the start.
struct Watched {
    agent: Agent,
    idle: usize,
}

impl Watched {
    fn serve(home: &Home, arguments: &[&str]) -> Self {
        let agent = home.serve(&[LIMITS, arguments].concat());
        let idle = status(&agent, "VmRSS");
        Self { agent, idle }
    }

    /// Fails if the peak memory of the server is above the limit.
    fn check(&self, after: &str) {
        let most = status(&self.agent, "VmHWM") - self.idle;
        assert!(most <= 2 * LIMITED, "{after}: {} MiB", most >> 20);
    }

    fn request(&self, method: &str, path: &str, body: &str) -> (u16, Vec<u8>) {
        let mut stream = TcpStream::connect(&self.agent.address).unwrap();
        let address = &self.agent.address;
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let code = std::str::from_utf8(&answer[9..12]).unwrap().parse().unwrap();
        let head = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
        (code, answer.split_off(head + 4))
    }
}

/// Objects of seven bytes, which take a hundred times as much when they are parsed.
fn small_values(bytes: usize) -> String {
    format!("[{}]", vec![r#"{"":0}"#; bytes / 7].join(","))
}

fn request(part: &str) -> String {
    format!(
        r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{part}]}},"configuration":{{"historyLength":0}}}}"#
    )
}

#[test]
fn data_of_many_small_values_takes_as_much_as_its_text() {
    let home = Home::new();
    let serve = || Watched::serve(&home, &["--store", "sqlite:./tasks.db", "--exec", "cat >/dev/null"]);
    let server = serve();
    let data = small_values(3_900_000);
    let of_rest = request(&format!(r#"{{"data":{data}}}"#));
    let (code, answer) = server.request("POST", "/message:send", &of_rest);
    assert_eq!(code, 200, "{}", String::from_utf8_lossy(&answer));
    let task: Value = serde_json::from_slice(&answer).unwrap();
    server.check("HTTP+JSON");
    let of_rpc = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{of_rest}}}"#);
    let (_, answer) = server.request("POST", "/", &of_rpc);
    assert!(answer.starts_with(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\""), "{}", String::from_utf8_lossy(&answer));
    server.check("JSON-RPC");
    let id = task["task"]["id"].as_str().unwrap();
    let read = |server: &Watched| {
        for path in
            ["/tasks?historyLength=0".to_owned(), format!("/tasks/{id}?historyLength=0"), format!("/tasks/{id}")]
        {
            assert_eq!(server.request("GET", &path, "").0, 200);
        }
    };
    read(&server);
    server.check("reads");
    drop(server);
    let server = serve();
    read(&server);
    server.check("reads after a restart");
}

#[test]
fn data_of_many_small_values_over_grpc_takes_as_much_as_its_text() {
    let home = Home::new();
    let server = Watched::serve(&home, &[]);
    // In protobuf, each object takes 22 bytes.
    home.write("data.json", &small_values(1_200_000));
    let command = ["send", "hello", "-a", &server.agent.address, "--transport", "grpc"];
    let sent = home.run(&[&command[..], &["--data-part", "data.json", "-o", "json"]].concat()).ok().json();
    server.check("gRPC");
    let id = sent["task"]["id"].as_str().unwrap();
    home.run(&["task", "get", id, "-a", &server.agent.address, "--transport", "grpc", "--history", "5"]).ok();
    server.check("reads over gRPC");
}

#[test]
fn metadata_of_many_small_values_is_refused_before_it_is_parsed() {
    let home = Home::new();
    let server = Watched::serve(&home, &[]);
    let values = small_values(3_900_000);
    let many_parts = vec![r#"{"text":"","metadata":{"":0}}"#; 120_000].join(",");
    for part in [format!(r#"{{"text":"x","metadata":{{"k":{values}}}}}"#), many_parts] {
        let (code, answer) = server.request("POST", "/message:send", &request(&part));
        let answer = String::from_utf8(answer).unwrap();
        assert_eq!(code, 400, "{answer}");
        assert!(answer.contains("metadata_values") && answer.contains(".metadata"), "{answer}");
        server.check("metadata");
    }
}

#[test]
fn programs_that_write_many_small_values_take_as_much_as_their_text() {
    let home = Home::new();
    let line = |member: &str| format!(r#"{{"artifactUpdate":{{"artifact":{{"parts":[{{"text":"x"}}],{member}}}}}}}"#);
    let data = small_values(3_900_000);
    home.write("data", &format!(r#"{{"artifactUpdate":{{"artifact":{{"parts":[{{"data":{data}}}]}}}}}}"#));
    home.write("metadata", &line(&format!(r#""metadata":{{"k":{data}}}"#)));
    let server = Watched::serve(
        &home,
        &[
            "--store",
            "sqlite:./tasks.db",
            "--jsonl",
            r#"read -r line; case "$line" in *'"metadata values"'*) cat metadata ;; *) cat data ;; esac"#,
        ],
    );
    for (text, state) in [("data values", "TASK_STATE_COMPLETED"), ("metadata values", "TASK_STATE_FAILED")] {
        let (_, answer) = server.request("POST", "/message:send", &request(&format!(r#"{{"text":"{text}"}}"#)));
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.contains(state), "{text}: {answer:.300}");
        server.check(text);
    }
    drop(server);
    let server = Watched::serve(&home, &["--exec", "seq 100000"]);
    assert_eq!(server.request("POST", "/message:send", &request(r#"{"text":"x"}"#)).0, 200);
    server.check("short lines");
}

#[test]
fn a_message_of_more_values_than_there_may_be_is_refused() {
    let home = Home::new();
    let agent = home.serve(&["--max-values", "1000"]);
    let server = Watched { idle: 0, agent };
    let (code, answer) =
        server.request("POST", "/message:send", &request(&format!(r#"{{"data":{}}}"#, small_values(7_000))));
    let answer = String::from_utf8(answer).unwrap();
    assert_eq!(code, 413, "{answer}");
    assert!(answer.contains("most of them in message.parts[0].data, where there may be 1000 (values)"), "{answer}");
}
