//! Private PostgreSQL and NATS servers, started on the first use by a section.

use std::cell::OnceCell;

use anyhow::Result;
use nuncio_testbed::{Nats, NatsOptions, Postgres, PostgresOptions};

use crate::machine::{Cores, Processes};

/// The reason to skip a row.
pub(crate) const NO_POSTGRES: &str = "no PostgreSQL on this machine; apt-get install postgresql";
/// The reason to skip a row.
pub(crate) const NO_NATS: &str = "no nats-server on this machine; apt-get install nats-server";

/// The servers used by Nuncio. Dropping the value ends the servers.
#[derive(Debug)]
pub(crate) struct Services {
    cores: Cores,
    processes: Processes,
    postgres: OnceCell<Postgres>,
    nats: OnceCell<Nats>,
}

impl Services {
    /// No servers are started yet.
    pub(crate) fn new(cores: Cores, processes: Processes) -> Self {
        Self { cores, processes, postgres: OnceCell::new(), nats: OnceCell::new() }
    }

    /// PostgreSQL with fsync and with data in the temporary directory; `None` if PostgreSQL is not installed.
    ///
    /// The server runs on any core: on Nuncio's core or on the core of the load generator.
    pub(crate) fn postgres(&self) -> Result<Option<&Postgres>> {
        if self.postgres.get().is_none() && Postgres::is_installed() {
            let started = self.cores.on_any_core(|| Postgres::start(PostgresOptions::new().with_fsync(true)))??;
            self.processes.add_family(started.process()?);
            return Ok(Some(self.postgres.get_or_init(|| started)));
        }
        Ok(self.postgres.get())
    }

    /// NATS; `None` if NATS is not installed.
    pub(crate) fn nats(&self) -> Result<Option<&Nats>> {
        if self.nats.get().is_none() && Nats::is_installed() {
            let started = self.cores.on_any_core(|| Nats::start(NatsOptions::new()))??;
            return Ok(Some(self.nats.get_or_init(|| started)));
        }
        Ok(self.nats.get())
    }
}
