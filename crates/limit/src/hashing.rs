//! How tables of ids are hashed: quickly, and with a seed that nobody outside knows, since some ids are the clients'.

use std::hash::{BuildHasher, RandomState};

use foldhash::{SharedSeed, quality::SeedableRandomState};

/// A hasher with a seed of its own from the system's randomness.
pub type Hashing = SeedableRandomState;

/// A new one.
pub fn hashing() -> Hashing {
    Hashing::with_seed(RandomState::new().hash_one(0), SharedSeed::global_random())
}
