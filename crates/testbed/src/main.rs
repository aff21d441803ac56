//! Runs a command beside a PostgreSQL and a NATS server that it starts for it: `nuncio-testbed COMMAND...`.
//!
//! A server that `NUNCIO_TEST_POSTGRES` or `NUNCIO_TEST_NATS` names already is used instead.

use std::{
    env,
    process::{Command, ExitCode},
};

use anyhow::{Context as _, Result};
use nuncio_testbed::{Nats, Postgres, Server as _};

fn main() -> Result<ExitCode> {
    let mut words = env::args_os().skip(1);
    let program = words.next().context("usage: nuncio-testbed COMMAND...")?;
    // Statics are not dropped, so that these end when the process has ended: the guards see to it.
    let (postgres, nats) = (Postgres::shared()?, Nats::shared()?);
    let status = Command::new(&program)
        .args(words)
        .env("NUNCIO_TEST_POSTGRES", postgres.url())
        .env("NUNCIO_TEST_NATS", nats.url())
        .status()
        .with_context(|| format!("cannot start {}", program.display()))?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}
