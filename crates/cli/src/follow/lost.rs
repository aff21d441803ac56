//! Reports a lost connection on stderr once, because stdout is silent during the attempts to reconnect.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use nuncio_client::{ClientError, Watch};
use nuncio_model::StreamEvent;

use super::Follower;
use crate::{connect::RECONNECT_LIMIT, diag};

/// The interval of the check, and the longest interruption without a warning.
const MOMENT: Duration = Duration::from_secs(1);

/// The intervals of `--poll-interval` until the client stops polling a dead agent: one before the first attempt, two
/// and four after the first failures.
const POLLS: u32 = 7;

impl Follower<'_> {
    /// The next event of a stream. If the connection is gone for more than a moment, stderr says until when the command
    /// tries again, and when the connection is back.
    pub(super) async fn item(&self, watch: &mut Watch) -> Option<Result<Arc<StreamEvent>, ClientError>> {
        loop {
            match tokio::time::timeout(MOMENT, watch.next()).await {
                Ok(item) => {
                    if matches!(item, Some(Ok(_))) && self.is_lost.replace(false) {
                        diag::line("the connection to the agent is back");
                    }
                    return item;
                }
                Err(_) if watch.lost_for().is_some_and(|time| time >= MOMENT) && !self.is_lost.replace(true) => {
                    let limit = self.connection.idle.map_or(RECONNECT_LIMIT, |idle| idle.min(RECONNECT_LIMIT));
                    let seconds = (limit + self.interval.saturating_mul(POLLS)).as_secs();
                    diag::warn(&format!("the connection to the agent is lost; trying again for up to {seconds} s"));
                }
                Err(_) => {}
            }
        }
    }
}
