//! Keeps the secrets of `nuncio serve` out of the environment and the command line of its process.
//!
//! Programs of the same user, the served program included, can read both from `/proc` for as long as the process lives,
//! and every user can read the command line. A process cannot change either of them, so the command executes itself
//! once more with the secrets taken out, and passes them through a pipe. The process id stays the same. The pipe is
//! stdin, which a server does not read: stdin is closed by replacing it, and programs inherit no other descriptor.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::File,
    io::{self, Read as _, Write as _},
    os::unix::process::CommandExt as _,
    process::Command,
    sync::OnceLock,
};

use nuncio_model::address;
use rustix::{io::ioctl_fionbio, stdio::dup2_stdin};
use serde::{Deserialize, Serialize};

use crate::diag;

/// The variables with secrets. None of them is passed on to a program either.
pub(crate) const VARIABLES: [&str; 7] = [
    "NUNCIO_SERVE_TOKEN",
    "NUNCIO_SERVE_STORE",
    "NUNCIO_SERVE_BUS",
    "A2ACLI_BEARER",
    "A2ACLI_API_KEY",
    "A2ACLI_AUTH",
    "A2ACLI_SVC_PARAM",
];

/// Names the process that has its secrets in stdin. A child process inherits the variable, and is another process.
pub(crate) const PIPE: &str = "NUNCIO_SEALED";

static SEALED: OnceLock<Sealed> = OnceLock::new();

/// What was taken out.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Sealed {
    /// By their place on the command line.
    arguments: BTreeMap<usize, String>,
    variables: BTreeMap<String, String>,
}

/// A variable of the environment, also if it was removed.
pub(crate) fn variable_of(name: &str) -> Option<String> {
    let sealed = SEALED.get().and_then(|sealed| sealed.variables.get(name)).cloned();
    sealed.or_else(|| std::env::var(name).ok())
}

/// The variables that were taken out.
pub(crate) fn variables() -> impl Iterator<Item = (String, String)> {
    let sealed = SEALED.get().into_iter().flat_map(|sealed| &sealed.variables);
    sealed.map(|(name, value)| (name.clone(), value.clone()))
}

/// The arguments of the process, secrets included. If `nuncio serve` has secrets in its environment or on its command
/// line, the process executes itself again without secrets, and this function returns in the new image only.
pub(crate) fn arguments() -> Vec<OsString> {
    let mut arguments: Vec<_> = std::env::args_os().collect();
    if let Some(sealed) = unseal() {
        for (place, argument) in &sealed.arguments {
            if let Some(masked) = arguments.get_mut(*place) {
                *masked = argument.into();
            }
        }
        drop(SEALED.set(sealed));
        return arguments;
    }
    let words: Vec<_> = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let Some(serve) = words.iter().position(|word| matches!(&**word, "serve" | "server" | "demo-server")) else {
        return arguments;
    };
    let (masked, sealed) = mask(&words, serve);
    if sealed.arguments.is_empty() && sealed.variables.is_empty() {
        return arguments;
    }
    let mut shown = arguments.clone();
    for place in sealed.arguments.keys() {
        shown[*place] = masked[*place].clone().into();
    }
    let Err(error) = seal(&shown, &sealed);
    diag::warn(&format!(
        "secrets stay in the environment and on the command line, where programs of the same user can read them: {error}"
    ));
    arguments
}

/// The command line without its secrets, and the secrets.
fn mask(words: &[String], serve: usize) -> (Vec<String>, Sealed) {
    let (mut masked, mut sealed) = (words.to_vec(), Sealed::default());
    for name in VARIABLES {
        let is_secret = |value: &String| match name {
            "NUNCIO_SERVE_STORE" | "NUNCIO_SERVE_BUS" => !address::secrets(value).is_empty(),
            _ => !value.is_empty(),
        };
        if let Some(value) = std::env::var(name).ok().filter(is_secret) {
            sealed.variables.insert(name.to_owned(), value);
        }
    }
    let mut setting = None;
    for (place, word) in words.iter().enumerate().skip(serve + 1).take_while(|(_, word)| *word != "--") {
        let (flag, value) = match (setting.take(), word.split_once('=')) {
            (Some(name), _) => (Some((name, "")), &**word),
            (None, Some((flag, value))) => (secret_setting(flag).map(|name| (name, flag)), value),
            (None, None) => {
                setting = secret_setting(word);
                continue;
            }
        };
        let Some((name, flag)) = flag else { continue };
        let shown = match name {
            "token" => format!("{}***", value.split_once('=').map_or(String::new(), |(name, _)| format!("{name}="))),
            _ => address::without_secrets(value),
        };
        if shown != value {
            sealed.arguments.insert(place, word.clone());
            masked[place] = if flag.is_empty() { shown } else { format!("{flag}={shown}") };
        }
    }
    (masked, sealed)
}

/// The setting of a flag whose value may be secret.
fn secret_setting(flag: &str) -> Option<&'static str> {
    let name = flag.strip_prefix("--")?;
    ["token", "store", "bus", "public-url"].into_iter().find(|secret| *secret == name)
}

/// Executes the command once more; returns only if that fails.
fn seal(arguments: &[OsString], sealed: &Sealed) -> io::Result<std::convert::Infallible> {
    let (reader, mut writer) = io::pipe()?;
    // The pipe has no reader yet: a write that does not fit must fail and not block.
    ioctl_fionbio(&writer, true)?;
    writer.write_all(&serde_json::to_vec(sealed)?)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.stdin(reader);
    if let [name, arguments @ ..] = arguments {
        command.arg0(name).args(arguments);
    }
    for name in VARIABLES.into_iter().filter(|name| sealed.variables.contains_key(*name)) {
        command.env_remove(name);
    }
    command.env(PIPE, std::process::id().to_string());
    Err(command.exec())
}

/// What the process passed to itself. The pipe is closed from then on: stdin is empty.
fn unseal() -> Option<Sealed> {
    let process = std::env::var(PIPE).ok()?;
    if process.parse() != Ok(std::process::id()) {
        return None;
    }
    let mut text = Vec::new();
    io::stdin().lock().read_to_end(&mut text).ok()?;
    dup2_stdin(File::open("/dev/null").ok()?).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Forbids processes of the same user to read the memory, the environment and the open files of this one, unless they
/// are privileged. The kernel does that for a process that must not be dumped.
pub(crate) fn forbid_inspection() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable) {
        tracing::warn!(%error, "programs of the same user can read the memory of the server");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::serve::variable;

    #[test]
    fn secrets_of_the_command_line_are_masked_and_kept() {
        let words = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
        let line = "nuncio serve --token a=one --token=b=two --store postgres://u:three@h/d --bus=nats://four@h \
                    --store sqlite:x --port 1 -- --token c=five";
        let (masked, sealed) = mask(&words(line), 1);
        let expected = "nuncio serve --token a=*** --token=b=*** --store postgres://u:***@h/d --bus=nats://***@h \
                        --store sqlite:x --port 1 -- --token c=five";
        assert_eq!(masked.join(" "), expected);
        let kept: Vec<_> = sealed.arguments.values().map(String::as_str).collect();
        assert_eq!(kept, ["a=one", "--token=b=two", "postgres://u:three@h/d", "--bus=nats://four@h"]);
    }

    #[test]
    fn each_variable_of_a_secret_setting_is_taken_out() {
        for name in ["token", "store", "bus"] {
            assert!(VARIABLES.contains(&&*variable(name)), "{name}");
        }
    }
}
