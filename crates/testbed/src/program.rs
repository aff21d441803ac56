//! The search for server programs.

use std::{
    env,
    ffi::OsStr,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Result, bail};

/// A program from `PATH`, or from the usual folders of distributions and of `./test`.
pub(crate) fn find(name: &str, package: &str) -> Result<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let found =
        env::split_paths(&path).chain(elsewhere()).map(|folder| folder.join(name)).find(|file| is_program(file));
    let Some(found) = found else {
        bail!(
            "{name} is missing\nhint: run ./test, which installs it, or apt-get install {package}, or name a running \
             server with NUNCIO_TEST_POSTGRES or NUNCIO_TEST_NATS"
        );
    };
    // PostgreSQL's programs search for each other in their own folder.
    Ok(fs::canonicalize(found)?)
}

/// Folders that are often not in `PATH`; the newest PostgreSQL first.
fn elsewhere() -> impl Iterator<Item = PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<_> = versions.map(|version| version.path()).collect();
    versions.sort_by_key(|version| {
        let number = version.file_name().and_then(OsStr::to_str).and_then(|name| name.parse::<u32>().ok());
        std::cmp::Reverse(number)
    });
    let fixed = ["/usr/local/sbin", "/usr/sbin", "/usr/local/bin"].map(PathBuf::from);
    versions.into_iter().map(|version| version.join("bin")).chain(fixed).chain([workspace.join(".test/nats/bin")])
}

fn is_program(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}
