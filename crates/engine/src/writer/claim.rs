//! Claims a task for this node, so that the node can write its log.

use nuncio_model::{Error, weight};

use super::{LogWriter, is_at_rest};
use crate::{
    live::LiveTask,
    store::{Claim, Command, Stored},
};

/// The result of a claim.
pub(crate) enum Claimed {
    /// This node owns the task.
    Here {
        /// Whether a turn of the task was cut off: its last turn must be settled.
        abandoned: bool,
        /// Commands that arrived while no node owned the task.
        commands: Vec<Command>,
    },
    /// Another node owns the task.
    Elsewhere,
}

impl LogWriter {
    /// Claims the task if this node does not own it, and takes its state from the store.
    pub(crate) async fn claim(&mut self) -> Result<Claimed, Error> {
        let mut claimed = Claimed::Here { abandoned: false, commands: Vec::new() };
        if self.epoch.is_some() {
            return Ok(claimed);
        }
        let known = self.live.lock().epoch;
        let epoch = match known {
            Some(epoch) => epoch,
            None => match self.claim_from_store().await? {
                Claim::Owned { stored, abandoned, commands } => {
                    claimed = Claimed::Here { abandoned: is_cut_off(&stored, abandoned), commands };
                    let epoch = stored.epoch;
                    let is_new = self.live.lock().sequence != stored.sequence;
                    if is_new {
                        self.live.fill(stored);
                    }
                    epoch
                }
                Claim::Held(_) => return Ok(Claimed::Elsewhere),
            },
        };
        let mut state = self.live.lock();
        state.epoch = Some(epoch);
        state.broken = None;
        self.epoch = Some(epoch);
        self.context = state.task.context_id.clone().unwrap_or_default();
        self.sequence = state.sequence;
        self.snapshot_at = state.sequence;
        self.state = state.task_state();
        self.updated = state.task.status.timestamp.unwrap_or_default();
        self.size = weight::of_task(&state.task) as u64;
        self.released = false;
        Ok(claimed)
    }

    async fn claim_from_store(&self) -> Result<Claim, Error> {
        let LiveTask { scope, id, .. } = &*self.live;
        let claimed = self.shared.store.claim(scope, id).await.map_err(|error| self.report(error, "a claim"))?;
        claimed.ok_or_else(|| {
            self.shared.forget(&self.live);
            Error::task_not_found(id.as_str())
        })
    }
}

/// Whether a turn of the task was cut off before the claim. A precreated task without a message has had no turn, and the
/// claimer may bring the message.
fn is_cut_off(stored: &Stored, was_at_work: bool) -> bool {
    let is_only_precreated = stored.sequence == 1 && stored.task.history.is_empty();
    !is_only_precreated && (was_at_work || !is_at_rest(stored.task.state()))
}
