//! An error as text: its message and the messages of its causes.
//!
//! The error types of Nuncio write text in their `Debug` form, because `fn main() -> Result<(), Error>` prints this
//! form.

use std::{error::Error, fmt, fmt::Write as _};

/// Writes the text of [`with_causes`]: for implementations of `Debug` and `Display`.
pub fn write_causes(f: &mut fmt::Formatter<'_>, error: &dyn Error) -> fmt::Result {
    f.write_str(&with_causes(error))
}

/// The causes of an error: its [`source`](Error::source), the source of that, and so on.
pub fn causes<'a>(error: &'a dyn Error) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(error.source(), |cause| (*cause).source())
}

/// An error and its causes on one line, separated by `: `, as Nuncio shows errors in logs, in the terminal and in the
/// `Debug` form of its error types.
///
/// Many errors repeat the text of their cause. A cause is left out if the line contains its text already, or if its
/// text contains the text before.
///
/// ```
/// # use nuncio_model::{Error, error::with_causes};
/// let error = Error::internal(std::io::Error::other("disk full"));
/// assert_eq!(with_causes(&error), "internal error: disk full");
/// ```
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut last = text.clone();
    for cause in causes(error) {
        let more = cause.to_string();
        if !text.contains(&more) && !more.contains(&last) {
            _ = write!(text, ": {more}");
            last = more;
        }
    }
    text
}

/// Implements a `Debug` form that is text: the message and its causes.
#[doc(hidden)]
#[macro_export]
macro_rules! debug_is_text {
    ($($error:ty),+ $(,)?) => {
        $(impl std::fmt::Debug for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::error::write_causes(f, self)
            }
        })+
    };
}

#[cfg(test)]
mod tests {
    use crate::{Error, ErrorKind};

    #[test]
    fn the_debug_form_is_the_message_with_its_causes() {
        let error = Error::task_not_found("7");
        assert_eq!(format!("{error:?}"), "task 7 was not found (TaskNotFound)");
        let cause = std::io::Error::other("disk full");
        let error = Error::internal(cause);
        assert_eq!(format!("{error:?}"), "internal error (Internal): disk full");
        let error = Error::new(ErrorKind::Unavailable, "try later: disk full").with_source("disk full");
        assert_eq!(format!("{error:?}"), "try later: disk full (Unavailable)");
    }
}
