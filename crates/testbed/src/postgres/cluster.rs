//! A database cluster of our own: its folder, its settings, its process.

use std::{
    env, fs,
    os::unix::fs::{PermissionsExt as _, chown},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};
use rustix::process::Signal;
use url::Url;

use super::{PostgresOptions, Tls};
use crate::{port::free_port, process::Process, program};

/// The role that everything belongs to.
const ROLE: &str = "nuncio";

#[derive(Debug)]
pub(super) struct Cluster {
    process: Process,
    program: PathBuf,
    user: Option<&'static str>,
    port: u16,
    options: PostgresOptions,
}

impl Cluster {
    pub(super) fn start(options: PostgresOptions) -> Result<Self> {
        let program = server()?;
        let user = user()?;
        let parent = options.folder.clone().unwrap_or_else(|| folder(user.is_some()));
        let process = Process::new("postgres", &parent)?;
        let mut cluster = Self { process, program, user, port: free_port()?, options };
        cluster.init()?;
        cluster.run()?;
        Ok(cluster)
    }

    pub(super) fn id(&self) -> Option<u32> {
        self.process.id().and_then(|id| u32::try_from(id.as_raw_nonzero().get()).ok())
    }

    pub(super) fn url(&self) -> Result<Url> {
        Ok(format!("postgres://{ROLE}@127.0.0.1:{}/postgres", self.port).parse()?)
    }

    /// The folder of its socket, where the path is not too long for one.
    pub(super) fn socket(&self) -> Option<PathBuf> {
        let folder = self.process.folder();
        (folder.as_os_str().len() < 80).then(|| folder.to_owned())
    }

    /// The address that it can always be reached at.
    fn inner_url(&self) -> Result<Url> {
        let Some(socket) = self.socket() else { return self.url() };
        let socket = socket.display().to_string().replace('/', "%2F");
        Ok(format!("postgres://{ROLE}@{socket}:{}/postgres", self.port).parse()?)
    }

    pub(super) fn restart(&mut self) -> Result<()> {
        if self.process.id().is_some() {
            // "Fast shutdown": it does not wait for its clients to leave.
            self.process.stop(Signal::INT)?;
        }
        self.run()
    }

    pub(super) fn has_ended(&mut self) -> Result<bool> {
        self.process.has_ended()
    }

    pub(super) fn kill(&mut self) -> Result<()> {
        self.process.kill()
    }

    pub(super) fn pause(&self) -> Result<()> {
        self.process.pause()
    }

    pub(super) fn resume(&self) -> Result<()> {
        self.process.resume()
    }

    fn data(&self) -> PathBuf {
        self.process.folder().join("data")
    }

    fn init(&self) -> Result<()> {
        if let Some(user) = self.user {
            chown(self.process.folder(), Some(number("-u", user)?), Some(number("-g", user)?))?;
        }
        let mut command = self.command(&self.program.with_file_name("initdb"));
        command.args(["--no-sync", "--auth=trust", "--encoding=UTF8", "--no-locale", "--username", ROLE, "--pgdata"]);
        let output = command.arg(self.data()).output().context("cannot start initdb")?;
        if !output.status.success() {
            bail!("initdb failed: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
        }
        match self.options.tls {
            Some(tls) => self.init_tls(tls),
            None => Ok(()),
        }
    }

    fn init_tls(&self, tls: Tls) -> Result<()> {
        let files = tls.identity.write(&self.data())?;
        if let Some(user) = self.user {
            chown(&files.key, Some(number("-u", user)?), Some(number("-g", user)?))?;
        }
        if tls.is_required {
            let lines = "local all all trust\nhostssl all all 127.0.0.1/32 trust\n";
            fs::write(self.data().join("pg_hba.conf"), lines)?;
        }
        Ok(())
    }

    fn run(&mut self) -> Result<()> {
        let mut command = self.command(&self.program);
        command.arg("-D").arg(self.data()).arg("-p").arg(self.port.to_string());
        let socket = self.socket().map(|folder| folder.display().to_string()).unwrap_or_default();
        command.arg("-c").arg(format!("unix_socket_directories={socket}"));
        command.args(["-c", if self.options.tls.is_some() { "ssl=on" } else { "ssl=off" }]);
        let fixed = ["listen_addresses=127.0.0.1", "max_connections=400"];
        let synchronous = if self.options.is_durable { "on" } else { "off" };
        let durable = ["fsync", "full_page_writes"].map(|setting| format!("{setting}={synchronous}"));
        for setting in fixed.into_iter().chain(durable.iter().map(|setting| &**setting)) {
            command.args(["-c", setting]);
        }
        for setting in &self.options.settings {
            command.args(["-c", setting]);
        }
        let url = self.inner_url()?;
        self.process.start(&mut command, || super::database::answers(&url))
    }

    /// A command that runs as a user that PostgreSQL accepts: it refuses root.
    fn command(&self, program: &Path) -> Command {
        let mut command = match self.user {
            Some(user) => {
                let mut command = Command::new("setpriv");
                let user = [format!("--reuid={user}"), format!("--regid={}", group(user))];
                command.args(user).args(["--init-groups", "--"]).arg(program);
                command
            }
            None => Command::new(program),
        };
        command.current_dir(self.process.folder());
        // A message is looked for in the log, and it should be readable.
        command.env("LC_ALL", "C");
        command
    }
}

/// Whether there is a server to be started.
pub(super) fn is_installed() -> bool {
    server().is_ok()
}

fn server() -> Result<PathBuf> {
    program::find("postgres", "postgresql")
}

/// Whom to run as: nobody else unless we are root.
fn user() -> Result<Option<&'static str>> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    match ["postgres", "nobody"].into_iter().find(|user| number("-u", user).is_ok()) {
        Some(user) => Ok(Some(user)),
        None => bail!("PostgreSQL does not run as root\nhint: add a user `postgres`, or run the tests as another user"),
    }
}

fn group(user: &str) -> String {
    number("-g", user).map_or_else(|_| user.to_owned(), |group| group.to_string())
}

/// What `id` says of a user.
fn number(what: &str, user: &str) -> Result<u32> {
    let output = Command::new("id").args([what, user]).output().context("cannot start id")?;
    String::from_utf8_lossy(&output.stdout).trim().parse().with_context(|| format!("there is no user `{user}`"))
}

/// Where its data goes: where the other user comes, too.
fn folder(is_for_another: bool) -> PathBuf {
    let usual = env::temp_dir();
    let is_open = |folder: &Path| {
        fs::metadata(folder).is_ok_and(|folder| folder.is_dir() && folder.permissions().mode() & 0o001 != 0)
    };
    if is_for_another && !usual.ancestors().all(is_open) { PathBuf::from("/tmp") } else { usual }
}
