//! What the table says about a figure, and ids that are typed by what the values of a figure are.

use std::marker::PhantomData;
use std::ops::Deref;

/// A row of the table.
#[derive(Debug, PartialEq)]
pub struct Row {
    /// The stored name, its unit last; never changed, since results files and SQL have it.
    pub name: &'static str,
    /// For people.
    pub label: &'static str,
    pub unit: Unit,
    pub per: Per,
    pub better: Better,
    pub source: Source,
    /// When a difference between arms is shown; `None` where arms are not compared by it.
    pub notable: Option<Notable>,
    /// One sentence without a full stop.
    pub meaning: &'static str,
}

/// From when on a difference between arms is shown.
#[derive(Debug, PartialEq)]
pub struct Notable {
    /// Of several figures that show the same thing, only the figure that differs most is shown.
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

/// Declares an enum and the word of each variant.
macro_rules! words {
    ($(#[doc = $of:literal] $name:ident { $($(#[doc = $about:literal])* $variant:ident $word:literal,)* })*) => {$(
        #[doc = $of] #[derive(Debug, Clone, Copy, PartialEq, Eq)] pub enum $name {
            $($(#[doc = $about])* $variant,)*
        }

        impl $name {
            /// In words.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }
    )*};
}

words! {
    /// What an amount is an amount of.
    Unit {
        Count "count",
        Bytes "bytes",
        Seconds "seconds",
        Milliseconds "milliseconds",
        Microseconds "microseconds",
        Percent "percent",
        PerSecond "per second",
        RowsPerSecond "rows per second",
        PagesPerSecond "pages per second",
        BytesPerSecond "bytes per second",
    }

    /// What an amount is given for where runs are compared.
    Per {
        /// A transaction that succeeded, in time or late; a run where it is a job.
        Transaction "transaction",
        /// A minute of the measured part.
        Minute "minute",
        /// A run, for example a job, which is done once to its end.
        Run "run",
        /// Nothing: a share, a length or a level.
        None "none",
    }

    /// Which of two values is better.
    Better {
        Lower "lower",
        Higher "higher",
        Neither "neither",
    }

    /// Who counts a figure.
    Source {
        Postgres "PostgreSQL",
        Engine "load generator",
        Kernel "kernel",
        Redis "Redis",
        /// pgdyno itself.
        Around "before and after the run",
        /// Made from other figures of the run.
        Derived "derived",
        /// A program that did a job, such as osm2pgsql.
        Program "program of a job",
        /// The report or the log of another program.
        Imported "imported",
        Probe "pgdyno probe",
    }
}

impl Unit {
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

/// The id of a figure whose values are of type `T`: a [`Row`] with a type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Id<T> {
    row: &'static Row,
    value: PhantomData<T>,
}

/// The id of a single figure.
pub type Figure = Id<f64>;
/// The id of a counter of transactions, or of what they returned.
pub type Counter = Id<u64>;

impl<T> Id<T> {
    pub(super) const fn new(row: &'static Row) -> Self {
        Self { row, value: PhantomData }
    }

    /// Its row of the table.
    #[must_use]
    pub const fn row(&self) -> &'static Row {
        self.row
    }
}

impl<T> Deref for Id<T> {
    type Target = Row;

    fn deref(&self) -> &Row {
        self.row
    }
}
