//! Runs `nuncio`: a command, or an agent that stops with the test.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

/// What a command left behind.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    /// The one document on stdout.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// A document a line.
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Fails unless stdout is a document or JSON lines.
    pub(crate) fn lines_or_document(&self) {
        let is_document = serde_json::from_str::<Value>(&self.out).is_ok();
        let is_json = |line: &str| serde_json::from_str::<Value>(line).is_ok();
        assert!(is_document || self.out.lines().all(is_json), "{self:?}");
    }

    /// Fails unless the command succeeded.
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }

    /// The error of the last line; checks the exit code.
    pub(crate) fn error(&self, code: &str, exit: i32) -> Value {
        let last: Value = serde_json::from_str(self.out.lines().last().unwrap_or_default()).unwrap_or_default();
        assert_eq!((last["error"]["code"].as_str(), self.code), (Some(code), exit), "{self:?}");
        assert!(last["error"]["message"].as_str().is_some_and(|message| !message.is_empty()), "{self:?}");
        last["error"].clone()
    }
}

/// A folder to run in, without the settings of the user.
pub(crate) struct Home(TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nuncio"));
        for (name, _) in std::env::vars() {
            if name.starts_with("A2ACLI_") || name.starts_with("NUNCIO_") {
                command.env_remove(name);
            }
        }
        command.args(arguments).current_dir(self.path()).env("HOME", self.path()).env_remove("XDG_CONFIG_HOME");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        finish(self.command(arguments), "")
    }

    pub(crate) fn run_with(&self, arguments: &[&str], environment: &[(&str, &str)], stdin: &str) -> Run {
        let mut command = self.command(arguments);
        command.envs(environment.iter().copied());
        finish(command, stdin)
    }

    /// Serves an agent on a free port, with tasks in memory and all bindings in the card unless told otherwise.
    pub(crate) fn serve(&self, arguments: &[&str]) -> Agent {
        let mut all = vec!["serve", "--port", "0"];
        if !arguments.contains(&"--store") {
            all.extend(["--store", "memory"]);
        }
        if !arguments.contains(&"--bindings") {
            all.extend(["--bindings", "jsonrpc,rest,grpc"]);
        }
        all.extend(arguments);
        Agent::start(self.command(&all))
    }
}

fn finish(mut command: Command, stdin: &str) -> Run {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A command that reads no stdin may be gone already.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// An agent that is stopped on drop.
pub(crate) struct Agent {
    pub(crate) child: Child,
    /// `127.0.0.1:PORT`
    pub(crate) address: String,
    pub(crate) banner: String,
}

impl Agent {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut banner = String::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            banner.push_str(&line.unwrap());
            banner.push('\n');
            if banner.contains("\nTry: ") {
                break;
            }
        }
        let address = banner.split("Card: http://").nth(1).and_then(|rest| rest.split('/').next());
        let Some(address) = address.map(str::to_owned) else {
            panic!("{banner}{:?}", child.wait_with_output().unwrap());
        };
        Self { child, address, banner }
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &pid]).status().unwrap().success());
    }

    /// Waits for its end.
    pub(crate) fn wait(&mut self) -> i32 {
        let code = eventually("the agent ends", || self.child.try_wait().unwrap());
        code.code().unwrap_or(-1)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The first value that `look` gives within ten seconds.
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(10);
    while Instant::now() < deadline {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("not within ten seconds: {what}");
}
