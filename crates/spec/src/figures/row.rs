//! Rows of the table, and ids typed by the values of a figure.

use std::marker::PhantomData;
use std::ops::Deref;

/// A row of the table.
#[derive(Debug, PartialEq)]
pub struct FigureRow {
    /// The stored name, its unit last. Never changed, since results files and SQL use it.
    pub name: &'static str,
    pub label: &'static str,
    pub unit: Unit,
    pub per: Per,
    pub better: Better,
    pub source: Source,
    /// When a difference between arms is shown; `None` if arms are not compared by this figure.
    pub notable: Option<Notable>,
    /// One sentence without a full stop.
    pub meaning: &'static str,
}

/// The smallest difference between arms that is shown.
#[derive(Debug, PartialEq)]
pub struct Notable {
    /// Of the figures in a family, only the figure that differs most is shown.
    pub family: &'static str,
    /// The smallest relevant difference, in the figure's unit per [`FigureRow::per`].
    pub matters: f64,
    /// The amount that a single event contributes: a difference of few events is chance.
    pub event: f64,
}

impl Notable {
    /// With the usual event of the unit.
    pub(super) const fn new(family: &'static str, unit: Unit, matters: f64) -> Self {
        let event = match unit {
            // One block.
            Unit::Bytes => 8192.0,
            // One tick of the kernel's CPU accounting.
            Unit::Seconds => 0.01,
            _ => 1.0,
        };
        Self { family, matters, event }
    }
}

/// Declares an enum with a name for each variant.
macro_rules! words {
    ($(#[doc = $of:literal] $name:ident { $($(#[doc = $about:literal])* $variant:ident $word:literal,)* })*) => {$(
        #[doc = $of] #[derive(Debug, Clone, Copy, PartialEq, Eq)] pub enum $name {
            $($(#[doc = $about])* $variant,)*
        }

        impl $name {
            /// The word for it in output.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }
    )*};
}

words! {
    /// The unit of an amount.
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

    /// What amounts are divided by when runs are compared.
    Per {
        /// A successful transaction, in time or late; for jobs, a run.
        Transaction "transaction",
        Minute "minute",
        Run "run",
        /// Not per anything: a share, a length or a level.
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
        Around "before and after the run",
        /// Computed from other figures of the run.
        Derived "derived",
        /// A program that did a job, such as osm2pgsql.
        Program "program of a job",
        Imported "imported",
        Probe "pgdyno probe",
    }
}

impl Unit {
    /// The last part of a name; empty for counts.
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

/// The id of a figure with values of type `T`: a [`FigureRow`] with a type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Id<T> {
    row: &'static FigureRow,
    value: PhantomData<T>,
}

/// The id of a single figure.
pub type Figure = Id<f64>;
/// The id of a counter of transactions, or of what they returned.
pub type Counter = Id<u64>;

impl<T> Id<T> {
    pub(super) const fn new(row: &'static FigureRow) -> Self {
        Self { row, value: PhantomData }
    }

    /// Its row of the table.
    #[must_use]
    pub const fn row(&self) -> &'static FigureRow {
        self.row
    }
}

impl<T> Deref for Id<T> {
    type Target = FigureRow;

    fn deref(&self) -> &FigureRow {
        self.row
    }
}
