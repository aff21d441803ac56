//! The agent of a run: a program with JSON lines. The agent records each turn in a file, and adds the name of its run
//! to all output.
//!
//! The text of the message is a command: `work CHUNKS MILLISECONDS`, or `ask` or `fail` with the same arguments.

use std::{
    collections::HashMap,
    env,
    fs::{self, File},
    io::{self, BufRead as _, Write as _},
    path::Path,
    process::{self, ExitCode},
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, SystemTime},
};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::event::text_of;

/// The environment variable with the file for the turns.
pub(crate) const RUNS: &str = "NUNCIO_CHAOS_RUNS";
/// The environment variable with the name of the node, and the count of the node's starts.
pub(crate) const NODE: &str = "NUNCIO_CHAOS_NODE";

/// A turn of the agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Run {
    #[serde(rename = "run")]
    pub(crate) name: String,
    pub(crate) task: String,
    pub(crate) message: String,
    pub(crate) node: String,
    pub(crate) pid: u32,
    pub(crate) epoch: u64,
    /// The start of the turn, and the last recorded time at which the turn was running; in microseconds.
    pub(crate) began: u64,
    #[serde(default)]
    pub(crate) seen: u64,
}

/// A record that a turn is still running.
#[derive(Debug, Serialize, Deserialize)]
struct Sign {
    run: String,
    at: u64,
}

/// A line of the file for the turns.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Began(Run),
    Lives(Sign),
}

/// The turns in a file. An incomplete last line is ignored.
pub(crate) fn runs(file: &Path) -> Vec<Run> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let (mut runs, mut seen) = (Vec::new(), HashMap::new());
    for line in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
        match line {
            Line::Began(run) => runs.push(run),
            Line::Lives(Sign { run, at }) => drop(seen.insert(run, at)),
        }
    }
    for run in &mut runs {
        run.seen = seen.get(&run.name).copied().unwrap_or(run.began);
    }
    runs
}

static CANCELED: AtomicBool = AtomicBool::new(false);

/// Runs one turn.
pub(crate) fn turn() -> Result<ExitCode> {
    let mut opening = String::new();
    io::stdin().read_line(&mut opening)?;
    let opening: Value = serde_json::from_str(&opening).context("the first line")?;
    let message = &opening["message"];
    begin(message)?;
    // The end of stdin must not stop this program: the test requires that the guard of a killed server ends the
    // program.
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
        note(&Line::Lives(Sign { run: name(), at: now() }))?;
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

fn begin(message: &Value) -> Result<()> {
    let run = Run {
        name: name(),
        task: env::var("NUNCIO_TASK_ID")?,
        message: message["messageId"].as_str().unwrap_or_default().to_owned(),
        node: env::var(NODE)?,
        pid: process::id(),
        epoch: env::var("NUNCIO_EPOCH")?.parse()?,
        began: begun(),
        seen: 0,
    };
    note(&Line::Began(run))
}

fn note(line: &Line) -> Result<()> {
    let mut line = serde_json::to_vec(line)?;
    line.push(b'\n');
    let path = env::var(RUNS)?;
    // A single write in append mode, so that lines of several programs are not mixed.
    File::options().append(true).create(true).open(path)?.write_all(&line)?;
    Ok(())
}

/// A unique name for this run, from the time and the process id.
fn name() -> String {
    format!("{:x}-{:x}", begun(), process::id())
}

fn begun() -> u64 {
    static BEGUN: OnceLock<u64> = OnceLock::new();
    *BEGUN.get_or_init(now)
}

/// Microseconds since 1970; the programs of all nodes use the same clock.
fn now() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.ok().and_then(|time| u64::try_from(time.as_micros()).ok()).unwrap_or(0)
}

/// Writes a line. A write error is ignored, because the server may have been killed.
fn say(line: &Value) {
    let _ = writeln!(io::stdout(), "{line}");
}
