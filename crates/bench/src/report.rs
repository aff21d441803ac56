//! The results: rows of text with their targets, printed immediately.

use std::time::Duration;

use crate::{machine::Usage, trial::Measured};

/// All tables of a run.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) tables: Vec<Table>,
}

/// The rows of one section.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) note: String,
    pub(crate) rows: Vec<Row>,
}

/// One line of a table.
#[derive(Debug, Default)]
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) load: String,
    /// The measured figure with its unit.
    pub(crate) figure: String,
    pub(crate) p50: String,
    pub(crate) p99: String,
    /// The ratio to the ceiling.
    pub(crate) ratio: String,
    pub(crate) resident: String,
    /// Server, load generator and other processes, in hundredths of a core.
    pub(crate) cpu: String,
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) refused: Option<String>,
    /// The reason why the row was not measured: a missing program.
    pub(crate) skipped: Option<String>,
    /// The load generator was saturated, so the server can be faster.
    pub(crate) load_bound: bool,
}

/// A target, and whether the target is met.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) target: String,
    pub(crate) met: bool,
}

/// The headings, in the order of [`Row::cells`].
pub(crate) const HEADINGS: [&str; 8] = ["what", "load", "figure", "p50", "p99", "of ceiling", "RSS", "CPU %"];

/// Counts over all tables.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowCounts {
    pub(crate) met: usize,
    pub(crate) targets: usize,
    /// Rows without figures because of an error.
    pub(crate) refused: usize,
    /// Rows that were not measured because of a missing program.
    pub(crate) skipped: usize,
}

impl Report {
    /// Starts a table.
    pub(crate) fn table(&mut self, title: &str, note: &str) {
        println!("\n{title}\n  {note}\n  {}", line(&HEADINGS.map(str::to_owned)));
        self.tables.push(Table { title: title.to_owned(), note: note.to_owned(), rows: Vec::new() });
    }

    /// Adds a row to the last table.
    pub(crate) fn row(&mut self, row: Row) {
        println!("  {}  {}", line(&row.cells()), row.remarks());
        if let Some(table) = self.tables.last_mut() {
            table.rows.push(row);
        }
    }

    /// Adds a row with only a reason.
    pub(crate) fn refuse(&mut self, what: &str, reason: String) {
        self.row(Row { what: what.to_owned(), refused: Some(reason), ..Row::default() });
    }

    /// Adds a row that was not measured because of a missing program.
    pub(crate) fn skip(&mut self, what: &str, reason: &str) {
        self.row(Row { what: what.to_owned(), skipped: Some(reason.to_owned()), ..Row::default() });
    }

    /// The counts of targets and rows.
    pub(crate) fn tally(&self) -> RowCounts {
        let rows = || self.tables.iter().flat_map(|table| &table.rows);
        let verdicts = || rows().flat_map(|row| &row.verdicts);
        let met = verdicts().filter(|verdict| verdict.met).count();
        RowCounts {
            met,
            targets: verdicts().count(),
            refused: rows().filter(|row| row.refused.is_some()).count(),
            skipped: rows().filter(|row| row.skipped.is_some()).count(),
        }
    }
}

impl Row {
    /// A row of medians; `unit` is the counted item. A refused measurement has a reason, but no figures and no targets.
    pub(crate) fn of(measured: &Measured, load: String, unit: &str, verdicts: Vec<Verdict>) -> Self {
        if measured.refused.is_some() {
            return Self { what: measured.label.clone(), load, refused: measured.refused.clone(), ..Self::default() };
        }
        Self {
            what: measured.label.clone(),
            load,
            figure: format!("{} {unit}", thousands(measured.rate)),
            p50: time(measured.p50),
            p99: time(measured.p99),
            ratio: measured.ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}")),
            resident: mebibytes(measured.resident),
            cpu: shares(measured.usage),
            verdicts,
            refused: None,
            skipped: None,
            load_bound: measured.usage.load > 0.93 && measured.usage.load > measured.usage.server,
        }
    }

    /// The cells under [`HEADINGS`].
    pub(crate) fn cells(&self) -> [String; 8] {
        [&self.what, &self.load, &self.figure, &self.p50, &self.p99, &self.ratio, &self.resident, &self.cpu]
            .map(Clone::clone)
    }

    /// The targets, or the reason why there are none.
    pub(crate) fn remarks(&self) -> String {
        if let Some(reason) = &self.refused {
            return format!("REFUSED: {}", reason.replace(['\n', '\r'], " "));
        }
        if let Some(reason) = &self.skipped {
            return format!("SKIPPED: {reason}");
        }
        let remark = |verdict: &Verdict| {
            let outcome = if verdict.met { "pass" } else { "MISS" };
            format!("{outcome}: {}", verdict.target)
        };
        let bound = self.load_bound.then(|| "limited by the load generator".to_owned());
        self.verdicts.iter().map(remark).chain(bound).collect::<Vec<_>>().join("; ")
    }
}

impl Verdict {
    /// The target with its result.
    pub(crate) fn new(target: impl Into<String>, met: bool) -> Self {
        Self { target: target.into(), met }
    }

    /// The target of at least this share of the ceiling.
    pub(crate) fn of_ceiling(measured: &Measured, least: f64) -> Self {
        let ratio = measured.ratio.unwrap_or(0.0);
        Self::new(format!("≥ {least} of the ceiling"), ratio >= least)
    }
}

fn line(cells: &[String; 8]) -> String {
    let [what, load, figure, p50, p99, ratio, resident, cpu] = cells;
    format!("{what:<34} {load:>12} {figure:>20} {p50:>9} {p99:>9} {ratio:>10} {resident:>10} {cpu:>12}")
}

/// Bytes as MiB.
pub(crate) fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / (1024.0 * 1024.0))
}

/// A number with commas.
pub(crate) fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut grouped = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A time in microseconds, milliseconds or seconds.
pub(crate) fn time(duration: Duration) -> String {
    let microseconds = duration.as_secs_f64() * 1e6;
    match microseconds {
        ..1_000.0 => format!("{microseconds:.0} µs"),
        ..1_000_000.0 => format!("{:.2} ms", microseconds / 1e3),
        _ => format!("{:.2} s", microseconds / 1e6),
    }
}

/// Processor time as `server/load/other`.
pub(crate) fn shares(usage: Usage) -> String {
    let Usage { server, load, foreign } = usage;
    format!("{:.0}/{:.0}/{:.0}", server * 100.0, load * 100.0, foreign * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skipped_row_is_reported_and_is_not_a_failure() {
        let mut report = Report::default();
        report.table("title", "note");
        report.skip("a row", "no server");
        let RowCounts { met, targets, refused, skipped } = report.tally();
        assert_eq!((met, targets, refused, skipped), (0, 0, 0, 1));
        assert_eq!(report.tables[0].rows[0].remarks(), "SKIPPED: no server");
    }

    #[test]
    fn times_have_a_suitable_unit() {
        let times = [250, 2_190, 2_190_000].map(|microseconds| time(Duration::from_micros(microseconds)));
        assert_eq!(times, ["250 µs", "2.19 ms", "2.19 s"]);
    }

    #[test]
    fn groups_thousands() {
        assert_eq!(thousands(1_234_567.4), "1,234,567");
        assert_eq!(thousands(999.0), "999");
        assert_eq!(thousands(100_000.0), "100,000");
    }
}
