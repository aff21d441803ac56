//! Where tasks are kept.

#[cfg(feature = "postgres")]
mod postgres;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use nuncio_engine::{MemoryStore, TaskStore, store::MemoryStoreBuilder};
use nuncio_model::address;
use nuncio_model::error::with_causes;
use nuncio_store::{OpenError, SqliteOptions, SqliteStore, Synchronous};

use super::{
    identity::{DEMO_FILE, Identity},
    settings::Settings,
};
use crate::{diag, error::CliError};

/// A store, and its description in the banner.
pub(super) struct Opened {
    pub(super) store: Arc<dyn TaskStore>,
    /// The database; `None` where there is none.
    pub(super) database: Option<String>,
    /// How many tasks are there already.
    pub(super) tasks: u64,
}

/// The location of the store.
#[derive(Debug)]
pub(crate) enum Place {
    Memory,
    Sqlite(PathBuf),
    /// Its address.
    Postgres(String),
}

impl Place {
    /// The place that the settings name; by default a file named after the agent.
    pub(super) fn of(settings: &Settings, agent: &Identity) -> Result<Self, CliError> {
        let Some(wanted) = settings.get("store") else { return Ok(Self::Sqlite(agent.file().into())) };
        if wanted == "memory" {
            return Ok(Self::Memory);
        }
        if is_postgres(wanted) {
            return Ok(Self::Postgres(wanted.to_owned()));
        }
        let Some(path) = wanted.strip_prefix("sqlite:").filter(|path| !path.is_empty()) else {
            let wanted = address::without_secrets(wanted);
            let reason = format!("`{wanted}` is none of memory, sqlite:PATH and postgres://USER@HOST/DATABASE");
            return Err(settings.wrong("store", &reason).with_hint(
                "a file of its own is --store sqlite:./tasks.db; without --store it is named after the agent",
            ));
        };
        if !address::secrets(wanted).is_empty() {
            let wanted = address::without_secrets(wanted);
            return Err(settings.wrong("store", &format!("`{wanted}` has a login, and SQLite is a file")).with_hint(
                "a file is --store sqlite:./tasks.db, a database server --store postgres://USER@HOST/DATABASE",
            ));
        }
        Ok(Self::Sqlite(path.strip_prefix("//").unwrap_or(path).into()))
    }
}

/// A store that is yet to be opened.
pub(super) enum WantedStore {
    Memory(MemoryStoreBuilder),
    Sqlite {
        path: PathBuf,
        options: SqliteOptions,
        /// Whether the path is the default.
        is_default: bool,
    },
    #[cfg(feature = "postgres")]
    Postgres(String, nuncio_store::PostgresOptions),
}

/// The store that the settings want.
pub(super) fn wanted(settings: &Settings, agent: &Identity) -> Result<WantedStore, CliError> {
    Ok(match Place::of(settings, agent)? {
        Place::Sqlite(_) | Place::Memory if settings.get("lease").is_some() => {
            return Err(settings
                .wrong("lease", "the store belongs to this process alone, so nobody could take its tasks over")
                .with_hint("share a store with --store postgres://HOST/DATABASE, or leave --lease out"));
        }
        Place::Sqlite(path) => {
            let is_default = settings.get("store").is_none();
            WantedStore::Sqlite { path, options: sqlite_options(settings)?, is_default }
        }
        #[cfg(feature = "postgres")]
        Place::Postgres(address) => {
            let options = postgres::options(settings)?;
            postgres::check(settings, &address, &options)?;
            WantedStore::Postgres(address, options)
        }
        #[cfg(not(feature = "postgres"))]
        Place::Postgres(address) => {
            let reason = format!("`{}`: PostgreSQL is not built into this nuncio", address::without_secrets(&address));
            return Err(settings.wrong("store", &reason));
        }
        // Without this setting, a log is dropped when its task ends.
        Place::Memory => WantedStore::Memory(MemoryStore::builder().keep_log(settings.get("log-retention").is_some())),
    })
}

fn sqlite_options(settings: &Settings) -> Result<SqliteOptions, CliError> {
    let mut options = SqliteOptions::new();
    if let Some(when) = settings.get("sqlite-synchronous") {
        options = options.with_synchronous(match when.to_ascii_lowercase().as_str() {
            "normal" => Synchronous::Normal,
            "full" => Synchronous::Full,
            _ => return Err(settings.wrong("sqlite-synchronous", &format!("`{when}` is neither normal nor full"))),
        });
    }
    if let Some(bytes) = settings.size("store-cache")? {
        options = options.with_cache(bytes as u64);
    }
    if let Some(retention) = settings.duration("log-retention")? {
        options = options.with_log_retention(retention);
    }
    Ok(options)
}

/// Opens a store for an agent. A store with tasks of another agent is refused without `--adopt`.
pub(super) async fn open(wanted: WantedStore, agent: &Identity, adopt: bool) -> Result<Opened, CliError> {
    let opened = match wanted {
        WantedStore::Sqlite { path, options, is_default } => {
            if is_default {
                tell_of_earlier_database(&path, agent).await;
            }
            let store = SqliteStore::open(&path, options).await.map_err(|error| explain(&error))?;
            let tasks = store.count().await.map_err(unreadable)?;
            Opened { store: Arc::new(store), database: Some(path.display().to_string()), tasks }
        }
        #[cfg(feature = "postgres")]
        WantedStore::Postgres(address, options) => postgres::open(&address, options).await?,
        WantedStore::Memory(builder) => Opened { store: Arc::new(builder.build()), database: None, tasks: 0 },
    };
    let Some(other) = opened.store.belongs_to(&agent.to_string(), adopt).await.map_err(unreadable)? else {
        return Ok(opened);
    };
    let database = opened.database.as_deref().unwrap_or("the store");
    let tasks = if opened.tasks == 1 { "1 task" } else { &*format!("{} tasks", opened.tasks) };
    let error = CliError::usage(format!(
        "{database} holds {tasks} of another agent, `{other}`; this agent is `{agent}`, and would go on with them"
    ));
    // A node leaves at once, and not after its lease.
    if let Err(error) = opened.store.close().await {
        tracing::debug!(%error, "the store did not close");
    }
    let own = free_file_of(agent, Path::new(database));
    let reason = if is_of_same_name(&other, agent) {
        "after its command line was changed for example"
    } else {
        "after the agent was renamed for example; --name keeps the name of an agent"
    };
    Err(error.with_hint(format!(
        "give this agent a place of its own, --store sqlite:{own}; or take the tasks over with --adopt, {reason}"
    )))
}

/// Whether the owner of a store differs from an agent in its command line only.
fn is_of_same_name(owner: &str, agent: &Identity) -> bool {
    owner.strip_prefix(&agent.name).is_some_and(|rest| rest.is_empty() || rest.starts_with(" (command "))
}

fn unreadable(error: impl std::fmt::Display) -> CliError {
    CliError::internal(format!("stored tasks cannot be read: {error}"))
}

/// A file for the tasks of an agent, other than the refused database.
fn free_file_of(agent: &Identity, refused: &Path) -> String {
    let file = agent.file();
    let is_refused = |file: &str| {
        let same = |one: &Path, other: &Path| Some(one.canonicalize().ok()? == other.canonicalize().ok()?);
        Path::new(file) == refused || same(Path::new(file), refused).unwrap_or(false)
    };
    if !is_refused(&file) {
        return file;
    }
    let stem = file.trim_end_matches(".db");
    let others = (2..1000).map(|number| format!("{stem}-{number}.db"));
    others
        .into_iter()
        .find(|other| !Path::new(other).exists() && !is_refused(other))
        .unwrap_or_else(|| "PATH".to_owned())
}

/// If the default database is missing and earlier releases kept tasks of the agent elsewhere, prints a hint.
async fn tell_of_earlier_database(path: &Path, agent: &Identity) {
    if path.exists() {
        return;
    }
    let identity = agent.to_string();
    for earlier in [agent.file_without_hash(), DEMO_FILE.to_owned()] {
        let file = Path::new(&earlier);
        if path == file || !file.exists() {
            continue;
        }
        let owner = match SqliteStore::open_read_only(file).await {
            Ok(store) => store.agent().await.ok().flatten(),
            Err(OpenError::Older { .. }) => Some(agent.name.clone()),
            Err(_) => None,
        };
        let flags = match owner {
            Some(owner) if owner == identity => "",
            // An earlier release did not keep the command line.
            Some(owner) if owner == agent.name => " --adopt",
            _ => continue,
        };
        diag::hint(&format!(
            "an earlier release kept tasks of this agent in {earlier}; go on with them by --store sqlite:{earlier}{flags}"
        ));
        return;
    }
}

/// Whether a store is in PostgreSQL.
pub(super) fn is_postgres(store: &str) -> bool {
    ["postgres://", "postgresql://"].iter().any(|scheme| store.starts_with(scheme))
}

#[cfg(feature = "postgres")]
pub(crate) use postgres::explain as explain_postgres;
#[cfg(all(test, feature = "postgres"))]
pub(super) use postgres::options as postgres_options;

pub(crate) fn explain(error: &OpenError) -> CliError {
    let text = with_causes(error);
    if let OpenError::InUse { .. } = error {
        let message = text.split_once("; ").map_or(&*text, |(message, _)| message);
        return CliError::internal(message)
            .with_hint("stop that one, or give this one a database of its own: --store sqlite:PATH");
    }
    // What to do stands behind a semicolon.
    match text.split_once("; ") {
        Some((message, hint)) => CliError::internal(message).with_hint(hint),
        None => CliError::internal(text).with_hint("choose another place with --store sqlite:PATH, or --store memory"),
    }
}
