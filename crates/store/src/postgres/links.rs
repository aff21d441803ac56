//! Shared connections for reads and small writes.
//!
//! A call uses the connection with the fewest statements in progress. The call does not own the connection: statements
//! of several calls are sent one after the other, without waiting for the answers. Therefore a few connections serve
//! many readers. A pool that lends connections would only add waiting time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use nuncio_engine::StoreError;
use nuncio_limit::Failures;
use tokio::{
    sync::Mutex,
    time::{Instant, sleep_until, timeout_at},
};
use tokio_postgres::{Row, types::ToSql};

use super::{
    error::{is_read_only, store_error, unavailable},
    session::{Connector, Failure, RECONNECT, Session},
    statements::Sql,
};

pub(super) struct Links {
    connector: Arc<Connector>,
    links: Box<[Link]>,
}

#[derive(Default)]
struct Link {
    slot: Mutex<Slot>,
    under_way: AtomicUsize,
}

#[derive(Default)]
struct Slot {
    session: Option<Arc<Session>>,
    failures: Failures,
    /// The time before which no new attempt to connect is made.
    rests_until: Option<Instant>,
}

impl Links {
    pub(super) fn new(connector: Arc<Connector>, connections: usize) -> Self {
        Self { connector, links: (0..connections.max(1)).map(|_| Link::default()).collect() }
    }

    /// Executes an idempotent statement. If the connection breaks, the statement is executed once more.
    pub(super) async fn query(&self, sql: Sql, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, StoreError> {
        self.query_within(self.connector.options.answer_timeout, sql, values).await
    }

    /// Like [`query`](Self::query), with a shorter time limit. The limit applies to connecting and to the answer, in
    /// each of the two attempts. After a timeout, the connection is not used again. A caller must not use an outer
    /// timeout instead: the unresponsive connection would then stay in use.
    pub(super) async fn query_within(
        &self,
        bound: Duration,
        sql: Sql,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, StoreError> {
        match self.attempt(sql, values, bound).await? {
            Ok(rows) => Ok(rows),
            Err(failure @ Failure::Late(_)) => Err(unavailable(failure)),
            Err(Failure::Failed(error)) if super::error::is_refusal(&error) && !is_read_only(&error) => {
                Err(store_error(error))
            }
            Err(failure) => {
                tracing::debug!(%failure, ?sql, "store: cannot execute a statement; trying again on a new connection");
                self.attempt(sql, values, bound).await?.map_err(into_store_error)
            }
        }
    }

    /// Executes a statement once.
    pub(super) async fn query_once(&self, sql: Sql, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, StoreError> {
        self.attempt(sql, values, self.connector.options.answer_timeout).await?.map_err(into_store_error)
    }

    async fn attempt(
        &self,
        sql: Sql,
        values: &[&(dyn ToSql + Sync)],
        bound: Duration,
    ) -> Result<Result<Vec<Row>, Failure>, StoreError> {
        let least = self.links.iter().min_by_key(|link| link.under_way.load(Ordering::Relaxed));
        let Some(link) = least else { return Err(unavailable("the store has no connections")) };
        let _under_way = UnderWay::of(&link.under_way);
        let deadline = Instant::now() + self.connector.options.wait_timeout.min(bound);
        let session = link.session(&self.connector, deadline).await?;
        let answer = session.query_within(bound.min(self.connector.options.answer_timeout), sql, values).await;
        if let Err(failure) = &answer
            && (!failure.is_refusal() || matches!(failure, Failure::Failed(error) if is_read_only(error)))
        {
            link.give_up(&session);
        }
        Ok(answer)
    }
}

fn into_store_error(failure: Failure) -> StoreError {
    match failure {
        Failure::Failed(error) => store_error(error),
        late @ Failure::Late(_) => unavailable(late),
    }
}

struct UnderWay<'a>(&'a AtomicUsize);

impl<'a> UnderWay<'a> {
    fn of(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Link {
    /// The connection. If the connection was lost, opens a new connection.
    async fn session(&self, connector: &Connector, deadline: Instant) -> Result<Arc<Session>, StoreError> {
        let late = |_| unavailable("the database is not connected yet");
        let mut slot = timeout_at(deadline, self.slot.lock()).await.map_err(late)?;
        if let Some(session) = slot.session.as_ref().filter(|session| !session.is_closed()) {
            return Ok(Arc::clone(session));
        }
        slot.session = None;
        loop {
            if let Some(rest) = slot.rests_until.filter(|rest| *rest > Instant::now()) {
                timeout_at(deadline, sleep_until(rest)).await.map_err(late)?;
            }
            match timeout_at(deadline, connector.connect()).await.map_err(late)? {
                Ok(session) => {
                    let session = Arc::new(session);
                    slot.session = Some(Arc::clone(&session));
                    slot.failures.reset();
                    return Ok(session);
                }
                Err(error) => {
                    let rest = Instant::now() + slot.failures.next_delay(&RECONNECT);
                    slot.rests_until = Some(rest);
                    if rest >= deadline {
                        return Err(unavailable(error));
                    }
                }
            }
        }
    }

    /// Marks a connection as failed, so that it is not used again. This function does not wait: another call may hold
    /// the slot while it connects.
    fn give_up(&self, broken: &Arc<Session>) {
        broken.give_up();
        if let Ok(mut slot) = self.slot.try_lock() {
            slot.session.take_if(|session| Arc::ptr_eq(session, broken));
        }
    }
}
