//! The secrets in a request.

use http::{HeaderMap, header::AUTHORIZATION};

use crate::error::AuthError;

/// The header of an API key.
pub const API_KEY_HEADER: &str = "X-API-Key";

/// Whether a header can contain the secret unchanged.
pub(super) fn can_carry(secret: &str) -> bool {
    secret.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) && secret.trim() == secret
}

/// Every secret in these headers. An `Authorization` header with another scheme is an error.
pub(super) fn secrets(headers: &HeaderMap) -> impl Iterator<Item = Result<&[u8], AuthError>> {
    let tokens = headers.get_all(AUTHORIZATION).iter().map(|value| bearer(value.as_bytes()));
    tokens.chain(headers.get_all(API_KEY_HEADER).iter().map(|value| Ok(value.as_bytes())))
}

/// The token of `Bearer <token>`; the case of the scheme does not matter (RFC 9110, section 11.1).
fn bearer(value: &[u8]) -> Result<&[u8], AuthError> {
    let (scheme, token) = value.split_at_checked("Bearer ".len()).ok_or(AuthError::Invalid)?;
    if scheme.eq_ignore_ascii_case(b"Bearer ") { Ok(token.trim_ascii()) } else { Err(AuthError::Invalid) }
}
