//! What people are told on stderr: warnings, hints, errors, progress. Never a secret.

use std::{
    collections::BTreeSet,
    io::{self, IsTerminal as _, Write as _},
    sync::{Mutex, PoisonError, RwLock},
};

use nuncio_client::redact::Redactor;

use crate::{escape, style, waiting};

static SECRETS: RwLock<Option<Redactor>> = RwLock::new(None);

static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Hides secrets in all output to stderr, logs included.
pub(crate) fn hide(secrets: impl IntoIterator<Item = String>) {
    let mut redactor = SECRETS.write().unwrap_or_else(PoisonError::into_inner);
    let redactor = redactor.get_or_insert_default();
    secrets.into_iter().for_each(|secret| redactor.add(secret));
}

/// The text without the secrets that are known.
pub(crate) fn redact(text: &str) -> String {
    match &*SECRETS.read().unwrap_or_else(PoisonError::into_inner) {
        Some(redactor) => redactor.text(text),
        None => text.to_owned(),
    }
}

/// A line on stderr, whatever is in the text: text of a peer must not look like another line, nor command the terminal.
/// A line that cannot be written is lost.
pub(crate) fn line(text: &str) {
    put("", text);
}

/// A line that begins with a colored label of this program.
fn labelled(label: &str, color: &str, text: &str) {
    put(&if style::stderr() { style::paint(label, color) } else { label.to_owned() }, &format!(" {text}"));
}

fn put(label: &str, text: &str) {
    crate::output::end_text();
    waiting::clear();
    let _ = writeln!(io::stderr().lock(), "{label}{}", escape::line(&redact(text)));
}

pub(crate) fn warn(text: &str) {
    labelled("warning:", style::YELLOW, text);
}

/// A warning that may be come upon more than once.
pub(crate) fn warn_once(text: &str) {
    line_once(&format!("warning: {text}"));
}

/// A line that may be come upon more than once.
pub(crate) fn line_once(text: &str) {
    let is_new = SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(text.to_owned());
    if is_new {
        line(text);
    }
}

pub(crate) fn hint(text: &str) {
    labelled("hint:", style::CYAN, text);
}

pub(crate) fn error(text: &str) {
    labelled("Error:", style::RED, text);
}

/// Progress, if stderr is a terminal.
pub(crate) fn progress(text: &str) {
    if io::stderr().is_terminal() {
        line(text);
    }
}
