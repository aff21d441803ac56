//! Text in columns. PostgreSQL's cannot hold a NUL, and ids that clients choose may have one.

use std::borrow::Cow;

use nuncio_engine::StoreError;
use nuncio_model::Scope;

use crate::{columns, error::corrupt};

/// Text as the column has it: NUL is `\u{1}0` and U+0001 is `\u{1}1`, which sorts as the text does.
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

/// A scope in its two columns.
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
    // Where escapes cut a character in two, somebody else wrote it.
    if tenant.ends_with('\u{1}') || caller.ends_with('\0') && caller.len() == 1 {
        return Err(corrupt("a scope that was not written here"));
    }
    columns::scope(from_column(tenant).into_owned(), &caller)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back_and_sorts_as_it_did() {
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
