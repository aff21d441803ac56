//! A guard: a small shell that outlives this process by a moment and clears up what it left, however it ended.
//!
//! A signal at the parent's death would come at the death of the thread that started the server, which in tests is
//! soon.

use std::{
    io::Write as _,
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
};

use anyhow::{Context as _, Result};
use rustix::process::Pid;

/// Reads ids, of which the last counts; at the end of its input, which is our end, it kills that process with its
/// children and removes the folder.
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

/// Watches over one process at a time, and kills it with its children when this process ends. Dropping it ends its
/// watch.
#[derive(Debug)]
pub struct Guard {
    shell: Child,
    told: ChildStdin,
}

impl Guard {
    /// A guard that also removes this folder, if there is one.
    ///
    /// # Errors
    ///
    /// When `/bin/sh` cannot be started.
    pub fn new(folder: Option<&Path>) -> Result<Self> {
        let mut shell = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "guard"])
            .arg(folder.unwrap_or(Path::new("")))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // An interrupt from the terminal is for us; the guard sees our end.
            .process_group(0)
            .spawn()
            .context("cannot start /bin/sh")?;
        let told = shell.stdin.take().context("the guard has no stdin")?;
        Ok(Self { shell, told })
    }

    /// From now on it watches over this process; over none if there is none.
    ///
    /// # Errors
    ///
    /// When the guard is gone.
    pub fn watch(&mut self, server: Option<Pid>) -> Result<()> {
        let id = server.map(|server| server.as_raw_nonzero().to_string()).unwrap_or_default();
        writeln!(self.told, "{id}").context("the guard is gone")
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // What it would do has been done by now.
        drop(self.shell.kill());
        drop(self.shell.wait());
    }
}
