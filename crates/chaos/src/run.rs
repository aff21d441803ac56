//! One run: start all processes, apply and revert faults, read everything, and check the history.

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use tempfile::TempDir;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use crate::{
    agent,
    board::Board,
    call::Caller,
    check::{self, Violation},
    client::Client,
    fault::Fault,
    history::{Entry, History, What},
    node::{Node, Plan},
    options::{Options, Store},
    random::Random,
    settle, sink,
    world::World,
};

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) seed: u64,
    pub(crate) entries: Vec<Entry>,
    pub(crate) violations: Vec<Violation>,
    /// The folder with the files of the run.
    pub(crate) folder: PathBuf,
}

/// Performs the run.
pub(crate) async fn run(options: &Options, seed: u64) -> Result<Outcome> {
    let random = Random::new(seed);
    let folder = match &options.folder {
        Some(folder) => {
            std::fs::create_dir_all(folder)?;
            folder.canonicalize()?
        }
        None => TempDir::with_prefix("nuncio-chaos-")?.keep(),
    };
    let beside = std::env::current_exe()?.with_file_name("nuncio");
    let resumes = options.resumes.unwrap_or(seed % 2 == 1);
    let nuncio = options.nuncio.clone().unwrap_or(beside);
    let nuncio =
        nuncio.canonicalize().with_context(|| format!("{} is missing; build the binary first", nuncio.display()))?;
    let plan = Plan { nuncio, folder: folder.clone(), resumes };
    let history = Arc::new(History::create(&folder.join("history.jsonl"))?);
    let stable = options.store == Store::Sqlite && options.disk.is_none();
    history.add(What::Began { seed, resumes, stable });
    let world = Arc::new(World::start(options, &plan, Arc::clone(&history)).await?);
    let caller = Caller::new(world.nodes.iter().map(Node::address).collect())?;
    let sink = sink::start(Arc::clone(&history)).await?;
    let board = Arc::new(Board::new(caller, Arc::clone(&history), sink, Duration::from_secs(options.settle_timeout)));
    let mut clients = JoinSet::new();
    for name in 0..options.clients {
        clients.spawn(Client::new(Arc::clone(&board), random.fork(name + 1), name).work());
    }
    let mut faults = random.fork(u64::MAX);
    match options.store {
        Store::Sqlite => kill(&world, &mut faults, options).await?,
        Store::Postgres => hurt(&world, &mut faults, options).await?,
    }
    settle::settle(&board, clients).await;
    for run in agent::runs(&plan.runs()) {
        let agent::Run { name: run, task, message, node, pid, epoch, began, seen } = run;
        history.add(What::Run { run, task, message, node, pid, epoch, began, seen });
    }
    world.nodes.iter().flat_map(Node::zombies).for_each(|zombie| history.add(zombie));
    drop(world);
    let entries = history.take();
    let violations = check::check(&entries);
    Ok(Outcome { seed, entries, violations, folder })
}

/// Kills the single node repeatedly, at a random time after each start.
async fn kill(world: &World, random: &mut Random, options: &Options) -> Result<()> {
    for _ in 0..options.kills {
        sleep(Duration::from_millis(random.range(1, options.lives))).await;
        if options.disk.is_some() && random.chance(30) {
            world.inflict(Fault::Fill { time: random.range(50, 400) }).await?;
        }
        let down = random.range(0, 30);
        world.inflict(Fault::kill(random, 0, down)).await?;
    }
    Ok(())
}

/// Applies faults to a cluster for the configured time, up to a few at the same time, and reverts them.
async fn hurt(world: &Arc<World>, random: &mut Random, options: &Options) -> Result<()> {
    let end = Instant::now() + Duration::from_secs(options.seconds);
    let servers = world.servers();
    let mut faults = JoinSet::new();
    // One guaranteed fill of the disk, long enough to stop all progress.
    let mut fills = options.disk.is_some().then_some(Fault::Fill { time: 2_000 });
    while Instant::now() < end {
        sleep(Duration::from_millis(random.range(50, 1_200))).await;
        let mut fault = Fault::next(random, world.nodes.len(), &servers, options.lease * 1_000, options.only);
        if let Some(first) = fills.take() {
            fault = first;
        } else if options.disk.is_some() && random.chance(15) {
            fault = Fault::Fill { time: random.range(50, 1_000) };
        }
        let world = Arc::clone(world);
        faults.spawn(async move { world.inflict(fault).await });
        while let Some(done) = faults.try_join_next() {
            done??;
        }
    }
    while let Some(done) = faults.join_next().await {
        done??;
    }
    for node in world.revive().await? {
        world.died(node);
    }
    Ok(())
}
