//! What is done now and then: logs and messages that nobody needs any more go, and so do nodes that are gone;
//! counters are summed up.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    time::Duration,
};

use nuncio_engine::StoreError;
use nuncio_model::Timestamp;
use tokio::{task::AbortHandle, time::sleep};

use super::{links::Links, read::value, statements::Sql};
use crate::columns;

/// Logs that are dropped at a time.
const LOGS: usize = 128;

/// Messages that are forgotten at a time.
const MESSAGES: usize = 1024;

/// How long it rests: while the store is written to, and at most.
const RESTS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];

/// How long a letter stays that nobody came back for.
const LETTERS: Duration = Duration::from_hours(24);

/// Ends when it is dropped.
pub(super) struct Upkeep {
    /// Messages that were remembered before this, in milliseconds since 1970, are forgotten.
    forgets_before: Arc<AtomicI64>,
    work: AbortHandle,
}

impl Drop for Upkeep {
    fn drop(&mut self) {
        self.work.abort();
    }
}

impl Upkeep {
    pub(super) fn start(links: Arc<Links>, has_written: Arc<AtomicBool>, retention: Duration) -> Self {
        let forgets_before = Arc::new(AtomicI64::new(i64::MIN));
        let before = Arc::clone(&forgets_before);
        let work = async move {
            let mut rest = RESTS[0];
            loop {
                sleep(rest).await;
                let is_busy = has_written.swap(false, Ordering::Relaxed);
                match tend(&links, retention, before.load(Ordering::Relaxed)).await {
                    Ok(false) if !is_busy => rest = RESTS[1].min(2 * rest),
                    Ok(_) => rest = RESTS[0],
                    Err(error) => {
                        tracing::debug!(error = &error as &dyn std::error::Error, "the upkeep of the store failed");
                        rest = RESTS[1];
                    }
                }
            }
        };
        Self { forgets_before, work: tokio::spawn(work).abort_handle() }
    }

    /// Nobody asks any more for messages that were remembered before this.
    pub(super) fn forget_before(&self, time: Timestamp) {
        self.forgets_before.fetch_max(time.as_millisecond(), Ordering::Relaxed);
    }
}

/// Whether there was something to do.
async fn tend(links: &Links, retention: Duration, forgets_before: i64) -> Result<bool, StoreError> {
    let mut did = false;
    loop {
        let now = Timestamp::now().as_millisecond();
        let before = now.saturating_sub(i64::try_from(retention.as_millis()).unwrap_or(i64::MAX));
        let looked_at = links.query(Sql::Prune, &[&before, &now, &columns::to_column(LOGS as u64)]).await?;
        let mut dropped = 0;
        for row in &looked_at {
            dropped += usize::from(value::<bool>(row, 0)?);
        }
        did |= dropped > 0;
        if looked_at.len() < LOGS || dropped == 0 {
            break;
        }
    }
    loop {
        let forgotten = links.query(Sql::Forget, &[&forgets_before, &columns::to_column(MESSAGES as u64)]).await?.len();
        did |= forgotten > 0;
        if forgotten < MESSAGES {
            break;
        }
    }
    links.query_once(Sql::SumUp, &[]).await?;
    links.query(Sql::DropLetters, &[&LETTERS.as_secs_f64()]).await?;
    links.query(Sql::DropNodes, &[]).await?;
    Ok(did)
}
