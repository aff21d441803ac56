//! Tasks in a PostgreSQL database that several nodes share.
//!
//! - `committer`: a commit is written out as JSON by its caller, waits in the queue, and is one of a group that one
//!   task puts into one statement on one connection.
//! - `links`, `read`, `messages`, `pushes`, `cluster`, `housekeeping`: nearly all else is a statement each, on a few
//!   connections that everybody shares.
//! - `session`, `servers`, `place`, `tls`: how a connection comes to be, and comes back.
//! - `schema`, `statements`, `sql`, `text`: how it all stands in tables, and what is said to the server.
//! - `purge`, `erase`, `deletion`, `owners`: tasks go, in transactions of their own, and whose they are.
//! - `beside`, `verify`: for whoever looks after the database.
//! - `bus`: signals between nodes.
//! - `work`: which tasks nodes are at work on, and which nobody is.
//! - `node`, `upkeep`, `totals`, `chores`: this process among others, and what is done now and then, on a connection of
//!   its own.

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
    place::Place,
    session::{Connector, NotConnected},
    statements::Sql,
    upkeep::Upkeep,
};
use crate::append;

/// Keeps tasks in a schema of a PostgreSQL database, for as many nodes as open it. PostgreSQL 14 or later.
///
/// What is acknowledged survives the end of any node by whatever cause, and that of the server as far as the server
/// promises (`fsync`, `synchronous_commit`). Each commit is one statement, guarded by the number of the last record and
/// the epoch of the owner, so that of two nodes that write to a task one is refused.
///
/// Every call ends within [`PostgresOptions::longest_call`]: while the server is away it fails as `Unavailable`, and
/// when the server is back so is the store, by itself. A commit that has no answer is in doubt; the next connection
/// makes sure first that the one before has ended, so that nothing of it comes later, and reads of the task wait for
/// that.
///
/// The node has a lease from [`open`](Self::open) on, which somebody has to renew
/// ([`Cluster::renew`](nuncio_engine::store::Cluster::renew); the engine does).
/// [`close`](nuncio_engine::TaskStore::close) ends it at once; when the store is dropped without it, as in a crash,
/// others take over when the lease is over.
///
/// Push configurations stand in the database with their credentials: so does who may read it.
pub struct PostgresStore {
    connector: Arc<Connector>,
    /// For the lease and for checks: nobody's long read is before them.
    vital: Links,
    links: Links,
    /// For housekeeping.
    chores: Arc<Chores>,
    committer: Committer,
    offload: Offload,
    node: Node,
    /// None where it only looks after the database.
    upkeep: Option<Upkeep>,
}

impl PostgresStore {
    /// Looks whether a database can be meant by this URL, without a connection to it.
    ///
    /// # Errors
    ///
    /// [`PostgresError::Url`] where [`open`](Self::open) would say so.
    pub fn check_url(url: &str, options: &PostgresOptions) -> Result<(), PostgresError> {
        Place::parse(url, options).map(drop)
    }

    /// Opens the database of this URL, `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, makes the schema if it is not
    /// there, and brings it to the present version. Must be called on a tokio runtime, and the store be used on it.
    ///
    /// Parameters of the URL: `schema`; `sslmode` and `sslrootcert` as with PostgreSQL's own programs (`disable`,
    /// `prefer` and `require`, which take any certificate, `verify-ca`, and `verify-full`, which needs no `sslrootcert`
    /// where the system trusts who signed); and those others of PostgreSQL's programs that `tokio-postgres` knows. A
    /// socket in the file system is `?host=/run/postgresql`, and `sslmode` says nothing for it.
    ///
    /// Of several servers, `postgres://HOST,HOST/DATABASE`, the one is used that takes writes; when another is
    /// promoted, all connections go there by themselves.
    ///
    /// # Errors
    ///
    /// [`PostgresError`] says what to do: the URL is not valid, the database cannot be reached, is of a later release, has
    /// something else in the schema, or refuses what is needed.
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
        // Nobody else has this one.
        let lock = i64::from_ne_bytes(RandomState::new().hash_one(node).to_ne_bytes());
        let committer = Committer::start(Arc::clone(&connector), lock);
        let upkeep = Upkeep::start(Arc::clone(&chores), committer.activity(), connector.options.log_retention);
        let (node, offload) = (Node::new(node), append::offload());
        Ok(Self { connector, vital, links, chores, committer, offload, node, upkeep: Some(upkeep) })
    }

    /// The database and schema, for people: `user@host/database, schema nuncio`. Without the password.
    pub fn place(&self) -> String {
        self.connector.place.to_string()
    }

    /// How many tasks it holds, of all callers.
    ///
    /// # Errors
    ///
    /// `Unavailable` and `Corrupt`, as for any read.
    pub async fn count(&self) -> Result<u64, StoreError> {
        let rows = self.links.query(Sql::Count, &[]).await?;
        Ok(u64::try_from(read::first(&rows)?).unwrap_or_default())
    }
}

fn unreachable(place: &Place, error: NotConnected) -> PostgresError {
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
