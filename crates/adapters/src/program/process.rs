//! A program at work: started for one turn, and gone with it.

use std::{
    process::{ExitStatus, Stdio},
    sync::Arc,
};

use nuncio_engine::{AgentError, Turn};
use tokio::{
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    sync::OwnedSemaphorePermit,
    time::Instant,
};

use super::{Program, ProgramLimits, clock::Pulse, group::Group, guard::Guard};

/// A running program. Dropping it kills its process group; the runtime reaps it.
#[derive(Debug)]
pub(crate) struct Process {
    // Dropped in this order: the group is signalled while its leader still holds its id.
    pub(super) group: Group,
    pub(super) child: Child,
    pub(super) limits: ProgramLimits,
    pub(super) begun: Instant,
    /// When it was last heard of.
    pub(crate) pulse: Pulse,
    /// Its place among those that run at the same time.
    _place: OwnedSemaphorePermit,
}

/// What connects a program.
#[derive(Debug)]
pub(crate) struct Pipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

impl Program {
    /// Starts it for a turn, when there is a place for it; `None` when the client cancels before.
    pub(crate) async fn start(&self, turn: &Turn) -> Result<Option<(Process, Pipes)>, AgentError> {
        let place = tokio::select! {
            place = Arc::clone(&self.places).acquire_owned() => place?,
            () = turn.cancelled().cancelled() => return Ok(None),
        };
        let guard = Guard::start();
        let mut command = Command::new(&self.command);
        command.args(&self.arguments);
        if let Some(user) = &self.user {
            user.take_on(&mut command);
        }
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
            .env("NUNCIO_TASK_ID", turn.task_id().as_str())
            .env("NUNCIO_CONTEXT_ID", turn.context_id().as_str())
            .env("NUNCIO_EPOCH", turn.epoch().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(Group::to_join(guard.as_ref()))
            .kill_on_drop(true);
        let program = self.command.to_string_lossy();
        let mut child = command
            .spawn()
            .map_err(|error| AgentError::new(format!("cannot start `{program}`: {error}")).with_source(error))?;
        let group = Group::of(guard, &child);
        let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(AgentError::new(format!("cannot start `{program}`: its pipes are missing")));
        };
        let limits = self.limits.clone();
        let process = Process { group, child, limits, begun: Instant::now(), pulse: Pulse::default(), _place: place };
        Ok(Some((process, Pipes { stdin, stdout, stderr })))
    }
}

/// How a program's turn went.
#[derive(Debug)]
pub(crate) struct Ended {
    /// How the program itself ended; `None` when even SIGKILL did not end it.
    pub(crate) exit: Option<ExitStatus>,
    /// Why it was stopped, when it was.
    pub(crate) stop: Option<super::Stop>,
    /// What came of its output; `None` when reading it was given up.
    pub(crate) output: Option<Result<(), AgentError>>,
}
