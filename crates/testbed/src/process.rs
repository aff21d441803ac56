//! A private server as a process: started, killed, paused, and ended with its value.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::guard::Guard;

/// The maximum time for the start or the end of a server.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// The process and the folder of a server. Dropping the value kills the process and removes the folder.
#[derive(Debug)]
pub(crate) struct Process {
    guard: Guard,
    folder: TempDir,
    name: &'static str,
    child: Option<Child>,
}

impl Process {
    /// No process yet, with an empty folder under `parent`.
    pub(crate) fn new(name: &'static str, parent: &Path) -> Result<Self> {
        let folder = TempDir::with_prefix_in(format!("nuncio-{name}-"), parent)
            .with_context(|| format!("cannot create a folder in {}", parent.display()))?;
        Ok(Self { guard: Guard::new(Some(folder.path()))?, folder, name, child: None })
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// Starts the process, and waits until the server is ready.
    pub(crate) fn start(&mut self, command: &mut Command, mut is_ready: impl FnMut() -> bool) -> Result<()> {
        let log = File::options().create(true).append(true).open(self.log())?;
        let command = command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().with_context(|| format!("cannot start {}", self.name))?;
        self.child = Some(child);
        self.guard.watch(self.id())?;
        let deadline = Instant::now() + TIME_LIMIT;
        while !is_ready() {
            if let Some(status) = self.child.as_mut().and_then(|child| child.try_wait().transpose()) {
                bail!("{} exited during its start: {}\n{}", self.name, status?, self.log_tail());
            }
            if Instant::now() > deadline {
                bail!("{} is not ready after {TIME_LIMIT:?}\n{}", self.name, self.log_tail());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    fn log_tail(&self) -> String {
        let log = fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    /// The process id, if the process is running.
    pub(crate) fn id(&self) -> Option<Pid> {
        self.child.as_ref().and_then(|child| i32::try_from(child.id()).ok()).and_then(Pid::from_raw)
    }

    /// Whether the process has exited without a request; an exited process is reaped.
    pub(crate) fn try_reap(&mut self) -> Result<bool> {
        let Some(child) = &mut self.child else { return Ok(true) };
        if child.try_wait()?.is_none() {
            return Ok(false);
        }
        self.wait().map(|()| true)
    }

    /// Kills the process and its children immediately. Has no effect if the process is not running.
    pub(crate) fn kill(&mut self) -> Result<()> {
        let Some(id) = self.id() else { return Ok(()) };
        // A stopped process starts no further children.
        self.signal(Signal::STOP)?;
        self.until_still(&[id])?;
        let children = children(id);
        for child in &children {
            let _ = kill_process(*child, Signal::KILL);
        }
        self.signal(Signal::KILL)?;
        self.wait()?;
        // The resources of the children are free for the next start only after the children have ended.
        let deadline = Instant::now() + TIME_LIMIT;
        while let Some(child) = children.iter().find(|child| is_alive(**child)) {
            if Instant::now() > deadline {
                bail!("a child process of {} does not end: {child}", self.name);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    /// Requests the end of the process by a signal, and waits for the end.
    pub(crate) fn stop(&mut self, signal: Signal) -> Result<()> {
        self.signal(signal)?;
        let deadline = Instant::now() + TIME_LIMIT;
        while let Some(child) = &mut self.child {
            if child.try_wait()?.is_some() {
                break;
            }
            if Instant::now() > deadline {
                bail!("{} does not end\n{}", self.name, self.log_tail());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        self.wait()
    }

    /// Pauses the process and its children: the connections stay open, and the server no longer answers.
    pub(crate) fn pause(&self) -> Result<()> {
        let all = self.all(Signal::STOP)?;
        self.until_still(&all)
    }

    /// Continues the process after a pause.
    pub(crate) fn resume(&self) -> Result<()> {
        self.all(Signal::CONT).map(drop)
    }

    /// Signals the process and its children, and returns their ids.
    fn all(&self, signal: Signal) -> Result<Vec<Pid>> {
        self.signal(signal)?;
        let mut all: Vec<_> = self.id().into_iter().collect();
        for child in self.id().into_iter().flat_map(children) {
            // A child that has ended in the meantime needs no signal.
            let _ = kill_process(child, signal);
            all.push(child);
        }
        Ok(all)
    }

    /// Waits until stopped processes no longer run. The signal takes a moment to reach each thread, and a thread on
    /// another core can still answer in this time.
    fn until_still(&self, processes: &[Pid]) -> Result<()> {
        let deadline = Instant::now() + TIME_LIMIT;
        while let Some(process) = processes.iter().find(|process| !is_still(**process)) {
            if Instant::now() > deadline {
                bail!("{} does not stop: process {process}", self.name);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let Some(id) = self.id() else { bail!("{} is not running", self.name) };
        kill_process(id, signal).with_context(|| format!("cannot send {signal:?} to {}", self.name))
    }

    /// Reaps the process.
    fn wait(&mut self) -> Result<()> {
        if let Some(mut child) = self.child.take() {
            child.wait()?;
        }
        self.guard.watch(None)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.kill());
    }
}

/// The children of a process. The children of PostgreSQL lead their own process groups, so one group signal is not
/// sufficient.
fn children(parent: Pid) -> Vec<Pid> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = processes.filter_map(|process| process.file_name().to_str()?.parse().ok()).filter_map(Pid::from_raw);
    ids.filter(|id| stat(*id).is_some_and(|(_, of)| of == parent.as_raw_nonzero().get())).collect()
}

fn is_alive(process: Pid) -> bool {
    stat(process).is_some_and(|(state, _)| !matches!(state, 'Z' | 'X'))
}

/// Whether all threads of a process are stopped or have ended.
fn is_still(process: Pid) -> bool {
    let threads = fs::read_dir(format!("/proc/{}/task", process.as_raw_nonzero())).into_iter().flatten().flatten();
    let ids = threads.filter_map(|thread| thread.file_name().to_str()?.parse().ok()).filter_map(Pid::from_raw);
    ids.filter_map(stat).all(|(state, _)| matches!(state, 'T' | 't' | 'Z' | 'X'))
}

/// The state of a process or thread, and the id of its parent. Both fields follow the name, which is in parentheses and
/// can contain any character.
fn stat(process: Pid) -> Option<(char, i32)> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).ok()?;
    let mut words = stat.rsplit_once(')')?.1.split_whitespace();
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}
