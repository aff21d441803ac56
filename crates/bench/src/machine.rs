//! Facts about the machine and its load: cores and pinning, processor time from `/proc/stat`, resident memory.

use std::{
    cell::RefCell,
    fs,
    process::Command,
    rc::Rc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use rustix::{
    param::clock_ticks_per_second,
    process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit},
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
};

/// One core for the servers and one core for the load, if the machine has two.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cores {
    allowed: CpuSet,
    load: Option<usize>,
    server: Option<usize>,
}

impl Cores {
    /// Selects the first two allowed cores, and moves this process to the first.
    pub(crate) fn choose() -> Result<Self> {
        let allowed = sched_getaffinity(None).context("cannot read the processor affinity")?;
        let mut free = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core));
        let cores = match (free.next(), free.next()) {
            (Some(load), Some(server)) => Self { allowed, load: Some(load), server: Some(server) },
            _ => Self { allowed, load: None, server: None },
        };
        pin(cores.load)?;
        Ok(cores)
    }

    /// Runs `start` on the server's core; a process started by `start` stays on this core.
    pub(crate) fn on_server_core<T>(self, start: impl FnOnce() -> T) -> Result<T> {
        pin(self.server)?;
        let started = start();
        pin(self.load)?;
        Ok(started)
    }

    /// Runs `start` on any core; a process started by `start` can run on all cores.
    pub(crate) fn on_any_core<T>(self, start: impl FnOnce() -> T) -> Result<T> {
        sched_setaffinity(None, &self.allowed).context("cannot set the processor affinity")?;
        let started = start();
        pin(self.load)?;
        Ok(started)
    }

    /// Whether server and load have separate cores.
    pub(crate) fn are_separate(self) -> bool {
        self.server.is_some()
    }
}

fn pin(core: Option<usize>) -> Result<()> {
    if let Some(core) = core {
        let mut set = CpuSet::new();
        set.set(core);
        sched_setaffinity(None, &set).context("cannot set the processor affinity")?;
    }
    Ok(())
}

/// Raises the limit of open files to the maximum, for this process and its children.
pub(crate) fn allow_many_files() -> Result<()> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let raised = Rlimit { current: maximum, maximum };
    setrlimit(Resource::Nofile, raised).context("cannot raise the limit of open files")
}

/// The processes of this run, to separate their processor time from the time of other processes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Processes(Rc<RefCell<Known>>);

#[derive(Debug, Default)]
struct Known {
    servers: Vec<u32>,
    /// Processes that are counted with their children.
    families: Vec<u32>,
}

impl Processes {
    /// Counts a process as part of this run.
    pub(crate) fn add(&self, process: u32) {
        self.0.borrow_mut().servers.push(process);
    }

    /// Counts a process and its children as part of this run.
    pub(crate) fn add_family(&self, process: u32) {
        self.0.borrow_mut().families.push(process);
    }

    /// Starts a measurement of processor time: `server` is the process under load.
    pub(crate) fn meter(&self, server: u32) -> Meter {
        Meter { processes: self.clone(), server, started: Instant::now(), before: self.ticks(server) }
    }

    fn ticks(&self, server: u32) -> Ticks {
        // The time of an ended server is added to this process (its parent), so the sum never decreases.
        let [load, ended] = stat_ticks("self").unwrap_or_default();
        let known = self.0.borrow();
        let servers = known.servers.iter().filter_map(|process| process_ticks(&process.to_string()));
        let families = known.families.iter().map(|&process| family_ticks(process));
        Ticks {
            server: process_ticks(&server.to_string()).unwrap_or(0),
            load,
            ours: servers.chain(families).sum::<u64>() + load + ended,
            used: machine_ticks().unwrap_or(0),
        }
    }
}

/// A running measurement of processor time.
#[derive(Debug)]
pub(crate) struct Meter {
    processes: Processes,
    server: u32,
    started: Instant,
    before: Ticks,
}

#[derive(Debug)]
struct Ticks {
    server: u64,
    load: u64,
    ours: u64,
    used: u64,
}

/// Processor time in shares of one core.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    /// The server under load.
    pub(crate) server: f64,
    /// The load generator, without its time without work.
    pub(crate) load: f64,
    /// Processes outside of this run, and time taken by the hypervisor.
    pub(crate) foreign: f64,
}

impl Meter {
    /// The duration so far.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Ends the measurement.
    pub(crate) fn read(&self) -> Usage {
        let now = self.processes.ticks(self.server);
        let elapsed = self.started.elapsed().as_secs_f64() * clock_ticks_per_second() as f64;
        let share = |ticks: u64| ticks as f64 / elapsed.max(1.0);
        let used = now.used.saturating_sub(self.before.used);
        let ours = now.ours.saturating_sub(self.before.ours);
        Usage {
            server: share(now.server.saturating_sub(self.before.server)),
            load: share(now.load.saturating_sub(self.before.load)),
            foreign: share(used.saturating_sub(ours)),
        }
    }
}

/// User and system ticks of a process, all its threads together.
fn process_ticks(process: &str) -> Option<u64> {
    let [own, _] = stat_ticks(process)?;
    Some(own)
}

/// The ticks of a process and of all its children. The ticks of an ended child are added to its parent, so the sum
/// never decreases.
fn family_ticks(parent: u32) -> u64 {
    let is_child = |process: &str| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
        fields.split_ascii_whitespace().nth(1).and_then(|field| field.parse().ok()) == Some(parent)
    };
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let children = processes.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()) && is_child(name));
    let own: u64 = stat_ticks(&parent.to_string()).unwrap_or_default().iter().sum();
    own + children.filter_map(|child| process_ticks(&child)).sum::<u64>()
}

/// The ticks of a process, and of its ended children.
fn stat_ticks(process: &str) -> Option<[u64; 2]> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let mut ticks = fields.split_ascii_whitespace().skip(11).map_while(|field| field.parse::<u64>().ok());
    let mut pair = || Some(ticks.next()? + ticks.next()?);
    Some([pair()?, pair()?])
}

/// The ticks of all cores used by processes or taken by the hypervisor. Interrupt time (here, the loopback network)
/// belongs to no process and is not counted as used.
fn machine_ticks() -> Option<u64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let fields: Vec<u64> =
        stat.lines().next()?.split_ascii_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect();
    let [user, nice, system, _, _, _, _, steal] = *fields.first_chunk::<8>()?;
    Some(user + nice + system + steal)
}

fn core_count() -> usize {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let core = |line: &&str| line.starts_with("cpu") && !line.starts_with("cpu ");
    stat.lines().filter(core).count().max(1)
}

/// Resident memory of a process in bytes.
pub(crate) fn resident(process: u32) -> Result<u64> {
    let path = format!("/proc/{process}/status");
    let status = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_ascii_whitespace().next()?.parse::<u64>().ok());
    kib.map(|kib| kib * 1024).with_context(|| format!("no resident memory in {path}"))
}

/// Requests the end of a process.
pub(crate) fn terminate(process: u32) {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        // An error means that the process has already ended.
        let _ = kill_process(pid, Signal::TERM);
    }
}

/// The facts that a reader needs to judge the figures.
pub(crate) fn facts() -> Vec<(&'static str, String)> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        let value = line.and_then(|line| line.split_once(':'));
        value.map_or_else(|| "unknown".to_owned(), |(_, value)| value.trim().to_owned())
    };
    let memory = field(&read("/proc/meminfo"), "MemTotal");
    let kib = memory.split_ascii_whitespace().next().and_then(|kib| kib.parse::<u64>().ok());
    vec![
        ("CPU", field(&read("/proc/cpuinfo"), "model name")),
        ("cores", core_count().to_string()),
        ("memory", kib.map_or(memory, |kib| format!("{} GiB", kib.div_ceil(1024 * 1024)))),
        ("kernel", read("/proc/sys/kernel/osrelease").trim().to_owned()),
        ("compiler", output("rustc", &["--version"])),
        ("commit", output("git", &["describe", "--always", "--dirty"])),
    ]
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.ok().filter(|output| output.status.success());
    text.map_or_else(|| "unknown".to_owned(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
