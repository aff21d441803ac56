//! The message ids of a scope for deduplication.

use std::collections::{BTreeMap, HashMap, HashSet};

use nuncio_model::{MessageId, TaskId, Timestamp};

use super::node::MemoryNode;
use crate::store::{Commit, Remember, StoreError};

/// The number of expired ids that are dropped for each new id. The memory does not grow, and no call takes long.
const FORGOTTEN: usize = 2;

/// The tasks of message ids, with the time of the commit.
#[derive(Default)]
pub(super) struct Messages {
    taken: HashMap<MessageId, Remembered>,
    /// The same by time. The number distinguishes ids with the same time.
    order: BTreeMap<(Timestamp, u64), MessageId>,
    /// The message ids of each task.
    of_task: HashMap<TaskId, HashSet<MessageId>>,
    next: u64,
}

struct Remembered {
    task: TaskId,
    place: (Timestamp, u64),
}

impl Messages {
    /// The task with this message id, if the id was remembered since this time.
    pub(super) fn find(&self, message: &MessageId, since: Timestamp) -> Option<TaskId> {
        self.taken.get(message).filter(|taken| taken.place.0 >= since).map(|taken| taken.task.clone())
    }

    /// Remembers the message ids of a task, all or none.
    fn remember(&mut self, task: &TaskId, remember: &Remember, now: Timestamp) -> Result<(), StoreError> {
        let Remember { messages, since } = remember;
        if let Some(other) = messages.iter().find_map(|message| self.find(message, *since)) {
            return Err(StoreError::Duplicate(other));
        }
        self.forget_before(*since, FORGOTTEN * messages.len());
        for message in messages {
            self.forget(message);
            let place = (now, self.next);
            self.next += 1;
            self.taken.insert(message.clone(), Remembered { task: task.clone(), place });
            self.order.insert(place, message.clone());
            self.of_task.entry(task.clone()).or_default().insert(message.clone());
        }
        Ok(())
    }

    /// Forgets ids that were remembered before a time, oldest first, at most `limit`. Returns the number of ids.
    pub(super) fn forget_before(&mut self, before: Timestamp, limit: usize) -> usize {
        for forgotten in 0..limit {
            let Some((_, oldest)) = self.order.first_key_value().filter(|((at, _), _)| *at < before) else {
                return forgotten;
            };
            let oldest = oldest.clone();
            self.forget(&oldest);
        }
        limit
    }

    fn forget(&mut self, message: &MessageId) {
        let Some(taken) = self.taken.remove(message) else { return };
        self.order.remove(&taken.place);
        if let Some(messages) = self.of_task.get_mut(&taken.task) {
            messages.remove(message);
            if messages.is_empty() {
                self.of_task.remove(&taken.task);
            }
        }
    }

    fn forget_task(&mut self, task: &TaskId) {
        for message in self.of_task.remove(task).unwrap_or_default() {
            self.forget(&message);
        }
    }
}

impl MemoryNode {
    /// Remembers the message ids of a commit unless one of them is already remembered. The caller holds the lock of the
    /// task.
    pub(super) fn remember(&self, commit: &Commit) -> Result<(), StoreError> {
        match &commit.remember {
            Some(remember) => self.scope.messages.lock().remember(&self.id, remember, Timestamp::now()),
            None => Ok(()),
        }
    }

    /// Forgets the message ids of this task.
    pub(super) fn forget_messages(&self) {
        self.scope.messages.lock().forget_task(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millisecond: i64) -> Timestamp {
        Timestamp::from_millisecond(millisecond).unwrap()
    }

    fn remember(messages: &mut Messages, message: &str, task: &str, now: i64) -> Result<(), StoreError> {
        let remember = Remember { messages: vec![message.into()], since: at(now - 100) };
        messages.remember(&task.into(), &remember, at(now))
    }

    #[test]
    fn messages_go_when_their_time_is_over_and_when_their_task_goes() {
        let mut messages = Messages::default();
        for number in 0..1_000 {
            remember(&mut messages, &format!("m{number}"), &format!("t{}", number / 2), number).unwrap();
        }
        assert!(messages.taken.len() <= 102, "{}", messages.taken.len());
        assert_eq!((messages.order.len(), messages.of_task.len()), (messages.taken.len(), 51));
        assert_eq!(messages.find(&"m950".into(), at(900)), Some("t475".into()));
        messages.forget_task(&"t475".into());
        assert_eq!(messages.find(&"m950".into(), at(900)), None);
        assert_eq!(messages.find(&"m951".into(), at(900)), None);
        assert_eq!(messages.find(&"m952".into(), at(900)), Some("t476".into()));
        (0..500).for_each(|task| messages.forget_task(&format!("t{task}").into()));
        assert!(messages.taken.is_empty() && messages.order.is_empty() && messages.of_task.is_empty());
    }
}
