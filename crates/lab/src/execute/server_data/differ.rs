//! The differences of two servers, as text.

use std::collections::BTreeSet;

use spec::bytes;

use super::{Rows, ServerData, ServerTable};

/// Counted rows that differ by more than this share are different data.
const ROWS: f64 = 0.01;
/// The same for estimates, which are coarse.
const ESTIMATES: f64 = 0.10;
/// From this ratio of sizes tables with similar rows differ, e.g. by bloat or a fill factor.
const SIZES: f64 = 1.25;
/// Smaller tables are ignored, bytes.
const SMALL: u64 = 1 << 20;
/// Statistics older than this may be stale if the other server has much younger ones, seconds.
const OLD_S: f64 = 86_400.0;
/// Most differences of a kind in a report.
const TOLD: usize = 6;

#[derive(Debug, Clone, Copy)]
pub(in crate::execute) struct Names<'a> {
    pub(in crate::execute) base: &'a str,
    pub(in crate::execute) other: &'a str,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::execute) struct Differences {
    /// Tables, rows, indexes, sizes.
    pub(in crate::execute) data: Vec<String>,
    /// Version, settings, age of statistics.
    pub(in crate::execute) setup: Vec<String>,
}

impl Differences {
    pub(in crate::execute) fn of(base: &ServerData, other: &ServerData, names: Names<'_>) -> Self {
        let mut found = Self::default();
        let all: BTreeSet<&String> = base.tables.keys().chain(other.tables.keys()).collect();
        for name in all {
            match (base.tables.get(name), other.tables.get(name)) {
                (Some(base), Some(other)) => found.table(name, base, other, names),
                (Some(_), None) => found.data.push(format!("table {name} is only at {}", names.base)),
                (None, Some(_)) => found.data.push(format!("table {name} is only at {}", names.other)),
                (None, None) => {}
            }
        }
        if let (Some(old), Some(now)) = (base.redis_keys, other.redis_keys)
            && differ(old as f64, now as f64, ROWS)
        {
            found.data.push(two("Redis keys", &number(now as f64), &number(old as f64), names));
        }
        if base.version != other.version {
            let [old, now] = [base, other].map(|held| shortened(&held.version, [base, other]));
            found.setup.push(two("server", &now, &old, names));
        }
        for (name, old) in &base.settings {
            if let Some(now) = other.settings.get(name).filter(|now| *now != old) {
                found.setup.push(two(name, now, old, names));
            }
        }
        found
    }

    fn table(&mut self, name: &str, base: &ServerTable, other: &ServerTable, names: Names<'_>) {
        let mut same_rows = true;
        if let (Some(old), Some(now)) = (base.rows, other.rows) {
            let tolerance = if old.is_exact && now.is_exact { ROWS } else { ESTIMATES };
            same_rows = !differ(old.count, now.count, tolerance);
            if !same_rows {
                self.data.push(two(&format!("rows of {name}"), &rows(now), &rows(old), names));
            }
        }
        if same_rows {
            for (what, old, now) in
                [("size of", base.bytes, other.bytes), ("indexes of", base.index_bytes, other.index_bytes)]
            {
                let ratio = now.max(1) as f64 / old.max(1) as f64;
                if old.max(now) >= SMALL && ratio.max(ratio.recip()) >= SIZES {
                    self.data.push(two(&format!("{what} {name}"), &bytes(now), &bytes(old), names));
                }
            }
        }
        for (lacks, has, of) in [(base, other, names.other), (other, base, names.base)] {
            for index in has.indexes.difference(&lacks.indexes) {
                self.data.push(format!("an index of {name} is only at {of}: {index}"));
            }
            for form in has.forms.difference(&lacks.forms) {
                self.data.push(format!("{name}: {form} only at {of}"));
            }
        }
        self.statistics(name, base, other, names);
    }

    fn statistics(&mut self, name: &str, base: &ServerTable, other: &ServerTable, names: Names<'_>) {
        let age = |of: &ServerTable| match (of.has_statistics, of.statistics_age_s) {
            (false, _) => "none".to_owned(),
            (true, None) => "of unknown age".to_owned(),
            (true, Some(age)) => format!("{} old", old(age)),
        };
        let one_lacks = base.has_statistics != other.has_statistics;
        let is_stale = base.statistics_age_s.zip(other.statistics_age_s).is_some_and(|(old, now)| {
            let (less, more) = (old.min(now), old.max(now));
            more > OLD_S && more > 10.0 * less
        });
        if one_lacks || is_stale && base.has_statistics {
            self.setup.push(two(&format!("statistics of {name}"), &age(other), &age(base), names));
        }
    }

    /// The differences of the data in a sentence, without its full stop; `None` if there are none.
    pub(in crate::execute) fn data_words(&self) -> Option<String> {
        told(&self.data)
    }

    pub(in crate::execute) fn setup_words(&self) -> Option<String> {
        told(&self.setup)
    }
}

fn told(all: &[String]) -> Option<String> {
    let more = match all.len().saturating_sub(TOLD) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    (!all.is_empty()).then(|| all[..all.len().min(TOLD)].join("; ") + &more)
}

/// `rows of orders: new 635,000, old 403,000`.
fn two(what: &str, other: &str, base: &str, names: Names<'_>) -> String {
    format!("{what}: {} {other}, {} {base}", names.other, names.base)
}

fn differ(one: f64, other: f64, tolerance: f64) -> bool {
    (one - other).abs() > tolerance * one.max(other)
}

fn rows(of: Rows) -> String {
    let about = if of.is_exact { "" } else { "about " };
    format!("{about}{}{}", number(of.count), if of.is_exact { "" } else { " (estimate)" })
}

fn number(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `3 days`, `5 h`, `12 min`.
fn old(seconds: f64) -> String {
    match seconds {
        s if s >= 86_400.0 => spec::count((s / 86_400.0) as u64, "day"),
        s if s >= 3600.0 => format!("{:.0} h", s / 3600.0),
        s => format!("{:.0} min", s / 60.0),
    }
}

/// `PostgreSQL 15.18`; the whole text if both have that in common.
fn shortened(version: &str, both: [&ServerData; 2]) -> String {
    let short = |version: &str| version.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    let [base, other] = both.map(|held| short(&held.version));
    if base == other { version.to_owned() } else { short(version) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: Names<'_> = Names { base: "old", other: "new" };

    fn table(rows: f64) -> ServerTable {
        ServerTable {
            rows: Some(Rows { count: rows, is_exact: true }),
            bytes: (rows * 100.0) as u64,
            index_bytes: 1 << 20,
            indexes: BTreeSet::from(["UNIQUE USING btree (id)".to_owned()]),
            forms: BTreeSet::from(["column id integer".to_owned()]),
            has_statistics: true,
            statistics_age_s: Some(600.0),
        }
    }

    fn held(orders: ServerTable) -> ServerData {
        let settings = [("work_mem".to_owned(), "4MB".to_owned())].into();
        ServerData {
            tables: [("orders".to_owned(), orders)].into(),
            version: "PostgreSQL 15.18 on x86_64, gcc 12".into(),
            settings,
            redis_keys: None,
        }
    }

    /// 635,000 orders against 403,000: "faster +32.6 %, all valid".
    #[test]
    fn servers_that_hold_other_rows_are_told_apart() {
        let found = Differences::of(&held(table(635_000.0)), &held(table(403_000.0)), NAMES);
        assert_eq!(found.data_words().unwrap(), "rows of orders: new 403,000, old 635,000");
        assert_eq!(found.setup_words(), None);
        assert_eq!(
            Differences::of(&held(table(1000.0)), &held(table(1009.0)), NAMES),
            Differences::default()
        );
        let estimate = |count| ServerTable { rows: Some(Rows { count, is_exact: false }), ..table(1000.0) };
        let found = Differences::of(&held(estimate(5e6)), &held(estimate(2e6)), NAMES);
        assert_eq!(
            found.data_words().unwrap(),
            "rows of orders: new about 2,000,000 (estimate), old about 5,000,000 (estimate)"
        );
    }

    #[test]
    fn indexes_sizes_settings_builds_and_statistics_are_told() {
        let mut other = held(table(1000.0));
        let orders = other.tables.get_mut("orders").unwrap();
        orders.bytes = 5 << 20;
        orders.indexes = BTreeSet::from(["USING btree (customer)".to_owned()]);
        orders.has_statistics = false;
        other.tables.insert("notes".into(), table(1.0));
        other.settings.insert("work_mem".into(), "64MB".into());
        other.version = "PostgreSQL 15.18 on x86_64, clang 14".into();
        let found = Differences::of(&held(table(1000.0)), &other, NAMES);
        assert_eq!(
            found.data,
            [
                "table notes is only at new",
                "size of orders: new 5.00 MB, old 97.7 kB",
                "an index of orders is only at new: USING btree (customer)",
                "an index of orders is only at old: UNIQUE USING btree (id)",
            ]
        );
        assert_eq!(
            found.setup,
            [
                "statistics of orders: new none, old 10 min old",
                "server: new PostgreSQL 15.18 on x86_64, clang 14, old PostgreSQL 15.18 on x86_64, gcc 12",
                "work_mem: new 64MB, old 4MB",
            ]
        );
    }

    /// An unlogged table against a logged one was "9.6 times faster", without a remark.
    #[test]
    fn tables_that_are_made_otherwise_are_told() {
        let mut other = held(table(1000.0));
        let orders = other.tables.get_mut("orders").unwrap();
        orders.forms = ["unlogged", "column id numeric"].map(str::to_owned).into();
        let found = Differences::of(&held(table(1000.0)), &other, NAMES);
        assert_eq!(
            found.data,
            [
                "orders: column id numeric only at new",
                "orders: unlogged only at new",
                "orders: column id integer only at old",
            ]
        );
    }

    #[test]
    fn many_differences_are_counted() {
        let many: Vec<String> = (0..9).map(|at| at.to_string()).collect();
        assert_eq!(told(&many).unwrap(), "0; 1; 2; 3; 4; 5; and 3 more");
    }
}
