//! A delivery: sends the pending events of one configuration until all are sent, an attempt fails, or other
//! configurations wait.

use std::{panic::AssertUnwindSafe, sync::Arc};

use bytes::Bytes;
use futures_util::FutureExt as _;
use nuncio_engine::{
    Record, StoreError,
    store::{DuePush, Portion, PushConfig, PushSettlement},
};
use nuncio_model::{PushConfigId, StreamResponse, TaskId, Timestamp};
use nuncio_wire::{Dialect, dialect::Notice};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    Inner,
    id::webhook_id,
    notice::{as_of, dialect_of},
    post::Outcome,
};
use crate::signer::Attempt;

/// The maximum of a delivery, so that other configurations are not delayed.
const PORTION: Portion = Portion { records: 64, bytes: 256 * 1024 };

pub(super) struct Delivery<'a> {
    inner: &'a Inner,
    stop: &'a CancellationToken,
    push: DuePush,
    task: TaskId,
    id: PushConfigId,
}

/// Whether the delivery goes on.
#[derive(PartialEq)]
enum Next {
    GoOn,
    Stop,
}

impl<'a> Delivery<'a> {
    pub(super) fn new(inner: &'a Inner, push: DuePush, stop: &'a CancellationToken) -> Self {
        let (task, id) = (push.config.task_id.clone().unwrap_or_default(), push.config.id.clone().unwrap_or_default());
        Self { inner, stop, push, task, id }
    }

    pub(super) async fn go(mut self) {
        let outcome = AssertUnwindSafe(self.deliver()).catch_unwind().await;
        let (task, config) = (&self.task, &self.id);
        match outcome {
            Ok(Ok(())) => return,
            Ok(Err(error)) => {
                let cause = format!("{error:?}");
                tracing::warn!(%task, %config, cause, "webhooks: cannot read or write a delivery in the store; retrying");
            }
            Err(_) => tracing::error!(%task, %config, "webhooks: a delivery panicked; retrying"),
        }
        // The push stays due. The delay limits the calls to an unavailable store.
        tokio::time::sleep(super::schedule::LOOK_AGAIN).await;
    }

    async fn deliver(&mut self) -> Result<(), StoreError> {
        let store = &self.inner.store;
        let records = match store.events_after(&self.push.scope, &self.task, self.push.delivered, PORTION).await {
            Err(StoreError::Compacted) => return self.deliver_snapshot().await,
            records => records?,
        };
        let Some(last) = records.last().map(Record::sequence) else {
            // There is no record to deliver.
            return self.settle(self.push.pending, 0, Timestamp::now(), None).await;
        };
        for record in records {
            if let Some(event) = record.as_update()
                && self.post(record.sequence(), &event.response).await? == Next::Stop
            {
                return Ok(());
            }
        }
        self.pass(last).await
    }

    /// The events are compacted, so the current task is sent once instead.
    async fn deliver_snapshot(&mut self) -> Result<(), StoreError> {
        match self.inner.store.load(&self.push.scope, &self.task).await? {
            Some(stored) => {
                let task = StreamResponse::Task((*stored.task).clone());
                match self.post(stored.sequence, &task).await? {
                    Next::GoOn => self.pass(stored.sequence).await,
                    Next::Stop => Ok(()),
                }
            }
            None => self.settle(self.push.pending, 0, Timestamp::now(), None).await,
        }
    }

    /// Settles records up to `sequence` that were not sent: messages of the client, and events without a notification in
    /// the version of the webhook.
    async fn pass(&mut self, sequence: u64) -> Result<(), StoreError> {
        if self.push.delivered < sequence {
            self.settle(sequence, 0, Timestamp::now(), None).await?;
        }
        Ok(())
    }

    /// Sends one event and stores the outcome; does nothing if the version of the webhook has no notification for the event.
    async fn post(&mut self, sequence: u64, event: &StreamResponse) -> Result<Next, StoreError> {
        if self.stop.is_cancelled() {
            return Ok(Next::Stop);
        }
        // If the configuration was changed or removed since the last event, nothing more is sent.
        let Some(PushConfig { config, format, delivered, .. }) = self.config().await? else { return Ok(Next::Stop) };
        if sequence <= delivered {
            // A new configuration with this id gets only later records, or another node has sent the event.
            return Ok(Next::GoOn);
        }
        let dialect = dialect_of(format.as_deref(), &self.inner.told_unknown);
        let Some(body) = self.body(dialect, event).await? else { return Ok(Next::GoOn) };
        let content_type = dialect.notice_type();
        let (id, failures) = (&*webhook_id(&self.task, &self.id, sequence), self.push.attempts);
        let attempt = Attempt { config: &config, id, body: &body, content_type, sequence, failures };
        // The signer and the resolver are code of the application, so a panic is caught.
        let begun = Instant::now();
        let outcome = AssertUnwindSafe(self.inner.post.attempt(attempt, body.clone())).catch_unwind().await;
        let outcome = outcome.unwrap_or_else(|_| Outcome::Failed("the attempt panicked".to_owned(), None));
        let is_taken = outcome == Outcome::Delivered;
        let is_slow = self.inner.receivers.note(&config.url, begun.elapsed(), self.inner.post.timeout(), is_taken);
        // If the webhook was replaced during the attempt, ignore the failure; the new webhook has its own schedule.
        if outcome != Outcome::Delivered && self.config().await?.is_none_or(|now| now.config != config) {
            return Ok(Next::Stop);
        }
        let next = self.note(sequence, outcome).await?;
        // A slow receiver releases its place after each event.
        Ok(if is_slow { Next::Stop } else { next })
    }

    async fn config(&self) -> Result<Option<PushConfig>, StoreError> {
        let configs = self.inner.store.push_configs(&self.push.scope, &self.task).await?;
        Ok(configs.into_iter().flatten().find(|it| it.config.id.as_ref() == Some(&self.id)))
    }

    /// The body of the notification; `None` if the version has no notification for the event.
    async fn body(&self, dialect: &dyn Dialect, event: &StreamResponse) -> Result<Option<Bytes>, StoreError> {
        let mut body = Vec::with_capacity(512);
        match (dialect.notice(event), event) {
            (Notice::Nothing, _) => return Ok(None),
            (Notice::Event, _) | (Notice::Task, StreamResponse::Task(_)) => dialect.encode_notice(event, &mut body),
            (Notice::Task, _) => {
                let stored = self.inner.store.load(&self.push.scope, &self.task).await?;
                let Some(stored) = stored else { return Ok(None) };
                let task = as_of(Arc::unwrap_or_clone(stored.task), event);
                dialect.encode_notice(&StreamResponse::Task(task), &mut body);
            }
        }
        Ok(Some(body.into()))
    }

    async fn note(&mut self, sequence: u64, outcome: Outcome) -> Result<Next, StoreError> {
        let now = Timestamp::now();
        let failures = self.push.attempts.saturating_add(1);
        let given_up = self.inner.retry.is_over(failures);
        let (task, config) = (&self.task, &self.id);
        match outcome {
            Outcome::Delivered => {
                tracing::debug!(%task, %config, sequence, "webhooks: delivered a notification");
                self.settle(sequence, 0, now, None).await?;
                return Ok(Next::GoOn);
            }
            Outcome::Gone => {
                tracing::warn!(%task, %config, "webhooks: the receiver answered 410 (gone); the webhook is deleted");
                self.inner.store.delete_push_config(&self.push.scope, task, config).await?;
            }
            Outcome::Forbidden(reason) => {
                tracing::warn!(%task, %config, reason, "webhooks: the address is forbidden; pending notifications are skipped");
                self.settle(self.push.pending.max(sequence), 0, now, Some(reason)).await?;
            }
            Outcome::Refused(reason) if given_up => {
                tracing::warn!(%task, %config, sequence, reason, "webhooks: all attempts failed; the notification is skipped");
                self.settle(sequence, 0, now, Some(reason)).await?;
            }
            Outcome::Failed(reason, _) if given_up => {
                tracing::warn!(%task, %config, sequence, reason, "webhooks: all attempts failed; all but the newest notification are skipped");
                let newest = self.push.pending.max(sequence);
                self.settle(if sequence < newest { newest - 1 } else { newest }, 0, now, Some(reason)).await?;
            }
            Outcome::Refused(reason) => self.put_off(sequence, failures, reason, None).await?,
            Outcome::Failed(reason, asked) => self.put_off(sequence, failures, reason, asked).await?,
        }
        Ok(Next::Stop)
    }

    async fn put_off(
        &mut self,
        sequence: u64,
        failures: u32,
        reason: String,
        asked: Option<std::time::Duration>,
    ) -> Result<(), StoreError> {
        let pause = self.inner.retry.pause(failures, asked);
        tracing::info!(task = %self.task, config = %self.id, sequence, failures, ?pause, reason, "webhooks: cannot deliver a notification; retrying");
        let pause = i64::try_from(pause.as_millis()).unwrap_or(i64::MAX);
        let next = Timestamp::now().as_millisecond().saturating_add(pause);
        let next = Timestamp::from_millisecond(next).unwrap_or_default();
        self.settle(self.push.delivered, failures, next, Some(reason)).await
    }

    async fn settle(
        &mut self,
        delivered: u64,
        attempts: u32,
        next_attempt: Timestamp,
        error: Option<String>,
    ) -> Result<(), StoreError> {
        self.push.delivered = delivered;
        self.push.attempts = attempts;
        let settlement = PushSettlement {
            scope: self.push.scope.clone(),
            task: self.task.clone(),
            id: self.id.clone(),
            delivered,
            attempts,
            next_attempt,
            error,
        };
        self.inner.store.settle_push(settlement).await
    }
}
