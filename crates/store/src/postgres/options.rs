//! Options of a PostgreSQL database.

use std::time::Duration;

/// Settings of a [`PostgresStore`](super::PostgresStore).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PostgresOptions {
    /// The schema of the tables. It is created if it does not exist. Several schemas in one database are separate
    /// stores. Default: the parameter `schema` of the URL, or else `nuncio`.
    pub schema: Option<Box<str>>,
    /// The lease: if this node does not renew its lease for this time, other nodes take over its tasks. Default: 10 s,
    /// at least 1 s.
    pub lease: Duration,
    /// The number of connections for reads and small writes. Commits, the lease and housekeeping use one further
    /// connection each. A deletion of tasks uses one more. Default: 4.
    pub connections: usize,
    /// The maximum number of commits that wait for the database. Further callers wait for a free place. Default: 1024.
    pub queue: usize,
    /// The time limit for one attempt to connect. Default: 5 s.
    pub connect_timeout: Duration,
    /// How long a call waits for a place in the queue, and for a lost connection to be replaced. Default: 3 s.
    pub wait_timeout: Duration,
    /// How long the server may execute one statement. Default: 5 s.
    pub statement_timeout: Duration,
    /// How long a statement may wait for a lock. Default: 2 s.
    pub lock_timeout: Duration,
    /// How long the store waits for an answer; after this time, the connection is closed. Must exceed the statement
    /// timeout; a smaller value is raised to the statement timeout. Default: 7 s.
    pub answer_timeout: Duration,
    /// How long the records of a task are kept after the task has ended or was parked. During this time, a reader that
    /// lost its connection can continue at its last record. A later reader loads the task instead. Default: 10 min.
    pub log_retention: Duration,
    /// How long a due delivery is reserved for the node that attempts it. Without a result within this time, another
    /// node makes an attempt. Must exceed the duration of an attempt including its database calls, or else several
    /// nodes deliver the same event. Default: 1 min.
    pub push_claim: Duration,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            schema: None,
            lease: Duration::from_secs(10),
            connections: 4,
            queue: 1024,
            connect_timeout: Duration::from_secs(5),
            wait_timeout: Duration::from_secs(3),
            statement_timeout: Duration::from_secs(5),
            lock_timeout: Duration::from_secs(2),
            answer_timeout: Duration::from_secs(7),
            log_retention: Duration::from_mins(10),
            push_claim: Duration::from_mins(1),
        }
    }
}

impl PostgresOptions {
    /// Returns the default settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the schema. Overrides the schema of the URL.
    pub fn with_schema(mut self, schema: impl Into<Box<str>>) -> Self {
        self.schema = Some(schema.into());
        self
    }

    /// Sets the lease, at least 1 s.
    pub fn with_lease(mut self, lease: Duration) -> Self {
        self.lease = lease.max(Duration::from_secs(1));
        self
    }

    /// Sets the number of connections for reads and small writes, at least 1.
    pub fn with_connections(mut self, connections: usize) -> Self {
        self.connections = connections.max(1);
        self
    }

    /// Sets the maximum number of commits that wait for the database, at least 1.
    pub fn with_queue(mut self, commits: usize) -> Self {
        self.queue = commits.max(1);
        self
    }

    /// Sets the time limit for one attempt to connect.
    pub fn with_connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets how long a call waits for a place in the queue and for a lost connection.
    pub fn with_wait_timeout(mut self, wait_timeout: Duration) -> Self {
        self.wait_timeout = wait_timeout;
        self
    }

    /// Sets how long the server may execute one statement, and how long the store waits for an answer.
    pub fn with_timeouts(mut self, statement: Duration, answer: Duration) -> Self {
        self.statement_timeout = statement;
        self.answer_timeout = answer.max(statement);
        self
    }

    /// Sets how long a statement may wait for a lock.
    pub fn with_lock_timeout(mut self, timeout: Duration) -> Self {
        self.lock_timeout = timeout;
        self
    }

    /// Sets how long the records of a task are kept after the task has ended or was parked.
    pub fn with_log_retention(mut self, retention: Duration) -> Self {
        self.log_retention = retention;
        self
    }

    /// Sets how long a due delivery is reserved for a node.
    pub fn with_push_claim(mut self, claim: Duration) -> Self {
        self.push_claim = claim;
        self
    }

    /// The maximum duration of a call, whatever happens to the server or the network.
    pub fn longest_call(&self) -> Duration {
        self.wait_timeout + self.connect_timeout + 2 * self.answer_timeout
    }
}
