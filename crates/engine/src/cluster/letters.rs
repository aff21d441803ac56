//! Looks at many letters at once: those of a task that has moved on, and now and then all that this node follows.

use std::sync::Arc;

use nuncio_model::TaskState;

use super::Correspondence;
use crate::{
    live::Live,
    shared::Shared,
    store::{Cluster, LetterId, LetterStatus, StoreError},
};

/// How many letters are asked for at a time.
const PAGE: usize = 1000;

/// How far these letters have come.
pub(super) async fn look_up(
    cluster: &dyn Cluster,
    correspondences: &[Arc<Correspondence>],
) -> Result<Vec<Option<LetterStatus>>, StoreError> {
    let ids: Vec<LetterId> = correspondences.iter().map(|it| it.letter.clone()).collect();
    cluster.letters(&ids).await
}

/// Looks how far the letters to a task have come, after it has moved on or may have.
pub(super) async fn attend(shared: &Shared, live: &Live) -> Result<(), StoreError> {
    let Some(cluster) = shared.store.cluster() else { return Ok(()) };
    let (mut correspondences, state, are_marked) = {
        let mut inner = live.lock();
        let are_marked = std::mem::take(&mut inner.letters_marked);
        (inner.correspondences.clone(), inner.state(), are_marked)
    };
    correspondences.retain(|it| are_marked || it.may_have_moved(state));
    if correspondences.is_empty() {
        return Ok(());
    }
    let statuses = look_up(cluster, &correspondences).await?;
    correspondences.iter().zip(statuses).for_each(|(it, status)| it.found(status, state));
    Ok(())
}

/// Looks how far all letters have come that this node follows.
pub(super) async fn reread(shared: &Shared, cluster: &dyn Cluster) {
    let mut followed: Vec<(Arc<Correspondence>, TaskState)> = Vec::new();
    for live in shared.registry.all() {
        let inner = live.lock();
        followed.extend(inner.correspondences.iter().map(|it| (Arc::clone(it), inner.state())));
    }
    for page in followed.chunks(PAGE) {
        let correspondences: Vec<_> = page.iter().map(|(it, _)| Arc::clone(it)).collect();
        match look_up(cluster, &correspondences).await {
            Ok(statuses) => page.iter().zip(statuses).for_each(|((it, state), status)| it.found(status, *state)),
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "letters are not followed");
                return;
            }
        }
    }
}
