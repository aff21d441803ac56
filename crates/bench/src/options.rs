//! The command line, and the resulting plan of a run.

use std::{
    num::{NonZeroU64, NonZeroUsize},
    path::PathBuf,
    time::Duration,
};

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Compares Nuncio with a bare axum handler in the same run.
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
pub(crate) struct Options {
    /// An action instead of a measurement.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// The settings of the measurement.
    #[command(flatten)]
    pub(crate) run: RunOptions,
}

/// The actions other than measuring.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve the bare handlers to which the ratios refer.
    Ceiling(CeilingOptions),
}

/// Settings of the ceiling server.
#[derive(Debug, Args)]
pub(crate) struct CeilingOptions {
    /// Port on the loopback interface; 0 selects a free port.
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    /// Pad an answer up to this number of bytes, the length of the measured server's answer.
    #[arg(long, default_value_t = 0)]
    pub(crate) answer_bytes: usize,
}

/// Settings of a run.
#[derive(Debug, Args)]
pub(crate) struct RunOptions {
    /// Sections to run; all if none is named. `quick` makes a short run.
    #[arg(value_enum)]
    pub(crate) words: Vec<Word>,
    /// Instead of the sections: run for this number of minutes at half of the maximum load, and judge whether the
    /// memory stays flat.
    #[arg(
        long,
        value_name = "MINUTES",
        num_args = 0..=1,
        default_missing_value = "30",
        value_parser = clap::value_parser!(u64).range(1..=1440),
        conflicts_with = "words"
    )]
    pub(crate) soak: Option<u64>,
    /// Write the tables also into this file, between its `results` markers; the tables of `peers` alone between its
    /// `peers` markers.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "BENCHMARKS.md")]
    pub(crate) markdown: Option<PathBuf>,
    /// The binary to measure; by default `nuncio` in the folder of this binary.
    #[arg(long, value_name = "FILE")]
    pub(crate) nuncio: Option<PathBuf>,
    /// An additional argument for `nuncio serve`; can be repeated.
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    pub(crate) serve_arg: Vec<String>,
    /// Directory for database files; must be on a real disk, otherwise the figures with synchronous commits are
    /// meaningless.
    #[arg(long, value_name = "DIR", default_value = "target")]
    pub(crate) data_dir: PathBuf,
    /// Rounds of each measurement; the results are medians over the rounds.
    #[arg(long)]
    pub(crate) rounds: Option<usize>,
    /// Length of one measurement of one server in one round.
    #[arg(long, value_name = "MS")]
    pub(crate) slice_ms: Option<u64>,
    /// Concurrent requests, as a list: `1,16`.
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    pub(crate) concurrency: Vec<NonZeroUsize>,
    /// Concurrent readers of streams, as a list.
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    pub(crate) readers: Vec<NonZeroUsize>,
    /// Chunks of a stream, as a list; long streams are judged only if the list contains 100.
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    pub(crate) chunks: Vec<NonZeroU64>,
}

/// A word of the command line: a section or `quick`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Word {
    /// A shorter run, of about four minutes.
    Quick,
    /// SendMessage over each binding and store.
    Send,
    /// GetTask.
    Get,
    /// ListTasks.
    List,
    /// Streams: a separate task for each reader.
    Streams,
    /// Streams: many readers of one task.
    Fanout,
    /// Time to the first chunk.
    First,
    /// Memory of idle streams and stored tasks.
    Memory,
    /// SendMessage with PostgreSQL and synchronous commits.
    Postgres,
    /// Streams of tasks on another node.
    Nodes,
    /// Time until another node takes over the tasks of a killed node.
    Takeover,
    /// Cost of an event in a task of 100,000 events.
    Long,
    /// SendMessage, compared with the official SDKs; only if named.
    Peers,
}

/// The sections in order.
pub(crate) const SECTIONS: [Word; 11] = [
    Word::Send,
    Word::Get,
    Word::List,
    Word::Streams,
    Word::Fanout,
    Word::First,
    Word::Memory,
    Word::Postgres,
    Word::Nodes,
    Word::Takeover,
    Word::Long,
];

/// The amounts of a run.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) rounds: usize,
    pub(crate) slice: Duration,
    pub(crate) concurrency: Vec<usize>,
    /// The numbers of chunks in a stream.
    pub(crate) chunks: Vec<u64>,
    pub(crate) readers: Vec<usize>,
    /// Stored tasks during the measurement of SendMessage.
    pub(crate) kept_for_send: u64,
    /// Tasks in the database when GetTask reads tasks that no cache contains.
    pub(crate) kept_for_get: u64,
    /// Stored tasks during the measurement of ListTasks.
    pub(crate) kept_for_list: u64,
    pub(crate) idle_streams: usize,
    /// Echo tasks for the memory of a stored task.
    pub(crate) kept_echoes: u64,
    /// Tasks of 100 chunks for the memory of a stored task.
    pub(crate) kept_streams: u64,
}

impl RunOptions {
    /// The requested sections, in order.
    pub(crate) fn sections(&self) -> Vec<Word> {
        let named = |word: &Word| self.words.contains(word);
        let any = SECTIONS.iter().chain([&Word::Peers]).any(named);
        let mut sections: Vec<_> = SECTIONS.into_iter().filter(|word| !any || named(word)).collect();
        // This section requires separately built servers.
        sections.extend(self.words.iter().find(|word| **word == Word::Peers));
        sections
    }

    /// The name of the markers for the tables in a file.
    pub(crate) fn results(&self) -> &'static str {
        if self.sections() == [Word::Peers] { "peers" } else { "results" }
    }

    /// The amounts for the command line.
    pub(crate) fn plan(&self) -> Plan {
        let quick = self.words.contains(&Word::Quick);
        let mut plan = if quick { Plan::quick() } else { Plan::full() };
        if let Some(rounds) = self.rounds {
            plan.rounds = rounds.max(1);
        }
        if let Some(slice) = self.slice_ms {
            plan.slice = Duration::from_millis(slice.max(1));
        }
        if !self.concurrency.is_empty() {
            plan.concurrency = self.concurrency.iter().copied().map(NonZeroUsize::get).collect();
        }
        if !self.readers.is_empty() {
            plan.readers = self.readers.iter().copied().map(NonZeroUsize::get).collect();
        }
        if !self.chunks.is_empty() {
            plan.chunks = self.chunks.iter().copied().map(NonZeroU64::get).collect();
        }
        plan
    }
}

impl Plan {
    fn full() -> Self {
        Self {
            rounds: 3,
            slice: Duration::from_millis(900),
            concurrency: vec![1, 16, 64],
            chunks: vec![10, 100, 1_000, 10_000],
            readers: vec![1, 16, 100],
            kept_for_send: 300_000,
            kept_for_get: 200_000,
            kept_for_list: 100_000,
            idle_streams: 10_000,
            kept_echoes: 100_000,
            kept_streams: 10_000,
        }
    }

    fn quick() -> Self {
        Self {
            slice: Duration::from_millis(300),
            concurrency: vec![16, 64],
            chunks: vec![100, 10_000],
            readers: vec![16],
            kept_for_get: 100_000,
            kept_streams: 3_000,
            ..Self::full()
        }
    }
}
