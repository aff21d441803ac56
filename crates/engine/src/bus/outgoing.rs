//! The queue of signals to send: only the newest signal of each task, and bounded, so that an outage costs little.

use std::collections::BTreeSet;

use nuncio_model::TaskId;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{Notice, Topic, Wake, newest::Newest};

/// The maximum of waiting tasks; beyond that, the subscribers of the affected topics get `Lost`.
const WAITING: usize = 16_384;

pub(super) struct Outgoing {
    waiting: Mutex<Unsent>,
    /// Notified when a signal is queued.
    pub(super) filled: Notify,
}

struct Unsent {
    wakes: Newest<(Topic, TaskId)>,
    /// Topics with dropped signals.
    lost: BTreeSet<Topic>,
}

impl Outgoing {
    pub(super) fn new() -> Self {
        let waiting = Unsent { wakes: Newest::new(WAITING), lost: BTreeSet::new() };
        Self { waiting: Mutex::new(waiting), filled: Notify::new() }
    }

    pub(super) fn push(&self, topic: Topic, wake: Wake) {
        self.waiting.lock().push(topic, wake);
        self.filled.notify_one();
    }

    /// Takes the first notices, at most `limit`.
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

    /// Queues notices again after a failure to send them.
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

impl Unsent {
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
    fn too_many_signals_become_one_lost_notice_per_topic() {
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
    fn unsent_notices_are_taken_again() {
        let outgoing = Outgoing::new();
        outgoing.push(Topic::Tasks(0), wake(0));
        let batch = outgoing.take(10);
        outgoing.restore(batch.clone());
        assert_eq!(outgoing.take(10), batch);
    }
}
