//! A running program: started for one turn, ended with the turn.

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

/// A running program. Dropping the value kills the process group; the runtime reaps the program.
#[derive(Debug)]
pub(crate) struct Process {
    // The fields are dropped in this order: the group must be signalled while the leader still occupies the group's id.
    pub(super) group: Group,
    pub(super) child: Child,
    pub(super) limits: ProgramLimits,
    pub(super) begun: Instant,
    /// The time of the last output.
    pub(crate) pulse: Pulse,
    /// The permit for one of the concurrent programs.
    _place: OwnedSemaphorePermit,
}

/// The pipes of a program.
#[derive(Debug)]
pub(crate) struct Pipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

impl Program {
    /// Starts the program for a turn as soon as a place is free; `None` if the client cancels before.
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

/// The result of a program's turn.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The exit status; `None` if even SIGKILL did not end the program.
    pub(crate) exit: Option<ExitStatus>,
    /// The reason why the program was stopped, if it was.
    pub(crate) stop: Option<super::Stop>,
    /// The result of reading the output; `None` if reading was abandoned.
    pub(crate) output: Option<Result<(), AgentError>>,
}
