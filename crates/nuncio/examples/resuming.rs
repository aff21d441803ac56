//! A task and a stream that survive a restart of the agent: `cargo run --example resuming`.
//!
//! The agent counts in a separate process, which is killed in the middle. The next process with the same database runs
//! the turn again, and the agent continues at the end of its artifact. The client continues from a cursor that it
//! stored as text.

#![expect(clippy::print_stdout, reason = "an example shows what it got")]

use std::{path::Path, process::Stdio, sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use nuncio::{Agent, AgentError, Client, Cursor, Engine, Server, SqliteStore, Turn, store::SqliteOptions};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};

const NUMBERS: usize = 8;

struct Counter;

impl Agent for Counter {
    async fn run(&self, turn: Turn) -> Result<(), AgentError> {
        // The artifact has one part for each number that was committed before the process was killed.
        let done = turn.resumed().and_then(|task| task.artifacts.first()).map_or(0, |it| it.parts.len());
        let mut numbers = turn.artifact("numbers").appending();
        for number in done..NUMBERS {
            tokio::time::sleep(Duration::from_millis(100)).await;
            numbers.chunk(format!("{} ", number + 1)).await?;
        }
        turn.complete("counted").await
    }

    /// The agent can run again, because it continues at the end of its artifact.
    fn resumes(&self) -> bool {
        true
    }
}

/// The process of the agent: serves with this database until the process is killed.
async fn serve(database: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let store = SqliteStore::open(database, SqliteOptions::default()).await?;
    let engine = Engine::builder(Counter).store(Arc::new(store)).build();
    engine.recover().await?;
    let server = Server::builder(engine).bind("127.0.0.1:0").await?;
    println!("{}", server.local_addr());
    server.serve(std::future::pending()).await;
    Ok(())
}

/// Starts this program again as the agent; returns the process and its address.
async fn start(database: &Path) -> Result<(Child, String), Box<dyn std::error::Error>> {
    let mut agent = Command::new(std::env::current_exe()?);
    let mut process = agent.arg(database).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
    let output = process.stdout.take().ok_or("the output is piped")?;
    let address = BufReader::new(output).lines().next_line().await?.ok_or("the agent did not start")?;
    Ok((process, address))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if let Some(database) = std::env::args_os().nth(1) {
        return serve(Path::new(&database)).await;
    }
    let directory = tempfile::tempdir()?;
    let database = directory.path().join("tasks.db");

    let (mut process, address) = start(&database).await?;
    let mut events = Client::connect(address).await?.send_stream("count").await?;
    for _ in 0..5 {
        println!("{:?}", events.next().await.ok_or("the stream ended")??);
    }
    let stored = events.cursor().ok_or("the stream has a task")?.to_string();
    drop(events);

    process.kill().await?;
    println!("the agent was killed; the cursor is {stored}");

    let (_process, address) = start(&database).await?;
    let mut events = Client::connect(address).await?.watch(stored.parse::<Cursor>()?).await?;
    while let Some(event) = events.next().await {
        println!("{:?}", event?);
    }
    Ok(())
}
