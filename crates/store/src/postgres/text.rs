//! The encoding of text. A text of PostgreSQL cannot contain NUL, but ids that clients choose can.

use std::borrow::Cow;

use nuncio_engine::StoreError;
use nuncio_model::Scope;

use crate::{columns, error::corrupt};

/// Encodes text for a column: NUL becomes `\u{1}0` and U+0001 becomes `\u{1}1`. The encoding preserves the sort order.
pub(super) fn to_column(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte > 1) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace('\u{1}', "\u{1}1").replace('\0', "\u{1}0"))
}

pub(super) fn from_column(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte > 1) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace("\u{1}0", "\0").replace("\u{1}1", "\u{1}"))
}

/// The column values of a scope.
#[derive(Debug)]
pub(super) struct ScopeColumns {
    pub(super) tenant: String,
    pub(super) caller: String,
}

impl ScopeColumns {
    pub(super) fn of(scope: &Scope) -> Result<Self, StoreError> {
        let caller = columns::caller(&scope.principal)?;
        Ok(Self { tenant: to_column(scope.tenant.as_str()).into_owned(), caller: to_column(&caller).into_owned() })
    }
}

pub(super) fn scope(tenant: &str, caller: &str) -> Result<Scope, StoreError> {
    let caller = from_column(caller);
    // If an escape sequence is incomplete, another program wrote the value.
    if tenant.ends_with('\u{1}') || caller.ends_with('\0') && caller.len() == 1 {
        return Err(corrupt("the scope has an invalid encoding"));
    }
    columns::scope(from_column(tenant).into_owned(), &caller)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_decoded_unchanged_and_keeps_its_order() {
        let texts =
            ["", "\0", "\0\0", "\0a", "\u{1}", "\u{1}0", "\u{1}1", "\u{2}", "0", "a", "a\0", "a\0b", "a\u{1}", "ab"];
        let columns = texts.map(|text| to_column(text).into_owned());
        assert!(texts.is_sorted() && columns.is_sorted(), "{columns:?}");
        for (text, column) in texts.iter().zip(&columns) {
            assert!(!column.contains('\0'));
            assert_eq!(from_column(column), *text);
        }
    }
}
