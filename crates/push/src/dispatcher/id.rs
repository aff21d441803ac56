//! The id of a notification, in the header that Standard Webhooks defines.

use nuncio_model::{PushConfigId, TaskId};

/// The id of the notification of one event to one webhook: the same for each attempt, and unique.
///
/// Task, webhook and event are separated by `/`. Each byte other than letters, digits, `-` and `_` is written as `%XX`,
/// so that every id is a valid header value. The full stop is reserved for signatures.
pub(super) fn webhook_id(task: &TaskId, config: &PushConfigId, sequence: u64) -> String {
    let mut id = String::with_capacity(task.as_str().len() + config.as_str().len() + 12);
    for part in [task.as_str(), config.as_str()] {
        for byte in part.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => id.push(char::from(byte)),
                _ => id.extend([b'%', hex(byte >> 4), hex(byte & 15)].map(char::from)),
            }
        }
        id.push('/');
    }
    id.push_str(&sequence.to_string());
    id
}

const fn hex(digit: u8) -> u8 {
    b"0123456789ABCDEF"[digit as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_visible_ascii_and_that_of_one_notification() {
        let id = |task: &str, config: &str, sequence| webhook_id(&task.into(), &config.into(), sequence);
        assert_eq!(id("0197-a_B", "c1", 7), "0197-a_B/c1/7");
        assert_eq!(id("a/b", "ü.%", 1), "a%2Fb/%C3%BC%2E%25/1");
        assert_ne!(id("a/b", "c", 1), id("a", "b/c", 1));
    }
}
