//! What can be set when a database is opened.

use std::time::Duration;

/// Settings of a [`PostgresStore`](super::PostgresStore).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PostgresOptions {
    /// The schema that the tables are in, made if it is not there; several in one database are several stores.
    /// `nuncio`, unless the URL has a `schema`.
    pub schema: Option<Box<str>>,
    /// How long this node may be silent before others take its tasks over. 10 s, at least 1 s.
    pub lease: Duration,
    /// Connections for reading and for small writes; commits, the lease and housekeeping have one each
    /// besides, and there is one more while tasks are deleted. 4.
    pub connections: usize,
    /// How many commits can wait to be written; more wait for room. 1024.
    pub queue: usize,
    /// How long one attempt to connect may take. 5 s.
    pub connect_timeout: Duration,
    /// How long a call waits for room in the queue, and for a connection to come back that was lost. 3 s.
    pub patience: Duration,
    /// How long the server may work at one statement. 5 s.
    pub statement_timeout: Duration,
    /// How long a statement may wait for a lock. 2 s.
    pub lock_timeout: Duration,
    /// How long an answer is waited for; after that the connection counts as broken. Longer than the server may work,
    /// or it is taken so. 7 s.
    pub answer_timeout: Duration,
    /// How long the records of a task are kept once it has ended or is parked, so that a reader that lost its
    /// connection can go on where it was; whoever comes later reads the task. 10 min.
    pub log_retention: Duration,
    /// How long a node has a push that is due to itself without a word of how it went; then another tries. Longer than
    /// an attempt may take with what the database takes before and after it, or several nodes deliver the same. 1 min.
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
            patience: Duration::from_secs(3),
            statement_timeout: Duration::from_secs(5),
            lock_timeout: Duration::from_secs(2),
            answer_timeout: Duration::from_secs(7),
            log_retention: Duration::from_mins(10),
            push_claim: Duration::from_mins(1),
        }
    }
}

impl PostgresOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the schema; it wins over that of the URL.
    pub fn with_schema(mut self, schema: impl Into<Box<str>>) -> Self {
        self.schema = Some(schema.into());
        self
    }

    /// Sets how long this node may be silent; at least a second.
    pub fn with_lease(mut self, lease: Duration) -> Self {
        self.lease = lease.max(Duration::from_secs(1));
        self
    }

    /// Sets how many connections there are for reading and for small writes; at least one.
    pub fn with_connections(mut self, connections: usize) -> Self {
        self.connections = connections.max(1);
        self
    }

    /// Sets how many commits can wait to be written; at least one.
    pub fn with_queue(mut self, commits: usize) -> Self {
        self.queue = commits.max(1);
        self
    }

    /// Sets how long one attempt to connect may take.
    pub fn with_connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets how long a call waits for room in the queue, and for a lost connection.
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Sets how long the server may work at one statement, and how long an answer is waited for.
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

    /// Sets how long the records of a task are kept once it has ended or is parked.
    pub fn with_log_retention(mut self, retention: Duration) -> Self {
        self.log_retention = retention;
        self
    }

    /// Sets how long a node has a push that is due to itself.
    pub fn with_push_claim(mut self, claim: Duration) -> Self {
        self.push_claim = claim;
        self
    }

    /// How long a call takes at most, whatever happens to the server or the network between.
    pub fn longest_call(&self) -> Duration {
        self.patience + self.connect_timeout + 2 * self.answer_timeout
    }
}
