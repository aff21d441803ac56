//! Which versions of the protocol are spoken.

use nuncio_wire::{Version, Versions};

use super::settings::Settings;
use crate::error::CliError;

/// Those of `--versions`, else all that are built in.
pub(super) fn choose(settings: &Settings) -> Result<Versions, CliError> {
    let versions = match settings.values("versions") {
        None => Versions::default(),
        Some(_) => {
            let parse = |name: &str| {
                let reason =
                    || format!("`{name}` is not a version that is spoken here; there are {}", list(Version::ALL));
                name.parse::<Version>().map_err(|_| settings.wrong("versions", &reason()))
            };
            let names = settings.list("versions").into_iter().map(str::trim).filter(|name| !name.is_empty());
            let versions = names.map(parse).collect::<Result<Vec<_>, _>>()?;
            if versions.is_empty() {
                let reason = format!("it names no version; there are {}", list(Version::ALL));
                return Err(settings.wrong("versions", &reason));
            }
            Versions::only(versions)
        }
    };
    Ok(versions.with_lenient(settings.switch("lenient-version")?))
}

/// Versions for people, the newest first.
pub(super) fn list(oldest_first: &[Version]) -> String {
    oldest_first.iter().rev().map(|version| version.as_str()).collect::<Vec<_>>().join(", ")
}
