//! Inserts many rows per statement, because one statement per row costs a third more.

use std::sync::LazyLock;

use rusqlite::{Connection, Statement};

/// The numbers of rows per statement, largest first.
const SIZES: [usize; 4] = [64, 16, 4, 1];

/// An `INSERT` statement in all sizes.
pub(super) struct RowInsert {
    columns: usize,
    statements: [String; SIZES.len()],
}

pub(super) static TASKS: LazyLock<RowInsert> = LazyLock::new(|| {
    RowInsert::new(
        "INSERT INTO tasks (task, id, scope, context, state, updated, updated_rest, sequence, epoch, running, pushed, \
         folded, body, artifacts) VALUES ",
        14,
        " ON CONFLICT (id) DO NOTHING",
    )
});

pub(super) static EVENTS: LazyLock<RowInsert> =
    LazyLock::new(|| RowInsert::new("INSERT INTO events (key, body) VALUES ", 2, ""));

impl RowInsert {
    fn new(head: &str, columns: usize, tail: &str) -> Self {
        let row = format!("({})", vec!["?"; columns].join(","));
        let statements = SIZES.map(|rows| format!("{head}{}{tail}", vec![&*row; rows].join(",")));
        Self { columns, statements }
    }

    /// Inserts rows and returns the number of inserted rows. `bind` sets the values of one row; its second argument is
    /// the first parameter of the row.
    pub(super) fn insert<T>(
        &self,
        connection: &Connection,
        mut rows: &[T],
        bind: impl Fn(&mut Statement<'_>, usize, &T) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<usize> {
        let mut inserted = 0;
        for (size, statement) in SIZES.iter().zip(&self.statements) {
            while rows.len() >= *size {
                let (some, rest) = rows.split_at(*size);
                let mut statement = connection.prepare_cached(statement)?;
                for (number, row) in some.iter().enumerate() {
                    bind(&mut statement, 1 + number * self.columns, row)?;
                }
                inserted += statement.raw_execute()?;
                rows = rest;
            }
        }
        Ok(inserted)
    }
}
