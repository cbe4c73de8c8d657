//! A crosstab of any rows, columns and statistic over the runs of an experiment.

use std::collections::{BTreeMap, BTreeSet};

use spec::figures::{self, Unit};
use spec::{Run, Validity};

use crate::ReportData;
use crate::comparison::Level;

/// What a crosstab shows.
#[derive(Debug, Clone, PartialEq)]
pub struct CrossRequest {
    /// The factor down: a factor, `workload`, `round`, or `set`.
    pub rows: String,
    /// The factor across; `None` for one column.
    pub columns: Option<String>,
    /// `tps`, `time` of jobs, a percentile of response times such as `p99`, or a stored figure.
    pub value: String,
    pub statistic: Statistic,
    /// A row or a column: the others are shown as changes from it.
    pub change: Option<String>,
}

/// A name that no run has, and the names that there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownName {
    /// As text: `--rows client: no run has that factor`.
    pub what: String,
    pub name: String,
    pub known: Vec<String>,
}

impl UnknownName {
    fn new<'k>(what: String, name: &str, known: impl IntoIterator<Item = &'k str>) -> Self {
        Self { what, name: name.to_owned(), known: known.into_iter().map(str::to_owned).collect() }
    }
}

/// How the values of a cell become one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statistic {
    Mean,
    Median,
    Min,
    Max,
    /// Sum of the cell as a share of its column, percent.
    Share,
    /// Number of runs.
    Count,
    /// Quantile of the values of the runs, 0 to 1, interpolated.
    Quantile(f64),
}

impl Statistic {
    /// Reads `mean`, `median`, `min`, `max`, `share`, `count` or a percentile of runs such as `p90`.
    ///
    /// # Errors
    /// What it can be.
    pub fn read(text: &str) -> Result<Self, String> {
        Ok(match text {
            "mean" | "avg" => Self::Mean,
            "median" => Self::Median,
            "min" => Self::Min,
            "max" => Self::Max,
            "share" => Self::Share,
            "count" => Self::Count,
            other => Self::Quantile(quantile(other).ok_or_else(|| {
                "must be mean, median, min, max, share, count or a percentile such as p90".to_owned()
            })?),
        })
    }

    /// As text, for a caption.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Self::Mean => "mean of runs".to_owned(),
            Self::Median => "median of runs".to_owned(),
            Self::Min => "minimum of runs".to_owned(),
            Self::Max => "maximum of runs".to_owned(),
            Self::Share => "sum of runs in percent of the column".to_owned(),
            Self::Count => "number of runs".to_owned(),
            Self::Quantile(quantile) => format!("p{} of runs", quantile * 100.0),
        }
    }

    /// `None` without values; a share is the sum at first.
    fn of(self, values: &[f64]) -> Option<f64> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (first, last) = (*sorted.first()?, *sorted.last()?);
        Some(match self {
            Self::Mean => values.iter().sum::<f64>() / values.len() as f64,
            Self::Median => interpolated(&sorted, 0.5),
            Self::Min => first,
            Self::Max => last,
            Self::Share => values.iter().sum(),
            Self::Count => values.len() as f64,
            Self::Quantile(quantile) => interpolated(&sorted, quantile),
        })
    }
}

/// A crosstab; `None` where no run has the value.
#[derive(Debug, Clone, PartialEq)]
pub struct Cross {
    pub rows: Vec<String>,
    pub columns: Vec<String>,
    /// By row, then column. Changes are in percent.
    pub values: Vec<Vec<Option<f64>>>,
    /// With changes: the median of each row over the columns, or of each column over the rows if the changes are from a
    /// column.
    pub medians: Vec<Option<f64>>,
    /// Whether the changes are from a column.
    pub across: bool,
    pub unit: CrossUnit,
    /// Runs that are left out because they are invalid.
    pub invalid: usize,
}

/// Unit of the values of a crosstab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrossUnit {
    /// Transactions per second.
    Rate,
    /// Microseconds.
    Microseconds,
    Of(Unit),
}

/// The value of a run, its unit, and whether jobs have it.
enum CrossValue {
    Rate,
    Time,
    Percentile(f64),
    Stored(String),
}

impl CrossValue {
    fn read(name: &str, runs: &[&Run]) -> Result<Self, UnknownName> {
        match name {
            "tps" => return Ok(Self::Rate),
            "time" => return Ok(Self::Time),
            _ => {}
        }
        if let Some(quantile) = quantile(name) {
            return Ok(Self::Percentile(quantile));
        }
        let stored: BTreeSet<&str> = runs.iter().flat_map(|run| names(run)).collect();
        if stored.contains(name) {
            return Ok(Self::Stored(name.to_owned()));
        }
        let known = ["tps", "time", "p99"].into_iter().chain(stored);
        Err(UnknownName::new(format!("--value {name}: no run has that figure"), name, known))
    }

    fn of(&self, run: &Run) -> Option<f64> {
        match self {
            Self::Rate => run.tps(),
            Self::Time => run.took_s(),
            Self::Percentile(quantile) => run.response_us(*quantile),
            Self::Stored(name) => {
                let count = || run.counts.named(name).map(|count| count as f64);
                run.figures.named(name).or_else(count)
            }
        }
    }

    fn unit(&self) -> CrossUnit {
        match self {
            Self::Rate => CrossUnit::Rate,
            Self::Time => CrossUnit::Of(Unit::Seconds),
            Self::Percentile(_) => CrossUnit::Microseconds,
            Self::Stored(name) => CrossUnit::Of(figures::row(name).map_or(Unit::Count, |row| row.unit)),
        }
    }
}

fn names(run: &Run) -> impl Iterator<Item = &str> {
    run.counts.iter().map(|(name, _)| name).chain(run.figures.iter().map(|(name, _)| name))
}

/// `p99` is 0.99, `p99.9` is 0.999.
fn quantile(text: &str) -> Option<f64> {
    let percent: f64 = text.strip_prefix('p')?.parse().ok()?;
    (percent > 0.0 && percent < 100.0).then_some(percent / 100.0)
}

/// Linear interpolation between the two nearest of some sorted values, as PostgreSQL's `percentile_cont`.
fn interpolated(sorted: &[f64], quantile: f64) -> f64 {
    let position = quantile * (sorted.len() - 1) as f64;
    let (below, share) = (position.floor() as usize, position.fract());
    let above = sorted[(below + 1).min(sorted.len() - 1)];
    sorted[below] + (above - sorted[below]) * share
}

/// The level of a run in a factor; `None` if the factor does not concern it.
fn level(data: &ReportData, run: &Run, factor: &str) -> Option<Level> {
    let own = |text: &str| Some(Level(text.to_owned()));
    match factor {
        "workload" if data.experiment.compare_factor.as_deref() != Some("workload") => own(&run.workload),
        "clients" if run.clients > 0 && !run.factors.contains_key("clients") => own(&run.clients.to_string()),
        "round" => own(&run.round.to_string()),
        "set" => {
            let plan = data.experiment.plan.plan()?;
            let (_, by_hand) = plan.content.by_hand()?;
            own(&by_hand.set_of(run.round).to_string())
        }
        compared if data.experiment.compare_factor.as_deref() == Some(compared) => own(run.arm.as_deref()?),
        other => own(run.factors.get(other)?),
    }
}

fn check_factor(data: &ReportData, runs: &[&Run], option: &str, factor: &str) -> Result<(), UnknownName> {
    if runs.iter().any(|run| level(data, run, factor).is_some()) {
        return Ok(());
    }
    let mut known: BTreeSet<&str> =
        runs.iter().flat_map(|run| run.factors.keys()).map(String::as_str).collect();
    known.extend(data.experiment.compare_factor.as_deref());
    known.extend(["workload", "round"]);
    if data.experiment.plan.plan().is_some_and(|plan| plan.content.by_hand().is_some()) {
        known.insert("set");
    }
    Err(UnknownName::new(format!("{option} {factor}: no run has that factor"), factor, known))
}

/// Levels in order: arms with the base first, numbers as numbers.
fn levels(data: &ReportData, runs: &[&Run], factor: &str) -> Vec<Level> {
    let found: BTreeSet<Level> = runs.iter().filter_map(|run| level(data, run, factor)).collect();
    if data.experiment.compare_factor.as_deref() != Some(factor) {
        return found.into_iter().collect();
    }
    let arms = data.experiment.arms.iter().map(|arm| Level(arm.name.clone()));
    arms.filter(|arm| found.contains(arm)).collect()
}

/// The crosstab.
///
/// # Errors
/// When a factor, a figure or a level is unknown.
pub fn cross(data: &ReportData, asked: &CrossRequest) -> Result<Cross, UnknownName> {
    let all: Vec<&Run> = data.measured_runs().collect();
    let runs: Vec<&Run> = all.iter().copied().filter(|run| run.validity != Validity::Invalid).collect();
    check_factor(data, &all, "--rows", &asked.rows)?;
    if let Some(columns) = &asked.columns {
        check_factor(data, &all, "--columns", columns)?;
    }
    let value = CrossValue::read(&asked.value, &all)?;
    if all.iter().all(|run| value.of(run).is_none()) {
        let known = ["tps", "time", "p99"];
        let what = format!("--value {}: no run has that figure", asked.value);
        return Err(UnknownName::new(what, "", known.into_iter().filter(|name| *name != asked.value)));
    }
    let rows = levels(data, &all, &asked.rows);
    let columns =
        asked.columns.as_ref().map_or_else(|| vec![Level::default()], |columns| levels(data, &all, columns));
    let mut values: BTreeMap<(Level, Level), Vec<f64>> = BTreeMap::new();
    for run in &runs {
        let column = match &asked.columns {
            Some(columns) => level(data, run, columns),
            None => Some(Level::default()),
        };
        if let (Some(row), Some(column), Some(value)) = (level(data, run, &asked.rows), column, value.of(run))
        {
            values.entry((row, column)).or_default().push(value);
        }
    }
    let of = |row: &Level, column: &Level| asked.statistic.of(values.get(&(row.clone(), column.clone()))?);
    let table: Vec<Vec<Option<f64>>> =
        rows.iter().map(|row| columns.iter().map(|column| of(row, column)).collect()).collect();
    let text = |levels: Vec<Level>| levels.into_iter().map(|level| level.0).collect();
    let mut cross = Cross {
        rows: text(rows),
        columns: text(columns),
        values: table,
        medians: Vec::new(),
        across: false,
        unit: match asked.statistic {
            Statistic::Share => CrossUnit::Of(Unit::Percent),
            Statistic::Count => CrossUnit::Of(Unit::Count),
            _ => value.unit(),
        },
        invalid: all.len() - runs.len(),
    };
    if asked.statistic == Statistic::Share {
        cross.share();
    }
    if let Some(from) = &asked.change {
        cross.change_from(from)?;
    }
    Ok(cross)
}

impl Cross {
    fn share(&mut self) {
        for column in 0..self.columns.len() {
            let sum: f64 = self.values.iter().filter_map(|row| row[column]).sum();
            for row in &mut self.values {
                row[column] = row[column].map(|value| 100.0 * value / sum);
            }
        }
    }

    /// Replaces values by their changes from a row, or else from a column of this name, which is left out.
    fn change_from(&mut self, from: &str) -> Result<(), UnknownName> {
        let change = |value: Option<f64>, base: Option<f64>| {
            base.filter(|base| *base != 0.0).and_then(|base| Some(100.0 * (value? / base - 1.0)))
        };
        if let Some(at) = self.rows.iter().position(|row| row == from) {
            self.rows.remove(at);
            let base = self.values.remove(at);
            for row in &mut self.values {
                row.iter_mut().zip(&base).for_each(|(value, base)| *value = change(*value, *base));
            }
            self.medians = self.values.iter().map(|row| median(row.iter().copied())).collect();
        } else if let Some(at) = self.columns.iter().position(|column| column == from) {
            self.columns.remove(at);
            for row in &mut self.values {
                let base = row.remove(at);
                row.iter_mut().for_each(|value| *value = change(*value, base));
            }
            let columns = 0..self.columns.len();
            self.medians = columns.map(|at| median(self.values.iter().map(|row| row[at]))).collect();
            self.across = true;
        } else {
            let all = self.rows.iter().chain(&self.columns).map(String::as_str);
            let known = all.filter(|name| !name.is_empty());
            return Err(UnknownName::new(
                format!("--change {from}: neither a row nor a column has this name"),
                from,
                known,
            ));
        }
        self.unit = CrossUnit::Of(Unit::Percent);
        Ok(())
    }
}

fn median(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    Statistic::Median.of(&values.flatten().collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{experiment, host, run, target};

    /// Two levels of memory at 1 and 4 clients, in two rounds; the mean of each is its rate.
    fn data() -> ReportData {
        let mut record = experiment(&["2133", "3200"]);
        record.compare_factor = Some("memory".to_owned());
        let mut runs = Vec::new();
        for (arm, factor) in [("2133", 1.0), ("3200", 1.1)] {
            for (clients, rate) in [(1, 1000.0), (4, 3000.0)] {
                for (round, off) in [(1, -10.0), (2, 10.0)] {
                    let mut own = run("reads", clients, Some(arm), round, rate * factor + off);
                    own.figures.set_named("wal_bytes".to_owned(), 100.0);
                    runs.push(own);
                }
            }
        }
        runs.last_mut().unwrap().validity = Validity::Invalid;
        ReportData::new(record, host(), target(), runs)
    }

    fn asked(statistic: &str, value: &str, change: Option<&str>) -> CrossRequest {
        CrossRequest {
            rows: "memory".to_owned(),
            columns: Some("clients".to_owned()),
            value: value.to_owned(),
            statistic: Statistic::read(statistic).unwrap(),
            change: change.map(str::to_owned),
        }
    }

    fn rounded(values: &[Vec<Option<f64>>]) -> Vec<Vec<f64>> {
        values
            .iter()
            .map(|row| row.iter().map(|value| (value.unwrap() * 10.0).round() / 10.0).collect())
            .collect()
    }

    #[test]
    fn any_rows_columns_and_statistic() {
        let data = data();
        let of = |statistic: &str, change| {
            rounded(&cross(&data, &asked(statistic, "tps", change)).unwrap().values)
        };
        assert_eq!(of("mean", None), [[1000.0, 3000.0], [1100.0, 3290.0]]);
        assert_eq!(of("max", None), [[1010.0, 3010.0], [1110.0, 3290.0]]);
        assert_eq!(of("p25", None), [[995.0, 2995.0], [1095.0, 3290.0]]);
        assert_eq!(of("count", None), [[2.0, 2.0], [2.0, 1.0]]);
        assert_eq!(of("mean", Some("2133")), [[10.0, 9.7]]);
        assert_eq!(of("mean", Some("1")), [[200.0], [199.1]]);
        let changed = cross(&data, &asked("mean", "tps", Some("2133"))).unwrap();
        assert_eq!((changed.rows, changed.invalid, changed.across), (vec!["3200".to_owned()], 1, false));
        assert!((changed.medians[0].unwrap() - 9.83).abs() < 0.01);
        let shares = of("share", None);
        assert!((shares[0][0] + shares[1][0] - 100.0).abs() < 0.11, "{shares:?}");
        assert_eq!(cross(&data, &asked("mean", "wal_bytes", None)).unwrap().unit, CrossUnit::Of(Unit::Bytes));
    }

    #[test]
    fn what_is_unknown_is_said_with_what_is_known() {
        let data = data();
        let error = |asked| cross(&data, &asked).unwrap_err();
        let rows = CrossRequest { rows: "client".to_owned(), ..asked("mean", "tps", None) };
        assert_eq!(error(rows).known, ["clients", "memory", "round", "workload"]);
        assert!(error(asked("mean", "wal_byte", None)).known.contains(&"wal_bytes".to_owned()));
        assert_eq!(error(asked("mean", "tps", Some("3000"))).known, ["2133", "3200", "1", "4"]);
        assert!(Statistic::read("average").unwrap_err().contains("p90") && Statistic::read("p100").is_err());
    }
}
