//! Tasks in a PostgreSQL database that several nodes share.
//!
//! - `committer`: the caller serializes a commit and puts it into the queue. One task combines the queued commits into
//!   groups and writes each group with one statement on one connection.
//! - `links`, `read`, `messages`, `pushes`, `cluster`, `housekeeping`: most other calls. Each is one statement on one
//!   of a few shared connections.
//! - `session`, `servers`, `place`, `tls`: open connections, also again after a failure.
//! - `schema`, `statements`, `sql`, `text`: the tables, the SQL statements and the encoding of text.
//! - `purge`, `erase`, `deletion`, `owners`: delete tasks in separate transactions, and count tasks per owner.
//! - `beside`, `verify`: functions for the administrator of the database.
//! - `bus`: signals between nodes.
//! - `work`: lists running tasks, and tasks that should run but have no node.
//! - `node`, `upkeep`, `totals`, `chores`: this node, and its periodic housekeeping on a separate connection.

mod beside;
mod bus;
mod chores;
mod cluster;
mod committer;
mod deletion;
mod erase;
mod error;
mod housekeeping;
mod links;
mod messages;
mod node;
mod options;
mod owners;
mod place;
mod purge;
mod pushes;
mod read;
mod schema;
mod servers;
mod session;
mod statements;
mod store;
mod text;
mod tls;
mod totals;
mod upkeep;
mod verify;
mod work;

use std::{
    fmt,
    hash::{BuildHasher as _, RandomState},
    sync::Arc,
};

pub use bus::PostgresBroker;
pub use error::PostgresError;
use nuncio_engine::StoreError;
use nuncio_limit::offload::Offload;
pub use options::PostgresOptions;

use self::{
    chores::Chores,
    committer::Committer,
    links::Links,
    node::Node,
    place::DatabaseUrl,
    session::{Connector, NotConnected},
    statements::Sql,
    upkeep::Upkeep,
};
use crate::append;

/// Stores tasks in a schema of a PostgreSQL database, for any number of nodes. Requires PostgreSQL 14 or later.
///
/// An acknowledged commit survives any end of a node. Whether it survives the end of the server depends on the server's
/// settings (`fsync`, `synchronous_commit`). Each commit is one statement. The statement checks the number of the last
/// record and the epoch of the owner. Therefore, if two nodes write to a task, one of the writes is refused.
///
/// Every call ends within [`PostgresOptions::longest_call`]. While the server is unreachable, calls fail as
/// `Unavailable`. When the server is reachable again, the store works again without intervention. If the answer to a
/// commit is lost, the state of the task is unknown. The next connection first makes sure that the previous connection
/// has ended, so that the lost commit cannot take effect later. Reads of the task wait until then.
///
/// The node has a lease from [`open`](Self::open) on. The user of the store must renew the lease
/// ([`Cluster::renew`](nuncio_engine::store::Cluster::renew)); the engine does.
/// [`close`](nuncio_engine::TaskStore::close) ends the lease at once. If the store is dropped without `close`, as in a
/// crash, other nodes take over its tasks when the lease expires.
///
/// Push configurations contain credentials, and the database stores them unencrypted: restrict access to the database.
pub struct PostgresStore {
    connector: Arc<Connector>,
    /// For the lease and for health checks, so that they never wait behind a long read.
    vital: Links,
    links: Links,
    /// For housekeeping.
    chores: Arc<Chores>,
    committer: Committer,
    offload: Offload,
    node: Node,
    /// `None` if the store was opened for administration only.
    upkeep: Option<Upkeep>,
}

impl PostgresStore {
    /// Checks the syntax of a database URL, without a connection.
    ///
    /// # Errors
    ///
    /// [`PostgresError::Url`] if [`open`](Self::open) would return this error.
    pub fn check_url(url: &str, options: &PostgresOptions) -> Result<(), PostgresError> {
        DatabaseUrl::parse(url, options).map(drop)
    }

    /// Opens the database of this URL, `postgres://USER:PASSWORD@HOST:PORT/DATABASE`. Creates the schema or updates it
    /// to the current version, if necessary. Call this function on a tokio runtime, and use the store on the same
    /// runtime.
    ///
    /// Parameters of the URL: `schema`; `sslmode` and `sslrootcert` as in PostgreSQL's own programs; and the other
    /// parameters of PostgreSQL's programs that `tokio-postgres` knows. The values of `sslmode` are `disable`, `prefer`
    /// and `require` (which accept any certificate), `verify-ca`, and `verify-full` (which needs no `sslrootcert` if
    /// the system trusts the issuer). A socket in the file system is `?host=/run/postgresql`; `sslmode` has no effect
    /// on a socket.
    ///
    /// A URL can name several servers, `postgres://HOST,HOST/DATABASE`. The store uses the server that accepts writes.
    /// When another server is promoted, all connections move to that server.
    ///
    /// # Errors
    ///
    /// [`PostgresError`] contains a hint for the operator: the URL is not valid, or the database cannot be reached, was
    /// written by a later release, is in use by nodes of an earlier release, has foreign tables in the schema, or refuses a necessary operation.
    pub async fn open(url: &str, options: PostgresOptions) -> Result<Self, PostgresError> {
        let (connector, mut client, _driver) = beside::connect(url, options).await?;
        let place = connector.place.to_string();
        schema::prepare(&mut client, &connector.place).await?;
        let links = Links::new(Arc::clone(&connector), connector.options.connections);
        let chores = Arc::new(Chores::new(Arc::clone(&connector)));
        let vital = Links::new(Arc::clone(&connector), 1);
        let unusable = |error: StoreError| {
            let reason = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
            PostgresError::Unusable { place: place.clone(), reason, source: None }
        };
        let node =
            cluster::join(&vital, connector.options.lease, connector.options.answer_timeout).await.map_err(unusable)?;
        // A random number, so that no other process has the same lock.
        let lock = i64::from_ne_bytes(RandomState::new().hash_one(node).to_ne_bytes());
        let committer = Committer::start(Arc::clone(&connector), lock);
        let upkeep = Upkeep::start(Arc::clone(&chores), committer.activity(), connector.options.log_retention);
        let (node, offload) = (Node::new(node), append::offload());
        Ok(Self { connector, vital, links, chores, committer, offload, node, upkeep: Some(upkeep) })
    }

    /// The database and schema as text: `user@host/database, schema nuncio`. Without the password.
    pub fn place(&self) -> String {
        self.connector.place.to_string()
    }

    /// The number of stored tasks, of all callers.
    ///
    /// # Errors
    ///
    /// `Unavailable` and `Corrupt`, as for any read.
    pub async fn count(&self) -> Result<u64, StoreError> {
        let rows = self.links.query(Sql::Count, &[]).await?;
        Ok(u64::try_from(read::first(&rows)?).unwrap_or_default())
    }
}

fn unreachable(place: &DatabaseUrl, error: NotConnected) -> PostgresError {
    let (reason, source) = match error {
        NotConnected::Refused(source) => {
            let advice = place.advice(&source).map(|advice| format!("; {advice}")).unwrap_or_default();
            (format!("{}{advice}", error::explain(&source)), Some(source))
        }
        other => (other.to_string(), None),
    };
    PostgresError::Unreachable { place: place.to_string(), reason, source }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore")
            .field("place", &self.place())
            .field("node", &self.node.id())
            .finish_non_exhaustive()
    }
}
