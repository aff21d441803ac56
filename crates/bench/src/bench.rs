//! One run: its servers, its sections and its results.

use std::{
    cell::Cell,
    env,
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use crate::{
    load::{call::answer_length, watch::Waits},
    machine::{self, Cores, Processes},
    markdown,
    options::{Plan, RunOptions},
    report::{Report, RowCounts},
    sections,
    server::Server,
    services::Services,
};

/// The shared data of the sections.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) plan: Plan,
    pub(crate) processes: Processes,
    /// The bare handlers to which the ratios refer.
    pub(crate) ceiling: Server,
    /// PostgreSQL and NATS.
    pub(crate) services: Services,
    starter: Starter,
}

/// The store of a measured server.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Store<'a> {
    Memory,
    /// SQLite with `synchronous = NORMAL`.
    Sqlite(&'a Path),
    /// SQLite with `synchronous = FULL`.
    SqliteFull(&'a Path),
    /// PostgreSQL at this URL.
    Postgres(&'a str),
}

#[derive(Debug)]
struct Starter {
    nuncio: PathBuf,
    serve_args: Vec<String>,
    cores: Cores,
    processes: Processes,
    directory: TempDir,
    started: Cell<usize>,
}

/// Runs the requested sections; `false` if a row was refused.
pub(crate) fn run(options: &RunOptions) -> Result<bool> {
    let begun = Instant::now();
    machine::allow_many_files()?;
    let mut facts = machine::facts();
    for (name, value) in &facts {
        println!("{name:>11}: {value}");
    }
    let bench = Bench::start(options)?;
    let meter = bench.processes.meter(bench.ceiling.process());
    let mut report = Report::default();
    match options.soak {
        Some(minutes) => sections::soak(minutes, &bench, &mut report),
        None => {
            for section in options.sections() {
                sections::run(section, &bench, &mut report);
            }
        }
    }
    let RowCounts { met, targets, refused, skipped } = report.tally();
    let summary = [
        ("others used", format!("{:.0} % of one core over the whole run", meter.read().foreign * 100.0)),
        ("targets", format!("{met} of {targets} met, {refused} rows refused, {skipped} skipped")),
        ("time", format!("{} s", begun.elapsed().as_secs())),
    ];
    println!();
    for (name, value) in &summary {
        println!("{name:>11}: {value}");
    }
    facts.extend(summary);
    if let Some(file) = &options.markdown {
        markdown::write(file, options.results(), &facts, &report)?;
    }
    Ok(refused == 0)
}

impl Bench {
    /// A server with this store.
    pub(crate) fn serve(&self, store: Store<'_>) -> Result<Server> {
        self.starter.serve(store, &[])
    }

    /// A server with this store and additional arguments of `nuncio serve`.
    pub(crate) fn serve_with(&self, store: Store<'_>, arguments: &[&str]) -> Result<Server> {
        self.starter.serve(store, arguments)
    }

    /// A server of another kind, which prints its address.
    pub(crate) fn serve_program(&self, program: &Path, arguments: &[String]) -> Result<Server> {
        self.starter.start(program, arguments)
    }

    /// A path for a new database.
    pub(crate) fn new_database(&self) -> PathBuf {
        self.starter.new_path("db")
    }

    /// The waiting mode of the load generator when only the servers are under load.
    pub(crate) fn waits(&self) -> Waits {
        if self.starter.cores.are_separate() { Waits::Awake } else { Waits::Asleep }
    }

    fn start(options: &RunOptions) -> Result<Self> {
        let plan = options.plan();
        let this = env::current_exe()?;
        let processes = Processes::default();
        let starter = Starter {
            nuncio: options.nuncio.clone().unwrap_or_else(|| this.with_file_name("nuncio")),
            serve_args: options.serve_arg.clone(),
            cores: Cores::choose()?,
            processes: processes.clone(),
            directory: tempfile::Builder::new()
                .prefix("bench-")
                .tempdir_in(&options.data_dir)
                .with_context(|| format!("cannot create a directory in {}", options.data_dir.display()))?,
            started: Cell::new(0),
        };
        if !starter.cores.are_separate() {
            println!("only one core: server and load share the core, so the ratios are imprecise");
        }
        let nuncio = answer_length(starter.serve(Store::Memory, &[])?.address())?;
        let arguments = ["ceiling".to_owned(), format!("--answer-bytes={nuncio}")];
        let ceiling = starter.start(&this, &arguments)?;
        let bare = answer_length(ceiling.address())?;
        println!("answer to an echo: {nuncio} bytes, the ceiling's {bare}");
        let services = Services::new(starter.cores, processes.clone());
        Ok(Self { plan, processes, ceiling, services, starter })
    }
}

impl Starter {
    fn serve(&self, store: Store<'_>, more: &[&str]) -> Result<Server> {
        let sqlite = |path: &Path| format!("sqlite:{}", path.display());
        let (store, full) = match store {
            Store::Memory => ("memory".to_owned(), false),
            Store::Sqlite(path) => (sqlite(path), false),
            Store::SqliteFull(path) => (sqlite(path), true),
            Store::Postgres(url) => (url.to_owned(), false),
        };
        let mut arguments: Vec<String> = ["serve", "--port", "0", "--store", &store].map(str::to_owned).into();
        if full {
            arguments.extend(["--sqlite-synchronous", "full"].map(str::to_owned));
        }
        arguments.extend(more.iter().map(|&argument| argument.to_owned()));
        arguments.extend(self.serve_args.iter().cloned());
        self.start(&self.nuncio, &arguments)
    }

    fn start(&self, program: &Path, arguments: &[String]) -> Result<Server> {
        Server::start(program, arguments, &self.new_path("log"), self.cores, &self.processes)
    }

    fn new_path(&self, extension: &str) -> PathBuf {
        let number = self.started.replace(self.started.get() + 1);
        self.directory.path().join(format!("{number}.{extension}"))
    }
}
