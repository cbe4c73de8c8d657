//! What the table says of a figure, and the ids that are typed by what a figure's value is.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use serde::Serialize;

/// A row of the table.
#[derive(Debug, PartialEq)]
pub struct Row {
    /// As it is stored, its unit last; never changed, since results files and SQL have it.
    pub name: &'static str,
    /// For people.
    pub label: &'static str,
    pub unit: Unit,
    pub per: Per,
    pub better: Better,
    pub source: Source,
    /// When arms differ in it; `None` where that is not looked at.
    pub notable: Option<Notable>,
    /// One sentence without a full stop.
    pub meaning: &'static str,
}

/// From when on a difference between arms is told.
#[derive(Debug, PartialEq)]
pub struct Notable {
    /// Of several figures that show the same thing, only the one that differs most is told.
    pub family: &'static str,
    /// A smaller difference, in the figure's unit and for what it is given for, matters to nobody.
    pub matters: f64,
    /// How much of it one event makes: what is counted in few events is chance.
    pub event: f64,
}

impl Notable {
    /// With the usual event of a unit.
    pub(super) const fn new(family: &'static str, unit: Unit, matters: f64) -> Self {
        let event = match unit {
            // A block.
            Unit::Bytes => 8192.0,
            // A tick of the kernel's accounting.
            Unit::Seconds => 0.01,
            _ => 1.0,
        };
        Self { family, matters, event }
    }
}

/// What an amount is an amount of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    Count,
    Bytes,
    Seconds,
    Milliseconds,
    Microseconds,
    Percent,
    #[serde(rename = "per second")]
    PerSecond,
    #[serde(rename = "rows per second")]
    RowsPerSecond,
    #[serde(rename = "pages per second")]
    PagesPerSecond,
    #[serde(rename = "bytes per second")]
    BytesPerSecond,
}

impl Unit {
    /// In words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Bytes => "bytes",
            Self::Seconds => "seconds",
            Self::Milliseconds => "milliseconds",
            Self::Microseconds => "microseconds",
            Self::Percent => "percent",
            Self::PerSecond => "per second",
            Self::RowsPerSecond => "rows per second",
            Self::PagesPerSecond => "pages per second",
            Self::BytesPerSecond => "bytes per second",
        }
    }

    /// As it ends a name; empty for counts.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Count => "",
            Self::Bytes => "bytes",
            Self::Seconds => "s",
            Self::Milliseconds => "ms",
            Self::Microseconds => "us",
            Self::Percent => "pct",
            Self::PerSecond => "per_s",
            Self::RowsPerSecond => "rows_per_s",
            Self::PagesPerSecond => "pages_per_s",
            Self::BytesPerSecond => "bytes_per_s",
        }
    }
}

/// What an amount is given for where runs are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Per {
    /// A transaction that succeeded, in time or late; a run where it is a job.
    Transaction,
    /// A minute of the measured part.
    Minute,
    /// A run, for example a job, which is done once to its end.
    Run,
    /// Nothing: a share, a length or a level.
    None,
}

impl Per {
    /// In words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Transaction => "transaction",
            Self::Minute => "minute",
            Self::Run => "run",
            Self::None => "none",
        }
    }
}

/// Which of two values is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    Lower,
    Higher,
    Neither,
}

impl Better {
    /// In words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Lower => "lower",
            Self::Higher => "higher",
            Self::Neither => "neither",
        }
    }
}

/// Who counts a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    Postgres,
    Engine,
    Kernel,
    Redis,
    /// pgdyno itself, before and after the measured part.
    Around,
    /// Made from other figures of the run.
    Derived,
    /// A program that did a job, such as osm2pgsql.
    Program,
    /// The report or the log of another program, imported.
    Imported,
    /// `pgdyno probe`.
    Probe,
}

impl Source {
    /// In words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Postgres => "PostgreSQL",
            Self::Engine => "load generator",
            Self::Kernel => "kernel",
            Self::Redis => "Redis",
            Self::Around => "before and after the run",
            Self::Derived => "derived",
            Self::Program => "program of a job",
            Self::Imported => "imported",
            Self::Probe => "pgdyno probe",
        }
    }
}

/// The id of a figure whose values are of type `T`: a [`Row`] with a type.
pub struct Id<T> {
    pub(super) row: &'static Row,
    value: PhantomData<fn() -> T>,
}

/// The id of a single figure.
pub type Figure = Id<f64>;
/// The id of a counter of transactions, or of what they returned.
pub type Counter = Id<u64>;

impl<T> Id<T> {
    pub(super) const fn new(row: &'static Row) -> Self {
        Self { row, value: PhantomData }
    }

    /// Its line of the table.
    #[must_use]
    pub const fn row(self) -> &'static Row {
        self.row
    }
}

impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Id<T> {}

impl<T> PartialEq for Id<T> {
    fn eq(&self, other: &Self) -> bool {
        self.row.name == other.row.name
    }
}

impl<T> Eq for Id<T> {}

impl<T> fmt::Debug for Id<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.row.name)
    }
}

impl<T> Deref for Id<T> {
    type Target = Row;

    fn deref(&self) -> &Row {
        self.row
    }
}
