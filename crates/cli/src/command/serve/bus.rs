//! What wakes the other nodes that share the store.

use std::sync::Arc;

use nuncio_engine::{EventBus, bus::RemoteBus};
use nuncio_nats::{NatsBroker, NatsOptions};
#[cfg(feature = "postgres")]
use nuncio_store::{PostgresBroker, PostgresOptions};

use super::{settings::Settings, store::is_postgres};
use crate::error::CliError;

/// A bus, and what people are told of it.
pub(super) struct Chosen {
    pub(super) bus: Arc<dyn EventBus>,
    pub(super) about: String,
}

/// A bus that is yet to be started.
pub(super) enum Wanted {
    /// In the database of the store, at this address.
    Database(String),
    Nats(NatsOptions),
}

/// The bus that the settings want for their store.
pub(super) fn wanted(settings: &Settings) -> Result<Option<Wanted>, CliError> {
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
        Wanted::Database(url.to_owned())
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
        Wanted::Nats(options)
    }))
}

/// Starts a bus. It connects by itself; an agent serves without it until it does.
pub(super) fn start(settings: &Settings, wanted: Wanted) -> Result<Chosen, CliError> {
    match wanted {
        Wanted::Database(url) => of_database(settings, &url),
        Wanted::Nats(options) => {
            let about = options.to_string();
            Ok(Chosen { bus: Arc::new(RemoteBus::start(NatsBroker::new(options))), about })
        }
    }
}

#[cfg(feature = "postgres")]
fn of_database(settings: &Settings, url: &str) -> Result<Chosen, CliError> {
    let broker = PostgresBroker::new(url, &PostgresOptions::new())
        .map_err(|error| settings.wrong("store", &error.to_string()))?;
    let about = format!("PostgreSQL, {}", broker.place());
    Ok(Chosen { bus: Arc::new(RemoteBus::start(broker)), about })
}

#[cfg(not(feature = "postgres"))]
fn of_database(settings: &Settings, _: &str) -> Result<Chosen, CliError> {
    Err(settings.wrong("bus", "PostgreSQL is not built into this nuncio"))
}
