//! The agent of a run, a program that speaks JSON lines: it notes each turn in a file, and names its run in all it says.
//!
//! The message's text says what to do: `work CHUNKS MILLISECONDS`, and `ask` and `fail` likewise.

use std::{
    env,
    fs::File,
    io::{self, BufRead as _, Write as _},
    process::{self, ExitCode},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, SystemTime},
};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::event::text_of;

/// The file that turns are noted in.
pub(crate) const RUNS: &str = "NUNCIO_CHAOS_RUNS";
/// The name of the node that starts the agent, with how many times it was started.
pub(crate) const NODE: &str = "NUNCIO_CHAOS_NODE";

/// A turn.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Run {
    #[serde(rename = "run")]
    pub(crate) name: String,
    pub(crate) task: String,
    pub(crate) message: String,
    pub(crate) node: String,
    pub(crate) pid: u32,
}

static CANCELED: AtomicBool = AtomicBool::new(false);

/// Runs one turn.
pub(crate) fn turn() -> Result<ExitCode> {
    let mut opening = String::new();
    io::stdin().read_line(&mut opening)?;
    let opening: Value = serde_json::from_str(&opening).context("the first line")?;
    let message = &opening["message"];
    note(message)?;
    // Its own stdin's end is no reason to stop: a server that is killed must see to that.
    thread::spawn(|| {
        if io::stdin().lock().lines().next().is_some_and(|line| line.is_ok()) {
            CANCELED.store(true, Ordering::Relaxed);
        }
    });
    let text = text_of(message);
    let mut words = text.split(' ');
    let what = words.next().unwrap_or_default();
    let mut number = || words.next().and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    let (chunks, every) = (number(), Duration::from_millis(number()));
    for chunk in 1..=chunks {
        if CANCELED.load(Ordering::Relaxed) {
            return Ok(ExitCode::SUCCESS);
        }
        say(&json!({"text": format!("{} {chunk}\n", name())}));
        thread::sleep(every);
    }
    match what {
        "ask" => say(&json!({"statusUpdate": {"status": {
            "state": "TASK_STATE_INPUT_REQUIRED", "message": {"parts": [{"text": "what else?"}]},
        }}})),
        "fail" => return Ok(ExitCode::from(3)),
        _ => {}
    }
    Ok(ExitCode::SUCCESS)
}

fn note(message: &Value) -> Result<()> {
    let run = Run {
        name: name(),
        task: env::var("NUNCIO_TASK_ID")?,
        message: message["messageId"].as_str().unwrap_or_default().to_owned(),
        node: env::var(NODE)?,
        pid: process::id(),
    };
    let mut line = serde_json::to_vec(&run)?;
    line.push(b'\n');
    let path = env::var(RUNS)?;
    // One write to the end of the file, so that lines of others stay whole.
    File::options().append(true).create(true).open(path)?.write_all(&line)?;
    Ok(())
}

/// The name of this run: no other has its time and process.
fn name() -> String {
    static BEGUN: std::sync::OnceLock<u128> = std::sync::OnceLock::new();
    let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_micros());
    format!("{:x}-{:x}", BEGUN.get_or_init(now), process::id())
}

/// Writes a line. A server that is gone does not read it.
fn say(line: &Value) {
    let _ = writeln!(io::stdout(), "{line}");
}
