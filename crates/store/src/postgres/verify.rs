//! Checks the consistency of the tables of a database.

use nuncio_engine::StoreError;
use tokio_postgres::{Error, IsolationLevel};

use super::{
    PostgresStore,
    committer::{ENDED, state_column},
    error::{store_error, unavailable},
};

/// The maximum number of findings per rule.
const FINDINGS: usize = 100;

/// The rules. Each query returns texts that describe violations; `$ended` stands for the states of tasks that have
/// ended.
const RULES: &[&str] = &[
    "SELECT 'the schema has ' || count(*) || ' versions' FROM nuncio_schema HAVING count(*) <> 1",
    "SELECT 'task ' || t.id || ' has a snapshot of record ' || b.folded || ' but its last record is ' || t.sequence \
     FROM tasks AS t JOIN bodies AS b ON b.task = t.id WHERE b.folded > t.sequence",
    "SELECT 'task ' || t.id || ' has records after its last record' FROM tasks AS t \
     WHERE EXISTS (SELECT 1 FROM events AS e WHERE e.task = t.id AND e.last > t.sequence)",
    "SELECT 'task ' || t.id || ' lacks records after its snapshot' \
     FROM tasks AS t LEFT JOIN bodies AS b ON b.task = t.id \
     WHERE coalesce(b.folded, 0) < t.sequence \
         AND NOT EXISTS (SELECT 1 FROM events AS e WHERE e.task = t.id AND e.last = t.sequence)",
    "SELECT count(*) || ' bodies belong to missing tasks' FROM bodies AS b \
     WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE id = b.task) HAVING count(*) > 0",
    "SELECT count(*) || ' rows of records belong to missing tasks' FROM events AS e \
     WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE id = e.task) \
         AND NOT EXISTS (SELECT 1 FROM deleted AS d WHERE d.task = e.task) HAVING count(*) > 0",
    "SELECT 'task ' || d.task || ' exists although it is in the list of deleted tasks' \
     FROM deleted AS d JOIN tasks ON id = d.task",
    "SELECT count(*) || ' message ids belong to missing tasks' FROM messages AS m \
     WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE id = m.task) HAVING count(*) > 0",
    "SELECT count(*) || ' webhooks belong to missing tasks' FROM push_configs AS p \
     WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE id = p.task) HAVING count(*) > 0",
    "SELECT 'the counter of tenant ' || quote_literal(tenant) || ', caller ' || quote_literal(caller) || ', state ' || state || \
     ' is ' || coalesce(counted.tasks, 0) || ' but the number of tasks is ' || coalesce(found.tasks, 0) \
     FROM (SELECT tenant, caller, state, sum(tasks) AS tasks FROM totals GROUP BY tenant, caller, state) AS counted \
     FULL JOIN (SELECT tenant, caller, state, count(*) AS tasks FROM tasks GROUP BY tenant, caller, state) AS found \
     USING (tenant, caller, state) WHERE coalesce(counted.tasks, 0) <> coalesce(found.tasks, 0)",
    "SELECT 'task ' || id || ' is running on node ' || owner || ', which does not exist' FROM tasks \
     WHERE owner IS NOT NULL AND NOT EXISTS (SELECT 1 FROM nodes WHERE node = owner)",
    "SELECT 'task ' || id || ' has ended but is still owned by node ' || owner FROM tasks \
     WHERE owner IS NOT NULL AND state IN ($ended)",
];

/// Data that a crash can leave and that housekeeping deletes later. Worth a note if older than a day.
const NOTES: &[&str] =
    &["SELECT 'a command waits for task ' || c.task || ', which has ended or does not exist' FROM commands AS c \
     WHERE c.acked IS NULL AND c.refused IS NULL AND c.enqueued_at < clock_timestamp() - interval '1 day' \
         AND NOT EXISTS (SELECT 1 FROM tasks WHERE id = c.task AND state NOT IN ($ended))"];

impl PostgresStore {
    /// Checks whether the tables are consistent. Returns a description of each problem; no descriptions if the database
    /// is consistent. The check sees one moment, also while nodes write.
    ///
    /// # Errors
    ///
    /// `Unavailable` and `Corrupt`, as for any read.
    pub async fn verify(&self) -> Result<Vec<String>, StoreError> {
        self.ask(RULES).await
    }

    /// Descriptions of data that processes left behind more than a day ago. This data does no harm.
    ///
    /// # Errors
    ///
    /// `Unavailable` and `Corrupt`, as for any read.
    pub async fn notes(&self) -> Result<Vec<String>, StoreError> {
        self.ask(NOTES).await
    }

    async fn ask(&self, rules: &[&str]) -> Result<Vec<String>, StoreError> {
        let (mut client, _driver) = self.connector.connect_bare().await.map_err(unavailable)?;
        let ended = ENDED.map(|state| state_column(state).to_string()).join(", ");
        let look = async {
            let moment = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).read_only(true);
            let moment = moment.start().await?;
            let mut findings = Vec::new();
            for rule in rules {
                let sql = format!("{} LIMIT {FINDINGS}", rule.replace("$ended", &ended));
                for row in moment.query(&sql, &[]).await? {
                    findings.push(row.try_get(0)?);
                }
            }
            Ok::<_, Error>(findings)
        };
        look.await.map_err(store_error)
    }
}
