//! An amount for each caller.

use std::{collections::HashMap, hash::BuildHasher};

use nuncio_model::Principal;
use parking_lot::Mutex;

use crate::hashing::{Hashing, hashing};

const SHARDS: usize = 16;

/// Amounts by caller. A caller at 0 takes no memory.
pub struct Callers {
    shards: [Mutex<HashMap<Principal, usize, Hashing>>; SHARDS],
    hasher: Hashing,
}

impl Default for Callers {
    fn default() -> Self {
        let hasher = hashing();
        Self { shards: std::array::from_fn(|_| Mutex::new(HashMap::with_hasher(hasher.clone()))), hasher }
    }
}

impl Callers {
    /// Counts this amount for a caller, unless the sum is over the limit. With `allows_one`, a caller at 0 can have any
    /// amount. Nothing is counted for [`Principal::Open`], the only caller without authentication.
    pub fn add(&self, principal: &Principal, amount: usize, limit: usize, allows_one: bool) -> bool {
        if *principal == Principal::Open {
            return true;
        }
        let mut counts = self.shard(principal).lock();
        if let Some(count) = counts.get_mut(principal) {
            let is_within = count.saturating_add(amount) <= limit;
            *count += if is_within { amount } else { 0 };
            return is_within;
        }
        if amount > limit && !allows_one {
            return false;
        }
        if amount > 0 {
            counts.insert(principal.clone(), amount);
        }
        true
    }

    /// Counts this amount less.
    pub fn remove(&self, principal: &Principal, amount: usize) {
        if *principal == Principal::Open {
            return;
        }
        let mut counts = self.shard(principal).lock();
        if let Some(count) = counts.get_mut(principal) {
            *count = count.saturating_sub(amount);
            if *count == 0 {
                counts.remove(principal);
            }
        }
    }

    fn shard(&self, principal: &Principal) -> &Mutex<HashMap<Principal, usize, Hashing>> {
        &self.shards[(self.hasher.hash_one(principal) >> 32) as usize % SHARDS]
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().len()).sum()
    }
}
