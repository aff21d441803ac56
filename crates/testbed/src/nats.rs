//! A NATS server.

use std::{
    env,
    net::{Ipv4Addr, TcpStream},
    path::PathBuf,
    process::Command,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

use anyhow::{Result, anyhow, bail};
use rustix::process::Signal;

use crate::{Server, port::Port, process::Process, program};

/// The environment variable with the URL of a running server.
const VARIABLE: &str = "NUNCIO_TEST_NATS";

/// The settings of a private server.
#[derive(Debug, Clone, Default)]
pub struct NatsOptions {
    arguments: Vec<String>,
}

impl NatsOptions {
    /// The default settings of the server.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds arguments of `nats-server`.
    pub fn with_args<T: Into<String>>(mut self, arguments: impl IntoIterator<Item = T>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }
}

/// A NATS server: an existing server, or a private server that ends with this value.
#[derive(Debug)]
pub struct Nats {
    url: String,
    own: Option<Own>,
}

#[derive(Debug)]
struct Own {
    process: Mutex<Process>,
    program: PathBuf,
    port: Port,
    options: NatsOptions,
}

impl Nats {
    /// The server of all tests: the server in `NUNCIO_TEST_NATS`, or a server that this process starts once. All tests
    /// share the subjects, so each test should use its own prefix.
    ///
    /// # Errors
    ///
    /// If the variable is not set and no server can be started, because `nats-server` is not installed.
    pub fn shared() -> Result<&'static Self> {
        static SHARED: OnceLock<Result<Nats, String>> = OnceLock::new();
        let shared = SHARED.get_or_init(|| match env::var(VARIABLE) {
            Ok(url) => Ok(Self { url, own: None }),
            Err(_) => Self::start(NatsOptions::new()).map_err(|error| format!("{error:#}")),
        });
        shared.as_ref().map_err(|error| anyhow!("{error}"))
    }

    /// Whether `nats-server` is installed.
    pub fn is_installed() -> bool {
        server().is_ok()
    }

    /// Starts a private server on a free port of 127.0.0.1.
    ///
    /// # Errors
    ///
    /// If `nats-server` is not installed or does not start.
    pub fn start(options: NatsOptions) -> Result<Self> {
        let program = server()?;
        let process = Mutex::new(Process::new("nats", &env::temp_dir())?);
        let own = Own { process, program, port: Port::take()?, options };
        own.start()?;
        Ok(Self { url: format!("nats://127.0.0.1:{}", own.port), own: Some(own) })
    }

    fn own(&self) -> Result<&Own> {
        match &self.own {
            Some(own) => Ok(own),
            None => bail!("the NATS server at {} is not private; start a private server with Nats::start", self.url),
        }
    }
}

/// The URL is `nats://127.0.0.1:PORT`.
impl Server for Nats {
    fn url(&self) -> &str {
        &self.url
    }

    fn address(&self) -> String {
        self.url.rsplit(['/', '@']).next().unwrap_or(&self.url).to_owned()
    }

    fn restart(&self) -> Result<()> {
        let own = self.own()?;
        if own.process().id().is_some() {
            own.process().stop(Signal::TERM)?;
        }
        own.start()
    }

    fn kill(&self) -> Result<()> {
        self.own()?.process().kill()
    }

    fn pause(&self) -> Result<()> {
        self.own()?.process().pause()
    }

    fn resume(&self) -> Result<()> {
        self.own()?.process().resume()
    }
}

fn server() -> Result<PathBuf> {
    program::find("nats-server", "nats-server")
}

impl Own {
    fn process(&self) -> MutexGuard<'_, Process> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self) -> Result<()> {
        let mut command = Command::new(&self.program);
        command.args(["-a", "127.0.0.1", "-p"]).arg(self.port.to_string()).args(&self.options.arguments);
        self.process().start(&mut command, || TcpStream::connect((Ipv4Addr::LOCALHOST, self.port.number())).is_ok())
    }
}
