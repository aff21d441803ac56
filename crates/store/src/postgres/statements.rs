//! The SQL statements by name. They are prepared when a connection is opened.

use futures_util::future::try_join_all;
use tokio_postgres::{Client, Error, Statement};

/// The statement for a page of a list, with a further condition.
macro_rules! list {
    ($where:literal) => {
        concat!(
            include_str!("sql/list_head.sql"),
            $where,
            include_str!("sql/list_next.sql"),
            $where,
            include_str!("sql/list_tail.sql")
        )
    };
}

/// The statement for old tasks, with a further condition.
macro_rules! old {
    ($where:literal) => {
        concat!(
            include_str!("sql/old_head.sql"),
            $where,
            include_str!("sql/old_next.sql"),
            $where,
            include_str!("sql/old_tail.sql")
        )
    };
}

macro_rules! statements {
    ($($(#[doc = $doc:literal])* $name:ident = $text:expr;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Sql { $($(#[doc = $doc])* $name,)* }

        const TEXTS: &[&str] = &[$($text,)*];
    };
}

statements! {
    Append = include_str!("sql/append.sql");
    Create = include_str!("sql/create.sql");
    Claim = include_str!("sql/claim.sql");
    Load = include_str!("sql/load.sql");
    Events = include_str!("sql/events.sql");
    ListInScope = list!("");
    ListInContext = list!("        AND context = $14\n");
    TaskOfMessage = "SELECT m.task FROM messages AS m JOIN tasks AS t ON t.id = m.task \
        WHERE m.tenant = $1 AND m.caller = $2 AND m.message = $3 AND m.at >= $4::int8";
    Configs = "SELECT p.id, p.config, p.format, p.delivered \
        FROM tasks AS t LEFT JOIN push_configs AS p ON p.task = t.id \
        WHERE t.id = $1 AND t.tenant = $2 AND t.caller = $3 ORDER BY p.id";
    PutConfig = include_str!("sql/put_config.sql");
    DeleteConfig = "WITH head AS (SELECT id FROM tasks WHERE id = $1 AND tenant = $2 AND caller = $3), \
        gone AS (DELETE FROM push_configs AS p USING head WHERE p.task = head.id AND p.id = $4) SELECT 1 FROM head";
    Due = include_str!("sql/due.sql");
    NextPush = include_str!("sql/next_push.sql");
    Settle = include_str!("sql/settle.sql");
    Orphans = include_str!("sql/orphans.sql");
    AtWork = include_str!("sql/at_work.sql");
    /// Registers a new node with a lease, unless a later release has updated the schema.
    Join = "INSERT INTO nodes (expires) SELECT clock_timestamp() + $1::float8 * interval '1 second' \
        FROM nuncio_schema WHERE version <= $2::int4 RETURNING node";
    /// Renews the lease, unless the lease has expired.
    Renew = "UPDATE nodes SET expires = clock_timestamp() + $2::float8 * interval '1 second' \
        WHERE node = $1::int8 AND expires > clock_timestamp() RETURNING 1";
    /// Ends the lease.
    Leave = "UPDATE nodes SET expires = clock_timestamp() WHERE node = $1::int8 AND expires > clock_timestamp()";
    Sequences = "SELECT i.number, t.sequence FROM unnest($1::text[], $2::text[], $3::text[]) \
        WITH ORDINALITY AS i (id, tenant, caller, number) \
        JOIN tasks AS t ON t.id = i.id AND t.tenant = i.tenant AND t.caller = i.caller";
    Enqueue = include_str!("sql/enqueue.sql");
    PendingCommands = "SELECT c.id, c.tenant, c.caller, c.task, c.body FROM commands AS c JOIN tasks AS t ON t.id = c.task \
        WHERE c.acked IS NULL AND c.refused IS NULL AND t.owner = $1::int8 \
        ORDER BY c.number LIMIT $2::int8";
    PendingOfTask = "SELECT id, tenant, caller, task, body FROM commands \
        WHERE acked IS NULL AND refused IS NULL AND task = $1 ORDER BY number";
    ReportBegun = "UPDATE commands SET begun = $2::int8 WHERE id = $1";
    ReportRested = "UPDATE commands SET rested = $2::int8 WHERE id = $1";
    ReportRefused = "UPDATE commands SET refused = $2::bytea WHERE id = $1";
    CommandStatuses = "SELECT i.number, c.acked, c.begun, c.rested, c.refused, ( \
            SELECT n.node FROM tasks AS t JOIN nodes AS n ON n.node = t.owner AND n.expires > clock_timestamp() \
            WHERE t.id = c.task \
        ) FROM unnest($1::text[]) WITH ORDINALITY AS i (id, number) JOIN commands AS c ON c.id = i.id";
    CancelCommand = "DELETE FROM commands WHERE id = $1 AND acked IS NULL AND refused IS NULL RETURNING 1";
    DeleteCommand = "DELETE FROM commands WHERE id = $1";
    Prune = include_str!("sql/prune.sql");
    Forget = include_str!("sql/forget.sql");
    Drain = include_str!("sql/drain.sql");
    SumUp = include_str!("sql/sum_up.sql");
    /// The scopes that have many rows of totals, or rows of totals without tasks.
    CrowdedScopes = "SELECT DISTINCT tenant, caller FROM ( \
            SELECT tenant, caller FROM totals GROUP BY tenant, caller, state \
            HAVING count(*) > $1::int8 OR sum(tasks) = 0 LIMIT 1000 \
        ) AS crowded";
    /// The scopes among these that have rows of totals without tasks.
    ScopesWithoutTasks = "SELECT tenant, caller FROM totals WHERE (tenant, caller) IN ( \
            SELECT s.tenant, s.caller FROM unnest($1::text[], $2::text[]) AS s (tenant, caller) \
        ) GROUP BY tenant, caller, state HAVING sum(tasks) = 0";
    /// Deletes old commands. While the task is running, a caller may still wait for the result of the command.
    DropCommands = "DELETE FROM commands AS c WHERE enqueued_at < clock_timestamp() - $1::float8 * interval '1 second' \
        AND NOT EXISTS (SELECT 1 FROM tasks WHERE id = c.task AND owner IS NOT NULL)";
    /// Deletes nodes whose leases expired long ago and that own no tasks.
    DropNodes = "DELETE FROM nodes AS n WHERE expires < clock_timestamp() - interval '1 hour' \
        AND NOT EXISTS (SELECT 1 FROM tasks WHERE owner = n.node)";
    Old = old!("");
    OldOfTenant = old!("        AND tenant = $10::text\n");
    Resting = include_str!("sql/resting.sql");
    Scan = include_str!("sql/scan.sql");
    Count = "SELECT coalesce(sum(tasks), 0)::int8 FROM totals";
    Agent = "SELECT agent FROM nuncio_schema";
    /// Stores the name of the agent, unless the store contains tasks of another agent.
    Belong = "UPDATE nuncio_schema SET agent = $1::text \
        WHERE agent IS NULL OR $2::boolean OR NOT EXISTS (SELECT 1 FROM tasks) RETURNING 1";
    Now = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8";
    Check = "SELECT version FROM nuncio_schema";
    /// A write that changes nothing.
    Probe = "UPDATE nuncio_schema SET version = version";
}

/// The prepared statements of one connection.
#[derive(Debug)]
pub(super) struct Statements(Vec<Statement>);

impl Statements {
    /// Prepares all statements in one round trip.
    pub(super) async fn prepare(client: &Client) -> Result<Self, Error> {
        try_join_all(TEXTS.iter().map(|text| client.prepare(text))).await.map(Self)
    }

    pub(super) fn get(&self, sql: Sql) -> &Statement {
        &self.0[sql as usize]
    }
}
