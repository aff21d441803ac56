//! The exit of a program as text, for the reason of a failure.

use std::{fmt, os::unix::process::ExitStatusExt as _, process::ExitStatus};

/// Displays an exit status.
#[derive(Debug)]
pub(crate) struct Exit(pub(crate) ExitStatus);

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.code(), self.0.signal()) {
            (Some(code), _) => write!(f, "the program ended with exit code {code}"),
            (None, Some(signal)) => match name(signal) {
                Some(name) => write!(f, "the program was killed by signal {signal} ({name})"),
                None => write!(f, "the program was killed by signal {signal}"),
            },
            (None, None) => f.write_str("the program ended"),
        }
    }
}

/// The common fatal signals, for the numbers that are the same on all systems.
fn name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_is_described_by_its_code_or_signal() {
        let shown = [0x0700, 9, 62].map(|status| Exit(ExitStatus::from_raw(status)).to_string());
        assert_eq!(
            shown,
            [
                "the program ended with exit code 7",
                "the program was killed by signal 9 (SIGKILL)",
                "the program was killed by signal 62"
            ]
        );
    }
}
