//! PostgreSQL and NATS, private ones, started when a section first needs them.

use std::cell::OnceCell;

use anyhow::Result;
use nuncio_testbed::{Nats, NatsOptions, Postgres, PostgresOptions};

use crate::machine::{Cores, Processes};

/// Why a row is skipped.
pub(crate) const NO_POSTGRES: &str = "no PostgreSQL on this machine; apt-get install postgresql";
/// Why a row is skipped.
pub(crate) const NO_NATS: &str = "no nats-server on this machine; apt-get install nats-server";

/// The servers beside Nuncio. They end with this value.
#[derive(Debug)]
pub(crate) struct Services {
    cores: Cores,
    processes: Processes,
    postgres: OnceCell<Postgres>,
    nats: OnceCell<Nats>,
}

impl Services {
    /// None is started yet.
    pub(crate) fn new(cores: Cores, processes: Processes) -> Self {
        Self { cores, processes, postgres: OnceCell::new(), nats: OnceCell::new() }
    }

    /// PostgreSQL with fsync, its data where temporary files go; none when there is none to be started.
    ///
    /// It runs where there is room, beside Nuncio on its core or beside the load on the other.
    pub(crate) fn postgres(&self) -> Result<Option<&Postgres>> {
        if self.postgres.get().is_none() && Postgres::is_installed() {
            let started = self.cores.on_any_core(|| Postgres::start(PostgresOptions::new().with_fsync(true)))??;
            self.processes.add_family(started.process()?);
            return Ok(Some(self.postgres.get_or_init(|| started)));
        }
        Ok(self.postgres.get())
    }

    /// NATS; none when there is none to be started.
    pub(crate) fn nats(&self) -> Result<Option<&Nats>> {
        if self.nats.get().is_none() && Nats::is_installed() {
            let started = self.cores.on_any_core(|| Nats::start(NatsOptions::new()))??;
            return Ok(Some(self.nats.get_or_init(|| started)));
        }
        Ok(self.nats.get())
    }
}
