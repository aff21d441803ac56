//! Which versions of the protocol are spoken.

use nuncio_wire::{FileBytes, Version, Versions};

use super::settings::Settings;
use crate::error::CliError;

/// The versions of `--versions`, otherwise all built-in versions.
pub(super) fn choose(settings: &Settings) -> Result<Versions, CliError> {
    let versions = if settings.values("versions").is_some() { named(settings)? } else { Versions::default() };
    let versions = versions.with_lenient(settings.switch("lenient-version")?);
    Ok(match settings.parsed("file-bytes", file_bytes)?.flatten() {
        Some(files) => versions.with_file_bytes(files),
        None => versions,
    })
}

/// `None` of `auto`: by the client.
fn file_bytes(text: &str) -> Result<Option<FileBytes>, String> {
    if text.trim().eq_ignore_ascii_case("auto") {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| format!("`{text}` is none of auto, raw and base64"))
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
