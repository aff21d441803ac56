//! Hashing of tables whose keys clients choose: fast, and with a secret seed, so that no client can provoke collisions.

use std::hash::{BuildHasher, RandomState};

use foldhash::{SharedSeed, quality::SeedableRandomState};

/// A hasher with a seed of its own from the system's randomness.
pub type Hashing = SeedableRandomState;

/// A new hasher.
pub fn hashing() -> Hashing {
    Hashing::with_seed(RandomState::new().hash_one(0), SharedSeed::global_random())
}
