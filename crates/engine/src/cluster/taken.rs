//! Which letters are in the hands of this node's runners, so that each is opened once however often it is brought.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::store::LetterId;

/// How long it is remembered that a letter was taken. A look at the mail that was begun before that is over by then.
const REMEMBERED: Duration = Duration::from_mins(5);

/// With fewer letters than this it is not worth it to look for those that may be forgotten.
const FEW: usize = 1024;

#[derive(Clone, Default)]
pub(super) struct Taken(Arc<Mutex<Letters>>);

#[derive(Default)]
struct Letters {
    /// Those in somebody's hands, and since when the others are done with.
    taken: HashMap<LetterId, Option<Instant>>,
    /// How many there may be before the old ones are looked for: twice as many as were left the last time, so that all
    /// these looks together cost no more than the letters.
    room: usize,
    #[cfg(test)]
    looked_at: usize,
}

impl Taken {
    /// Takes a letter, unless it is taken or was.
    pub(super) fn take(&self, letter: &LetterId) -> Option<Taking> {
        let mut letters = self.0.lock();
        letters.tidy();
        if letters.taken.contains_key(letter) {
            return None;
        }
        letters.taken.insert(letter.clone(), None);
        Some(Taking { taken: self.clone(), letter: letter.clone(), is_done: false })
    }
}

impl Letters {
    fn tidy(&mut self) {
        if self.taken.len() < self.room.max(FEW) {
            return;
        }
        #[cfg(test)]
        {
            self.looked_at += self.taken.len();
        }
        self.taken.retain(|_, done| done.is_none_or(|done| done.elapsed() < REMEMBERED));
        self.room = 2 * self.taken.len();
    }
}

/// A letter in somebody's hands. Dropped, it is left as it is, and comes again.
pub(crate) struct Taking {
    taken: Taken,
    letter: LetterId,
    is_done: bool,
}

impl Taking {
    pub(crate) fn letter(&self) -> &LetterId {
        &self.letter
    }

    /// What it says is done, or was refused and its writer knows: it does not come again.
    pub(crate) fn done(mut self) {
        self.is_done = true;
    }
}

impl Drop for Taking {
    fn drop(&mut self) {
        let mut letters = self.taken.0.lock();
        if self.is_done {
            letters.taken.insert(self.letter.clone(), Some(Instant::now()));
        } else {
            letters.taken.remove(&self.letter);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_letter_is_taken_once_unless_it_is_left() {
        let taken = Taken::default();
        let letter = LetterId::generate();
        let first = taken.take(&letter).unwrap();
        assert!(taken.take(&letter).is_none());
        drop(first);
        let second = taken.take(&letter).unwrap();
        second.done();
        assert!(taken.take(&letter).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn only_what_was_done_long_ago_is_forgotten_and_to_find_it_costs_no_more_than_the_letters() {
        const MANY: usize = 50_000;
        let taken = Taken::default();
        let held = taken.take(&LetterId("held".into())).unwrap();
        for number in 0..MANY {
            taken.take(&LetterId(number.to_string().into())).unwrap().done();
        }
        assert!(taken.take(&LetterId("0".into())).is_none());
        let looked_at = taken.0.lock().looked_at;
        assert!(looked_at <= 2 * MANY, "{looked_at}");
        tokio::time::advance(REMEMBERED).await;
        for number in MANY..3 * MANY {
            taken.take(&LetterId(number.to_string().into())).unwrap().done();
        }
        let left = taken.0.lock().taken.len();
        assert!(left <= 2 * MANY + 1, "{left}");
        assert!(taken.take(held.letter()).is_none());
    }
}
