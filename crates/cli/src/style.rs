//! Colors: on a terminal, unless the user says otherwise.

use std::{
    io::{self, IsTerminal as _},
    sync::atomic::{AtomicU8, Ordering},
};

use clap::ValueEnum;

/// When colors are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, if NO_COLOR is not set
    Auto,
    /// Also in a pipe or a file
    Always,
    /// Not at all
    Never,
}

static CHOICE: AtomicU8 = AtomicU8::new(Color::Auto as u8);

/// The choice of the user, for the whole process.
pub(crate) fn choose(color: Color) {
    CHOICE.store(color as u8, Ordering::Relaxed);
}

pub(crate) fn color_of(text: &str) -> Result<Color, String> {
    <Color as ValueEnum>::from_str(text, true).map_err(|_| format!("`{text}` is none of auto, always and never"))
}

/// Whether stdout has colors.
pub(crate) fn stdout() -> bool {
    is_on(|| io::stdout().is_terminal())
}

/// Whether stderr has colors.
pub(crate) fn stderr() -> bool {
    is_on(|| io::stderr().is_terminal())
}

fn is_on(is_terminal: impl Fn() -> bool) -> bool {
    match CHOICE.load(Ordering::Relaxed) {
        it if it == Color::Always as u8 => true,
        it if it == Color::Never as u8 => false,
        _ => {
            let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
            let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
            is_terminal() && !is_set("NO_COLOR") && !is_dumb
        }
    }
}

/// The label of a line.
pub(crate) const LABEL: &str = "1";
const GREEN: &str = "32";
pub(crate) const RED: &str = "31";
pub(crate) const YELLOW: &str = "33";
pub(crate) const CYAN: &str = "36";

/// The color of a state of a task, by its short name.
pub(crate) fn of_state(state: &str) -> Option<&'static str> {
    Some(match state {
        "completed" => GREEN,
        "failed" | "rejected" => RED,
        "canceled" | "input-required" | "auth-required" => YELLOW,
        "working" | "submitted" => CYAN,
        _ => return None,
    })
}

/// A text in a color.
pub(crate) fn paint(text: &str, color: &str) -> String {
    format!("\u{1b}[{color}m{text}\u{1b}[0m")
}
