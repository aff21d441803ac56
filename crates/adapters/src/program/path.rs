//! Searches the file of a program like `execvp`.

use std::{
    env,
    ffi::OsStr,
    io::Read as _,
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
    path::{Path, PathBuf},
};

use thiserror::Error;

/// The reason why a program cannot run.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgramError {
    /// There is no such file.
    #[error("there is no program `{0}`")]
    NotFound(String),
    /// The file exists, but is not executable.
    #[error("`{}` is not executable", .0.display())]
    NotExecutable(PathBuf),
    /// The interpreter in the first line of a script does not exist.
    #[error("`{}` names the interpreter `{}`, {}", .script.display(), .interpreter.escape_debug(), why(.interpreter))]
    Interpreter {
        /// The script.
        script: PathBuf,
        /// The interpreter, as the system parses the line.
        interpreter: String,
    },
    /// The server has no permission to start the program as this user.
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
        Ok(file) if file.is_file() && file.permissions().mode() & 0o111 != 0 => interpreted(path),
        Ok(_) => Err(ProgramError::NotExecutable(path.to_owned())),
        Err(_) => Err(not_found(path.as_os_str())),
    }
}

/// The file, if the system can run the file. The interpreter of a script must exist, because the system reports a
/// missing interpreter as a missing file.
fn interpreted(script: &Path) -> Result<PathBuf, ProgramError> {
    let Some(interpreter) = interpreter(script) else { return Ok(script.to_owned()) };
    // `#!/usr/bin/env python3\r` finds `env`, but `env` does not find `python3\r`.
    if Path::new(&interpreter).exists() && !interpreter.ends_with('\r') {
        return Ok(script.to_owned());
    }
    Err(ProgramError::Interpreter { script: script.to_owned(), interpreter })
}

/// The interpreter in the first line of a script, or the whole line if the line ends with a carriage return.
fn interpreter(script: &Path) -> Option<String> {
    let mut head = [0; 256];
    let read = std::fs::File::open(script).and_then(|mut file| file.read(&mut head)).ok()?;
    let line = head[..read].strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    let line = line.trim_start_matches([' ', '\t']);
    let name = if line.ends_with('\r') { line } else { line.split([' ', '\t']).next()? };
    (!name.is_empty()).then(|| name.to_owned())
}

fn why(interpreter: &str) -> &'static str {
    if interpreter.ends_with('\r') {
        "which ends with a carriage return: the file has line ends of Windows"
    } else {
        "which does not exist"
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
    fn a_name_is_searched_in_the_path_variable() {
        assert!(find("sh").unwrap().ends_with("sh"));
        assert_eq!(find("no-such-program").unwrap_err().to_string(), "there is no program `no-such-program`");
    }

    #[test]
    fn a_path_is_used_unchanged() {
        assert_eq!(find("/bin/sh").unwrap(), Path::new("/bin/sh"));
        assert!(matches!(find("/bin/no-such-program"), Err(ProgramError::NotFound(_))));
    }

    #[test]
    fn a_script_without_its_interpreter_is_refused_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let script = |text: &str| {
            let path = folder.path().join("script");
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            usable(&path).map_err(|error| error.to_string().split_once("` names ").unwrap().1.to_owned())
        };
        assert!(
            script("#!/bin/sh\necho\n").is_ok() && script("#! /bin/sh -e\n").is_ok() && script("no script").is_ok()
        );
        let windows = "which ends with a carriage return: the file has line ends of Windows";
        assert_eq!(script("#!/bin/sh\r\necho\r\n").unwrap_err(), format!(r"the interpreter `/bin/sh\r`, {windows}"));
        let told = script("#!/usr/bin/env python3\r\n").unwrap_err();
        assert_eq!(told, format!(r"the interpreter `/usr/bin/env python3\r`, {windows}"));
        assert_eq!(script("#!/no/such\n").unwrap_err(), "the interpreter `/no/such`, which does not exist");
    }

    #[test]
    fn a_folder_and_a_plain_file_are_not_executable() {
        assert_eq!(find("/etc").unwrap_err().to_string(), "`/etc` is not executable");
        assert!(matches!(find("/etc/passwd"), Err(ProgramError::NotExecutable(_))));
    }
}
