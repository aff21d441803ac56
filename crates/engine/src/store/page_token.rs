//! Where a page of a list begins, as text that says nothing to a client.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use nuncio_model::{TaskId, Timestamp};

use super::StoreError;

/// A place in the order of a list: behind the task with this time of status and this id.
///
/// It names a place and not a task, so it stays right when the task changes or goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageToken {
    /// The time of the status of the last task of the page before.
    pub updated: Timestamp,
    /// Its id.
    pub id: TaskId,
}

const CHECK: usize = size_of::<u32>();
const TIME: usize = CHECK + size_of::<i64>() + size_of::<i32>();

impl PageToken {
    /// The token's text: base64url of a check sum, the time and the id.
    pub fn encode(&self) -> Box<str> {
        let (seconds, nanoseconds) = self.updated.into_parts();
        let mut bytes = vec![0; CHECK];
        bytes.extend_from_slice(&seconds.to_be_bytes());
        bytes.extend_from_slice(&nanoseconds.to_be_bytes());
        bytes.extend_from_slice(self.id.as_str().as_bytes());
        let check = check_sum(&bytes[CHECK..]);
        bytes[..CHECK].copy_from_slice(&check.to_be_bytes());
        URL_SAFE_NO_PAD.encode(bytes).into()
    }

    /// Reads a token.
    ///
    /// # Errors
    ///
    /// `BadPageToken` when [`encode`](Self::encode) did not make it.
    pub fn decode(text: &str) -> Result<Self, StoreError> {
        read(text).ok_or(StoreError::BadPageToken)
    }
}

fn read(text: &str) -> Option<PageToken> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let (check, rest) = bytes.split_first_chunk()?;
    let (time, id) = bytes.split_at_checked(TIME)?;
    let (seconds, nanoseconds) = time[CHECK..].split_first_chunk()?;
    if u32::from_be_bytes(*check) != check_sum(rest) || id.is_empty() {
        return None;
    }
    let nanoseconds = i32::from_be_bytes(nanoseconds.try_into().ok()?);
    Some(PageToken {
        updated: Timestamp::from_parts(i64::from_be_bytes(*seconds), nanoseconds)?,
        id: std::str::from_utf8(id).ok()?.into(),
    })
}

/// FNV-1a: tells a token from text that merely looks like one.
fn check_sum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_as_it_was() {
        for (time, id) in [("2026-01-31T12:00:00.120Z", "a"), ("1969-12-31T23:59:59.5Z", "task/7 ü")] {
            let token = PageToken { updated: time.parse().unwrap(), id: id.into() };
            assert_eq!(PageToken::decode(&token.encode()).unwrap(), token);
        }
    }

    #[test]
    fn other_text_is_refused() {
        let token = PageToken { updated: Timestamp::now(), id: "a".into() }.encode();
        for text in ["", "x", "garbage", "AAAAAAAAAAAAAAAAAAAAAAAAAAAA", &token[1..], &format!("{token}AA"), "ü"] {
            assert!(matches!(PageToken::decode(text), Err(StoreError::BadPageToken)), "{text}");
        }
    }
}
