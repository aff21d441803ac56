//! The text of a signal, as brokers carry signals.

use nuncio_model::TaskId;

use super::Wake;

/// The maximum payload in bytes that every broker accepts; the limit of PostgreSQL is below 8,000.
pub const LONGEST_NOTICE: usize = 7_900;

/// A notice to a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A task has changed: `17 TASK`.
    Wake(Wake),
    /// The publisher has dropped signals: an empty text.
    Lost,
}

impl Notice {
    /// The text of the notice. If the id of the task does not fit, the notice becomes [`Lost`](Self::Lost).
    pub fn encode(&self) -> String {
        match self {
            Self::Wake(wake) => Some(format!("{} {}", wake.sequence, wake.task))
                .filter(|text| text.len() <= LONGEST_NOTICE && !text.contains('\0'))
                .unwrap_or_default(),
            Self::Lost => String::new(),
        }
    }

    /// Reads a text. An invalid text can stand for any signal, so the result is [`Lost`](Self::Lost).
    pub fn decode(text: &[u8]) -> Self {
        let wake = || {
            let (sequence, task) = std::str::from_utf8(text).ok()?.split_once(' ')?;
            Some(Wake { task: TaskId::from(task), sequence: sequence.parse().ok()? })
        };
        wake().map_or(Self::Lost, Self::Wake)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_survives_a_round_trip() {
        for task in ["0191", "", "with spaces and\nlines", "ü 'x' \"y\"", &"x".repeat(7_000)] {
            let notice = Notice::Wake(Wake { task: task.into(), sequence: u64::MAX });
            assert_eq!(Notice::decode(notice.encode().as_bytes()), notice);
        }
        assert_eq!(Notice::decode(Notice::Lost.encode().as_bytes()), Notice::Lost);
    }

    #[test]
    fn notices_that_cannot_be_encoded_or_decoded_are_lost() {
        for task in ["x".repeat(8_000), "a\0b".to_owned()] {
            let notice = Notice::Wake(Wake { task: task.into(), sequence: 1 });
            assert_eq!(Notice::decode(notice.encode().as_bytes()), Notice::Lost);
        }
        for text in [&b"17"[..], b"x y", b"-1 y", b"1 \xff", b" "] {
            assert_eq!(Notice::decode(text), Notice::Lost, "{text:?}");
        }
    }
}
