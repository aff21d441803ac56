//! Tasks in SQLite, which survive a restart: `cargo run --example store`.

#![expect(clippy::print_stdout, reason = "an example shows what it got")]

use std::{path::Path, sync::Arc, time::Duration};

use nuncio::{Engine, SqliteStore, Turn, engine::agent_fn, store::SqliteOptions};

/// The engine with this database, as created at the start of a program.
async fn start(path: &Path) -> Result<Engine, Box<dyn std::error::Error>> {
    let store = SqliteStore::open(path, SqliteOptions::default()).await?;
    let agent = agent_fn(|turn: Turn| async move { turn.artifact("note").finish(turn.message().text()).await });
    let engine = Engine::builder(agent).store(Arc::new(store)).build();
    // Settles the tasks that were running when the last process ended.
    engine.recover().await?;
    Ok(engine)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("tasks.db");

    let engine = start(&path).await?;
    let answer = nuncio::local(engine.clone()).send("buy milk").await?;
    let task = answer.task().ok_or("the agent answers with a task")?.id.clone();
    engine.shutdown(Duration::from_secs(5)).await;
    drop(engine);

    let engine = start(&path).await?;
    let stored = nuncio::local(engine.clone()).task(task).await?;
    println!("after the restart: {} {:?}", stored.state().short(), stored.artifacts[0].text());
    engine.shutdown(Duration::from_secs(5)).await;
    Ok(())
}
