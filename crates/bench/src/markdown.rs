//! The tables as Markdown between two markers of a file; the other text stays unchanged.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};

use crate::report::{HEADINGS, Report, Table};

/// Replaces the text between the markers `<!-- NAME -->` and `<!-- end of NAME -->` of `file`.
pub(crate) fn write(file: &Path, name: &str, facts: &[(&str, String)], report: &Report) -> Result<()> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let replaced = replace(&text, name, &render(facts, report));
    let replaced = replaced.with_context(|| format!("{} has no markers for `{name}`", file.display()))?;
    fs::write(file, replaced).with_context(|| format!("cannot write {}", file.display()))
}

fn replace(text: &str, name: &str, results: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- {name} -->"), format!("<!-- end of {name} -->"));
    let (before, rest) = text.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}\n\n{results}\n{end}{after}"))
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
        let text = "before\n<!-- peers -->\nold\n<!-- end of peers -->\nafter\n";
        let replaced = replace(text, "peers", "new\n").unwrap();
        assert_eq!(replaced, "before\n<!-- peers -->\n\nnew\n\n<!-- end of peers -->\nafter\n");
        assert_eq!(replace(text, "results", "new"), None);
    }
}
