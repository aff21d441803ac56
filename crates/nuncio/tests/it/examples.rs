//! Tests of the examples: each example runs from the root of the repository, ends on its own, and prints the expected
//! text.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

/// The examples that end on their own, and the texts in their output, in this order.
const ENDING: &[(&str, &[&str])] = &[
    (
        "authentication",
        &[
            "alice reads: hello, alice",
            "bob reads the task of alice: Err(task",
            "was not found (TaskNotFound)",
            "a caller without a token: Err(",
            "Unauthenticated",
        ],
    ),
    ("custom_binding", &["Ok(\"alice said: hello\")", "Err(the credentials were not accepted (Unauthenticated)"]),
    ("extra_route", &["the route: an agent that greets", "the agent: hello"]),
    ("files", &["Cargo.toml (text/x-toml)", "  1 [package]", "  2 name = \"nuncio\""]),
    (
        "model_tools",
        &["working \"calling multiply\"", "artifact answer \"21 times 2 is 42.\" (last)", "status completed"],
    ),
    (
        "resuming",
        &["artifact numbers", "the agent was killed; the cursor is ", "+ \"8 \"", "status completed \"counted\""],
    ),
    ("store", &["after the restart: completed \"buy milk\""]),
    (
        "structured_data",
        &["Bill { dish: \"soup\", total: 36 }", "the data of the message is not as expected: missing field `guests`"],
    ),
    ("test_an_agent", &["which number?", "42"]),
    ("one_port", &["billing: hello", "support: hello", "weather: hello"]),
    ("two_agents", &["asking the other agent", "\"FIRST \"", "+ \"WORK \"", "status completed \"that is the plan\""]),
    (
        "webhook",
        &[
            "sent; the task is ",
            "received: status working \"thinking\"",
            "received: artifact answer \"42\"",
            "received: status completed",
        ],
    ),
];

/// The examples that serve until they are stopped, and the line with the command for a call.
const SERVING: &[(&str, &str)] = &[("ask_user", "nuncio send"), ("echo_agent", "nuncio send")];

/// The examples that call the agent in the command line.
const CALLING: &[&str] = &["call_agent", "stream"];

/// The folder of the examples built by `cargo test`.
fn built(example: &str) -> PathBuf {
    let directory = std::env::current_exe().unwrap().parent().unwrap().parent().unwrap().join("examples");
    directory.join(format!("{example}{}", std::env::consts::EXE_SUFFIX))
}

/// Runs an example to its end, and returns the output.
fn run(example: &str, arguments: &[&str]) -> String {
    let mut command = tokio::process::Command::new(built(example));
    command.args(arguments).env_remove("OPENAI_BASE_URL").kill_on_drop(true).stdin(Stdio::null());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let ended = runtime.block_on(async { tokio::time::timeout(Duration::from_secs(50), command.output()).await });
    let output = ended.unwrap_or_else(|_| panic!("{example} does not end")).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{example}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn each_example_prints_the_expected_text() {
    for (example, promised) in ENDING {
        let text = run(example, &[]);
        let mut rest = text.as_str();
        for part in *promised {
            let (_, after) = rest.split_once(part).unwrap_or_else(|| panic!("{example} lacks {part:?}:\n{text}"));
            rest = after;
        }
    }
}

#[test]
fn the_examples_that_call_reach_an_agent() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let address = runtime.block_on(async {
        let agent = nuncio::engine::agent_fn(|turn: nuncio::Turn| async move {
            let text = turn.message().text();
            turn.artifact("echo").finish(text).await
        });
        let engine = nuncio::Engine::builder(agent).build();
        let server = nuncio::Server::builder(engine).bind("127.0.0.1:0").await.unwrap();
        let address = server.local_addr().to_string();
        tokio::spawn(server.serve(std::future::pending()));
        address
    });
    assert!(run("call_agent", &[&address, "good day"]).contains("is completed\ngood day\n"));
    assert!(run("stream", &[&address, "good day"]).contains("good day"));
}

/// These examples listen on a fixed port, so only their source is examined.
#[test]
fn serving_examples_print_the_command_for_a_call() {
    for (example, hint) in SERVING {
        let source = std::fs::read_to_string(directory().join(format!("{example}.rs"))).unwrap();
        assert!(source.contains(&format!("println!(\"serving; call: {hint}")), "{example}");
        assert!(built(example).exists(), "{example}");
    }
}

#[test]
fn every_example_has_a_test() {
    let files = std::fs::read_dir(directory()).unwrap();
    let written: BTreeSet<_> =
        files.map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    let names = ENDING.iter().map(|it| it.0).chain(SERVING.iter().map(|it| it.0)).chain(CALLING.iter().copied());
    assert_eq!(names.map(str::to_owned).collect::<BTreeSet<_>>(), written);
}

/// `cargo run --example NAME` searches the default members, and `cargo run` requires exactly one binary among them.
#[test]
fn examples_and_the_binary_are_found_from_the_root() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let arguments = ["metadata", "--no-deps", "--offline", "--format-version", "1"];
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo).args(arguments).current_dir(root).output().unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let defaults = metadata["workspace_default_members"].as_array().unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter().filter(|it| defaults.contains(&it["id"]));
    let targets: Vec<_> = packages.flat_map(|it| it["targets"].as_array().unwrap()).collect();
    let named = |kind: &str| -> BTreeSet<_> {
        let of_kind = targets.iter().filter(|target| target["kind"][0] == kind);
        of_kind.map(|target| target["name"].as_str().unwrap()).collect()
    };
    assert_eq!(named("bin"), BTreeSet::from(["nuncio"]));
    assert!(named("example").contains("model_tools"));
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}
