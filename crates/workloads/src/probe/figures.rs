//! The list of what a probe measures.

/// One figure of a probe.
#[derive(Debug, PartialEq, Eq)]
pub struct Figure {
    /// As it is stored, its unit last.
    pub name: &'static str,
    /// For people, without its unit.
    pub title: &'static str,
    pub unit: Unit,
    pub better: Better,
    /// What it says to somebody who chooses or watches a server, in one line.
    pub meaning: &'static str,
}

/// What a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Microseconds.
    Us,
    RowsPerS,
    PagesPerS,
    BytesPerS,
}

impl Unit {
    /// As it ends a name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Us => "us",
            Self::RowsPerS => "rows_per_s",
            Self::PagesPerS => "pages_per_s",
            Self::BytesPerS => "bytes_per_s",
        }
    }
}

/// Which of two values is that of the better machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    Higher,
    Lower,
}

macro_rules! figures {
    ($($constant:ident: $name:literal, $title:literal, $unit:ident, $better:ident, $meaning:literal;)*) => {
        $(pub(super) const $constant: &Figure = &Figure {
            name: $name, title: $title, unit: Unit::$unit, better: Better::$better, meaning: $meaning,
        };)*
        /// All figures, in the order they are measured and shown.
        pub const FIGURES: &[&Figure] = &[$($constant),*];
    };
}

figures! {
    ROUND_TRIP: "round_trip_us", "round trip, empty query", Us, Lower,
        "what each statement pays before any work: network, TLS, wake-ups";
    SELECT_1: "select_1_us", "round trip, SELECT 1", Us, Lower,
        "the least that a statement with an answer takes here";
    CPU_ONE: "cpu_one_rows_per_s", "CPU, one backend", RowsPerS, Higher,
        "how fast one query runs that only computes";
    CPU_ALL: "cpu_all_rows_per_s", "CPU, all backends", RowsPerS, Higher,
        "what all CPUs do together: the ceiling of a busy server";
    MEMORY_ONE: "memory_one_bytes_per_s", "memory, one backend", BytesPerS, Higher,
        "how fast one backend reads through memory: large hashes, sorts, values";
    MEMORY_ALL: "memory_all_bytes_per_s", "memory, all backends", BytesPerS, Higher,
        "what memory gives all of them at once: many servers end here before their CPUs";
    COMMIT: "commit_us", "commit", Us, Lower,
        "how long COMMIT takes until WAL is on disk: the pace of small writes";
    COMMIT_ASYNC: "commit_async_us", "commit, not waited for", Us, Lower,
        "the same with synchronous_commit = off: what is left is no disk";
    INDEX: "index_build_rows_per_s", "index build", RowsPerS, Higher,
        "CREATE INDEX over integers in memory: restores, migrations, REINDEX";
    READ_CACHED: "seq_read_cached_pages_per_s", "sequential read, cached", PagesPerS, Higher,
        "scanning pages in shared_buffers, before anything is done with their rows";
    READ_BEYOND: "seq_read_beyond_bytes_per_s", "sequential read, beyond", BytesPerS, Higher,
        "scanning pages that are not in shared_buffers";
    RANDOM_CACHED: "random_read_cached_us", "random page, cached", Us, Lower,
        "finding one page in shared_buffers: what an index scan does for each row";
    RANDOM_BEYOND: "random_read_beyond_us", "random page, beyond", Us, Lower,
        "fetching one page that is not in shared_buffers";
}

/// The figure of this name.
#[must_use]
pub fn figure(name: &str) -> Option<&'static Figure> {
    FIGURES.iter().copied().find(|figure| figure.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_with_their_units_and_are_told_apart() {
        for (number, figure) in FIGURES.iter().enumerate() {
            assert!(figure.name.ends_with(figure.unit.name()), "{}", figure.name);
            assert!(figure.meaning.len() <= 78, "{}: one line", figure.name);
            assert_eq!(FIGURES.iter().position(|other| other.name == figure.name), Some(number));
        }
    }
}
