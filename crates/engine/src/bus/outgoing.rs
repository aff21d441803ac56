//! What is to be sent: of each task the newest alone, and bounded, so that an outage costs neither memory nor time.

use std::collections::BTreeSet;

use nuncio_model::TaskId;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{Notice, Topic, Wake, newest::Newest};

/// Tasks that may wait; with more, whoever listens is told that signals were lost, by topic.
const WAITING: usize = 16_384;

pub(super) struct Outgoing {
    waiting: Mutex<Waiting>,
    /// Told when something comes.
    pub(super) filled: Notify,
}

struct Waiting {
    wakes: Newest<(Topic, TaskId)>,
    /// Topics of which not all could be kept.
    lost: BTreeSet<Topic>,
}

impl Outgoing {
    pub(super) fn new() -> Self {
        let waiting = Waiting { wakes: Newest::new(WAITING), lost: BTreeSet::new() };
        Self { waiting: Mutex::new(waiting), filled: Notify::new() }
    }

    pub(super) fn push(&self, topic: Topic, wake: Wake) {
        self.waiting.lock().push(topic, wake);
        self.filled.notify_one();
    }

    /// Takes the first ones, at most `limit`.
    pub(super) fn take(&self, limit: usize) -> Vec<(Topic, Notice)> {
        let mut waiting = self.waiting.lock();
        let mut batch = Vec::new();
        while batch.len() < limit {
            if let Some(topic) = waiting.lost.pop_first() {
                batch.push((topic, Notice::Lost));
            } else if let Some(((topic, task), sequence)) = waiting.wakes.pop() {
                batch.push((topic, Notice::Wake(Wake { task, sequence })));
            } else {
                break;
            }
        }
        batch
    }

    pub(super) fn is_empty(&self) -> bool {
        let waiting = self.waiting.lock();
        waiting.lost.is_empty() && waiting.wakes.is_empty()
    }

    /// Puts back what may not have been sent.
    pub(super) fn restore(&self, batch: Vec<(Topic, Notice)>) {
        let mut waiting = self.waiting.lock();
        for (topic, notice) in batch {
            match notice {
                Notice::Wake(wake) => waiting.push(topic, wake),
                Notice::Lost => {
                    waiting.lost.insert(topic);
                }
            }
        }
    }
}

impl Waiting {
    fn push(&mut self, topic: Topic, wake: Wake) {
        if self.lost.contains(&topic) {
            return;
        }
        if self.wakes.push((topic, wake.task), wake.sequence).is_err() {
            self.lost.extend(self.wakes.clear().into_iter().map(|(topic, _)| topic));
            self.lost.insert(topic);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wake(number: usize) -> Wake {
        Wake { task: number.to_string().into(), sequence: 1 }
    }

    #[test]
    fn what_is_too_much_becomes_one_word_for_each_topic() {
        let outgoing = Outgoing::new();
        for number in 0..=WAITING {
            outgoing.push(Topic::Tasks(u16::from(number % 2 == 1)), wake(number));
        }
        outgoing.push(Topic::Tasks(1), wake(0));
        outgoing.push(Topic::Tasks(2), wake(0));
        let expected = [
            (Topic::Tasks(0), Notice::Lost),
            (Topic::Tasks(1), Notice::Lost),
            (Topic::Tasks(2), Notice::Wake(wake(0))),
        ];
        assert_eq!(outgoing.take(10), expected);
        assert_eq!(outgoing.take(10), []);
    }

    #[test]
    fn what_was_not_sent_is_taken_again() {
        let outgoing = Outgoing::new();
        outgoing.push(Topic::Tasks(0), wake(0));
        let batch = outgoing.take(10);
        outgoing.restore(batch.clone());
        assert_eq!(outgoing.take(10), batch);
    }
}
