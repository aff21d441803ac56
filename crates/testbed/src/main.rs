//! Starts a PostgreSQL and a NATS server for a command: `nuncio-testbed COMMAND...`.
//!
//! A server in `NUNCIO_TEST_POSTGRES` or `NUNCIO_TEST_NATS` is used instead of a new server.

use std::{
    env,
    process::{Command, ExitCode},
};

use anyhow::{Context as _, Result};
use nuncio_testbed::{Nats, Postgres, Server as _};

fn main() -> Result<ExitCode> {
    let mut words = env::args_os().skip(1);
    let program = words.next().context("usage: nuncio-testbed COMMAND...")?;
    // Statics are not dropped, so these servers end after the end of this process, by their guards.
    let (postgres, nats) = (Postgres::shared()?, Nats::shared()?);
    let status = Command::new(&program)
        .args(words)
        .env("NUNCIO_TEST_POSTGRES", postgres.url())
        .env("NUNCIO_TEST_NATS", nats.url())
        .status()
        .with_context(|| format!("cannot start {}", program.display()))?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}
