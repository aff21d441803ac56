//! Logs to stderr, without secrets, a line for each record.

mod json;
mod leniencies;
mod queue;

use std::{
    borrow::Cow,
    io::{self, Write},
};

use tracing_subscriber::{
    EnvFilter, Layer as _, fmt::MakeWriter, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

use crate::{escape, style};

/// The variable with the log filter, in the syntax of tracing.
const VARIABLE: &str = "NUNCIO_LOG";

/// Log lines of libraries that an error of this program repeats.
const SAID_TWICE: &str = "rustls_platform_verifier=off,async_nats=off";

/// What `--debug` shows: every step, and the messages on the wire.
const DEBUG: &str = "info,nuncio=debug,nuncio_client=debug,nuncio_server=debug,nuncio_engine=debug";

/// Starts the log of a command that calls an agent. The filter is `NUNCIO_LOG`, otherwise the filter of `--debug`,
/// otherwise `default`. With `-v`, tolerated mistakes of the agent are logged as warnings.
pub(crate) fn start_calling(is_debug: bool, default: &str, is_verbose: bool) {
    begin(is_debug, default, is_verbose, false);
}

/// As [`start_calling`], for a server. A separate thread writes the records, so that a blocked stderr does not block
/// the server.
pub(crate) fn serve(is_debug: bool, default: &str, is_json: bool) {
    queue::start();
    begin(is_debug, default, false, is_json);
}

/// Waits until the records of a server are written, but not for a reader that has stopped.
pub(crate) fn flush() {
    queue::flush();
}

fn begin(is_debug: bool, default: &str, shows_leniencies: bool, is_json: bool) {
    let filter = EnvFilter::try_from_env(VARIABLE)
        .unwrap_or_else(|_| EnvFilter::new(format!("{},{SAID_TWICE}", if is_debug { DEBUG } else { default })));
    let is_terminal = style::stderr() && !is_json;
    let records = tracing_subscriber::fmt::layer().with_ansi(is_terminal).with_writer(Stderr { is_terminal });
    let records = if is_json { records.event_format(json::Json).boxed() } else { records.boxed() };
    let registry = tracing_subscriber::registry().with(records.with_filter(filter));
    // If logging was set up before, that stays.
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
        queue::write(one_line(&text, self.is_terminal).into_owned());
    }
}

/// A record as a line without control characters: text of a peer or a program is escaped. On a terminal the color
/// sequences of the formatter are kept.
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
