//! The bus that wakes the other nodes of the store.

use std::sync::Arc;

use nuncio_engine::{EventBus, bus::RemoteBus};
use nuncio_nats::{NatsBroker, NatsOptions};
#[cfg(feature = "postgres")]
use nuncio_store::{PostgresBroker, PostgresOptions};

use super::{settings::Settings, store::is_postgres};
use crate::error::CliError;

/// A bus, and its description in the banner.
pub(super) struct StartedBus {
    pub(super) bus: Arc<dyn EventBus>,
    pub(super) about: String,
}

/// A bus that is yet to be started.
pub(super) enum WantedBus {
    /// In the database of the store, at this address.
    Database(String),
    Nats(NatsOptions),
}

/// The bus that the settings want for their store.
pub(super) fn wanted(settings: &Settings) -> Result<Option<WantedBus>, CliError> {
    let database = settings.get("store").filter(|store| is_postgres(store));
    let wanted = match (settings.get("bus"), database) {
        (None, None) | (Some("none"), _) => return Ok(None),
        (None, Some(_)) => "postgres",
        (Some(wanted), _) => wanted,
    };
    Ok(Some(if wanted == "postgres" {
        let Some(url) = database else {
            return Err(settings
                .wrong("bus", "`postgres` is the bus of a PostgreSQL store, and the store is another")
                .with_hint("name the store with --store postgres://HOST/DATABASE, or leave --bus out"));
        };
        WantedBus::Database(url.to_owned())
    } else {
        let options: NatsOptions = wanted.parse().map_err(|error| {
            settings
                .wrong("bus", &format!("{error}"))
                .with_hint("it is nats://[USER:PASSWORD@]HOST[:PORT][,HOST...][/PREFIX], tls://..., postgres or none")
        })?;
        options.check_files().map_err(|reason| settings.wrong("bus", &reason))?;
        if database.is_none() {
            return Err(settings
                .wrong("bus", "the store belongs to this process alone, so there is nobody to wake")
                .with_hint("share a store with --store postgres://HOST/DATABASE, or leave --bus out"));
        }
        WantedBus::Nats(options)
    }))
}

/// Starts a bus. The bus connects in the background; the agent serves without a bus until then.
pub(super) fn start(settings: &Settings, wanted: WantedBus) -> Result<StartedBus, CliError> {
    match wanted {
        WantedBus::Database(url) => of_database(settings, &url),
        WantedBus::Nats(options) => {
            let about = options.to_string();
            Ok(StartedBus { bus: Arc::new(RemoteBus::start(NatsBroker::new(options))), about })
        }
    }
}

#[cfg(feature = "postgres")]
fn of_database(settings: &Settings, url: &str) -> Result<StartedBus, CliError> {
    let broker = PostgresBroker::new(url, &PostgresOptions::new())
        .map_err(|error| settings.wrong("store", &error.to_string()))?;
    let about = format!("PostgreSQL, {}", broker.place());
    Ok(StartedBus { bus: Arc::new(RemoteBus::start(broker)), about })
}

#[cfg(not(feature = "postgres"))]
fn of_database(settings: &Settings, _: &str) -> Result<StartedBus, CliError> {
    Err(settings.wrong("bus", "PostgreSQL is not built into this nuncio"))
}
