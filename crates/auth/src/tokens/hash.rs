//! Secrets as hashes, compared in constant time.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The SHA-256 of a secret.
///
/// Tokens are long and random, not chosen by people, so a plain hash is sufficient: a hash that leaks from memory
/// cannot be used as a credential.
#[derive(Clone)]
pub(super) struct Hash([u8; 32]);

impl Hash {
    pub(super) fn of(secret: &[u8]) -> Self {
        Self(Sha256::digest(secret).into())
    }

    pub(super) fn equals(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}
