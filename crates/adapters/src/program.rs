//! A program that answers turns: the command and its limits.

mod clock;
mod exit;
mod group;
mod guard;
mod limits;
mod path;
mod process;
mod stderr;
mod supervise;
mod user;

use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
    sync::Arc,
};

pub use limits::ProgramLimits;
pub use path::ProgramError;
use tokio::sync::Semaphore;
pub use user::{User, UserError};

pub(crate) use self::{
    clock::Pulse,
    exit::Exit,
    process::{Ended, Pipes},
    stderr::{LogRate, Tail},
    supervise::{Asked, Stop},
};

/// A program that runs once for each turn. Clones share the limit of concurrent processes
/// ([`ProgramLimits::processes`]).
///
/// The program has the server's working directory and environment, with the added variables `NUNCIO_TASK_ID`,
/// `NUNCIO_CONTEXT_ID` and `NUNCIO_EPOCH` ([`Turn::epoch`](nuncio_engine::Turn::epoch)). Each turn has its own process
/// group. At any end of the turn, and if the server is killed, the remaining processes of the group are killed. Only a
/// process that moves to another group (`setsid`) escapes.
#[derive(Debug, Clone)]
pub struct Program {
    command: OsString,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, Option<OsString>)>,
    pub(crate) limits: ProgramLimits,
    pub(crate) resumes: bool,
    user: Option<User>,
    places: Arc<Semaphore>,
    pub(crate) log_rate: Arc<LogRate>,
}

impl Program {
    /// A program by its path, or by its name, searched in `PATH`. No shell is involved.
    pub fn new(command: impl Into<OsString>) -> Self {
        let limits = ProgramLimits::default();
        Self {
            command: command.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            places: places(&limits),
            log_rate: Arc::new(LogRate::new(limits.log_lines)),
            limits,
            resumes: false,
            user: None,
        }
    }

    /// A command line for `sh -c`.
    pub fn shell(line: impl Into<OsString>) -> Self {
        Self::new("sh").with_args([OsString::from("-c"), line.into()])
    }

    /// Adds arguments.
    pub fn with_args<T: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = T>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable.
    pub fn with_env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), Some(value.into())));
        self
    }

    /// Removes a variable of the server's environment, for example a secret that the program does not need.
    pub fn without_env(mut self, name: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), None));
        self
    }

    /// Runs the program as another user, without the server's supplementary groups, and with the user's `HOME`, `USER`
    /// and `LOGNAME` if known. The server must run as root.
    pub fn with_user(mut self, user: User) -> Self {
        self.user = Some(user);
        self
    }

    /// Sets the limits.
    pub fn with_limits(mut self, limits: ProgramLimits) -> Self {
        self.places = places(&limits);
        self.log_rate = Arc::new(LogRate::new(limits.log_lines));
        self.limits = limits;
        self
    }

    /// Declares that a turn can run again after a crash, because running the turn twice does no harm.
    pub fn with_resume(mut self) -> Self {
        self.resumes = true;
        self
    }

    /// Searches the program's file without running the program: a check for the start of a server.
    ///
    /// # Errors
    ///
    /// If the file does not exist or is not executable, or if the program has another user and the server is not root.
    pub fn check(&self) -> Result<PathBuf, ProgramError> {
        self.user.as_ref().map_or(Ok(()), User::check)?;
        path::find(&self.command, std::env::var_os("PATH").as_deref())
    }

    /// The name or path of the program, as given to [`new`](Self::new) or [`shell`](Self::shell).
    pub fn command(&self) -> &OsStr {
        &self.command
    }
}

fn places(limits: &ProgramLimits) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(limits.processes.clamp(1, Semaphore::MAX_PERMITS)))
}
