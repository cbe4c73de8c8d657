//! Units for people: what a column's name says about its numbers, and how to print them.

use std::borrow::Cow;

use results::{CellValue, Column, ColumnKind as Of, LongTable, Marked, Table};

use crate::{numbers, visible};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Units {
    /// People: each number with a suitable unit, the column's name without one.
    Suited,
    /// People who chose the columns: names and units unchanged.
    Named,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum NumberKind {
    Plain,
    Change,
    /// An end of a change's interval.
    End,
    Share,
    /// A latency, with its factor to nanoseconds.
    Time(f64),
    Seconds,
    Bytes,
}

impl Units {
    /// The column's name above numbers printed by [`Self::text`].
    pub(super) fn heading(self, column: &Column) -> &str {
        match (self, column.kind) {
            (Self::Suited, Of::Named) => number_kind(&column.name).1,
            _ => &column.name,
        }
    }

    pub(super) fn text(self, value: &CellValue, column: &Column) -> String {
        let kind = match (self, column.kind) {
            (Self::Suited, Of::Named) => number_kind(&column.name).0,
            _ => NumberKind::Plain,
        };
        match (value, kind) {
            (CellValue::Int(number), NumberKind::Plain) => number.to_string(),
            (CellValue::Real(number), NumberKind::Plain) if column.name.ends_with("_pct") => {
                numbers::fixed(*number, 1).replace(',', "")
            }
            (CellValue::Real(number), NumberKind::Plain) if column.name.starts_with("cost_") => {
                numbers::money(*number).replace(',', "")
            }
            // A reader's own query keeps its digits.
            (CellValue::Real(number), NumberKind::Plain) if matches!(self, Self::Named) => {
                numbers::four_digits(*number).replace(',', "")
            }
            (CellValue::Real(number), NumberKind::Plain) => numbers::figure_text(*number).replace(',', ""),
            (CellValue::Int(number), kind) => suited(*number as f64, kind),
            (CellValue::Real(number), kind) => suited(*number, kind),
            (CellValue::Null, _) => String::new(),
            (CellValue::Text(text) | CellValue::Marked(Marked { text, .. }), _) => {
                visible::line(text).into_owned()
            }
            (CellValue::Blob(bytes), _) => format!("({} bytes)", bytes.len()),
            (CellValue::Data(data), _) => visible::line(&data.to_string()).into_owned(),
        }
    }

    /// The columns that people see.
    pub(super) fn columns(self, table: &Table) -> Cow<'_, Table> {
        let facts = ColumnFacts::of(&table.into());
        if facts.iter().all(|facts| facts.is_shown) {
            return Cow::Borrowed(table);
        }
        Cow::Owned(table.clone().only(|_, at| facts[at].is_shown))
    }
}

/// What decides how a column is shown to people.
#[derive(Debug, Clone, Copy)]
pub(super) struct ColumnFacts {
    /// Whether people see it.
    pub(super) is_shown: bool,
    /// Whether it is aligned to the right: by its kind, or because it has only numbers.
    pub(super) is_numeric: bool,
}

/// What the values of a column say so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct SeenValues {
    has_values: bool,
    are_numbers: bool,
    are_empty: bool,
}

impl Default for SeenValues {
    fn default() -> Self {
        Self { has_values: false, are_numbers: true, are_empty: true }
    }
}

impl SeenValues {
    pub(super) fn add(&mut self, value: &CellValue) {
        let value = value.raw();
        self.has_values |= *value != CellValue::Null;
        self.are_numbers &= matches!(value, CellValue::Null | CellValue::Int(_) | CellValue::Real(_));
        self.are_empty &= match value {
            CellValue::Text(text) | CellValue::Marked(Marked { text, .. }) => text.is_empty(),
            other => matches!(other, CellValue::Null | CellValue::Int(0)),
        };
    }

    pub(super) fn facts(self, column: &Column) -> ColumnFacts {
        ColumnFacts {
            is_shown: !column.hidden && (!column.optional || !self.are_empty),
            is_numeric: match column.kind {
                Of::Text => false,
                Of::Number => true,
                Of::Named => self.has_values && self.are_numbers,
            },
        }
    }
}

impl ColumnFacts {
    /// Of all columns.
    pub(super) fn of(table: &LongTable<'_>) -> Vec<Self> {
        let mut seen = vec![SeenValues::default(); table.columns.len()];
        table.each(|row| seen.iter_mut().zip(row).for_each(|(seen, value)| seen.add(value)));
        seen.into_iter().zip(&*table.columns).map(|(seen, column)| seen.facts(column)).collect()
    }
}

fn suited(number: f64, kind: NumberKind) -> String {
    match kind {
        NumberKind::Plain => numbers::figure_text(number),
        NumberKind::Change => numbers::change(number),
        NumberKind::End => numbers::change_end(number),
        NumberKind::Share => numbers::percent(number / 100.0),
        // From a minute on, minutes and hours are easier to read.
        NumberKind::Time(to_ns) if number * to_ns >= 60e9 => numbers::duration(number * to_ns / 1e9),
        NumberKind::Time(to_ns) => numbers::latency_ns(number * to_ns),
        NumberKind::Seconds => numbers::duration(number),
        NumberKind::Bytes => numbers::bytes(number.max(0.0) as u64),
    }
}

/// What a column's name says about its numbers, and the name without that.
fn number_kind(column: &str) -> (NumberKind, &str) {
    let units = [
        ("change_pct", NumberKind::Change),
        ("low_pct", NumberKind::End),
        ("high_pct", NumberKind::End),
        ("_pct", NumberKind::Share),
        ("_us", NumberKind::Time(1e3)),
        ("_ms", NumberKind::Time(1e6)),
        ("_s", NumberKind::Seconds),
        ("_bytes", NumberKind::Bytes),
    ];
    // A rate is not a duration.
    if column.ends_with("per_s") {
        return (NumberKind::Plain, column);
    }
    // The unit is what follows the last underscore.
    let named = |unit: &str| Some(&column[..column.len() - (unit.len() - unit.rfind('_')?)]);
    units
        .into_iter()
        .filter(|(unit, _)| column.ends_with(unit))
        .find_map(|(unit, kind)| Some((kind, named(unit)?)))
        .filter(|(_, name)| !name.is_empty())
        .unwrap_or((NumberKind::Plain, column))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: `272630` below `p99_us` is hard to read.
    #[test]
    fn numbers_get_the_unit_that_suits_them() {
        for (column, value, heading, text) in [
            ("p99_us", CellValue::Real(272_630.4), "p99", "273 ms"),
            ("p50_us", CellValue::Int(793), "p50", "793 µs"),
            ("duration_ms", CellValue::Real(1850.0), "duration", "1.85 s"),
            ("duration_ms", CellValue::Real(7_200_000.0), "duration", "2 h 00 min"),
            ("warmup_s", CellValue::Real(2.0), "warmup", "2 s"),
            ("size_bytes", CellValue::Int(34_603_008), "size", "33.0 MB"),
            ("gis_change_pct", CellValue::Real(5088.0), "gis_change", "52 times"),
            ("low_pct", CellValue::Real(-1.8), "low", "-1.8"),
            ("high_pct", CellValue::Real(5088.0), "high", "52 times"),
            ("steal_pct", CellValue::Real(4.12), "steal", "4.1 %"),
            ("rate_per_s", CellValue::Real(16_000.0), "rate_per_s", "16000"),
            ("tps_mean", CellValue::Real(5.1234), "tps_mean", "5.12"),
            // Regression: a million GETs of Redis cost 0.000.
            ("cost_per_million", CellValue::Real(0.000_42), "cost_per_million", "4.20e-4"),
            ("p99_us", CellValue::Null, "p99", ""),
        ] {
            let table = Table::new([column]);
            let column = &table.columns[0];
            let shown = (Units::Suited.heading(column), Units::Suited.text(&value, column));
            assert_eq!(shown, (heading, text.to_owned()));
        }
        let table = Table::new(["p99_us"]);
        assert_eq!(Units::Named.heading(&table.columns[0]), "p99_us");
        assert_eq!(Units::Named.text(&CellValue::Real(272_630.4), &table.columns[0]), "272630");
    }

    #[test]
    fn optional_columns_stand_only_where_they_say_something() {
        let mut table = Table::new(["a", "groups"]);
        table.optional(["groups"]);
        table.push(vec![1_i64.into(), CellValue::Null]);
        assert_eq!(Units::Suited.columns(&table).names(), ["a"]);
        table.push(vec![1_i64.into(), "two".into()]);
        assert_eq!(Units::Suited.columns(&table).names(), ["a", "groups"]);
    }
}
