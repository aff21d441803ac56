//! One group of writes.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    time::Duration,
};

use futures_util::future::join_all;
use nuncio_engine::{
    StoreError,
    store::{Committed, NodeId},
};
use nuncio_model::{Scope, TaskId, TaskState};
use tokio::time::Instant;
use tokio_postgres::{Row, error::SqlState};

use super::{Claimed, Done, Job, Op, Outcome, doubt::Doubt, rows, worker::copy};
use crate::{
    append::Append,
    columns::{from_column, to_column as number},
    postgres::{
        error::{is_duplicate, store_error, unavailable},
        session::{Failure, Session},
        statements::Sql,
        text::{ScopeColumns, to_column},
    },
};

/// The size of a group, in bytes of bodies, from which the group takes no further writes.
const FULL: usize = 8 << 20;

/// The states in which a task has ended.
pub(in crate::postgres) const ENDED: [TaskState; 4] =
    [TaskState::Completed, TaskState::Failed, TaskState::Canceled, TaskState::Rejected];

pub(super) struct Batch(Vec<Job>);

/// The result of writing a group.
pub(super) struct BatchReport {
    /// Whether a write failed that may succeed later.
    pub(super) is_failing: bool,
    /// Whether the connection must be replaced.
    pub(super) is_broken: bool,
}

impl Batch {
    /// The maximum number of writes in a group.
    pub(super) const MOST: usize = 256;

    /// Takes the jobs that can be written together: the first job of each task. The jobs are sorted by task, so that
    /// all nodes lock tasks in the same order and cannot block each other.
    pub(super) fn take(waiting: &mut VecDeque<Job>) -> Self {
        let (mut jobs, mut left, mut tasks, mut bytes) = (Vec::new(), VecDeque::new(), HashSet::new(), 0);
        while let Some(job) = waiting.pop_front() {
            // Later jobs of the same task wait for the next group. No job follows a close job.
            let is_first = job.op.task().is_none_or(|task| tasks.insert(task.clone()));
            let closes = matches!(job.op, Op::Close);
            if closes && !left.is_empty() {
                left.push_back(job);
                break;
            }
            if is_first {
                bytes += job.op.len();
                jobs.push(job);
            } else {
                left.push_back(job);
            }
            if closes || jobs.len() >= Self::MOST || bytes >= FULL {
                break;
            }
        }
        left.append(waiting);
        *waiting = left;
        jobs.sort_by(|one, two| one.op.task().cmp(&two.op.task()));
        Self(jobs)
    }

    pub(super) fn closes(&self) -> bool {
        self.0.iter().any(|job| matches!(job.op, Op::Close))
    }

    /// Executes all writes: one statement for the creates, one for the appends, and one per claim. Sends the answers.
    pub(super) async fn write(self, session: &Session, doubt: &Doubt) -> BatchReport {
        let ops: Vec<&Op> = self.0.iter().map(|job| &job.op).collect();
        let all = async |wanted: WriteKind| {
            let (places, ops): (Vec<_>, Vec<_>) = ops
                .iter()
                .enumerate()
                .filter(|(_, op)| WriteKind::of(op) == wanted)
                .map(|(place, op)| (place, *op))
                .unzip();
            let outcomes = write_group(session, wanted, &ops).await;
            places.into_iter().zip(outcomes).collect::<Vec<_>>()
        };
        let (created, appended, others) =
            tokio::join!(all(WriteKind::Create), all(WriteKind::Append), all(WriteKind::Other));
        let mut outcomes: Vec<Option<Result<Done, Refusal>>> = ops.iter().map(|_| None).collect();
        for (place, outcome) in [created, appended, others].into_iter().flatten() {
            outcomes[place] = Some(outcome);
        }
        let is_unknown =
            |outcome: &Option<Result<Done, Refusal>>| !matches!(outcome, Some(Ok(_) | Err(Refusal::Known(_))));
        let is_broken = outcomes.iter().any(is_unknown) || session.is_closed();
        // The doubt must be recorded before the callers get their answers.
        let unknown = self.0.iter().zip(&outcomes).filter(|(_, outcome)| is_unknown(outcome));
        doubt.add(unknown.filter_map(|(job, _)| job.op.task()));
        let mut is_failing = false;
        for (job, outcome) in self.0.into_iter().zip(outcomes) {
            let outcome: Outcome = match outcome {
                Some(Ok(done)) => Ok(done),
                Some(Err(Refusal::Known(error) | Refusal::Unknown(error))) => Err(error),
                None => Err(unavailable("the database sent no answer")),
            };
            is_failing |= outcome.as_ref().is_err_and(StoreError::is_transient);
            job.answer(outcome);
        }
        BatchReport { is_failing, is_broken }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WriteKind {
    Create,
    Append,
    Other,
}

impl WriteKind {
    fn of(op: &Op) -> Self {
        match op {
            Op::Append(append, _) if append.expected == 0 => Self::Create,
            Op::Append(..) => Self::Append,
            Op::Claim { .. } | Op::Probe | Op::Close => Self::Other,
        }
    }
}

/// The reason why a write failed.
enum Refusal {
    /// The server confirmed that nothing was written.
    Known(StoreError),
    /// The outcome is unknown.
    Unknown(StoreError),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        let is_known = failure.is_refusal();
        let error = match failure {
            Failure::Failed(error) => store_error(error),
            late @ Failure::Late(_) => unavailable(late),
        };
        if is_known { Self::Known(error) } else { Self::Unknown(error) }
    }
}

async fn write_group(session: &Session, kind: WriteKind, ops: &[&Op]) -> Vec<Result<Done, Refusal>> {
    if ops.is_empty() {
        return Vec::new();
    }
    if kind == WriteKind::Other {
        return join_all(ops.iter().map(|op| write_other(session, op))).await;
    }
    let mut by_node: HashMap<NodeId, Vec<usize>> = HashMap::new();
    let appends: Vec<&Append> =
        ops.iter().filter_map(|op| if let Op::Append(append, _) = op { Some(&**append) } else { None }).collect();
    for (place, op) in ops.iter().enumerate() {
        if let Op::Append(_, node) = op {
            by_node.entry(*node).or_default().push(place);
        }
    }
    // Two different node ids occur only for a moment after the lease was lost.
    let mut outcomes: Vec<Option<Result<Done, Refusal>>> = ops.iter().map(|_| None).collect();
    for (node, places) in by_node {
        let group: Vec<&Append> = places.iter().map(|place| appends[*place]).collect();
        for (place, outcome) in places.into_iter().zip(commit(session, kind, &group, node).await) {
            outcomes[place] = Some(outcome);
        }
    }
    let missing = || Err(Refusal::Unknown(unavailable("the database sent no answer")));
    outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(missing)).collect()
}

/// Writes all commits in one statement, so that a group costs one round trip. If the statement fails for a reason that
/// may concern a single commit, writes each commit singly. Then a bad commit does not fail the commits of other
/// callers.
async fn commit(session: &Session, kind: WriteKind, appends: &[&Append], node: NodeId) -> Vec<Result<Done, Refusal>> {
    if let [append] = appends {
        return vec![alone(session, kind, append, node).await];
    }
    match execute(session, kind, appends, node).await {
        Ok(Ok(rows)) => read(kind, appends, &rows),
        Ok(Err(failure)) if may_be_one_alone(&failure) => {
            tracing::debug!(%failure, commits = appends.len(), "store: cannot write a group; its commits are tried singly");
            one_by_one(session, kind, appends, node).await
        }
        Ok(Err(failure)) => {
            let refusal = Refusal::from(failure);
            let again = |_: &&Append| match &refusal {
                Refusal::Known(error) => Err(Refusal::Known(copy(error))),
                Refusal::Unknown(error) => Err(Refusal::Unknown(copy(error))),
            };
            appends.iter().map(again).collect()
        }
        Err(error) => appends.iter().map(|_| Err(Refusal::Known(copy(&error)))).collect(),
    }
}

async fn one_by_one(
    session: &Session,
    kind: WriteKind,
    appends: &[&Append],
    node: NodeId,
) -> Vec<Result<Done, Refusal>> {
    let begun = Instant::now();
    let mut outcomes = Vec::with_capacity(appends.len());
    for append in appends {
        let outcome = if begun.elapsed() > LONGEST {
            Err(Refusal::Known(unavailable("the database is too slow")))
        } else {
            alone(session, kind, append, node).await
        };
        let is_unknown = matches!(outcome, Err(Refusal::Unknown(_)));
        outcomes.push(outcome);
        if is_unknown {
            // The remaining commits were not started.
            let rest = appends.len() - outcomes.len();
            let not_begun = || Err(Refusal::Known(unavailable("the connection to the database was lost")));
            outcomes.extend(std::iter::repeat_with(not_begun).take(rest));
            break;
        }
    }
    outcomes
}

/// The maximum time for writing the commits of a group singly.
const LONGEST: Duration = Duration::from_secs(3);

async fn alone(session: &Session, kind: WriteKind, append: &Append, node: NodeId) -> Result<Done, Refusal> {
    match execute(session, kind, &[append], node).await {
        Ok(Ok(rows)) => read(kind, &[append], &rows).pop().unwrap_or_else(|| Ok(Done::Nothing)),
        Ok(Err(Failure::Failed(error))) if is_duplicate(&error) => Ok(Done::Duplicate),
        Ok(Err(failure)) => Err(failure.into()),
        Err(error) => Err(Refusal::Known(error)),
    }
}

async fn execute(
    session: &Session,
    kind: WriteKind,
    appends: &[&Append],
    node: NodeId,
) -> Result<Result<Vec<Row>, Failure>, StoreError> {
    match kind {
        WriteKind::Create => rows::create(session, appends, node).await,
        _ => rows::append(session, appends, node).await,
    }
}

/// Whether a statement may have failed because of a single commit: for a value, a constraint, a lock, its size, or a
/// duplicate message.
fn may_be_one_alone(failure: &Failure) -> bool {
    let Failure::Failed(error) = failure else { return false };
    let Some(code) = error.code().filter(|_| failure.is_refusal()) else { return false };
    *code == SqlState::LOCK_NOT_AVAILABLE
        || ["21", "22", "23", "40", "44", "54", "P0"].iter().any(|class| code.code().starts_with(class))
}

fn read(kind: WriteKind, appends: &[&Append], rows: &[Row]) -> Vec<Result<Done, Refusal>> {
    let by_id: HashMap<&str, &Row> = rows.iter().map(|row| (row.get::<_, &str>(0), row)).collect();
    let outcome = |append: &&Append| {
        let id = to_column(append.id.as_str());
        let row = by_id.get(&*id);
        let conflict = Err(Refusal::Known(StoreError::Conflict));
        match (kind, row) {
            (WriteKind::Create, Some(row)) if row.get(1) => {
                Ok(Done::Committed(Committed { epoch: 1, has_pending_push: row.get(2) }))
            }
            (WriteKind::Create, Some(row)) if !row.get::<_, bool>(3) => {
                Err(Refusal::Known(unavailable("this node has no valid lease until the lease is renewed")))
            }
            (WriteKind::Append, Some(row)) => {
                Ok(Done::Committed(Committed { epoch: append.epoch, has_pending_push: row.get(1) }))
            }
            _ => conflict,
        }
    };
    appends.iter().map(outcome).collect()
}

async fn write_other(session: &Session, op: &Op) -> Result<Done, Refusal> {
    match op {
        Op::Claim { scope, id, node } => claim(session, scope, id, *node).await.map(Done::Claimed),
        Op::Probe => Ok(session.query(Sql::Probe, &[]).await.map(|_| Done::Nothing)?),
        Op::Append(..) | Op::Close => Ok(Done::Nothing),
    }
}

async fn claim(session: &Session, scope: &Scope, id: &TaskId, node: NodeId) -> Result<Option<Claimed>, Refusal> {
    let columns = ScopeColumns::of(scope).map_err(Refusal::Known)?;
    let ended = ENDED.map(rows::state);
    let values = (to_column(id.as_str()), number(node.0));
    let rows =
        session.query(Sql::Claim, &[&&*values.0, &columns.tenant, &columns.caller, &values.1, &&ended[..]]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let (ended, own, held, lives): (bool, bool, bool, bool) = (row.get(0), row.get(1), row.get(2), row.get(3));
    let owner: Option<i64> = row.get(4);
    let claimed: Option<i64> = row.get(5);
    let epoch = from_column(claimed.unwrap_or_else(|| row.get(6)));
    Ok(Some(match owner {
        _ if claimed.is_some() => Claimed::Owned { abandoned: owner.is_some(), epoch },
        // A node claims its own task only if the task has no runner any more.
        _ if ended || own => Claimed::Owned { abandoned: own && !ended, epoch },
        Some(owner) if held => Claimed::Held(NodeId(from_column(owner))),
        _ if !lives => Claimed::NoLease,
        _ => return Err(Refusal::Known(StoreError::Conflict)),
    }))
}
