//! A private database cluster: its folder, its settings, its process.

use std::{
    env, fs,
    os::unix::fs::{PermissionsExt as _, chown},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};
use rustix::process::Signal;
use url::Url;

use super::{PostgresOptions, Tls, database};
use crate::{port::Port, process::Process, program};

/// The role that owns all objects.
const ROLE: &str = "nuncio";

#[derive(Debug)]
pub(super) struct Cluster {
    process: Process,
    program: PathBuf,
    user: User,
    port: Port,
    options: PostgresOptions,
}

impl Cluster {
    pub(super) fn start(options: PostgresOptions) -> Result<Self> {
        let mut cluster = Self::new(options)?;
        let initdb = ["--no-sync", "--auth=trust", "--encoding=UTF8", "--no-locale", "--username", ROLE, "--pgdata"];
        let small: &[&str] = if cluster.options.has_small_log { &["--wal-segsize=1"] } else { &[] };
        cluster.make("initdb", &[small, &initdb].concat())?;
        if let Some(tls) = cluster.options.tls {
            cluster.init_tls(tls)?;
        }
        cluster.run()?;
        Ok(cluster)
    }

    /// A standby of this server, with all data of this server.
    pub(super) fn standby(&self) -> Result<Self> {
        let mut standby = Self::new(PostgresOptions::new())?;
        let port = self.port.to_string();
        let from = ["--host=127.0.0.1", "--port", &port, "--username", ROLE];
        let how = ["--no-sync", "--checkpoint=fast", "--wal-method=stream", "--write-recovery-conf", "--pgdata"];
        standby.make("pg_basebackup", &[&from[..], &how].concat())?;
        standby.run()?;
        // The commit is synchronous, so the standby is connected afterwards.
        database::execute(&self.inner_url()?, "CREATE TABLE standby_is_there (); DROP TABLE standby_is_there")?;
        Ok(standby)
    }

    pub(super) fn promote(&self) -> Result<()> {
        database::execute(&self.inner_url()?, "SELECT pg_promote()")
    }

    fn new(options: PostgresOptions) -> Result<Self> {
        let program = server()?;
        let user = user()?;
        let parent = options.folder.clone().unwrap_or_else(|| folder(user.name().is_some()));
        let process = Process::new("postgres", &parent)?;
        Ok(Self { process, program, user, port: Port::take()?, options })
    }

    pub(super) fn id(&self) -> Option<u32> {
        self.process.id().and_then(|id| u32::try_from(id.as_raw_nonzero().get()).ok())
    }

    pub(super) fn url(&self) -> Result<Url> {
        Ok(format!("postgres://{ROLE}@127.0.0.1:{}/postgres", self.port).parse()?)
    }

    /// The folder of the server's socket, if the path is short enough for a socket.
    pub(super) fn socket(&self) -> Option<PathBuf> {
        let folder = self.process.folder();
        (folder.as_os_str().len() < 80).then(|| folder.to_owned())
    }

    /// The address that does not require TLS.
    fn inner_url(&self) -> Result<Url> {
        let Some(socket) = self.socket() else { return self.url() };
        let socket = socket.display().to_string().replace('/', "%2F");
        Ok(format!("postgres://{ROLE}@{socket}:{}/postgres", self.port).parse()?)
    }

    pub(super) fn restart(&mut self) -> Result<()> {
        if self.process.id().is_some() {
            // The "fast shutdown" of PostgreSQL does not wait for clients to disconnect.
            self.process.stop(Signal::INT)?;
        }
        self.run()
    }

    pub(super) fn try_reap(&mut self) -> Result<bool> {
        self.process.try_reap()
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

    /// Creates the data with a program; the folder is the program's last argument.
    fn make(&self, program: &str, arguments: &[&str]) -> Result<()> {
        if let Some(user) = self.user.name() {
            chown(self.process.folder(), Some(number("-u", user)?), Some(number("-g", user)?))?;
        }
        let mut command = self.command(&self.program.with_file_name(program));
        let output = command.args(arguments).arg(self.data()).output();
        let output = output.with_context(|| format!("cannot start {program}"))?;
        if !output.status.success() {
            bail!("{program} failed: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
        }
        Ok(())
    }

    fn init_tls(&self, tls: Tls) -> Result<()> {
        let files = tls.identity.write(&self.data())?;
        if let Some(user) = self.user.name() {
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
        self.process.start(&mut command, || database::answers(&url))
    }

    /// A command with a user that PostgreSQL accepts: PostgreSQL refuses to run as root.
    fn command(&self, program: &Path) -> Command {
        let mut command = match self.user {
            User::Other(user) => {
                let mut command = Command::new("setpriv");
                let user = [format!("--reuid={user}"), format!("--regid={}", group(user))];
                command.args(user).args(["--init-groups", "--"]).arg(program);
                command
            }
            User::Renamed => {
                let mut command = Command::new("unshare");
                command.args(["--user", "--map-user=1", "--map-group=1", "--"]).arg(program);
                command
            }
            User::Same => Command::new(program),
        };
        command.current_dir(self.process.folder());
        // The log is searched for messages, so the language must be fixed.
        command.env("LC_ALL", "C");
        command
    }
}

/// Whether PostgreSQL is installed.
pub(super) fn is_installed() -> bool {
    server().is_ok()
}

fn server() -> Result<PathBuf> {
    program::find("postgres", "postgresql")
}

/// The user for the server.
#[derive(Debug, Clone, Copy)]
enum User {
    Same,
    Other(&'static str),
    /// Another name in a separate namespace, for a process that is root in a namespace with only one user.
    Renamed,
}

impl User {
    /// The owner of the files, if it is another user.
    fn name(self) -> Option<&'static str> {
        if let Self::Other(user) = self { Some(user) } else { None }
    }
}

/// Another user only if this process is root.
fn user() -> Result<User> {
    if !rustix::process::geteuid().is_root() {
        return Ok(User::Same);
    }
    // The lines have the form: first id inside, first id outside, count.
    let ids = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    if ids.split_whitespace().skip(2).eq(["1"]) {
        return Ok(User::Renamed);
    }
    match ["postgres", "nobody"].into_iter().find(|user| number("-u", user).is_ok()) {
        Some(user) => Ok(User::Other(user)),
        None => bail!("PostgreSQL does not run as root\nhint: add a user `postgres`, or run the tests as another user"),
    }
}

fn group(user: &str) -> String {
    number("-g", user).map_or_else(|_| user.to_owned(), |group| group.to_string())
}

/// The number that `id` prints for a user.
fn number(what: &str, user: &str) -> Result<u32> {
    let output = Command::new("id").args([what, user]).output().context("cannot start id")?;
    String::from_utf8_lossy(&output.stdout).trim().parse().with_context(|| format!("the user `{user}` does not exist"))
}

/// The folder for the data, accessible to the other user if necessary.
fn folder(is_for_another: bool) -> PathBuf {
    let usual = env::temp_dir();
    let is_open = |folder: &Path| {
        fs::metadata(folder).is_ok_and(|folder| folder.is_dir() && folder.permissions().mode() & 0o001 != 0)
    };
    if is_for_another && !usual.ancestors().all(is_open) { PathBuf::from("/tmp") } else { usual }
}
