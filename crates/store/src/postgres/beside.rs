//! Access for the administrator of a database while nodes use the database: its schema version, a store without a node,
//! and the command for a backup.

use std::sync::Arc;

use nuncio_model::address::{Address, is_secret};
use tokio_postgres::Client;

use super::{
    PostgresError, PostgresOptions, PostgresStore,
    chores::Chores,
    committer::Committer,
    links::Links,
    node::Node,
    place::DatabaseUrl,
    schema,
    session::{Connector, Driver},
    unreachable,
};
use crate::{SchemaVersion, append};

impl PostgresStore {
    /// The version of the schema of a database; 0 if the schema does not exist. Changes nothing.
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open).
    pub async fn schema(url: &str, options: PostgresOptions) -> Result<SchemaVersion, PostgresError> {
        let (connector, client, _driver) = connect(url, options).await?;
        schema::look(&client, &connector.place).await
    }

    /// Creates the schema or updates it to the current version, as [`open`](Self::open) does. Returns the previous
    /// version. If several processes call this function at the same time, one process does the work and the others
    /// wait.
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open).
    pub async fn migrate(url: &str, options: PostgresOptions) -> Result<SchemaVersion, PostgresError> {
        let (connector, mut client, _driver) = connect(url, options).await?;
        schema::prepare(&mut client, &connector.place).await
    }

    /// Opens a database for administration while nodes use the database: to read, to purge, to delete logs and to erase
    /// tasks. The schema must exist and have the current version. This function does not change the schema.
    ///
    /// Such a store is not a node: it has no lease, other nodes do not see it, and it has no background work. Running
    /// tasks belong to other nodes: `commit`, `claim` and the functions for deliveries are refused as `Unavailable`.
    ///
    /// # Errors
    ///
    /// As for [`open`](Self::open); also `Absent` and `Older`.
    pub async fn open_beside(url: &str, options: PostgresOptions) -> Result<Self, PostgresError> {
        let (connector, client, _driver) = connect(url, options).await?;
        let SchemaVersion { found, known } = schema::look(&client, &connector.place).await?;
        let place = connector.place.to_string();
        if found == 0 {
            return Err(PostgresError::Absent { place });
        }
        if found < known {
            return Err(PostgresError::Older { place, found, known });
        }
        Ok(Self {
            vital: Links::new(Arc::clone(&connector), 1),
            links: Links::new(Arc::clone(&connector), connector.options.connections),
            chores: Arc::new(Chores::new(Arc::clone(&connector))),
            // The committer gets no writes, so it never connects.
            committer: Committer::start(Arc::clone(&connector), 0),
            offload: append::offload(),
            node: Node::none(),
            upkeep: None,
            connector,
        })
    }

    /// The database and schema of a URL as text: `user@host/database, schema nuncio`. Without the password.
    ///
    /// # Errors
    ///
    /// `Url`.
    pub fn place_of(url: &str) -> Result<String, PostgresError> {
        DatabaseUrl::parse(url, &PostgresOptions::new()).map(|place| place.to_string())
    }

    /// The `pg_dump` command that copies the schema of this URL into a file. The command does not contain the password.
    ///
    /// # Errors
    ///
    /// `Url`.
    pub fn dump_command(url: &str, file: &str) -> Result<String, PostgresError> {
        let place = DatabaseUrl::parse(url, &PostgresOptions::new())?;
        let address = Address::parse(url).map_err(|error| PostgresError::Url(error.to_string()))?;
        let (file, url) = (quoted(file), quoted(&without_password(address)));
        Ok(format!("pg_dump --format=custom --schema={} --file={file} {url}", place.schema))
    }
}

/// Opens a connection without a store.
pub(super) async fn connect(
    url: &str,
    options: PostgresOptions,
) -> Result<(Arc<Connector>, Client, Driver), PostgresError> {
    let place = DatabaseUrl::parse(url, &options)?;
    let connector = Arc::new(Connector::new(place, options)?);
    let connected = connector.connect_bare().await;
    let (client, driver) = connected.map_err(|error| unreachable(&connector.place, error))?;
    Ok((connector, client, driver))
}

/// The URL for PostgreSQL's own programs: without the password, and without parameters that only Nuncio knows.
fn without_password(address: Address<'_>) -> String {
    let Address { scheme, login, place, .. } = address;
    let user = login.map(|login| format!("{}@", login.user)).unwrap_or_default();
    let kept = address.parameters().filter(|(name, _)| *name != "schema" && !is_secret(name));
    let kept: Vec<_> = kept.map(|(name, value)| format!("{name}={value}")).collect();
    let mark = if kept.is_empty() { "" } else { "?" };
    format!("{scheme}://{user}{place}{mark}{}", kept.join("&"))
}

/// Quotes a word for a shell, if necessary.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:@,+%".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_backup_command_does_not_contain_the_password() {
        for (url, file, command) in [
            (
                "postgres://ann:p%40s/s:w@db:5433/tasks?schema=other",
                "b.dump",
                "pg_dump --format=custom --schema=other --file=b.dump postgres://ann@db:5433/tasks",
            ),
            (
                "postgresql://db/tasks?password=secret&sslmode=require&pass%77ord=secret",
                "it's",
                r"pg_dump --format=custom --schema=nuncio --file='it'\''s' 'postgresql://db/tasks?sslmode=require'",
            ),
        ] {
            assert_eq!(PostgresStore::dump_command(url, file).unwrap(), command);
        }
    }

    proptest! {
        /// The URL can be valid or not.
        #[test]
        fn no_message_contains_a_part_of_a_password(
            parts in proptest::collection::vec("[?@/:#=%!&,]{0,3}", 1..4),
            query in prop_oneof![Just(""), Just("?schema=x"), Just("?sslmode=require&connect_timeout=1"), Just("?a=b")],
            is_parameter: bool,
            is_encoded: bool,
        ) {
            let mut password = parts.join("s3cr3t") + "s3cr3t";
            if is_encoded {
                password = percent_encoding::utf8_percent_encode(&password, percent_encoding::NON_ALPHANUMERIC).to_string();
            }
            let url = if is_parameter {
                let mark = if query.is_empty() { "?" } else { "&" };
                format!("postgres://ann@host/d{query}{mark}password={}", password.replace('&', "%26"))
            } else {
                format!("postgres://ann:{password}@host/d{query}")
            };
            let texts = [
                format!("{:?}", PostgresStore::place_of(&url)),
                format!("{:?}", PostgresStore::dump_command(&url, "file")),
                DatabaseUrl::parse(&url, &PostgresOptions::new()).map_or_else(|error| error.to_string(), |place| format!("{:?}", place.config)),
            ];
            for text in texts {
                prop_assert!(!text.contains("s3cr3t"), "{text} of {url}");
            }
            if is_encoded && !query.contains("a=b") {
                let place = DatabaseUrl::parse(&url, &PostgresOptions::new()).unwrap();
                let meant = percent_encoding::percent_decode_str(&password).collect::<Vec<_>>();
                prop_assert_eq!(place.config.get_password(), Some(&meant[..]));
            }
        }
    }
}
