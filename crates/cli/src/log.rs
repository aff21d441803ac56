//! Logs to stderr, without secrets.

use std::io::{self, Write};

use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

/// The variable that sets what is logged, in the syntax of tracing's filters.
const VARIABLE: &str = "NUNCIO_LOG";

/// What libraries say that is said by an error of ours as well.
const SAID_TWICE: &str = "rustls_platform_verifier=off,async_nats=off";

/// What `--debug` shows: every step, and the messages on the wire.
const DEBUG: &str = "info,nuncio=debug,nuncio_client=debug,nuncio_server=debug,nuncio_engine=debug";

/// Logs what `NUNCIO_LOG` says; without it what `--debug` shows, else what `default` says.
pub(crate) fn start(is_debug: bool, default: &str) {
    let filter = EnvFilter::try_from_env(VARIABLE)
        .unwrap_or_else(|_| EnvFilter::new(format!("{},{SAID_TWICE}", if is_debug { DEBUG } else { default })));
    let is_terminal = io::IsTerminal::is_terminal(&io::stderr());
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(is_terminal).with_writer(Stderr);
    // Whoever set up logging before us goes on doing it.
    let _ = builder.try_init();
}

/// Writes each record to stderr at once.
struct Stderr;

struct Record(Vec<u8>);

impl<'a> MakeWriter<'a> for Stderr {
    type Writer = Record;

    fn make_writer(&'a self) -> Record {
        Record(Vec::with_capacity(256))
    }
}

impl Write for Record {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let text = crate::diag::redact(&String::from_utf8_lossy(&self.0));
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }
}
