//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Hurts real nodes while clients record what they are told, and checks that nothing was lost.
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
    /// The agent of a run; nodes start it.
    #[command(hide = true)]
    Agent,
    /// Judge the history of an earlier run again.
    Check {
        /// The file `history.jsonl` of its folder.
        history: PathBuf,
    },
}

/// Settings of a run.
#[derive(Debug, Clone, Args)]
pub(crate) struct Options {
    /// Where all choices come from; by default a new one, which is printed.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Where tasks are kept: sqlite is one node that is killed, postgres a cluster that is hurt in every way.
    #[arg(long, value_enum, default_value_t = Store::Sqlite)]
    pub(crate) store: Store,
    /// What wakes nodes in a cluster.
    #[arg(long, value_enum, default_value_t = Bus::Nats)]
    pub(crate) bus: Bus,
    /// How many nodes a cluster has.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    nodes: u16,
    /// How long a cluster is hurt, in seconds.
    #[arg(long, default_value_t = 30)]
    pub(crate) seconds: u64,
    /// How many times the one node is killed.
    #[arg(long, default_value_t = 40)]
    pub(crate) kills: u64,
    /// How long the one node lives at most between two kills, in milliseconds.
    #[arg(long, default_value_t = 700, value_parser = clap::value_parser!(u64).range(2..))]
    pub(crate) lives: u64,
    /// Keep the data on a disk of so many mebibytes, which is filled now and then. Only root may mount one.
    #[arg(long, value_name = "MEBIBYTES")]
    pub(crate) disk: Option<u64>,
    /// Hurt a cluster in this way alone.
    #[arg(long, value_enum)]
    pub(crate) only: Option<Kind>,
    /// How many clients there are.
    #[arg(long, default_value_t = 12)]
    pub(crate) clients: u64,
    /// The lease of the nodes of a cluster, in seconds.
    #[arg(long, default_value_t = 2)]
    pub(crate) lease: u64,
    /// How long tasks, readers and webhooks may take to come to their ends once all faults are over, in seconds.
    #[arg(long, default_value_t = 40)]
    pub(crate) patience: u64,
    /// Whether the agent resumes turns that were cut off; by default the seed says.
    #[arg(long)]
    pub(crate) resumes: Option<bool>,
    /// The binary under test; by default `nuncio` beside this one.
    #[arg(long, value_name = "FILE")]
    pub(crate) nuncio: Option<PathBuf>,
    /// Where the history, the nodes' logs and the database go; by default a folder for temporary files, which is kept
    /// when something is found.
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// The run is of a build that is broken on purpose: it fails unless the checker finds that this promise is broken.
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
    /// Nodes are killed.
    Kill,
    /// Nodes stand still.
    Pause,
    /// Ways from nodes to servers break.
    Link,
    /// Servers are restarted, killed and paused.
    Server,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Bus {
    Nats,
    Postgres,
}
