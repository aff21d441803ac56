//! A database of SQLite.

use std::{path::Path, time::Duration};

use nuncio_engine::TaskStore as _;
use nuncio_store::{OpenError, SchemaVersion, SqliteOptions, SqliteStore};

use super::failed;
use crate::{
    command::serve,
    error::{CliError, Code},
};

/// Opens the database for reading; a server may use the database at the same time.
pub(super) async fn reading(path: &Path) -> Result<SqliteStore, CliError> {
    SqliteStore::open_read_only(path).await.map_err(|error| refused(path, &error))
}

/// Opens the database for writing. The database must exist, and no other process may use the database.
pub(super) async fn writing(path: &Path) -> Result<SqliteStore, CliError> {
    schema(path).await?;
    // Logs go by the settings that were given, and not while something else is done.
    let options = SqliteOptions::new().with_log_retention(Duration::MAX);
    SqliteStore::open(path, options).await.map_err(|error| refused(path, &error))
}

pub(super) async fn schema(path: &Path) -> Result<SchemaVersion, CliError> {
    SqliteStore::schema(path).await.map_err(|error| refused(path, &error))
}

pub(super) async fn migrate(path: &Path) -> Result<SchemaVersion, CliError> {
    let before = schema(path).await?;
    // A database without damage may be in use by a server.
    if before.found < before.known {
        writing(path).await?.close().await.map_err(|error| failed(&error))?;
    }
    Ok(before)
}

pub(super) fn refused(path: &Path, error: &OpenError) -> CliError {
    match error {
        OpenError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            CliError::new(Code::Usage, format!("there is no database at {}", path.display()))
                .with_hint(match beside(path) {
                    Some(others) => format!("say where it is: {others}"),
                    None => "say where it is with --store sqlite:PATH".to_owned(),
                })
        }
        OpenError::InUse { .. } => serve::explain(error).with_hint(
            "stop that one first: this command writes; `nuncio db backup`, `check` and `export` need not wait",
        ),
        OpenError::Sqlite { .. } => serve::explain(error).with_hint(
            "name another file with --store sqlite:PATH; one that is damaged is replaced by a copy of `nuncio db backup`",
        ),
        error => serve::explain(error),
    }
}

/// Flags for the other databases in the folder of a missing database.
fn beside(path: &Path) -> Option<String> {
    const MOST: usize = 3;
    let folder = path.parent()?;
    let read = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut names: Vec<_> = std::fs::read_dir(read)
        .ok()?
        .filter_map(|entry| Some(folder.join(entry.ok()?.file_name())))
        .filter(|file| file.extension().is_some_and(|ending| ending == "db") && file.is_file())
        .collect();
    names.sort();
    let flags: Vec<_> = names.iter().take(MOST).map(|file| format!("--store sqlite:{}", file.display())).collect();
    (!flags.is_empty()).then(|| flags.join(" or "))
}
