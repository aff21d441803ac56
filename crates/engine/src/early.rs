//! Webhooks of tasks that do not exist yet. Version 0.1 of the protocol lets a client name a task before the first
//! message. This node keeps such webhooks in memory for a limited time.

use std::collections::VecDeque;

use nuncio_model::{Error, ErrorKind, Principal, Scope, TaskId};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{limits::Limits, store::PushConfig};

/// One caller can use one part in this number of parts of all places.
const PART: usize = 8;

/// Webhooks of future tasks, oldest first.
#[derive(Default)]
pub(crate) struct EarlyWebhooks(Mutex<VecDeque<Early>>);

struct Early {
    scope: Scope,
    task: TaskId,
    config: PushConfig,
    until: Instant,
}

impl EarlyWebhooks {
    /// Stores the webhook of a future task, or replaces the previous one.
    ///
    /// # Errors
    ///
    /// `ResourceExhausted` if too many webhooks are stored.
    pub(crate) fn keep(&self, scope: &Scope, task: &TaskId, config: PushConfig, limits: &Limits) -> Result<(), Error> {
        let now = Instant::now();
        let mut kept = self.0.lock();
        kept.retain(|it| it.until > now && (it.task != *task || it.scope != *scope));
        let of_caller = kept.iter().filter(|it| it.scope.principal == scope.principal).count();
        let is_counted = scope.principal != Principal::Open;
        if kept.len() >= limits.early_webhooks || is_counted && of_caller >= limits.early_webhooks.div_ceil(PART) {
            let message = "too many webhooks wait for their tasks; send the first message, with the webhook in it";
            return Err(Error::new(ErrorKind::ResourceExhausted, message).with_metadata("limit", "early_webhooks"));
        }
        let until = now + limits.early_webhook_time;
        kept.push_back(Early { scope: scope.clone(), task: task.clone(), config, until });
        Ok(())
    }

    /// The webhook of a future task.
    pub(crate) fn of(&self, scope: &Scope, task: &TaskId) -> Option<PushConfig> {
        let now = Instant::now();
        let kept = self.0.lock();
        let found = kept.iter().find(|it| it.task == *task && it.scope == *scope && it.until > now)?;
        Some(found.config.clone())
    }

    /// Takes the webhook of a task that was created.
    pub(crate) fn take(&self, scope: &Scope, task: &TaskId) -> Option<PushConfig> {
        let mut kept = self.0.lock();
        let place = kept.iter().position(|it| it.task == *task && it.scope == *scope)?;
        kept.remove(place).map(|early| early.config)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use nuncio_model::{TaskPushNotificationConfig, Tenant};

    use super::*;

    fn of(caller: &str) -> Scope {
        Scope::new(Tenant::default(), Principal::named(caller))
    }

    fn config(url: &str) -> PushConfig {
        let config = TaskPushNotificationConfig { url: url.to_owned(), ..Default::default() };
        PushConfig { config, format: None, delivered: 0 }
    }

    #[tokio::test(start_paused = true)]
    async fn a_webhook_is_stored_for_its_caller_for_a_limited_time() {
        let (early, limits) = (EarlyWebhooks::default(), Limits::default());
        let kept = |caller: &str| early.of(&of(caller), &"t".into()).map(|it| it.config.url);
        early.keep(&of("a"), &"t".into(), config("1"), &limits).unwrap();
        early.keep(&of("a"), &"t".into(), config("2"), &limits).unwrap();
        assert_eq!((kept("a").as_deref(), kept("b")), (Some("2"), None));
        tokio::time::advance(limits.early_webhook_time.saturating_sub(Duration::from_secs(1))).await;
        assert!(kept("a").is_some());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(kept("a").is_none());
        early.keep(&of("a"), &"t".into(), config("3"), &limits).unwrap();
        assert!(early.take(&of("a"), &"t".into()).is_some());
        assert!(kept("a").is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn early_webhooks_are_limited_in_total_and_per_caller() {
        let (early, mut limits) = (EarlyWebhooks::default(), Limits::default());
        limits.early_webhooks = 16;
        let keep = |caller: &str, task: usize| early.keep(&of(caller), &task.to_string().into(), config(""), &limits);
        for caller in 0..8 {
            for task in 0..2 {
                keep(&caller.to_string(), task).unwrap();
            }
            assert_eq!(keep(&caller.to_string(), 2).unwrap_err().kind(), ErrorKind::ResourceExhausted);
        }
        assert_eq!(keep("late", 0).unwrap_err().kind(), ErrorKind::ResourceExhausted);
        tokio::time::advance(limits.early_webhook_time).await;
        keep("late", 0).unwrap();
    }
}
