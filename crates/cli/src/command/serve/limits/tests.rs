//! Compares `docs/limits.md` with the code: the table has exactly the limits of the code, with their defaults and
//! flags.

use std::{collections::BTreeMap, fmt::Debug};

use nuncio_push::DispatcherBuilder;

use super::super::settings::SETTINGS;

const PAGE: &str = include_str!("../../../../../../docs/limits.md");

/// A row of the table: the default, and the flags with their own defaults if these differ.
struct Row {
    default: String,
    flags: Vec<(String, Option<String>)>,
}

fn rows() -> BTreeMap<String, Row> {
    let mut rows = BTreeMap::new();
    for line in PAGE.lines().filter(|line| line.starts_with("| `")) {
        if cfg!(not(feature = "postgres")) && line.starts_with("| `postgres.") {
            continue;
        }
        let inside = line.strip_prefix('|').and_then(|line| line.strip_suffix('|')).unwrap_or_default();
        let cells: Vec<_> = inside.split('|').map(str::trim).collect();
        assert!(cells.len() == 6, "six cells: {line}");
        let flags = cells[2].split(", ").filter(|flag| !flag.is_empty()).map(|flag| {
            let (flag, own) = flag.split_once(" (").map_or((flag, None), |(flag, own)| (flag, Some(own)));
            let name = flag.trim_matches('`').strip_prefix("--").expect("a flag");
            (name.to_owned(), own.map(|own| own.trim_end_matches(')').to_owned()))
        });
        let row = Row { default: canonical(cells[1]), flags: flags.collect() };
        assert!(rows.insert(cells[0].trim_matches('`').to_owned(), row).is_none(), "twice: {line}");
    }
    rows
}

/// The canonical text of a number, a size or a duration: `16 MiB`, `16M`, `16777216`; `1 min`, `60s`.
fn canonical(text: &str) -> String {
    let text = text.replace([',', ' ', '_'], "");
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let Ok(number) = text[..digits].parse::<u64>() else { return text.to_ascii_lowercase() };
    match &text[digits..] {
        "" => number.to_string(),
        "KiB" | "K" => (number << 10).to_string(),
        "MiB" | "M" => (number << 20).to_string(),
        "GiB" | "G" => (number << 30).to_string(),
        "ms" => format!("{number} ms"),
        "s" => format!("{} ms", number * 1_000),
        "min" | "m" => format!("{} ms", number * 60_000),
        "h" => format!("{} ms", number * 3_600_000),
        // No value that has a limit's form.
        _ => text.to_ascii_lowercase(),
    }
}

/// The fields of a value that is a struct of numbers and durations.
fn fields(prefix: &str, value: &impl Debug) -> Vec<(String, String)> {
    let text = format!("{value:?}");
    let (_, fields) = text.split_once("{ ").expect("a struct");
    let fields = fields.trim_end_matches(" }").split(", ").filter_map(|field| field.split_once(": "));
    fields.map(|(name, value)| (format!("{prefix}.{name}"), canonical(value))).collect()
}

/// All limits with their defaults.
fn limits() -> BTreeMap<String, String> {
    let mut limits: BTreeMap<_, _> = [
        fields("server", &nuncio_server::Limits::default()),
        fields("engine", &nuncio_engine::Limits::default()),
        fields("sqlite", &nuncio_store::SqliteOptions::default()),
        fields("program", &nuncio_adapters::ProgramLimits::default()),
        fields("webhook", &nuncio_push::Retry::default()),
        fields("webhook", &nuncio_push::Places::of(DispatcherBuilder::CONCURRENCY)),
        vec![
            ("webhook.timeout".to_owned(), canonical(&format!("{:?}", DispatcherBuilder::TIMEOUT))),
            ("webhook.concurrency".to_owned(), DispatcherBuilder::CONCURRENCY.to_string()),
        ],
    ]
    .into_iter()
    .flatten()
    .collect();
    #[cfg(feature = "postgres")]
    limits.extend(fields("postgres", &nuncio_store::PostgresOptions::default()));
    for name in ["sqlite.synchronous", "postgres.schema"] {
        let is_built_in = cfg!(feature = "postgres") || !name.starts_with("postgres.");
        assert_eq!(limits.remove(name).is_some(), is_built_in, "{name} bounds nothing");
    }
    limits
}

/// The queues of a fixed size, with the constants of theirs; none where the size is how the code is built.
const QUEUES: &[(&str, &[(&str, &str)])] = &[
    (
        "words of an agent on their way to its runner",
        &[
            (include_str!("../../../../../engine/src/channel.rs"), "LIMIT"),
            (include_str!("../../../../../engine/src/channel.rs"), "FULL"),
        ],
    ),
    ("what comes to a task from outside", &[]),
    ("records that a task shows its readers", &[]),
    (
        "events that a reader takes from the store at a time",
        &[
            (include_str!("../../../../../engine/src/feed.rs"), "RECORDS"),
            (include_str!("../../../../../engine/src/feed.rs"), "BYTES"),
        ],
    ),
    (
        "events of a stream on their way out",
        &[
            (include_str!("../../../../../server/src/frame.rs"), "BATCH"),
            (include_str!("../../../../../server/src/frame.rs"), "FULL"),
        ],
    ),
    (
        "what a stream of HTTP/2 hands on at a time",
        &[(include_str!("../../../../../server/src/listen/chunks.rs"), "CHUNK")],
    ),
    (
        "commits in one transaction of SQLite, which callers fill by turns",
        &[
            (include_str!("../../../../../store/src/sqlite/queue.rs"), "GROUP"),
            (include_str!("../../../../../store/src/sqlite/queue/waiting.rs"), "GROUP_BYTES"),
        ],
    ),
    (
        "commits in one statement to PostgreSQL",
        &[
            (include_str!("../../../../../store/src/postgres/committer/batch.rs"), "MOST"),
            (include_str!("../../../../../store/src/postgres/committer/batch.rs"), "FULL"),
        ],
    ),
    ("log lines that wait to be written", &[(include_str!("../../../log/queue.rs"), "LONGEST")]),
    (
        "log lines of calls, and of tasks that end, in a second",
        &[(include_str!("../../../../../limit/src/line_limit.rs"), "LINES_PER_SECOND")],
    ),
    ("what is handed to the thread that writes", &[]),
    (
        "tasks of which one listener has yet to read a signal, on any bus",
        &[(include_str!("../../../../../engine/src/bus/listeners.rs"), "WAITING")],
    ),
    (
        "tasks of which a signal is to go out to other nodes",
        &[(include_str!("../../../../../engine/src/bus/outgoing.rs"), "WAITING")],
    ),
    (
        "signals that go out to other nodes at a time",
        &[(include_str!("../../../../../engine/src/bus/remote/driver.rs"), "GROUP")],
    ),
    (
        "messages of NATS for one topic that have come in",
        &[(include_str!("../../../../../nats/src/broker.rs"), "QUEUE_CAPACITY")],
    ),
    (
        "commands to a node that are read at a time",
        &[
            (include_str!("../../../../../engine/src/cluster/pending.rs"), "FEW"),
            (include_str!("../../../../../engine/src/cluster/pending.rs"), "MANY"),
        ],
    ),
    (
        "finished commands that the sender did not delete",
        &[(include_str!("../../../../../store/src/postgres/upkeep.rs"), "COMMANDS")],
    ),
    (
        "commits of 256 KiB or more that one store writes as JSON at the same time",
        &[(include_str!("../../../../../store/src/append.rs"), "LARGE_AT_ONCE")],
    ),
    ("push deliveries", &[]),
    (
        "due deliveries that wait for a place and are read, so that those behind them are found",
        &[(include_str!("../../../../../push/src/dispatcher/schedule.rs"), "AHEAD")],
    ),
    (
        "values in all metadata of a request, or of a line of a program, as metadata is parsed when it is read",
        &[(include_str!("../../../../../model/src/json/metadata.rs"), "METADATA_VALUES")],
    ),
    (
        "nesting of JSON and of protobuf values",
        &[(include_str!("../../../../../wire/src/proto/value/read.rs"), "MAX_DEPTH")],
    ),
];

/// The value of a constant in a source file, in the form of [`canonical`].
fn constant((source, name): &(&str, &str)) -> String {
    let declared = format!("const {name}: ");
    let line = source.lines().find(|line| line.contains(&declared)).unwrap_or_else(|| panic!("there is no {name}"));
    let value = line.rsplit_once(" = ").unwrap().1.trim_end_matches(';');
    let number = |text: &str| text.trim().replace('_', "").parse::<u64>().unwrap();
    if let Some(hours) = value.strip_prefix("Duration::from_hours(") {
        return canonical(&format!("{} s", 3_600 * number(hours.trim_end_matches(')'))));
    }
    match (value.split_once('*'), value.split_once("<<")) {
        (Some((a, b)), _) => (number(a) * number(b)).to_string(),
        (_, Some((a, b))) => (number(a) << number(b)).to_string(),
        _ => number(value).to_string(),
    }
}

#[test]
fn every_queue_of_a_fixed_size_is_in_the_table_with_it_and_nothing_else_is() {
    let (_, table) = PAGE.split_once("## Queues of a fixed size").unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| ")).skip(1);
    let mut told = BTreeMap::new();
    for row in rows {
        let cells: Vec<_> = row.split(" | ").collect();
        // Numbers with units, without the counted noun.
        let sizes = cells[1].split(" or ").map(|size| {
            let (number, unit) = size.split_once(' ').unwrap_or((size, ""));
            let unit = if ["KiB", "MiB", "h", "s"].contains(&unit) { unit } else { "" };
            canonical(&format!("{number} {unit}"))
        });
        assert!(told.insert(cells[0], sizes.collect::<Vec<_>>()).is_none(), "twice: {row}");
    }
    for (name, constants) in QUEUES {
        let sizes = told.remove(name).unwrap_or_else(|| panic!("`{name}` is not in docs/limits.md"));
        if !constants.is_empty() {
            assert_eq!(sizes, constants.iter().map(constant).collect::<Vec<_>>(), "{name}");
        }
    }
    assert!(told.is_empty(), "nobody knows {told:?}");
}

#[test]
fn every_limit_is_in_the_table_with_its_default_and_nothing_else_is() {
    let table: BTreeMap<_, _> = rows().into_iter().map(|(name, row)| (name, row.default)).collect();
    assert_eq!(table, limits());
}

#[test]
fn every_flag_of_a_limit_is_in_the_table_with_its_default_and_nothing_else_is() {
    let setting = |name: &str| SETTINGS.iter().find(|setting| setting.name == name);
    let mut named = BTreeMap::new();
    for (limit, row) in rows() {
        for (number, (flag, own)) in row.flags.iter().enumerate() {
            let setting = setting(flag).unwrap_or_else(|| panic!("{limit}: --{flag} is no setting"));
            // A second flag is about the first.
            if number == 0 {
                let default = own.as_deref().map_or(row.default.clone(), canonical);
                assert_eq!(canonical(setting.default), default, "{limit}: --{flag}");
            }
            // The same constant may be in two stores.
            let own = limit.rsplit_once('.').map(|(_, own)| own.to_owned());
            let other = named.insert(flag.clone(), own.clone());
            assert!(other.is_none_or(|other| other == own), "--{flag} is of two limits");
        }
    }
    for setting in SETTINGS.iter().filter(|setting| setting.heading == "Limits") {
        assert!(named.contains_key(setting.name), "--{} is not in docs/limits.md", setting.name);
    }
}

#[test]
fn flags_reach_the_limits_that_they_are_of() {
    use super::super::{args::ServeArgs, settings::Settings};
    let mut args = ServeArgs::default();
    // Each gets a value of its own.
    let mut expected = BTreeMap::new();
    for (limit, row) in rows() {
        let Some((flag, _)) = row.flags.first() else { continue };
        let number = SETTINGS.iter().position(|setting| setting.name == flag).unwrap();
        let is_duration =
            row.default.ends_with(" ms") || matches!(&**flag, "turn-timeout" | "silence-timeout" | "stall-timeout");
        let value = if is_duration { format!("{}s", 2_000 + number) } else { (100_000 + number).to_string() };
        expected.insert(limit, canonical(&value));
        args.given.insert(SETTINGS.iter().find(|it| it.name == flag).unwrap().name, vec![value]);
    }
    args.given.insert("program-grace", vec!["3s".to_owned()]);
    expected.insert("program.grace".to_owned(), canonical("3s"));
    let settings = Settings::load(None, &args).unwrap();
    let mut found: BTreeMap<_, _> = [
        fields("server", &super::server(&settings).unwrap()),
        fields("engine", &super::engine(&settings).unwrap()),
        fields("program", &super::program(&settings).unwrap()),
        fields("webhook", &super::retry(&settings).unwrap()),
    ]
    .into_iter()
    .flatten()
    .collect();
    #[cfg(feature = "postgres")]
    {
        let options = super::super::store::postgres_options(&settings).unwrap();
        found.extend(fields("postgres", &options));
        let timeout = settings.duration("webhook-timeout").unwrap().unwrap();
        assert_eq!(options.push_claim, 2 * timeout + DispatcherBuilder::TIMEOUT, "longer than an attempt");
    }
    let rate = super::server(&settings).unwrap().rate.unwrap();
    found.insert("server.rate".to_owned(), rate.per_second.to_string());
    assert_eq!(rate.burst, rate.per_second);
    for (limit, value) in expected {
        // Those of the store and the dispatcher go where no limits are kept.
        if !limit.starts_with("sqlite.") && limit != "webhook.timeout" {
            let found = found.get(&limit).unwrap_or_else(|| panic!("{limit} is not set"));
            let found = found.strip_prefix("some(").map_or(found.clone(), |it| canonical(it.trim_end_matches(')')));
            assert_eq!(found, value, "{limit}");
        }
    }
}
