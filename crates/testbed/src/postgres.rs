//! A PostgreSQL server.

mod cluster;
mod database;

use std::{
    env,
    path::PathBuf,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

use anyhow::{Context as _, Result, anyhow, bail};
use url::Url;

use self::cluster::Cluster;
pub use self::database::Database;
use crate::{Server, tls::Identity};

/// The variable that names a server that runs already: a URL of a role that may create databases.
const VARIABLE: &str = "NUNCIO_TEST_POSTGRES";

/// How a server of our own is started.
#[derive(Debug, Clone, Default)]
pub struct PostgresOptions {
    is_durable: bool,
    folder: Option<PathBuf>,
    settings: Vec<String>,
    has_small_log: bool,
    tls: Option<Tls>,
}

/// How a server speaks TLS.
#[derive(Debug, Clone, Copy)]
struct Tls {
    identity: Identity,
    is_required: bool,
}

impl PostgresOptions {
    /// Without fsync: what is written is lost if the machine stops, but not if the server is killed.
    pub fn new() -> Self {
        Self::default()
    }

    /// With fsync, as in production: for benchmarks.
    pub fn with_fsync(mut self, is_durable: bool) -> Self {
        self.is_durable = is_durable;
        self
    }

    /// Puts its data into a new folder under this one: a small disk, for example. By default the system's for temporary
    /// files.
    pub fn with_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Keeps its write-ahead log as short as it can be, in files of a mebibyte that are not used again: on a small disk
    /// that is full it soon cannot be written, and the server cannot go on.
    pub fn with_small_log(mut self) -> Self {
        self.has_small_log = true;
        let settings = ["max_wal_size=4MB", "min_wal_size=2MB", "wal_recycle=off"];
        self.settings.extend(settings.map(str::to_owned));
        self
    }

    /// Speaks TLS with whoever wants it, as this server.
    pub fn with_tls(mut self, identity: Identity) -> Self {
        self.tls = Some(Tls { identity, is_required: false });
        self
    }

    /// Speaks TLS, and takes no connections without it but over its [socket](Postgres::socket). What makes databases
    /// here is without.
    pub fn with_tls_alone(mut self, identity: Identity) -> Self {
        self.tls = Some(Tls { identity, is_required: true });
        self
    }

    /// Adds a setting of the server, `max_connections=20` for example.
    pub fn with_setting(mut self, setting: impl Into<String>) -> Self {
        self.settings.push(setting.into());
        self
    }
}

/// A PostgreSQL server: one that was given, or one of our own, which ends with this value.
#[derive(Debug)]
pub struct Postgres {
    url: Url,
    own: Option<Mutex<Cluster>>,
}

impl Postgres {
    /// The server of all tests: the one that `NUNCIO_TEST_POSTGRES` names, or one that this process starts once.
    ///
    /// # Errors
    ///
    /// When none is named, and none can be started: there is no PostgreSQL on this machine.
    pub fn shared() -> Result<&'static Self> {
        static SHARED: OnceLock<Result<Postgres, String>> = OnceLock::new();
        let shared = SHARED.get_or_init(|| {
            let server = match env::var(VARIABLE) {
                Ok(url) => url.parse().context(VARIABLE).map(|url| Self { url, own: None }),
                Err(_) => Self::start(PostgresOptions::new()),
            };
            server.map_err(|error| format!("{error:#}"))
        });
        shared.as_ref().map_err(|error| anyhow!("{error}"))
    }

    /// Whether there is a PostgreSQL on this machine to be started.
    pub fn is_installed() -> bool {
        cluster::is_installed()
    }

    /// Starts a server of the caller's own, empty, on a free port of 127.0.0.1, in about a second.
    ///
    /// # Errors
    ///
    /// When there is no PostgreSQL on this machine, or it does not start.
    pub fn start(options: PostgresOptions) -> Result<Self> {
        let cluster = Cluster::start(options)?;
        Ok(Self { url: cluster.url()?, own: Some(Mutex::new(cluster)) })
    }

    /// Starts a primary and a standby of the caller's own, in about two seconds. What the primary acknowledges the
    /// standby has: without it, it acknowledges nothing.
    ///
    /// # Errors
    ///
    /// Those of [`start`](Self::start), and when they do not find one another.
    pub fn pair() -> Result<[Self; 2]> {
        let of =
            |cluster: Cluster| Ok::<_, anyhow::Error>(Self { url: cluster.url()?, own: Some(Mutex::new(cluster)) });
        let primary = Cluster::start(PostgresOptions::new().with_setting("synchronous_standby_names=*"))?;
        let standby = primary.standby()?;
        Ok([of(primary)?, of(standby)?])
    }

    /// Makes a primary of a standby, whatever has become of the one before.
    ///
    /// # Errors
    ///
    /// When it is not of our own, or no standby.
    pub fn promote(&self) -> Result<()> {
        self.own()?.promote()
    }

    /// Makes a new, empty database, which is gone with its value.
    ///
    /// # Errors
    ///
    /// When the server does not answer, or the role may not create databases.
    pub fn database(&self) -> Result<Database> {
        // One of our own goes with the server.
        Database::create(&self.url, self.own.is_none())
    }

    /// The folder of its socket in the file system; its port is that of its [address](Server::address).
    ///
    /// # Errors
    ///
    /// When it is not of our own, or the folder for temporary files has too long a name for sockets.
    pub fn socket(&self) -> Result<PathBuf> {
        self.own()?.socket().context("the socket's path is too long\nhint: set TMPDIR to a folder with a shorter one")
    }

    /// The id of its first process, the parent of all others.
    ///
    /// # Errors
    ///
    /// When it is not of our own, or does not run.
    pub fn process(&self) -> Result<u32> {
        self.own()?.id().context("the PostgreSQL server does not run")
    }

    /// Whether it does not run: it was killed, or could not go on.
    ///
    /// # Errors
    ///
    /// When it is not of our own.
    pub fn has_ended(&self) -> Result<bool> {
        self.own()?.has_ended()
    }

    fn own(&self) -> Result<MutexGuard<'_, Cluster>> {
        match &self.own {
            Some(own) => Ok(own.lock().unwrap_or_else(PoisonError::into_inner)),
            None => bail!("the PostgreSQL server at {} is not ours to hurt; start one with Postgres::start", self.url),
        }
    }
}

/// Its URL is that of its database `postgres`, or the one that was given.
impl Server for Postgres {
    fn url(&self) -> &str {
        self.url.as_str()
    }

    fn address(&self) -> String {
        format!("{}:{}", self.url.host_str().unwrap_or("127.0.0.1"), self.url.port().unwrap_or(5432))
    }

    fn restart(&self) -> Result<()> {
        self.own()?.restart()
    }

    fn kill(&self) -> Result<()> {
        self.own()?.kill()
    }

    fn pause(&self) -> Result<()> {
        self.own()?.pause()
    }

    fn resume(&self) -> Result<()> {
        self.own()?.resume()
    }
}
