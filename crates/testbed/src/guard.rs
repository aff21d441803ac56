//! A guard: a small shell that survives this process briefly and removes its remains, at any kind of end.
//!
//! A parent-death signal is not sufficient, because it is sent when the thread that started the server ends; threads of
//! tests end early.

use std::{
    io::Write as _,
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
};

use anyhow::{Context as _, Result};
use rustix::process::Pid;

/// Reads process ids; the last id is valid. At the end of its input, which means the end of this process, the script
/// kills the process with its children and removes the folder.
const SCRIPT: &str = r#"
while read -r next; do server=$next; done
if [ -n "$server" ]; then
  kill -STOP "$server"
  for stat in /proc/[0-9]*/stat; do
    read -r child name state parent rest <"$stat" && [ "$parent" = "$server" ] && kill -KILL "$child"
  done
  kill -KILL "$server"
fi 2>/dev/null
[ -z "$1" ] || rm -rf -- "$1"
"#;

/// Guards one process at a time: kills the process with its children when this process ends. Dropping the value ends
/// the guard.
#[derive(Debug)]
pub struct Guard {
    shell: Child,
    told: ChildStdin,
}

impl Guard {
    /// A guard that also removes this folder, if any.
    ///
    /// # Errors
    ///
    /// If `/bin/sh` cannot be started.
    pub fn new(folder: Option<&Path>) -> Result<Self> {
        let mut shell = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "guard"])
            .arg(folder.unwrap_or(Path::new("")))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // A terminal interrupt must reach only this process; the guard then notices its end.
            .process_group(0)
            .spawn()
            .context("cannot start /bin/sh")?;
        let told = shell.stdin.take().context("the guard has no stdin")?;
        Ok(Self { shell, told })
    }

    /// Guards this process from now on; `None` guards no process.
    ///
    /// # Errors
    ///
    /// If the guard has ended.
    pub fn watch(&mut self, server: Option<Pid>) -> Result<()> {
        let id = server.map(|server| server.as_raw_nonzero().to_string()).unwrap_or_default();
        writeln!(self.told, "{id}").context("the guard has ended")
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // At this point the guard has no further duties.
        drop(self.shell.kill());
        drop(self.shell.wait());
    }
}
