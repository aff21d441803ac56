//! Logs to stderr, without secrets, a line for each record.

mod leniencies;

use std::{
    borrow::Cow,
    io::{self, Write},
};

use tracing_subscriber::{
    EnvFilter, Layer as _, fmt::MakeWriter, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

use crate::escape;

/// The variable that sets what is logged, in the syntax of tracing's filters.
const VARIABLE: &str = "NUNCIO_LOG";

/// What libraries say that is said by an error of ours as well.
const SAID_TWICE: &str = "rustls_platform_verifier=off,async_nats=off";

/// What `--debug` shows: every step, and the messages on the wire.
const DEBUG: &str = "info,nuncio=debug,nuncio_client=debug,nuncio_server=debug,nuncio_engine=debug";

/// Logs what `NUNCIO_LOG` says; without it what `--debug` shows, else what `default` says.
pub(crate) fn start(is_debug: bool, default: &str) {
    begin(is_debug, default, false);
}

/// As [`start`], for a command that calls an agent; with `-v` it warns of the agent's mistakes that are read.
pub(crate) fn start_calling(is_debug: bool, default: &str, is_verbose: bool) {
    begin(is_debug, default, is_verbose);
}

fn begin(is_debug: bool, default: &str, shows_leniencies: bool) {
    let filter = EnvFilter::try_from_env(VARIABLE)
        .unwrap_or_else(|_| EnvFilter::new(format!("{},{SAID_TWICE}", if is_debug { DEBUG } else { default })));
    let is_terminal = io::IsTerminal::is_terminal(&io::stderr());
    let records = tracing_subscriber::fmt::layer().with_ansi(is_terminal).with_writer(Stderr { is_terminal });
    let registry = tracing_subscriber::registry().with(records.with_filter(filter));
    // Whoever set up logging before us goes on doing it.
    let _ = registry.with(shows_leniencies.then(leniencies::layer)).try_init();
}

/// Writes each record to stderr at once.
struct Stderr {
    is_terminal: bool,
}

struct Record {
    bytes: Vec<u8>,
    is_terminal: bool,
}

impl<'a> MakeWriter<'a> for Stderr {
    type Writer = Record;

    fn make_writer(&'a self) -> Record {
        Record { bytes: Vec::with_capacity(256), is_terminal: self.is_terminal }
    }
}

impl Write for Record {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let text = crate::diag::redact(&String::from_utf8_lossy(&self.bytes));
        let _ = io::stderr().lock().write_all(one_line(&text, self.is_terminal).as_bytes());
    }
}

/// A record as one line that commands no terminal: text of a peer or a program is escaped. On a terminal the escape
/// sequences for colors stay: the formatter escapes those of others.
fn one_line(record: &str, is_terminal: bool) -> Cow<'_, str> {
    let (line, end) = record.strip_suffix('\n').map_or((record, ""), |line| (line, "\n"));
    if !is_terminal {
        return match escape::line(line) {
            Cow::Borrowed(_) => Cow::Borrowed(record),
            Cow::Owned(safe) => Cow::Owned(safe + end),
        };
    }
    let safe: Vec<_> = line.split('\u{1b}').map(escape::line).collect();
    Cow::Owned(safe.join("\u{1b}") + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_one_line() {
        let forged = "WARN a notification failed config=a\n2026-11-28T00:00:00Z  WARN forged\u{1b}[31m\u{0}\r\n";
        let safe = r"WARN a notification failed config=a\n2026-11-28T00:00:00Z  WARN forged\u{1b}[31m\u{0}\r";
        assert_eq!(one_line(forged, false), format!("{safe}\n"));
        assert_eq!(one_line(forged, true), format!("{}\n", safe.replace(r"\u{1b}", "\u{1b}")));
        let plain = "INFO a\tb \u{e9}\n";
        assert_eq!(one_line(plain, false), plain);
    }
}
