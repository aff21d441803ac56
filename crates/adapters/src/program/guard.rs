//! What ends a program whose server was killed: a small shell that leads its group and waits for the server's end.
//!
//! Nothing of the server runs at a SIGKILL, a signal at the parent's death comes when the *thread* that started the
//! program ends, and an end of stdin is something that a program may ignore. So the guard is started first, in a new
//! process group, and the program joins it: no instant is without a guard. Its stdin is a pipe from the server that the
//! kernel closes when the server is gone, however that went; then it kills its group, itself included.

use std::{
    io,
    process::Stdio,
    sync::atomic::{AtomicBool, Ordering},
};

use tokio::process::{Child, Command};

/// Only a SIGKILL to the group ends it before the server does.
const SCRIPT: &str = "trap '' HUP INT QUIT TERM; read -r end; kill -KILL 0";

/// The guard of a turn's program, and the leader of its group. Dropping it kills it; the runtime reaps it.
#[derive(Debug)]
pub(super) struct Guard(Child);

impl Guard {
    /// `None` on a machine without a shell, where a program may outlive a server that is killed; the log says so.
    pub(super) fn start() -> Option<Self> {
        static IS_TOLD: AtomicBool = AtomicBool::new(false);
        match Self::shell() {
            Ok(guard) => Some(guard),
            Err(error) => {
                if !IS_TOLD.swap(true, Ordering::Relaxed) {
                    tracing::warn!(%error, "/bin/sh cannot be started: should this server be killed, its programs go on");
                }
                None
            }
        }
    }

    fn shell() -> io::Result<Self> {
        Command::new("/bin/sh")
            .args(["-c", SCRIPT])
            .current_dir("/")
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map(Self)
    }

    /// The id of its group.
    pub(super) fn id(&self) -> Option<u32> {
        self.0.id()
    }
}
