//! The PostgreSQL channel names of topics. Channels belong to a database, so the name contains the schema.

use nuncio_engine::bus::Topic;

/// The maximum length of the schema part. A channel name has at most 63 bytes; `nuncio.` and
/// `.node.18446744073709551615` take 33 bytes.
const LONGEST_SCHEMA: usize = 30;

/// The channels of one schema.
#[derive(Debug)]
pub(super) struct Channels {
    prefix: String,
}

impl Channels {
    /// The schema must be a plain name. A long name is replaced by its beginning and a hash.
    pub(super) fn of(schema: &str) -> Self {
        if schema.len() <= LONGEST_SCHEMA {
            return Self { prefix: format!("nuncio.{schema}.") };
        }
        let hash = schema
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        // The tilde prevents collisions: the name of a schema cannot contain a tilde.
        let beginning: String = schema.chars().take(13).collect();
        Self { prefix: format!("nuncio.{beginning}~{hash:016x}.") }
    }

    /// The channel of a topic: `nuncio.SCHEMA.tasks.17`, `nuncio.SCHEMA.node.4`.
    pub(super) fn name(&self, topic: Topic) -> String {
        format!("{}{topic}", self.prefix)
    }

    /// The topic of a channel; `None` if the channel belongs to another schema.
    pub(super) fn topic(&self, channel: &str) -> Option<Topic> {
        Topic::named(channel.strip_prefix(&self.prefix)?)
    }

    /// A channel that only one connection uses.
    pub(super) fn private(&self) -> String {
        format!("{}{:016x}", self.prefix, rand())
    }
}

/// A random number, different for each connection.
fn rand() -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(std::process::id())
}

#[cfg(test)]
mod tests {
    use nuncio_engine::store::NodeId;

    use super::*;

    #[test]
    fn channel_names_fit_into_63_bytes_and_are_distinct() {
        let long = ["a".repeat(63), format!("{}b", "a".repeat(62)), "a".repeat(31)];
        let mut names = Vec::new();
        for schema in ["nuncio", "n", &"a".repeat(30)].into_iter().map(str::to_owned).chain(long) {
            let channels = Channels::of(&schema);
            for topic in [Topic::Tasks(0), Topic::Tasks(255), Topic::Node(NodeId(u64::MAX))] {
                let name = channels.name(topic);
                assert!(name.len() < 64, "{name}");
                assert_eq!(channels.topic(&name), Some(topic));
                names.push(name);
            }
            assert!(channels.private().len() < 64);
            assert_eq!(channels.topic(&channels.private()), None);
        }
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count, "two channels have the same name");
        assert_eq!(Channels::of("nuncio").topic("nuncio.other.tasks.1"), None);
    }
}
