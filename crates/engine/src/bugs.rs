//! Deliberate bugs for `./chaos bugs`. Each bug breaks a promise of the engine, and the checker must find the bug;
//! otherwise the checker proves nothing.
//!
//! Only a build with the feature `chaos-bugs` contains the bugs, and the environment variable `NUNCIO_CHAOS_BUG`
//! selects one of them. Without the feature the functions below are constants, so the compiler removes the calls.

#[cfg(feature = "chaos-bugs")]
pub(crate) use deliberate::*;
#[cfg(not(feature = "chaos-bugs"))]
pub(crate) use none::*;

/// The bugs.
#[cfg(feature = "chaos-bugs")]
mod deliberate {
    use std::{
        sync::{
            Arc, OnceLock,
            atomic::{AtomicU32, Ordering},
        },
        time::Duration,
    };

    use nuncio_model::StreamEvent;
    use tokio::time::{Sleep, sleep};

    use crate::{
        record::{Received, Record},
        store::{Commit, Committed, StoreError, TaskStore},
    };

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Bug {
        PublishBeforeCommit,
        NoFencing,
        SnapshotBeforeSubscribe,
        LostRunner,
    }

    impl Bug {
        fn is_selected(self) -> bool {
            static SELECTED: OnceLock<Option<Bug>> = OnceLock::new();
            let selected = SELECTED.get_or_init(|| match std::env::var("NUNCIO_CHAOS_BUG").ok()?.as_str() {
                "publish-before-commit" => Some(Self::PublishBeforeCommit),
                "no-fencing" => Some(Self::NoFencing),
                "snapshot-before-subscribe" => Some(Self::SnapshotBeforeSubscribe),
                "lost-runner" => Some(Self::LostRunner),
                _ => None,
            });
            *selected == Some(self)
        }
    }

    /// Whether readers receive records before the records are stored.
    pub(crate) fn publishes_before_commit() -> bool {
        Bug::PublishBeforeCommit.is_selected()
    }

    /// Whether a node that lost a task continues to write to the task's log.
    pub(crate) fn ignores_fencing() -> bool {
        Bug::NoFencing.is_selected()
    }

    /// Whether a reader takes the snapshot first and the position in the log later.
    pub(crate) fn takes_snapshot_before_position() -> bool {
        Bug::SnapshotBeforeSubscribe.is_selected()
    }

    /// Whether the runner of this turn disappears without a notice. Every fourth call returns `true`.
    pub(crate) fn loses_runner() -> bool {
        static CALLS: AtomicU32 = AtomicU32::new(0);
        Bug::LostRunner.is_selected() && CALLS.fetch_add(1, Ordering::Relaxed) % 4 == 3
    }

    /// Keeps the wrong order long enough for a short run to see the order.
    pub(crate) fn pause() -> Sleep {
        sleep(Duration::from_millis(30))
    }

    /// Writes a refused commit again with the current epoch, after the current end of the log.
    pub(crate) async fn write_unfenced(
        store: &Arc<dyn TaskStore>,
        mut commit: Box<Commit>,
    ) -> Result<Committed, StoreError> {
        let stored = store.load(&commit.scope, &commit.id).await?.ok_or(StoreError::Conflict)?;
        (commit.expected, commit.epoch, commit.snapshot) = (stored.sequence, stored.epoch, None);
        for (record, sequence) in commit.records.iter_mut().zip(stored.sequence + 1..) {
            *record = match record {
                Record::Update(event) => {
                    Record::Update(Arc::new(StreamEvent::new(Some(sequence), event.response.clone())))
                }
                Record::Received(received) => {
                    Record::Received(Arc::new(Received { sequence, ..Received::clone(received) }))
                }
                // This record creates a task, and no store refuses a new task for its epoch.
                Record::Submitted(_) => return Err(StoreError::Conflict),
                Record::Begun(_) => Record::Begun(sequence),
            };
        }
        store.commit(*commit).await
    }
}

/// No bug.
#[cfg(not(feature = "chaos-bugs"))]
mod none {
    use std::{
        future::{Ready, ready},
        sync::Arc,
    };

    use crate::store::{Commit, Committed, StoreError, TaskStore};

    pub(crate) const fn publishes_before_commit() -> bool {
        false
    }

    pub(crate) const fn ignores_fencing() -> bool {
        false
    }

    pub(crate) const fn takes_snapshot_before_position() -> bool {
        false
    }

    pub(crate) const fn loses_runner() -> bool {
        false
    }

    pub(crate) fn pause() -> Ready<()> {
        ready(())
    }

    pub(crate) fn write_unfenced(_: &Arc<dyn TaskStore>, _: Box<Commit>) -> Ready<Result<Committed, StoreError>> {
        ready(Err(StoreError::Conflict))
    }
}
