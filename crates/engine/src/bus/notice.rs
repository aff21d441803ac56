//! A signal as brokers carry it: a short text.

use nuncio_model::TaskId;

use super::Wake;

/// Payloads beyond this many bytes are not for every broker: PostgreSQL takes fewer than 8,000.
pub const LONGEST_NOTICE: usize = 7_900;

/// What is sent to a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// Something has changed: `17 TASK`.
    Wake(Wake),
    /// Who publishes had more to tell than it could keep: an empty text.
    Lost,
}

impl Notice {
    /// Its text. A wake of a task whose id does not fit becomes [`Lost`](Self::Lost), which says more than it needs to.
    pub fn encode(&self) -> String {
        match self {
            Self::Wake(wake) => Some(format!("{} {}", wake.sequence, wake.task))
                .filter(|text| text.len() <= LONGEST_NOTICE && !text.contains('\0'))
                .unwrap_or_default(),
            Self::Lost => String::new(),
        }
    }

    /// Reads a text. What is not understood may have said anything, so it is [`Lost`](Self::Lost).
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
    fn what_is_encoded_is_decoded() {
        for task in ["0191", "", "with spaces and\nlines", "ü 'x' \"y\"", &"x".repeat(7_000)] {
            let notice = Notice::Wake(Wake { task: task.into(), sequence: u64::MAX });
            assert_eq!(Notice::decode(notice.encode().as_bytes()), notice);
        }
        assert_eq!(Notice::decode(Notice::Lost.encode().as_bytes()), Notice::Lost);
    }

    #[test]
    fn what_cannot_be_said_or_understood_is_lost() {
        for task in ["x".repeat(8_000), "a\0b".to_owned()] {
            let notice = Notice::Wake(Wake { task: task.into(), sequence: 1 });
            assert_eq!(Notice::decode(notice.encode().as_bytes()), Notice::Lost);
        }
        for text in [&b"17"[..], b"x y", b"-1 y", b"1 \xff", b" "] {
            assert_eq!(Notice::decode(text), Notice::Lost, "{text:?}");
        }
    }
}
