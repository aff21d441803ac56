//! A node: the real binary as a process; killed, paused and started again on the same port.

use std::{
    fs::File,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use nuncio_testbed::{Guard, Port};
use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process};
use tokio::{net::TcpStream, time::sleep};

use crate::{
    agent,
    history::{History, What},
};

/// The maximum time until a node listens, and until a program ends after its server.
const START: Duration = Duration::from_secs(40);
const FOLLOW: Duration = Duration::from_secs(5);

/// The text in a node's log for a zombie task: a task of the node without a runner.
const ZOMBIE: &str = "found a zombie task";

/// The settings to start nodes.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) nuncio: PathBuf,
    /// The folder for the logs, and for the file in which programs record their turns.
    pub(crate) folder: PathBuf,
    /// Settings of the agent, in addition to the settings of the node.
    pub(crate) resumes: bool,
}

impl Plan {
    pub(crate) fn runs(&self) -> PathBuf {
        self.folder.join("runs.jsonl")
    }
}

/// A node. Dropping the value kills the process.
#[derive(Debug)]
pub(crate) struct Node {
    name: String,
    plan: Plan,
    arguments: Vec<String>,
    port: Port,
    running: Mutex<Running>,
    history: Arc<History>,
}

#[derive(Debug)]
struct Running {
    child: Option<Child>,
    starts: u32,
    /// Kills the node if this process is killed.
    guard: Guard,
}

impl Running {
    fn id(&self) -> Option<Pid> {
        self.child.as_ref().and_then(|child| i32::try_from(child.id()).ok()).and_then(Pid::from_raw)
    }
}

impl Node {
    pub(crate) fn new(name: String, plan: Plan, arguments: Vec<String>, history: Arc<History>) -> Result<Self> {
        let port = Port::take()?;
        let running = Mutex::new(Running { child: None, starts: 0, guard: Guard::new(None)? });
        Ok(Self { name, plan, arguments, port, running, history })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port.number()))
    }

    /// Starts the node, and waits until the node listens.
    pub(crate) async fn start(&self) -> Result<()> {
        self.spawn()?;
        let deadline = Instant::now() + START;
        while TcpStream::connect(self.address()).await.is_err() {
            if let Some(status) = self.running.lock().child.as_mut().and_then(|child| child.try_wait().transpose()) {
                bail!("node {} exited during its start: {}; see {}", self.name, status?, self.log().display());
            }
            if Instant::now() > deadline {
                bail!("node {} is not listening after {START:?}; see {}", self.name, self.log().display());
            }
            sleep(Duration::from_millis(2)).await;
        }
        Ok(())
    }

    fn log(&self) -> PathBuf {
        self.plan.folder.join(format!("{}.log", self.name))
    }

    /// Starts the process.
    pub(crate) fn spawn(&self) -> Result<()> {
        let mut running = self.running.lock();
        running.starts += 1;
        let log = File::options().create(true).append(true).open(self.log())?;
        let mut command = Command::new(&self.plan.nuncio);
        command.arg("serve").args(["--port", &self.port.to_string()]).args(&self.arguments);
        command.args(["--log-retention", "1h", "--keep-alive", "1s", "--allow-private-webhooks", "--quiet"]);
        if self.plan.resumes {
            command.arg("--resume");
        }
        command.args(["--jsonl", "--"]).arg(std::env::current_exe()?).arg("agent");
        command
            .env(agent::RUNS, self.plan.runs())
            .env(agent::NODE, self.incarnation(running.starts))
            .current_dir(&self.plan.folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        running.child = Some(command.spawn().with_context(|| format!("cannot start {}", self.plan.nuncio.display()))?);
        let id = running.id();
        running.guard.watch(id)
    }

    fn incarnation(&self, starts: u32) -> String {
        format!("{}.{starts}", self.name)
    }

    /// The log lines about zombie tasks. The node settles such tasks, but no such task should occur.
    pub(crate) fn zombies(&self) -> Vec<What> {
        let log = std::fs::read(self.log()).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines = log.lines().filter(|line| line.contains(ZOMBIE));
        lines.map(|line| What::Zombie { node: self.name.clone(), line: line.to_owned() }).collect()
    }

    /// Kills the node immediately, then searches its programs; programs that survive are recorded.
    pub(crate) async fn kill(&self) -> Result<()> {
        let incarnation = {
            let mut running = self.running.lock();
            let Some(mut child) = running.child.take() else { return Ok(()) };
            child.kill()?;
            child.wait()?;
            running.guard.watch(None)?;
            self.incarnation(running.starts)
        };
        let deadline = Instant::now() + FOLLOW;
        loop {
            let left: Vec<_> = self.programs(&incarnation).into_iter().filter(|pid| is_program(*pid)).collect();
            if left.is_empty() {
                return Ok(());
            }
            if Instant::now() > deadline {
                for pid in left {
                    self.history.add(What::Orphan { pid, node: incarnation.clone() });
                }
                return Ok(());
            }
            sleep(Duration::from_millis(5)).await;
        }
    }

    fn programs(&self, incarnation: &str) -> Vec<u32> {
        agent::runs(&self.plan.runs()).into_iter().filter(|run| run.node == incarnation).map(|run| run.pid).collect()
    }

    pub(crate) fn signal(&self, signal: Signal) -> Result<()> {
        let id = self.running.lock().id();
        kill_process(id.context("the node does not run")?, signal)?;
        Ok(())
    }

    /// Whether the node exited without a fault. This is always a violation.
    pub(crate) fn has_ended(&self) -> bool {
        self.running.lock().child.as_mut().is_some_and(|child| !matches!(child.try_wait(), Ok(None)))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(child) = &mut self.running.lock().child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Whether a process is running and is one of the run's programs. The kernel can reuse the id for another process.
fn is_program(pid: u32) -> bool {
    // A zombie process has no command line.
    std::fs::read(format!("/proc/{pid}/cmdline"))
        .is_ok_and(|line| line.split(|byte| *byte == 0).any(|word| word == b"agent"))
}
