//! The table of losses in `docs/versions.md`. Tests of conversions compare their results with the table.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    panic::Location,
};

use nuncio_model::{Artifact, Call, Message, Part, PartContent, Role, StreamResponse};
use proptest::{prelude::*, test_runner::TestRunner};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    proto::{
        oracle,
        round_trip::{Side, any_message},
    },
    spec,
};

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

/// The meaning of a cell of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cell {
    /// `kept …`: the fact survives, possibly in another spelling.
    Kept,
    /// `kept …, but …`: a part of the fact is lost.
    Partly,
    /// `none`: no call can contain the fact.
    Absent,
    /// Any other text: the fact is lost.
    Lost,
}

impl Cell {
    fn of(cell: &str) -> Self {
        match cell {
            "none" => Self::Absent,
            _ if cell.starts_with("kept") && cell.contains(", but ") => Self::Partly,
            _ if cell.starts_with("kept") => Self::Kept,
            _ => Self::Lost,
        }
    }
}

/// The cells of a column, by `Message.field` or `Enum.VALUE`.
fn cells(way: Way) -> BTreeMap<String, Cell> {
    let cell = |[name, kinded, proto, oldest]: [String; 4]| match way {
        Way::Kinded => (name, kinded),
        Way::Proto => (name, proto),
        Way::Oldest => (name, oldest),
    };
    rows().into_iter().map(cell).map(|(name, cell)| (name, Cell::of(&cell))).collect()
}

/// The subject of a row. Each subject has its own tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    Events,
    Calls,
    Cards,
    Errors,
    /// Facts that plans carry and shapes do not. The tests of the plans cover them.
    Plans,
}

impl About {
    fn of(name: &str) -> Self {
        let owner = name.split('.').next().unwrap_or_default();
        match owner {
            _ if name == "Task.id" => Self::Plans,
            "Error" => Self::Errors,
            "*" | "SendMessageConfiguration" | "TaskPushNotificationConfig" => Self::Calls,
            _ if owner.ends_with("Request") => Self::Calls,
            _ if owner.starts_with("Agent") || owner.contains("OAuth") || owner.ends_with("Scheme") => Self::Cards,
            _ => Self::Events,
        }
    }
}

/// The losses that a test finds in one column.
#[derive(Debug, Default)]
pub(crate) struct Ledger(RefCell<BTreeSet<String>>);

impl Ledger {
    /// Replaces a value by the rest that survives, and records a loss if both differ.
    pub(crate) fn lose<T: PartialEq>(&self, name: &str, value: &mut T, left: T) {
        if *value != left {
            *value = left;
            self.saw(name);
        }
    }

    /// Records a loss.
    pub(crate) fn saw(&self, name: &str) {
        self.0.borrow_mut().insert(name.to_owned());
    }

    /// The facts of a part that all older versions lose.
    pub(crate) fn of_part(&self, part: &mut Part) {
        let (content, metadata, mut filename, mut media_type) = std::mem::take(part).into_pieces();
        if !matches!(content, PartContent::Raw(_) | PartContent::Url(_)) {
            self.lose("Part.filename", &mut filename, None);
            self.lose("Part.mediaType", &mut media_type, None);
        }
        // Wrapped data adds a flag to the metadata. Empty metadata is removed together with the flag.
        let is_wrapped = matches!(&content, PartContent::Data(data) if !data.is_object());
        let mut left = Part::new(content);
        left = filename.into_iter().fold(left, Part::with_filename);
        left = media_type.into_iter().fold(left, Part::with_media_type);
        *part = metadata.filter(|it| !(is_wrapped && it.is_empty())).into_iter().fold(left, Part::with_metadata);
    }

    /// The tenant of a call. No older version has a tenant.
    pub(crate) fn of_tenant(&self, call: &mut Call) {
        if call.tenant().is_some() {
            self.saw("*.tenant");
            call.set_tenant(None);
        }
    }
}

/// Tests a property with many values. Each loss that occurs must be in the table. Each loss in the table about this
/// subject must occur.
#[track_caller]
pub(crate) fn hold<S: Strategy>(
    (way, about): (Way, About),
    cases: u32,
    values: &S,
    property: impl Fn(&Ledger, S::Value) -> Result<(), TestCaseError>,
) {
    let ledger = Ledger::default();
    let source_file = Some(Location::caller().file());
    let mut runner = TestRunner::new(ProptestConfig { cases, source_file, ..ProptestConfig::default() });
    if let Err(error) = runner.run(values, |value| property(&ledger, value)) {
        panic!("{error}\n{runner}");
    }
    let (seen, cells) = (ledger.0.into_inner(), cells(way));
    let is_documented = |name: &&String| matches!(cells.get(*name), Some(Cell::Partly | Cell::Lost));
    let undocumented: Vec<_> = seen.iter().filter(|name| !is_documented(name)).collect();
    assert!(undocumented.is_empty(), "docs/versions.md lacks these losses: {undocumented:?}");
    let lost = cells.iter().filter(|(name, cell)| **cell == Cell::Lost && About::of(name) == about);
    let unseen: Vec<_> = lost.map(|(name, _)| name).filter(|name| !seen.contains(*name)).collect();
    assert!(unseen.is_empty(), "docs/versions.md lists these losses, but they do not occur: {unseen:?}");
}

/// The messages in an event.
pub(crate) fn messages(event: &mut StreamResponse) -> Vec<&mut Message> {
    match event {
        StreamResponse::Task(task) => task.messages_mut().collect(),
        StreamResponse::Message(message) => vec![message],
        StreamResponse::StatusUpdate(update) => update.status.message.as_deref_mut().into_iter().collect(),
        StreamResponse::ArtifactUpdate(_) => Vec::new(),
    }
}

/// The artifacts in an event.
pub(crate) fn artifacts(event: &mut StreamResponse) -> Vec<&mut Artifact> {
    match event {
        StreamResponse::Task(task) => task.artifacts.iter_mut().collect(),
        StreamResponse::ArtifactUpdate(update) => vec![&mut update.artifact],
        StreamResponse::Message(_) | StreamResponse::StatusUpdate(_) => Vec::new(),
    }
}

/// Any event, including events that no peer of 1.0 should send: with messages without a role.
pub(crate) fn any_event() -> impl Strategy<Value = StreamResponse> {
    let event = any_message(&oracle::message("StreamResponse"), Side::Reply);
    (event, any::<bool>()).prop_map(|(event, is_of_nobody)| {
        let mut event = serde_json::from_value(oracle::to_json(&event)).unwrap();
        if is_of_nobody {
            for message in messages(&mut event) {
                message.role = Role::Unspecified;
            }
        }
        event
    })
}

/// The rows of the table, without the header.
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
fn each_row_names_a_specified_field_or_value_and_a_loss() {
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
        let cells = [kinded, proto, oldest];
        assert!(cells.iter().any(|cell| Cell::of(cell) != Cell::Kept), "{name} is kept everywhere");
        // These rows stand for many fields, or for an object that is not a message.
        let is_special = ["*.tenant", "Error.details"].contains(&name.as_str());
        if !is_special {
            let (owner, member) = name.split_once('.').unwrap_or_else(|| panic!("{name} is not a field"));
            let is_field =
                facts.messages.get(owner).is_some_and(|it| it.fields.iter().any(|field| field.json_name == member));
            let is_value = facts.enums.get(owner).is_some_and(|values| values.contains_key(member));
            assert!(is_field || is_value, "{name} is neither a field nor a value of 1.0");
        }
        assert!(seen.insert(name.clone()), "{name} has two rows");
    }
}
