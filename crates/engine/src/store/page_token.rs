//! An opaque token for the position of a page in a list.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use nuncio_model::{TaskId, Timestamp};

use super::{ListQuery, StoreError};

/// A position in a list: after the task with this timestamp and id.
///
/// The token names a position and not a task, so the token stays valid if the task changes or is deleted. The token is
/// valid only for a list with the same filters. The page size can change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageToken {
    /// The timestamp of the last task of the previous page.
    pub updated: Timestamp,
    /// The id of this task.
    pub id: TaskId,
}

const SECONDS: usize = size_of::<i64>();
const TIME: usize = SECONDS + size_of::<i32>();

impl PageToken {
    /// The text of the token for this list: base64url of a checksum, the timestamp and the id.
    pub fn encode(&self, query: &ListQuery) -> Box<str> {
        let (seconds, nanoseconds) = self.updated.into_parts();
        let mut place = Vec::with_capacity(TIME + self.id.as_str().len());
        place.extend_from_slice(&seconds.to_be_bytes());
        place.extend_from_slice(&nanoseconds.to_be_bytes());
        place.extend_from_slice(self.id.as_str().as_bytes());
        seal(&query.filters(), &place)
    }

    /// Decodes a token.
    ///
    /// # Errors
    ///
    /// `BadPageToken` if [`encode`](Self::encode) did not create the token, or created it for other filters.
    pub fn decode(text: &str, query: &ListQuery) -> Result<Self, StoreError> {
        read(text, query).ok_or(StoreError::BadPageToken)
    }
}

impl ListQuery {
    /// The token of this query, if there is one.
    ///
    /// # Errors
    ///
    /// The errors of [`PageToken::decode`].
    pub fn place(&self) -> Result<Option<PageToken>, StoreError> {
        self.page_token.as_deref().map(|text| PageToken::decode(text, self)).transpose()
    }

    /// The filters as bytes; empty if there are no filters.
    fn filters(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if let Some(context) = &self.context {
            bytes.extend_from_slice(b"context");
            bytes.extend_from_slice(context.as_str().as_bytes());
            // This byte occurs in no text, so it separates the id from the next field.
            bytes.push(0xff);
        }
        if let Some(state) = self.state {
            bytes.extend_from_slice(b"state");
            bytes.extend_from_slice(state.short().as_bytes());
            bytes.push(0xff);
        }
        if let Some(since) = self.updated_since {
            let (seconds, nanoseconds) = since.into_parts();
            bytes.extend_from_slice(b"since");
            bytes.extend_from_slice(&seconds.to_be_bytes());
            bytes.extend_from_slice(&nanoseconds.to_be_bytes());
        }
        bytes
    }
}

fn read(text: &str, query: &ListQuery) -> Option<PageToken> {
    let place = unseal(&query.filters(), text)?;
    let (time, id) = place.split_at_checked(TIME)?;
    let (seconds, nanoseconds) = time.split_first_chunk::<SECONDS>()?;
    if id.is_empty() {
        return None;
    }
    let nanoseconds = i32::from_be_bytes(nanoseconds.try_into().ok()?);
    Some(PageToken {
        updated: Timestamp::from_parts(i64::from_be_bytes(*seconds), nanoseconds)?,
        id: std::str::from_utf8(id).ok()?.into(),
    })
}

/// Encodes a position that is valid for one list only.
pub(crate) fn seal(list: &[u8], place: &[u8]) -> Box<str> {
    let check = check_sum(list, place).to_be_bytes();
    URL_SAFE_NO_PAD.encode([&check[..], place].concat()).into()
}

/// Decodes a position; `None` if [`seal`] did not create the text, or created it for another list.
pub(crate) fn unseal(list: &[u8], text: &str) -> Option<Vec<u8>> {
    let mut bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let (check, place) = bytes.split_first_chunk()?;
    if u32::from_be_bytes(*check) != check_sum(list, place) {
        return None;
    }
    bytes.drain(..size_of::<u32>());
    Some(bytes)
}

/// FNV-1a over the list and the position. Detects tokens of other lists, and texts that are not tokens.
fn check_sum(list: &[u8], place: &[u8]) -> u32 {
    list.iter().chain(place).fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use nuncio_model::TaskState;

    use super::*;

    #[test]
    fn a_token_survives_encoding() {
        for (time, id) in [("2026-01-31T12:00:00.120Z", "a"), ("1969-12-31T23:59:59.5Z", "task/7 ü")] {
            let token = PageToken { updated: time.parse().unwrap(), id: id.into() };
            let query = ListQuery::default();
            assert_eq!(PageToken::decode(&token.encode(&query), &query).unwrap(), token);
        }
    }

    #[test]
    fn other_text_is_refused() {
        let token = PageToken { updated: Timestamp::now(), id: "a".into() }.encode(&ListQuery::default());
        for text in ["", "x", "garbage", "AAAAAAAAAAAAAAAAAAAAAAAAAAAA", &token[1..], &format!("{token}AA"), "ü"] {
            assert!(matches!(PageToken::decode(text, &ListQuery::default()), Err(StoreError::BadPageToken)), "{text}");
        }
    }

    #[test]
    fn it_is_good_for_its_list_alone() {
        let lists = [
            ListQuery::default(),
            ListQuery { context: Some("a".into()), ..ListQuery::default() },
            ListQuery { context: Some("b".into()), ..ListQuery::default() },
            ListQuery { state: Some(TaskState::Working), ..ListQuery::default() },
            ListQuery { state: Some(TaskState::Completed), ..ListQuery::default() },
            ListQuery { updated_since: Timestamp::from_parts(1, 0), ..ListQuery::default() },
            ListQuery { updated_since: Timestamp::from_parts(1, 1), ..ListQuery::default() },
            ListQuery { context: Some("a".into()), state: Some(TaskState::Working), ..ListQuery::default() },
        ];
        let token = PageToken { updated: Timestamp::now(), id: "a".into() };
        for (of, list) in lists.iter().enumerate() {
            let text = token.encode(list);
            for (with, other) in lists.iter().enumerate() {
                let other = ListQuery { page_size: 7, artifacts: true, ..other.clone() };
                assert_eq!(PageToken::decode(&text, &other).is_ok(), of == with, "{of} {with}");
            }
        }
    }
}
