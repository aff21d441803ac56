//! The tables as Markdown, put between two markers of a file whose other text stays.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};

use crate::report::{HEADINGS, Report, Table};

const BEGIN: &str = "<!-- results -->";
const END: &str = "<!-- end of results -->";

/// Replaces what stands between the markers of `file`.
pub(crate) fn write(file: &Path, facts: &[(&str, String)], report: &Report) -> Result<()> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let replaced = replace(&text, &render(facts, report));
    let replaced = replaced.with_context(|| format!("{} has no `{BEGIN}` and `{END}`", file.display()))?;
    fs::write(file, replaced).with_context(|| format!("cannot write {}", file.display()))
}

fn replace(text: &str, results: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{results}\n{END}{after}"))
}

fn render(facts: &[(&str, String)], report: &Report) -> String {
    let facts: Vec<_> = facts.iter().map(|(name, value)| format!("| {name} | {value} |\n")).collect();
    let tables: Vec<_> = report.tables.iter().map(table).collect();
    format!("| machine | |\n|---|---|\n{}\n{}", facts.concat(), tables.join("\n"))
}

fn table(table: &Table) -> String {
    let headings = HEADINGS.join(" | ");
    let rule = "|---".repeat(HEADINGS.len() + 1);
    let rows: Vec<_> = table
        .rows
        .iter()
        .map(|row| format!("| {} | {} |\n", row.cells().join(" | "), row.remarks().replace('|', "/")))
        .collect();
    format!("### {}\n\n{}\n\n| {headings} | target |\n{rule}|\n{}", table.title, table.note, rows.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_text_around_the_results() {
        let text = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        let replaced = replace(&text, "new\n").unwrap();
        assert_eq!(replaced, format!("before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"));
        assert_eq!(replace("no markers", "new"), None);
    }
}
