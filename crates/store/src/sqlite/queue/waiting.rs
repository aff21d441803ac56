//! The writes that wait for their group. A group takes writes from the callers by turns. Therefore many writes of one
//! caller cannot keep the single write of another caller out of the next group.

use std::collections::{HashMap, VecDeque};

use nuncio_model::Principal;

use super::{GROUP, WriteJob, WriteOp};

/// The size of a group, in bytes, from which the group takes no further writes, so that the next group does not wait
/// long.
const GROUP_BYTES: usize = 1024 * 1024;

/// The cost of a write besides its bodies, in bytes.
const OVERHEAD: usize = 512;

/// The caller of the writes; `None` for writes of the store itself.
type LaneKey = Option<Principal>;

/// The waiting writes, per caller in the order of arrival.
#[derive(Default)]
pub(super) struct Waiting {
    lanes: HashMap<LaneKey, VecDeque<WriteJob>>,
    /// The callers with waiting writes, in the order of their turns.
    turns: VecDeque<LaneKey>,
    /// The write that ends the thread. All other writes precede it.
    close: Option<WriteJob>,
    count: usize,
}

impl Waiting {
    /// The number of waiting writes.
    pub(super) fn len(&self) -> usize {
        self.count + usize::from(self.close.is_some())
    }

    /// Adds a write behind the other writes of its caller.
    pub(super) fn push(&mut self, job: WriteJob) {
        if matches!(job.op, WriteOp::Close) {
            self.close = Some(job);
            return;
        }
        let owner = owner(&job.op).cloned();
        let lane = self.lanes.entry(owner).or_insert_with_key(|owner| {
            self.turns.push_back(owner.clone());
            VecDeque::new()
        });
        lane.push_back(job);
        self.count += 1;
    }

    /// Puts the writes of a group back, before the other writes of their callers. The callers of these writes have the
    /// next turns.
    pub(super) fn put_back(&mut self, jobs: Vec<WriteJob>) {
        for job in jobs.into_iter().rev() {
            if matches!(job.op, WriteOp::Close) {
                self.close = Some(job);
                continue;
            }
            let owner = owner(&job.op).cloned();
            let lane = self.lanes.entry(owner).or_insert_with_key(|owner| {
                self.turns.push_front(owner.clone());
                VecDeque::new()
            });
            lane.push_front(job);
            self.count += 1;
        }
    }

    /// Takes the next group: one write of each caller by turns.
    pub(super) fn group(&mut self) -> Vec<WriteJob> {
        let (mut group, mut bytes) = (Vec::with_capacity(self.len().min(GROUP)), 0);
        while group.len() < GROUP && bytes < GROUP_BYTES {
            let Some(owner) = self.turns.pop_front() else { break };
            let Some(lane) = self.lanes.get_mut(&owner) else { continue };
            let job = lane.pop_front();
            if lane.is_empty() {
                self.lanes.remove(&owner);
            } else {
                self.turns.push_back(owner);
            }
            if let Some(job) = job {
                self.count -= 1;
                bytes += OVERHEAD + job.op.len();
                group.push(job);
            }
        }
        if self.count == 0 && group.len() < GROUP {
            group.extend(self.close.take());
        }
        group
    }
}

fn owner(op: &WriteOp) -> Option<&Principal> {
    match op {
        WriteOp::Append(append) => Some(&append.scope.principal),
        WriteOp::Claim { scope, .. } | WriteOp::PutConfig { scope, .. } | WriteOp::DeleteConfig { scope, .. } => {
            Some(&scope.principal)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use nuncio_model::{Scope, Tenant};
    use tokio::sync::oneshot;

    use super::super::Caller;
    use super::*;

    fn job(caller: &str, id: usize) -> WriteJob {
        let scope = Scope::new(Tenant::default(), Principal::named(caller));
        let (reply, _) = oneshot::channel();
        let caller = Caller { since: std::time::Instant::now(), reply };
        WriteJob { op: WriteOp::Claim { scope, id: format!("{id}").into() }, caller }
    }

    fn names(group: &[WriteJob]) -> Vec<String> {
        let names = |job: &WriteJob| match &job.op {
            WriteOp::Claim { scope, id } => format!("{}{id}", scope.principal),
            other => format!("{other:?}"),
        };
        group.iter().map(names).collect()
    }

    #[test]
    fn callers_take_turns_and_the_writes_of_a_caller_keep_their_order() {
        let mut waiting = Waiting::default();
        (0..2 * GROUP).for_each(|number| waiting.push(job("a", number)));
        waiting.push(job("b", 0));
        waiting.push(job("b", 1));
        let first = waiting.group();
        assert_eq!(names(&first)[..5], ["a0", "b0", "a1", "b1", "a2"]);
        assert_eq!((first.len(), waiting.len()), (GROUP, GROUP + 2));
        waiting.put_back(first);
        assert_eq!(waiting.len(), 2 * GROUP + 2);
        let (first, second, third) = (waiting.group(), waiting.group(), waiting.group());
        let of = |caller: &str| -> Vec<String> {
            let all = [&first, &second, &third].into_iter().flat_map(|group| names(group));
            all.filter(|names| names.starts_with(caller)).collect()
        };
        assert_eq!(of("a"), (0..2 * GROUP).map(|number| format!("a{number}")).collect::<Vec<_>>());
        assert_eq!(of("b"), ["b0", "b1"]);
        assert_eq!((third.len(), waiting.len(), waiting.lanes.len()), (2, 0, 0));
    }

    #[test]
    fn the_close_write_is_the_last_write() {
        let mut waiting = Waiting::default();
        let (reply, _) = oneshot::channel();
        let caller = Caller { since: std::time::Instant::now(), reply };
        waiting.push(WriteJob { op: WriteOp::Close, caller });
        (0..=GROUP).for_each(|number| waiting.push(job("a", number)));
        let (first, last) = (waiting.group(), waiting.group());
        assert_eq!((first.len(), names(&last)), (GROUP, vec![format!("a{GROUP}"), "Close".to_owned()]));
    }
}
