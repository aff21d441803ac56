//! What `docs/versions.md` says is lost between versions: tests of conversions hold what they find against it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use crate::spec;

/// A column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// JSON-RPC of 0.3 and 0.2.
    Kinded,
    /// HTTP+JSON and gRPC of 0.3 and 0.2.
    Proto,
    /// 0.1.
    Oldest,
}

impl Way {
    pub(crate) const ALL: [Self; 3] = [Self::Kinded, Self::Proto, Self::Oldest];
}

/// What of 1.0 does not come back on this way as it was, by `Message.field` or `Enum.VALUE`, and what becomes of it.
pub(crate) fn documented(way: Way) -> BTreeMap<String, String> {
    let told = rows().into_iter().map(|[name, kinded, proto, oldest]| match way {
        Way::Kinded => (name, kinded),
        Way::Proto => (name, proto),
        Way::Oldest => (name, oldest),
    });
    told.filter(|(_, told)| !is_kept(told)).collect()
}

/// Whether it comes back as it was, if spelled in another way.
fn is_kept(told: &str) -> bool {
    told.split([',', ';']).next() == Some("kept")
}

/// The rows of the table, without its head.
fn rows() -> Vec<[String; 4]> {
    let text = include_str!("../../../../docs/versions.md");
    let table = text.split("<!-- losses:").nth(1).unwrap();
    let lines = table.lines().filter(|line| line.starts_with('|')).skip(2);
    lines
        .map(|line| {
            let cells = line.trim_matches('|').split(" | ").map(|cell| cell.trim().trim_matches('`').to_owned());
            cells.collect::<Vec<_>>().try_into().unwrap_or_else(|cells| panic!("{line} has other columns: {cells:?}"))
        })
        .collect()
}

#[test]
fn each_row_is_a_field_or_value_of_the_specification_and_tells_of_a_loss() {
    #[derive(Deserialize)]
    struct Facts {
        messages: BTreeMap<String, Message>,
        enums: BTreeMap<String, BTreeMap<String, Value>>,
    }
    #[derive(Deserialize)]
    struct Message {
        fields: Vec<Field>,
    }
    #[derive(Deserialize)]
    struct Field {
        json_name: String,
    }
    let facts: Facts = spec::file("v1.0/messages.json");
    let mut seen = BTreeSet::new();
    let rows = rows();
    assert!(rows.len() > 30, "{}", rows.len());
    for [name, kinded, proto, oldest] in rows {
        assert!([kinded, proto, oldest].iter().any(|told| !is_kept(told)), "{name} is kept everywhere");
        // What stands for many fields, and what is no message.
        let is_special = ["*.tenant", "Error.details"].contains(&name.as_str());
        if !is_special {
            let (owner, member) = name.split_once('.').unwrap_or_else(|| panic!("{name} is no field"));
            let is_field =
                facts.messages.get(owner).is_some_and(|it| it.fields.iter().any(|field| field.json_name == member));
            let is_value = facts.enums.get(owner).is_some_and(|values| values.contains_key(member));
            assert!(is_field || is_value, "{name} is nothing of 1.0");
        }
        assert!(seen.insert(name.clone()), "{name} has two rows");
    }
    for way in Way::ALL {
        assert!(!documented(way).is_empty(), "{way:?}");
    }
}
