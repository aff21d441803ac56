//! `docs/limits.md` against the code: each limit is in its table with its default and its flag, and nothing else is.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
};

use nuncio_push::CourierBuilder;

use super::super::settings::SETTINGS;

const PAGE: &str = include_str!("../../../../../../docs/limits.md");

/// A row of the table: the default, and the flags with what they are by default where that differs.
struct Row {
    default: String,
    flags: Vec<(String, Option<String>)>,
}

fn rows() -> BTreeMap<String, Row> {
    let mut rows = BTreeMap::new();
    for line in PAGE.lines().filter(|line| line.starts_with("| `")) {
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

/// A number, a size or a duration as one text, however it is written: `16 MiB`, `16M`, `16777216`; `1 min`, `60s`.
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
        vec![
            ("webhook.timeout".to_owned(), canonical(&format!("{:?}", CourierBuilder::TIMEOUT))),
            ("webhook.concurrency".to_owned(), CourierBuilder::CONCURRENCY.to_string()),
        ],
    ]
    .into_iter()
    .flatten()
    .collect();
    assert!(limits.remove("sqlite.synchronous").is_some(), "it bounds nothing");
    limits
}

#[test]
fn every_limit_is_in_the_table_with_its_default_and_nothing_else_is() {
    let table: BTreeMap<_, _> = rows().into_iter().map(|(name, row)| (name, row.default)).collect();
    assert_eq!(table, limits());
}

#[test]
fn every_flag_of_a_limit_is_in_the_table_with_its_default_and_nothing_else_is() {
    let setting = |name: &str| SETTINGS.iter().find(|setting| setting.name == name);
    let mut named = BTreeSet::new();
    for (limit, row) in rows() {
        for (number, (flag, own)) in row.flags.iter().enumerate() {
            let setting = setting(flag).unwrap_or_else(|| panic!("{limit}: --{flag} is no setting"));
            // A second flag is about the first.
            if number == 0 {
                let default = own.as_deref().map_or(row.default.clone(), canonical);
                assert_eq!(canonical(setting.default), default, "{limit}: --{flag}");
            }
            assert!(named.insert(flag.clone()), "--{flag} is of two limits");
        }
    }
    for setting in SETTINGS.iter().filter(|setting| setting.heading == "Limits") {
        assert!(named.contains(setting.name), "--{} is not in docs/limits.md", setting.name);
    }
}

#[test]
fn flags_reach_the_limits_that_they_are_of() {
    use super::super::{args::ServeArgs, settings::Settings};
    let mut args = ServeArgs::default();
    // Each gets a value of its own.
    let mut expected = BTreeMap::new();
    for (number, (limit, row)) in rows().into_iter().enumerate() {
        let Some((flag, _)) = row.flags.first() else { continue };
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
    let rate = super::server(&settings).unwrap().rate.unwrap();
    found.insert("server.rate".to_owned(), rate.per_second.to_string());
    assert_eq!(rate.burst, rate.per_second);
    for (limit, value) in expected {
        // Those of the store and the courier go where no limits are kept.
        if !limit.starts_with("sqlite.") && limit != "webhook.timeout" {
            let found = found.get(&limit).unwrap_or_else(|| panic!("{limit} is not set"));
            let found = found.strip_prefix("some(").map_or(found.clone(), |it| canonical(it.trim_end_matches(')')));
            assert_eq!(found, value, "{limit}");
        }
    }
}
