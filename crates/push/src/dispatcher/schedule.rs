//! Selects the pending configurations for the next deliveries.

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures_util::future::try_join_all;
use nuncio_engine::{
    StoreError,
    store::{DuePush, PushSettlement},
};
use nuncio_model::{PushConfigId, Scope, TaskId, Timestamp};
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::{
    Dispatcher,
    delivery::Delivery,
    places::{Places, Taken},
    receivers::host_of,
};

/// The pause before the next look if a delivery that is due is under way already or the store failed.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// How many configurations that have to wait for a place are read, so that those behind them are found.
const AHEAD: usize = 256;

/// How long a delivery is put off if its host is silent and has its places already, in milliseconds.
const PUT_OFF_SILENT: i64 = 30_000;

/// How long a delivery is put off if more than [`AHEAD`] wait for a place, in milliseconds.
const PUT_OFF: i64 = 5_000;

/// A running delivery.
pub(super) struct UnderWay {
    pub(super) delivery: AbortHandle,
    host: Box<str>,
}

/// Identifies a configuration.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    scope: Scope,
    task: TaskId,
    id: PushConfigId,
}

impl Key {
    fn of(push: &DuePush) -> Self {
        Self {
            scope: push.scope.clone(),
            task: push.config.task_id.clone().unwrap_or_default(),
            id: push.config.id.clone().unwrap_or_default(),
        }
    }
}

impl Dispatcher {
    /// Starts deliveries for what is due, as many as there are places. Returns the pause before the next look if nothing
    /// happens before.
    pub(super) async fn start_due(
        &self,
        deliveries: &mut JoinSet<()>,
        under_way: &mut HashMap<Key, UnderWay>,
        stop: &CancellationToken,
    ) -> Option<Duration> {
        let most = self.0.concurrency.saturating_add(AHEAD);
        let mut limit = self.0.concurrency;
        while under_way.len() < self.0.concurrency {
            let due = match self.0.store.due_pushes(Timestamp::now(), limit).await {
                Ok(due) => due,
                Err(error) => {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "webhooks: cannot read due pushes from the store; retrying"
                    );
                    return Some(LOOK_AGAIN);
                }
            };
            let has_more = due.len() >= limit;
            let (waiting, put_off) = self.start(due, deliveries, under_way, stop);
            let mut putting_off: Vec<_> = put_off.into_iter().map(|push| self.put_off(push, PUT_OFF_SILENT)).collect();
            if has_more && putting_off.is_empty() && limit >= most {
                putting_off.extend(waiting.into_iter().map(|push| self.put_off(push, PUT_OFF)));
            }
            if !has_more && putting_off.is_empty() {
                break;
            }
            limit = limit.saturating_mul(2).min(most);
            // Waiting pushes would hide later pushes in the next read.
            if let Err(error) = try_join_all(putting_off).await {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "webhooks: cannot write delayed pushes to the store; retrying"
                );
                return Some(LOOK_AGAIN);
            }
        }
        if under_way.len() < self.0.concurrency { self.next_look().await } else { None }
    }

    /// Starts a delivery for each configuration for which there is a place. Returns those that wait for a place, and those
    /// that are put off.
    fn start(
        &self,
        due: Vec<DuePush>,
        deliveries: &mut JoinSet<()>,
        under_way: &mut HashMap<Key, UnderWay>,
        stop: &CancellationToken,
    ) -> (Vec<DuePush>, Vec<DuePush>) {
        let mut taken = Taken::new(Places::of(self.0.concurrency), &self.0.receivers);
        for (key, it) in &*under_way {
            taken.add(&key.scope.principal, &it.host);
        }
        let (mut waiting, mut put_off) = (Vec::new(), Vec::new());
        for push in due {
            let key = Key::of(&push);
            if under_way.contains_key(&key) {
                continue;
            }
            let host = host_of(&push.config.url);
            if under_way.len() < self.0.concurrency && taken.has_room(&key.scope.principal, &host) {
                taken.add(&key.scope.principal, &host);
                let host = host.into();
                let (inner, stop) = (Arc::clone(&self.0), stop.clone());
                let delivery = deliveries.spawn(async move { Delivery::new(&inner, push, &stop).go().await });
                under_way.insert(key, UnderWay { delivery, host });
            } else if self.0.receivers.is_silent(&host) {
                put_off.push(push);
            } else {
                waiting.push(push);
            }
        }
        (waiting, put_off)
    }

    async fn put_off(&self, push: DuePush, pause: i64) -> Result<(), StoreError> {
        let Key { scope, task, id } = Key::of(&push);
        let next_attempt = Timestamp::now().as_millisecond().saturating_add(pause);
        let settlement = PushSettlement {
            scope,
            task,
            id,
            delivered: push.delivered,
            attempts: push.attempts,
            next_attempt: Timestamp::from_millisecond(next_attempt).unwrap_or_default(),
            error: Some("other notifications of this caller or for this receiver are under way".to_owned()),
        };
        self.0.store.settle_push(settlement).await
    }

    /// The pause until something is due.
    async fn next_look(&self) -> Option<Duration> {
        match self.0.store.next_push().await {
            Ok(next) => next.map(|next| {
                let pause = next.as_millisecond().saturating_sub(Timestamp::now().as_millisecond());
                match u64::try_from(pause) {
                    Ok(pause @ 1..) => Duration::from_millis(pause),
                    // The due pushes are being delivered or wait for a place, and hide later pushes.
                    _ => LOOK_AGAIN,
                }
            }),
            Err(_) => Some(LOOK_AGAIN),
        }
    }
}
