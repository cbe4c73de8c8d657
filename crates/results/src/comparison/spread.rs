//! Repeats without compared arms: the figures of a cell, run by run.

use spec::{Arrivals, Run, Validity};

use super::pairs::Cell;
use super::{Metric, Summary};
use crate::answer::SuspectRuns;
use crate::cells::InTime;

/// An outlier is at least this far from the median, as a share. Smaller differences do not matter, and come
/// from whole transactions.
const FAR: f64 = 0.03;

/// The runs of a cell without arms.
#[derive(Debug, Clone)]
pub struct Spread {
    pub cell: Cell,
    /// Whether they are jobs: values are then seconds.
    pub job: bool,
    /// Round and value of each counted run, in order of execution; per second or µs, by the metric.
    pub values: Vec<(u32, f64)>,
    /// Invalid runs, which are in no figure.
    pub invalid: usize,
    pub suspect: Option<SuspectRuns>,
    /// What arrived, if the load was too much.
    pub overload: Option<Arrivals>,
}

impl Spread {
    /// All cells of these runs, in order.
    #[must_use]
    pub fn of<'r>(runs: impl Iterator<Item = &'r Run>, metric: Metric) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        let mut runs: Vec<&Run> = runs.collect();
        runs.sort_by_key(|run| (Cell::of(run), run.sequence));
        for &run in &runs {
            let cell = Cell::of(run);
            if found.last().is_none_or(|last| last.cell != cell) {
                found.push(Self {
                    cell,
                    job: run.took_s().is_some(),
                    values: Vec::new(),
                    invalid: 0,
                    suspect: None,
                    overload: None,
                });
            }
            let Some(last) = found.last_mut() else { continue };
            let value = run.took_s().filter(|_| metric == Metric::Tps).or_else(|| metric.of(run));
            match value.filter(|_| run.validity != Validity::Invalid) {
                Some(value) => last.values.push((run.round, value)),
                None => last.invalid += 1,
            }
        }
        for of in &mut found {
            let own = runs.iter().copied().filter(|run| run.validity != Validity::Invalid);
            let own: Vec<&Run> = own.filter(|run| of.cell.holds(run)).collect();
            of.overload = InTime::of(&own).overload();
            of.suspect = SuspectRuns::of(own.into_iter());
        }
        found
    }

    fn plain(&self) -> Vec<f64> {
        self.values.iter().map(|(_, value)| *value).collect()
    }

    /// Mean, least and most.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.plain().into_iter().collect()
    }

    /// 95 % t interval of the mean; `None` for fewer than two runs.
    #[must_use]
    pub fn interval(&self) -> Option<(f64, f64)> {
        stats::mean_with_interval(&self.plain())?.1
    }

    /// Runs that do not fit the others, and are farther than `FAR` from the median. They still count.
    #[must_use]
    pub fn outliers(&self) -> Vec<(u32, f64)> {
        let mut sorted = self.plain();
        sorted.sort_by(f64::total_cmp);
        let median = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
        let is_far = |(_, value): &(u32, f64)| (value / median - 1.0).abs() > FAR;
        stats::outliers(&self.plain()).into_iter().map(|at| self.values[at]).filter(is_far).collect()
    }
}

#[cfg(test)]
mod tests {
    use spec::figures;

    use super::*;
    use crate::fixture::run;

    /// Regression: three plain runs "compared nothing".
    #[test]
    fn repeats_without_arms_have_mean_interval_range_and_outliers() {
        let runs: Vec<Run> = [1000.0, 1010.0, 990.0, 1005.0, 300.0]
            .into_iter()
            .enumerate()
            .map(|(at, tps)| run("reads", 4, None, at as u32 + 1, tps))
            .collect();
        let found = Spread::of(runs.iter(), Metric::Tps);
        let [spread] = &found[..] else { panic!("{found:?}") };
        let summary = spread.summary();
        assert_eq!((summary.n, summary.mean, summary.range()), (5, Some(861.0), Some((300.0, 1010.0))));
        let (low, high) = spread.interval().unwrap();
        // By hand: s = 313.7, t(.975, 4) = 2.776.
        assert!((low - 471.5).abs() < 1.0 && (high - 1250.5).abs() < 1.0, "{low} {high}");
        assert_eq!(spread.outliers(), [(5, 300.0)]);
    }

    /// 17.25, 17.25, 17.25 and 17.75: two more whole transactions.
    #[test]
    fn a_run_that_is_nearly_as_fast_is_no_outlier() {
        let tps = [1000.0, 1000.0, 1000.0, 1029.0];
        let runs: Vec<Run> = (1..=4).zip(tps).map(|(round, tps)| run("reads", 4, None, round, tps)).collect();
        assert_eq!(Spread::of(runs.iter(), Metric::Tps)[0].outliers(), []);
    }

    #[test]
    fn invalid_runs_are_counted_and_in_no_figure() {
        let mut runs = [run("reads", 4, None, 1, 1000.0), run("reads", 4, None, 2, 10.0)];
        runs[1].validity = Validity::Invalid;
        let found = Spread::of(runs.iter(), Metric::Tps);
        assert_eq!((found[0].values.len(), found[0].invalid, found[0].interval()), (1, 1, None));
    }

    /// Regression: all of five repeats were suspect, and only the report mentioned it.
    #[test]
    fn doubts_about_repeats_are_told_with_them() {
        let mut runs: Vec<Run> = (1..=4).map(|round| run("reads", 4, None, round, 1000.0)).collect();
        assert_eq!(Spread::of(runs.iter(), Metric::Tps)[0].suspect, None);
        for run in &mut runs[..2] {
            run.validity = Validity::Suspect;
            run.doubts = vec![spec::Doubt { reason: spec::Reason::OtherPrograms, detail: String::new() }];
        }
        let told = Spread::of(runs.iter(), Metric::Tps)[0].suspect.expect("half of them").words();
        assert_eq!(told, "2 of 4 runs are suspect (other programs)");
    }

    /// Regression: a rung was overloaded at the end of its run, and suspect for other programs in a comparison.
    #[test]
    fn an_overloaded_cell_is_so_whatever_else_disturbed_its_runs() {
        let mut runs = [run("reads", 4, None, 1, 1000.0), run("reads", 4, None, 2, 1000.0)];
        for (run, done) in runs.iter_mut().zip([400, 995]) {
            (run.load, run.offered_rate, run.measured_s) = (spec::OfferedLoad::Rate, Some(1000.0), 1.0);
            let counts = [
                (figures::DUE, 1000),
                (figures::OK, done),
                (figures::LATE, 0),
                (figures::SKIPPED, 1000 - done),
            ];
            run.counts.extend(counts);
            run.validity = Validity::Suspect;
            run.doubts = vec![spec::Doubt { reason: spec::Reason::OtherPrograms, detail: String::new() }];
        }
        let found = Spread::of(runs.iter(), Metric::Tps);
        assert_eq!(found[0].overload.map(|arrivals| arrivals.share()), Some(1395.0 / 2000.0));
        assert_eq!(Spread::of(runs[1..].iter(), Metric::Tps)[0].overload, None);
    }
}
