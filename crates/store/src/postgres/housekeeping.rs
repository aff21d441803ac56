//! The reads of housekeeping: parked tasks, logs to delete, and a scan of all tasks.

use std::{collections::HashMap, sync::Arc};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use nuncio_engine::{
    StoreError,
    store::{Orphan, PushConfig, ScanPage, Scanned, Stored, Unreadable},
};
use nuncio_model::{TaskId, TaskState, Timestamp};
use tokio_postgres::Row;

use super::{
    chores::Chores,
    committer::{ENDED, state_column},
    links::Links,
    read::{Parts, number, value},
    statements::Sql,
    text::{self, from_column, to_column},
};
use crate::{
    body,
    columns::{self, Moment},
};

/// Tasks that were parked before a time, oldest first.
pub(super) async fn resting(
    links: &Links,
    states: &[TaskState],
    before: Timestamp,
    limit: usize,
) -> Result<Vec<Orphan>, StoreError> {
    let parked = states.iter().filter(|state| !ENDED.contains(state));
    let states: Vec<i16> = parked.map(|state| state_column(*state)).collect();
    let before = Moment::from(before);
    let (rest, limit) = (i32::try_from(before.rest).unwrap_or_default(), columns::to_column(limit as u64));
    let rows = links.query(Sql::Resting, &[&states, &before.millisecond, &rest, &limit]).await?;
    rows.iter().map(orphan).collect()
}

/// Reads a task from the columns tenant, caller and id.
pub(super) fn orphan(row: &Row) -> Result<Orphan, StoreError> {
    Ok(Orphan { scope: text::scope(value(row, 0)?, value(row, 1)?)?, id: from_column(value(row, 2)?).as_ref().into() })
}

/// Deletes logs of tasks that were released before a time.
pub(super) async fn compact(chores: &Chores, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
    let (before, mut compacted) = (before.as_millisecond(), 0);
    while compacted < limit {
        let dropped = chores.drop_logs(before, None, limit - compacted).await?;
        compacted += dropped.tasks;
        if dropped.is_nothing() {
            break;
        }
    }
    Ok(compacted)
}

/// The prefix of a cursor, to recognize cursors of this store.
const CURSOR: &str = "task ";

/// A page of all tasks, in the order of their ids.
pub(super) async fn scan(links: &Links, after: Option<&str>, limit: usize) -> Result<ScanPage, StoreError> {
    let after = after.map_or(Ok(String::new()), decode)?;
    let rows = links.query(Sql::Scan, &[&&*to_column(&after), &columns::to_column(limit as u64)]).await?;
    let mut heads = Vec::new();
    let mut events: HashMap<&str, Vec<(u64, &str)>> = HashMap::new();
    let mut configs: HashMap<&str, Vec<&Row>> = HashMap::new();
    for row in &rows {
        let id = value::<&str>(row, 0)?;
        match (value::<Option<&str>>(row, 1)?, value::<&str>(row, 2)?) {
            (Some(context), _) => heads.push((id, context, row)),
            (None, "event") => events.entry(id).or_default().push((number(row, 4)?, value(row, 7)?)),
            (None, _) => configs.entry(id).or_default().push(row),
        }
    }
    heads.sort_unstable_by_key(|(id, ..)| *id);
    let mut page = ScanPage::default();
    if heads.len() == limit {
        page.next = heads.last().map(|(id, ..)| URL_SAFE_NO_PAD.encode(format!("{CURSOR}{}", from_column(id))).into());
    }
    for (column, context, row) in heads {
        let scope = text::scope(value(row, 2)?, value(row, 3)?)?;
        let id: TaskId = from_column(column).as_ref().into();
        let (sequence, epoch) = (number(row, 4)?, number(row, 5)?);
        let parts = Parts {
            id: id.clone(),
            context: from_column(context).as_ref().into(),
            sequence,
            folded: number(row, 6)?,
            body: value(row, 7)?,
            artifacts: value(row, 8)?,
            events: events.remove(column).unwrap_or_default(),
        };
        let configs = read_configs(configs.remove(column).unwrap_or_default());
        match parts.fold().and_then(|task| Ok((task, configs?))) {
            Ok((task, configs)) => {
                let stored = Stored { task: Arc::new(task), sequence, epoch };
                page.tasks.push(Scanned { scope, stored, configs });
            }
            Err(error @ StoreError::Corrupt(_)) => page.unreadable.push(Unreadable { scope, id, error }),
            Err(error) => return Err(error),
        }
    }
    Ok(page)
}

fn read_configs(mut rows: Vec<&Row>) -> Result<Vec<PushConfig>, StoreError> {
    rows.sort_unstable_by_key(|row| row.try_get::<_, &str>(3).unwrap_or_default());
    let config = |row: &Row| {
        Ok(PushConfig {
            config: body::read(value(row, 7)?)?,
            format: value::<Option<&str>>(row, 8)?.map(|format| from_column(format).into()),
            delivered: number(row, 9)?,
        })
    };
    rows.into_iter().map(config).collect()
}

fn decode(cursor: &str) -> Result<String, StoreError> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| StoreError::BadPageToken)?;
    let text = String::from_utf8(bytes).map_err(|_| StoreError::BadPageToken)?;
    text.strip_prefix(CURSOR).map(str::to_owned).ok_or(StoreError::BadPageToken)
}
