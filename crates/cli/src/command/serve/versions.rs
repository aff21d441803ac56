//! Which versions of the protocol are spoken.

use nuncio_wire::{FileBytes, Version, Versions};

use super::settings::Settings;
use crate::error::CliError;

/// Those of `--versions`, else all that are built in.
pub(super) fn choose(settings: &Settings) -> Result<Versions, CliError> {
    let versions = if settings.values("versions").is_some() { named(settings)? } else { Versions::default() };
    let files = settings
        .parsed("file-bytes", |text| text.parse::<FileBytes>().map_err(|error| format!("`{text}` is {error}")))?;
    let versions = versions.with_lenient(settings.switch("lenient-version")?);
    Ok(versions.with_file_bytes(files.unwrap_or_default()))
}

fn named(settings: &Settings) -> Result<Versions, CliError> {
    let wrong = |reason: &str| settings.wrong("versions", &format!("{reason}; there are {}", list(Version::ALL)));
    let parse = |name: &str| {
        name.parse::<Version>().map_err(|_| wrong(&format!("`{name}` is not a version that is spoken here")))
    };
    let names = settings.list("versions").into_iter().map(str::trim).filter(|name| !name.is_empty());
    let versions = names.map(parse).collect::<Result<Vec<_>, _>>()?;
    if versions.is_empty() { Err(wrong("it names no version")) } else { Ok(Versions::only(versions)) }
}

/// Versions for people, the newest first.
pub(super) fn list(oldest_first: &[Version]) -> String {
    oldest_first.iter().rev().map(|version| version.as_str()).collect::<Vec<_>>().join(", ")
}
