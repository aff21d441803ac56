//! Where a program's file is, found as `execvp` would find it.

use std::{
    env,
    ffi::OsStr,
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
    path::{Path, PathBuf},
};

use thiserror::Error;

/// Why a program cannot be run.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgramError {
    /// There is no such file.
    #[error("there is no program `{0}`")]
    NotFound(String),
    /// There is one, and it is not executable.
    #[error("`{}` is not executable", .0.display())]
    NotExecutable(PathBuf),
    /// The server may not start it as this user.
    #[error("only root can start a program as {0}")]
    User(String),
}

pub(super) fn find(command: &OsStr, search_path: Option<&OsStr>) -> Result<PathBuf, ProgramError> {
    if command.as_bytes().contains(&b'/') {
        return usable(Path::new(command));
    }
    let mut refused = None;
    for folder in search_path.iter().flat_map(env::split_paths) {
        match usable(&folder.join(command)) {
            Ok(found) => return Ok(found),
            Err(error @ ProgramError::NotExecutable(_)) => refused = refused.or(Some(error)),
            Err(_) => {}
        }
    }
    Err(refused.unwrap_or_else(|| not_found(command)))
}

fn usable(path: &Path) -> Result<PathBuf, ProgramError> {
    match path.metadata() {
        Ok(file) if file.is_file() && file.permissions().mode() & 0o111 != 0 => Ok(path.to_owned()),
        Ok(_) => Err(ProgramError::NotExecutable(path.to_owned())),
        Err(_) => Err(not_found(path.as_os_str())),
    }
}

fn not_found(command: &OsStr) -> ProgramError {
    ProgramError::NotFound(command.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(command: &str) -> Result<PathBuf, ProgramError> {
        super::find(command.as_ref(), Some("/nowhere:/usr/bin:/bin".as_ref()))
    }

    #[test]
    fn a_name_is_looked_for_in_the_search_path() {
        assert!(find("sh").unwrap().ends_with("sh"));
        assert_eq!(find("no-such-program").unwrap_err().to_string(), "there is no program `no-such-program`");
    }

    #[test]
    fn a_path_is_taken_as_it_is() {
        assert_eq!(find("/bin/sh").unwrap(), Path::new("/bin/sh"));
        assert!(matches!(find("/bin/no-such-program"), Err(ProgramError::NotFound(_))));
    }

    #[test]
    fn a_folder_and_a_plain_file_are_not_executable() {
        assert_eq!(find("/etc").unwrap_err().to_string(), "`/etc` is not executable");
        assert!(matches!(find("/etc/passwd"), Err(ProgramError::NotExecutable(_))));
    }
}
