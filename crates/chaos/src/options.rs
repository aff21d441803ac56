//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Applies faults to real nodes while clients record all answers, and checks that no data was lost
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) run: Options,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The agent of a run; started by nodes
    #[command(hide = true)]
    Agent,
    /// Check the history of an earlier run again
    Check {
        /// The file `history.jsonl` in the folder of the run
        history: PathBuf,
    },
}

/// Settings of a run.
#[derive(Debug, Clone, Args)]
pub(crate) struct Options {
    /// The seed of all random choices; by default a new seed, which is printed
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// The store: sqlite is one node that is killed repeatedly, postgres is a cluster with all kinds of faults
    #[arg(long, value_enum, default_value_t = Store::Sqlite)]
    pub(crate) store: Store,
    /// The bus that wakes the nodes of a cluster
    #[arg(long, value_enum, default_value_t = Bus::Nats)]
    pub(crate) bus: Bus,
    /// The number of nodes of a cluster
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    nodes: u16,
    /// The duration of the faults in a cluster, in seconds
    #[arg(long, default_value_t = 30)]
    pub(crate) seconds: u64,
    /// How many times the single node is killed
    #[arg(long, default_value_t = 40)]
    pub(crate) kills: u64,
    /// The maximum time between two kills of the single node, in milliseconds
    #[arg(long, default_value_t = 700, value_parser = clap::value_parser!(u64).range(2..))]
    pub(crate) lives: u64,
    /// Store the data on a small disk of this size, which is filled occasionally. Mounting the disk requires root
    #[arg(long, value_name = "MEBIBYTES")]
    pub(crate) disk: Option<u64>,
    /// Apply only this kind of fault to a cluster
    #[arg(long, value_enum)]
    pub(crate) only: Option<Kind>,
    /// The number of clients
    #[arg(long, default_value_t = 12)]
    pub(crate) clients: u64,
    /// The lease of the nodes of a cluster, in seconds
    #[arg(long, default_value_t = 2)]
    pub(crate) lease: u64,
    /// The maximum time until all tasks, readers and webhooks end, after the end of all faults, in seconds
    #[arg(long, default_value_t = 40)]
    pub(crate) settle_timeout: u64,
    /// Whether the agent resumes interrupted turns; by default the seed decides
    #[arg(long)]
    pub(crate) resumes: Option<bool>,
    /// The binary under test; by default `nuncio` in the folder of this binary
    #[arg(long, value_name = "FILE")]
    pub(crate) nuncio: Option<PathBuf>,
    /// The folder for the history, the logs and the database; by default a temporary folder, which is kept if the run
    /// found a violation
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// The promise that the run must break, for a build with an intended bug: the run fails unless the checker reports
    /// this promise
    #[arg(long, value_name = "PROMISE")]
    pub(crate) expect: Vec<String>,
}

impl Options {
    pub(crate) fn nodes(&self) -> usize {
        match self.store {
            Store::Sqlite => 1,
            Store::Postgres => self.nodes.into(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Store {
    Sqlite,
    Postgres,
}

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Nodes are killed
    Kill,
    /// Nodes are paused
    Pause,
    /// Links from nodes to servers fail
    Link,
    /// Servers are restarted, killed and paused
    Server,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Bus {
    Nats,
    Postgres,
}
