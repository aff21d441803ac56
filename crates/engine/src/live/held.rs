//! What a live task holds, as it is counted among what all hold.

use std::sync::Arc;

use nuncio_limit::Gauge;
use nuncio_model::{Error, Task};

use super::Live;
use crate::size;

impl Live {
    /// Counts so many bytes for it, if there may be: in steps of at least this size, so that few changes change the
    /// count. Gives how many are counted, which are more where it held more before.
    pub(crate) fn hold(&self, gauge: &Arc<Gauge>, bytes: usize, step: usize) -> Result<usize, Error> {
        let mut inner = self.lock();
        let held = inner.held.get_or_insert_with(|| gauge.none(&self.scope.principal));
        let more = bytes.saturating_sub(held.amount());
        if more > 0 {
            held.grow(more.max(step))?;
        }
        Ok(held.amount())
    }

    /// Counts so many bytes for it, whether there may be or not.
    pub(crate) fn hold_anyway(&self, gauge: &Arc<Gauge>, bytes: usize) {
        let mut inner = self.lock();
        let held = inner.held.get_or_insert_with(|| gauge.none(&self.scope.principal));
        held.grow_anyway(bytes.saturating_sub(held.amount()));
    }

    /// Whether it has no task any more, though it had one.
    pub(crate) fn is_shed(&self) -> bool {
        self.lock().is_shed
    }

    /// Has its task again, as the store has it.
    pub(crate) fn restore(&self, task: Arc<Task>, gauge: &Arc<Gauge>) {
        self.hold_anyway(gauge, size::of_task(&task));
        let mut inner = self.lock();
        if inner.is_shed {
            inner.is_shed = false;
            inner.task = task;
        }
    }
}

#[cfg(test)]
mod tests {
    use nuncio_model::{ErrorKind, Principal, Scope, Tenant};

    use super::*;
    use nuncio_limit::{Most, Quota};

    #[test]
    fn a_task_that_does_not_grow_is_not_refused_where_too_much_is_held() {
        let [in_all, per_caller] = ["held", "held_per_caller"].map(|name| Most::new(name, 100));
        let gauge = Gauge::new(Quota { what: "bytes", in_all, per_caller, kind: ErrorKind::ResourceExhausted });
        for principal in [Principal::Open, Principal::named("a")] {
            let live = Live::made_here(Scope::new(Tenant::default(), principal), "task".into());
            live.hold_anyway(&gauge, 150);
            assert_eq!(live.hold(&gauge, 120, 64).unwrap(), 150);
            live.hold(&gauge, 151, 64).unwrap_err();
            assert_eq!(gauge.count(), 150);
        }
    }

    #[test]
    fn a_task_grows_by_steps() {
        let gauge =
            Gauge::new(Quota { what: "bytes", in_all: Most::NONE, per_caller: Most::NONE, kind: ErrorKind::Internal });
        let live = Live::made_here(Scope::open(), "task".into());
        let counted = [10, 64, 65, 300].map(|bytes| live.hold(&gauge, bytes, 64).unwrap());
        assert_eq!(counted, [64, 64, 128, 300]);
    }
}
