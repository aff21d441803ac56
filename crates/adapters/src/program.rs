//! A program that answers turns: what to run, and within which limits.

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

/// A program that is run once for each turn. Clones share its places ([`ProgramLimits::processes`]).
///
/// It runs in the server's working directory and environment, with `NUNCIO_TASK_ID`, `NUNCIO_CONTEXT_ID` and
/// `NUNCIO_EPOCH` ([`Turn::epoch`](nuncio_engine::Turn::epoch)) added. It is in a process group of its own turn. At the
/// end of the turn, whatever the reason, what is left of the group is killed, and also when the server itself is
/// killed; only a process that moves itself to another group (`setsid`) escapes that.
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
    /// A program by its name, looked for in `PATH`, or by its path. No shell is involved.
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

    /// Sets a variable of its environment.
    pub fn with_env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), Some(value.into())));
        self
    }

    /// Keeps a variable of the server's environment from it: a secret that is none of its business.
    pub fn without_env(mut self, name: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), None));
        self
    }

    /// Runs it as another user, without the supplementary groups of the server, and with `HOME`, `USER` and `LOGNAME`
    /// of the user where they are known. The server must run as root.
    pub fn with_user(mut self, user: User) -> Self {
        self.user = Some(user);
        self
    }

    /// Bounds it.
    pub fn with_limits(mut self, limits: ProgramLimits) -> Self {
        self.places = places(&limits);
        self.log_rate = Arc::new(LogRate::new(limits.log_lines));
        self.limits = limits;
        self
    }

    /// Says that a turn that a crash cut off may be run again, because running twice does no harm.
    pub fn with_resume(mut self) -> Self {
        self.resumes = true;
        self
    }

    /// Finds the program's file, without running it: a check for the start of a server.
    ///
    /// # Errors
    ///
    /// When there is no such file, or it cannot be executed; when it is to run as another user and the server is not
    /// root.
    pub fn check(&self) -> Result<PathBuf, ProgramError> {
        self.user.as_ref().map_or(Ok(()), User::check)?;
        path::find(&self.command, std::env::var_os("PATH").as_deref())
    }

    /// The name or path that it was made with.
    pub fn command(&self) -> &OsStr {
        &self.command
    }
}

fn places(limits: &ProgramLimits) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(limits.processes.clamp(1, Semaphore::MAX_PERMITS)))
}
