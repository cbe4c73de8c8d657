//! The table of figures: what runs count and store, and how each figure is named, compared and printed.
//!
//! A row of [`table()`] has everything about a figure: its id, its line in `pgdyno table figures`, `table
//! differences` and docs/reference/figures.md.

mod counts;
mod row;
mod table;
mod values;

use std::collections::HashMap;
use std::sync::LazyLock;

pub use counts::*;
pub use row::{Better, Counter, Figure, FigureRow, Id, Notable, Per, Source, Unit};
pub use table::*;
pub use values::{Counters, Figures, Values};

/// All rows, in display order.
pub fn table() -> impl Iterator<Item = &'static FigureRow> {
    let parts = [
        table::POSTGRES,
        table::REPLICATION,
        counts::RETURNED,
        counts::TRANSACTIONS,
        table::COMPLETIONS,
        table::SESSIONS,
        table::USERS,
        table::KERNEL,
        table::REDIS,
        table::ENGINE,
        table::AROUND,
        table::DERIVED,
        table::PROGRAM,
        table::IMPORTED,
        table::PROBE,
    ];
    parts.into_iter().flatten().copied()
}

/// The row of this name; `None` if the table has none, as for figures of a newer version.
#[must_use]
pub fn row(name: &str) -> Option<&'static FigureRow> {
    // A results file has hundreds of thousands of names.
    static BY_NAME: LazyLock<HashMap<&str, &FigureRow>> =
        LazyLock::new(|| table().map(|row| (row.name, row)).collect());
    BY_NAME.get(name).copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn lines_are_told_apart_and_their_names_say_their_unit() {
        let (mut names, mut labels) = (BTreeSet::new(), BTreeSet::new());
        for row in table() {
            assert!(names.insert(row.name), "{} has two lines", row.name);
            assert!(labels.insert(row.label), "{} has the label of another one", row.name);
            let is_last = |suffix: &str| {
                let kinds = ["", "_mean", "_per_tx"].map(|kind| format!("_{suffix}{kind}"));
                kinds.iter().any(|end| row.name.ends_with(end))
            };
            let is_said = row.unit == Unit::Count || row.name == BYTES.name || is_last(row.unit.suffix());
            assert!(is_said, "{}: {:?}", row.name, row.unit);
            assert!(!row.meaning.is_empty() && !row.meaning.ends_with('.'), "{}", row.name);
        }
    }

    #[test]
    fn differences_are_of_what_is_given_for_something() {
        for row in table().filter(|row| row.notable.is_some()) {
            assert!(matches!(row.per, Per::Transaction | Per::Minute), "{}", row.name);
            assert!(matches!(row.unit, Unit::Count | Unit::Bytes | Unit::Seconds), "{}", row.name);
        }
        assert_eq!(BYTES.notable.as_ref().map(|of| of.event), Some(100.0));
        assert_eq!(WAL_BYTES.notable, Some(Notable { family: "WAL", matters: 64.0, event: 8192.0 }));
    }

    #[test]
    fn a_line_is_found_by_its_name() {
        assert_eq!(row("wal_bytes").map(|row| row.label), Some("WAL"));
        assert!(row("of_a_newer_version_s").is_none());
    }
}
