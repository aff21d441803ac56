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

/// The environment variable with the URL of a running server; the role must be able to create databases.
const VARIABLE: &str = "NUNCIO_TEST_POSTGRES";

/// The settings of a private server.
#[derive(Debug, Clone, Default)]
pub struct PostgresOptions {
    is_durable: bool,
    folder: Option<PathBuf>,
    settings: Vec<String>,
    has_small_log: bool,
    tls: Option<Tls>,
}

/// The TLS settings of a server.
#[derive(Debug, Clone, Copy)]
struct Tls {
    identity: Identity,
    is_required: bool,
}

impl PostgresOptions {
    /// Without fsync: data is lost if the machine stops, but not if the server is killed.
    pub fn new() -> Self {
        Self::default()
    }

    /// With fsync, as in production; for benchmarks.
    pub fn with_fsync(mut self, is_durable: bool) -> Self {
        self.is_durable = is_durable;
        self
    }

    /// Stores the data in a new folder under this folder, for example on a small disk. The default is the system's
    /// folder for temporary files.
    pub fn with_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Keeps the write-ahead log as short as possible, in files of one mebibyte that are not reused. On a full small
    /// disk, the log then soon cannot be written, and the server stops.
    pub fn with_small_log(mut self) -> Self {
        self.has_small_log = true;
        let settings = ["max_wal_size=4MB", "min_wal_size=2MB", "wal_recycle=off"];
        self.settings.extend(settings.map(str::to_owned));
        self
    }

    /// Accepts TLS with this identity, and connections without TLS.
    pub fn with_tls(mut self, identity: Identity) -> Self {
        self.tls = Some(Tls { identity, is_required: false });
        self
    }

    /// Requires TLS with this identity, except over the [socket](Postgres::socket). The methods of this crate that
    /// create databases do not use TLS.
    pub fn with_tls_alone(mut self, identity: Identity) -> Self {
        self.tls = Some(Tls { identity, is_required: true });
        self
    }

    /// Adds a setting of the server, for example `max_connections=20`.
    pub fn with_setting(mut self, setting: impl Into<String>) -> Self {
        self.settings.push(setting.into());
        self
    }
}

/// A PostgreSQL server: an existing server, or a private server that ends with this value.
#[derive(Debug)]
pub struct Postgres {
    url: Url,
    own: Option<Mutex<Cluster>>,
}

impl Postgres {
    /// The server of all tests: the server in `NUNCIO_TEST_POSTGRES`, or a server that this process starts once.
    ///
    /// # Errors
    ///
    /// If the variable is not set and no server can be started, because PostgreSQL is not installed.
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

    /// Whether PostgreSQL is installed.
    pub fn is_installed() -> bool {
        cluster::is_installed()
    }

    /// Starts an empty private server on a free port of 127.0.0.1, in about a second.
    ///
    /// # Errors
    ///
    /// If PostgreSQL is not installed or does not start.
    pub fn start(options: PostgresOptions) -> Result<Self> {
        let cluster = Cluster::start(options)?;
        Ok(Self { url: cluster.url()?, own: Some(Mutex::new(cluster)) })
    }

    /// Starts a private primary and a standby, in about two seconds. Replication is synchronous: the standby has all
    /// commits that the primary acknowledges, and without the standby the primary acknowledges nothing.
    ///
    /// # Errors
    ///
    /// The errors of [`start`](Self::start), and an error if the two servers do not connect.
    pub fn pair() -> Result<[Self; 2]> {
        let of =
            |cluster: Cluster| Ok::<_, anyhow::Error>(Self { url: cluster.url()?, own: Some(Mutex::new(cluster)) });
        let primary = Cluster::start(PostgresOptions::new().with_setting("synchronous_standby_names=*"))?;
        let standby = primary.standby()?;
        Ok([of(primary)?, of(standby)?])
    }

    /// Promotes a standby to primary, independently of the state of the old primary.
    ///
    /// # Errors
    ///
    /// If the server is not private, or is not a standby.
    pub fn promote(&self) -> Result<()> {
        self.own()?.promote()
    }

    /// Creates a new, empty database, which is dropped with its value.
    ///
    /// # Errors
    ///
    /// If the server does not answer, or the role cannot create databases.
    pub fn database(&self) -> Result<Database> {
        // The databases of a private server end with the server.
        Database::create(&self.url, self.own.is_none())
    }

    /// The folder of the server's Unix socket; the port is the port in its [address](Server::address).
    ///
    /// # Errors
    ///
    /// If the server is not private, or if the path of the temporary folder is too long for sockets.
    pub fn socket(&self) -> Result<PathBuf> {
        self.own()?
            .socket()
            .context("the path of the socket is too long\nhint: set TMPDIR to a folder with a shorter path")
    }

    /// The id of the main process, the parent of all other processes.
    ///
    /// # Errors
    ///
    /// If the server is not private, or is not running.
    pub fn process(&self) -> Result<u32> {
        self.own()?.id().context("the PostgreSQL server is not running")
    }

    /// Whether the server has ended: it was killed, or has failed.
    ///
    /// # Errors
    ///
    /// If the server is not private.
    pub fn has_ended(&self) -> Result<bool> {
        self.own()?.try_reap()
    }

    fn own(&self) -> Result<MutexGuard<'_, Cluster>> {
        match &self.own {
            Some(own) => Ok(own.lock().unwrap_or_else(PoisonError::into_inner)),
            None => bail!(
                "the PostgreSQL server at {} is not private; start a private server with Postgres::start",
                self.url
            ),
        }
    }
}

/// The URL is the URL of the database `postgres`, or the given URL.
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
