//! Bugs on purpose, in builds with the feature `chaos-bugs` alone: each breaks a promise that `./chaos` must see
//! broken, or its checker proves nothing.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use nuncio_model::StreamEvent;

use crate::{
    record::{Received, Record},
    store::{Commit, Committed, StoreError, TaskStore},
};

/// How long the wrong order lasts, so that a short run meets it.
pub(crate) const MOMENT: Duration = Duration::from_millis(30);

/// The one that the environment names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    /// Readers see records that are not stored yet.
    PublishBeforeCommit,
    /// Who lost a task writes on: a commit that is refused takes the epoch and the end of the log as they are now.
    NoFencing,
    /// A reader takes its snapshot first and its place in the log afterwards.
    SnapshotBeforeSubscribe,
    /// Some runners are gone in the middle of a turn, and tell nobody.
    LostRunner,
}

impl Bug {
    /// Whether this one is on.
    pub(crate) fn is_on(self) -> bool {
        static NAMED: OnceLock<Option<Bug>> = OnceLock::new();
        let named = NAMED.get_or_init(|| match std::env::var("NUNCIO_CHAOS_BUG").ok()?.as_str() {
            "publish-before-commit" => Some(Self::PublishBeforeCommit),
            "no-fencing" => Some(Self::NoFencing),
            "snapshot-before-subscribe" => Some(Self::SnapshotBeforeSubscribe),
            "lost-runner" => Some(Self::LostRunner),
            _ => None,
        });
        *named == Some(self)
    }
}

/// Whether this is one of the few moments in which [`Bug::LostRunner`] shows, where it is on.
pub(crate) fn loses_runner() -> bool {
    static MOMENTS: AtomicU32 = AtomicU32::new(0);
    Bug::LostRunner.is_on() && MOMENTS.fetch_add(1, Ordering::Relaxed) % 4 == 3
}

/// Writes a commit that was refused under whatever epoch holds now, behind whatever was written since. Its sequence is
/// another one then.
pub(crate) async fn write_anyway(store: &Arc<dyn TaskStore>, commit: &mut Commit) -> Result<Committed, StoreError> {
    let stored = store.load(&commit.scope, &commit.id).await?.ok_or(StoreError::Conflict)?;
    (commit.expected, commit.epoch, commit.snapshot) = (stored.sequence, stored.epoch, None);
    for (record, sequence) in commit.records.iter_mut().zip(stored.sequence + 1..) {
        *record = match record {
            Record::Update(event) => Record::Update(Arc::new(StreamEvent::new(Some(sequence), event.response.clone()))),
            Record::Received(received) => {
                Record::Received(Arc::new(Received { sequence, ..Received::clone(received) }))
            }
            // There is one where there is no task, and then nothing refused it.
            Record::Submitted(_) => return Err(StoreError::Conflict),
            Record::Begun(_) => Record::Begun(sequence),
        };
    }
    store.commit(commit.clone()).await
}
