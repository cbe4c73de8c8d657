//! In what arms differ besides speed: counters per transaction while they ran.
//!
//! A figure is reported if it differs by much, steadily in all rounds, and by enough to matter; the surest
//! difference first. The rules are constants here and lines of `spec::figures`, their reasons in
//! docs/explanation/verdicts.md.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde::ser::{Serialize, SerializeStruct, Serializer};
use spec::figures::{self, FigureRow, Notable, Per, Unit};
use spec::plan::ByHand;
use spec::{ExperimentRecord, Run, RunKind};
use stats::Estimate;

use super::pairs::by_cell_and_arm;
use super::sets;

/// From this ratio on a difference is large: a quarter more, or a fifth less.
const LARGE: f64 = 1.25;
/// The 99 % interval of the ratio must be beyond this one.
const SURELY: f64 = 1.1;
const CONFIDENCE: f64 = 0.99;
/// Fewer rounds do not show that a difference is steady.
const FEWEST: usize = 3;
/// At least this many must have been counted in one arm, all rounds together.
const ENOUGH: f64 = 20.0;
/// Lower limit of the standard error of a mean log ratio: among figures without noise the larger difference
/// is the surer one.
const LEAST_NOISE: f64 = 0.01;
/// Lower limit of a value, as a share of the amount that matters: ratios to zero do not exist.
const NEXT_TO_NOTHING: f64 = 0.01;

/// A figure in which arms may differ, and the amount from which on that matters. The CPU time of pgdyno's
/// client is left out: it is an effect of the measured speed, not a cause.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantity {
    pub row: &'static FigureRow,
    pub notable: &'static Notable,
}

impl Quantity {
    /// The amount of a run, and what it is divided by; `None` if it was not measured.
    fn of(&self, run: &Run) -> Option<(f64, f64)> {
        let name = self.row.name;
        let figure = run.figures.named(name).map(|amount| (amount, false));
        let (amount, is_counter) =
            figure.or_else(|| run.counts.named(name).map(|count| (count as f64, true)))?;
        let divisor = match self.row.per {
            Per::Minute => run.measured_s / 60.0,
            _ if run.kind == RunKind::Job => 1.0,
            // Clients count transactions that began in the measured part, other counters the ones that ended
            // in it.
            _ if is_counter => (run.count(figures::OK) + run.count(figures::LATE)) as f64,
            _ => run.completed() as f64,
        };
        (amount >= 0.0).then_some((amount, divisor))
    }

    fn all() -> impl Iterator<Item = Self> {
        figures::table().filter_map(|row| Some(Self { row, notable: row.notable.as_ref()? }))
    }
}

/// The counts of an arm and the base in a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    pub workload: String,
    pub arm: String,
    pub of: Quantity,
    pub per: Per,
    pub base: f64,
    pub new: f64,
    /// Of the mean ratio, like throughput: from pairs of a round, or from whole sets.
    pub estimate: Estimate,
    /// Whether it is large, steady, and matters.
    pub large: bool,
}

impl Difference {
    /// New to base, of the shown amounts; `None` if one of them is zero or almost, or both are near zero.
    /// Steadiness is judged by the mean ratio of rounds, which differs if few rounds hold most of the
    /// amount.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        let least = self.of.notable.matters * NEXT_TO_NOTHING;
        (self.base > least && self.new > least && !self.is_near_zero()).then(|| self.new / self.base)
    }

    fn is_near_zero(&self) -> bool {
        self.base.max(self.new) < self.of.notable.matters
    }

    /// The mean log ratio of the rounds over its noise: how surely base and new differ. `None` if both are
    /// near zero, or the noise is unknown.
    #[must_use]
    pub fn over_noise(&self) -> Option<f64> {
        let noise = self.estimate.standard_error.filter(|_| !self.is_near_zero())?;
        Some(self.estimate.log_ratio.abs() / noise.max(LEAST_NOISE))
    }

    /// The mean ratio of rounds and its 95 % interval, if there is a ratio.
    #[must_use]
    pub fn mean_ratio(&self) -> [Option<f64>; 3] {
        let mean = self.ratio().map(|_| self.estimate.log_ratio.exp());
        let interval = self.estimate.interval(0.95).filter(|_| mean.is_some());
        [mean, interval.map(|(low, _)| low.exp()), interval.map(|(_, high)| high.exp())]
    }
}

impl Serialize for Difference {
    /// Flat, with the data that a program needs for its own judgement.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [mean, low, high] = self.mean_ratio();
        let mut fields = serializer.serialize_struct("Difference", 13)?;
        fields.serialize_field("workload", &self.workload)?;
        fields.serialize_field("arm", &self.arm)?;
        fields.serialize_field("figure", self.of.row.name)?;
        fields.serialize_field("unit", self.of.row.unit.name())?;
        fields.serialize_field("per", self.per.name())?;
        fields.serialize_field("base", &self.base)?;
        fields.serialize_field("new", &self.new)?;
        fields.serialize_field("ratio", &self.ratio())?;
        fields.serialize_field("mean_ratio", &mean)?;
        fields.serialize_field("mean_ratio_low", &low)?;
        fields.serialize_field("mean_ratio_high", &high)?;
        fields.serialize_field("over_noise", &self.over_noise())?;
        fields.serialize_field("large", &self.large)?;
        fields.end()
    }
}

/// How the rounds of two arms are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compared {
    Paired,
    Unpaired,
    BySets(ByHand),
}

/// The compared runs of a cell: by round, of the base and of the arm.
type Sides<'r> = [BTreeMap<u32, &'r Run>; 2];

/// The counts of every other arm against the base, by arm, then workload: counted figures before timed
/// ones, and the surest differences first; empty if nothing is compared. Invalid runs are left out, with
/// their whole pair.
#[must_use]
pub fn differences(experiment: &ExperimentRecord, runs: &[Run]) -> Vec<Difference> {
    let Some(base) = &experiment.base else { return Vec::new() };
    let runs = by_cell_and_arm(runs);
    let how = match (sets::by_hand(experiment), experiment.is_interleaved()) {
        (Some(by_hand), _) => Compared::BySets(by_hand),
        (None, true) => Compared::Paired,
        (None, false) => Compared::Unpaired,
    };
    let mut found = Vec::new();
    for arm in experiment.arms.iter().filter(|arm| arm.name != *base) {
        let mut workloads: BTreeMap<&str, Vec<Sides<'_>>> = BTreeMap::new();
        for ((cell, _), of_base) in runs.iter().filter(|((_, own), _)| own.as_ref() == Some(base)) {
            let Some(of_arm) = runs.get(&(cell.clone(), Some(arm.name.clone()))) else { continue };
            let sides = [of_base, of_arm].map(|runs| runs.iter().map(|run| (run.round, *run)).collect());
            workloads.entry(&cell.workload).or_default().push(sides);
        }
        for (workload, cells) in &workloads {
            let names = (*workload, arm.name.as_str());
            // Most figures of the table are in no run, and there may be thousands of runs.
            let present = present(cells);
            let quantities = Quantity::all().filter(|of| present.contains(of.row.name));
            let mut of_it: Vec<Difference> =
                quantities.filter_map(|of| difference(names, of, cells, how)).collect();
            of_it.sort_by(|a, b| rank(b).partial_cmp(&rank(a)).unwrap_or(Ordering::Equal));
            found.extend(of_it);
        }
    }
    found
}

/// Names of the figures and counters of these runs.
fn present<'r>(cells: &[Sides<'r>]) -> HashSet<&'r str> {
    let runs = || cells.iter().flatten().flat_map(BTreeMap::values);
    let counters = runs().flat_map(|run| run.counts.iter().map(|(name, _)| name));
    counters.chain(runs().flat_map(|run| run.figures.iter().map(|(name, _)| name))).collect()
}

/// The surest notable differences of a workload and arm, one of each family.
#[must_use]
pub fn largest<'d>(all: &'d [Difference], workload: &str, arm: &str, most: usize) -> Vec<&'d Difference> {
    let mut families = BTreeSet::new();
    let of_it = all.iter().filter(|own| own.large && own.workload == workload && own.arm == arm);
    of_it.filter(|own| families.insert(own.of.notable.family)).take(most).collect()
}

/// The order: figures that are ranked before others, counted ones before timed ones, then by certainty.
fn rank(of: &Difference) -> (bool, bool, f64) {
    let over_noise = of.over_noise();
    (over_noise.is_some(), of.of.row.unit != Unit::Seconds, over_noise.unwrap_or_default())
}

/// Counts of one side: amounts of its runs, their divisors, and the values of its rounds.
#[derive(Default)]
struct Side {
    amount: f64,
    divisor: f64,
    values: BTreeMap<u32, f64>,
}

impl Side {
    fn add(&mut self, of: Quantity, round: u32, (amount, divisor): (f64, f64)) {
        if divisor > 0.0 {
            self.amount += amount;
            self.divisor += divisor;
            self.values.insert(round, (amount / divisor).max(of.notable.matters * NEXT_TO_NOTHING));
        }
    }

    fn logs(&self) -> Vec<f64> {
        self.values.values().copied().collect()
    }
}

fn difference(
    (workload, arm): (&str, &str),
    of: Quantity,
    cells: &[Sides<'_>],
    how: Compared,
) -> Option<Difference> {
    type Measured = BTreeMap<u32, (f64, f64)>;
    let sides = |cell: &Sides<'_>| {
        let [base, new] = cell.each_ref().map(|runs| {
            runs.iter().filter_map(|(&round, run)| Some((round, of.of(run)?))).collect::<Measured>()
        });
        let one = |own: &Measured, other: &Measured| {
            let mut side = Side::default();
            own.iter()
                .filter(|(round, _)| how != Compared::Paired || other.contains_key(round))
                .for_each(|(&round, &measured)| side.add(of, round, measured));
            side
        };
        [one(&base, &new), one(&new, &base)]
    };
    let sides: Vec<[Side; 2]> = cells.iter().map(sides).collect();
    let total = |side: usize| {
        let (amount, divisor) = sides.iter().fold((0.0, 0.0), |(amount, divisor), cell| {
            (amount + cell[side].amount, divisor + cell[side].divisor)
        });
        (divisor > 0.0).then(|| (amount, amount / divisor))
    };
    let ((all_base, base), (all_new, new)) = (total(0)?, total(1)?);
    let estimate = match how {
        Compared::Paired => of_pairs(&sides),
        Compared::Unpaired => of_all(&sides),
        Compared::BySets(by_hand) => of_sets(&sides, by_hand),
    }?;
    let enough = all_base.max(all_new) / of.notable.event >= ENOUGH;
    // Rounds and their sum must agree: in the average of rounds a round with a small amount counts as much
    // as one with a large amount.
    let in_all =
        (new.max(f64::MIN_POSITIVE) / base.max(f64::MIN_POSITIVE)).ln() * estimate.log_ratio.signum();
    let large = enough
        && (new - base).abs() >= of.notable.matters
        && in_all >= LARGE.ln()
        && is_large_and_steady(&estimate);
    let jobs = cells.iter().flatten().flat_map(BTreeMap::values).any(|run| run.kind == RunKind::Job);
    let per = if jobs && of.row.per == Per::Transaction { Per::Run } else { of.row.per };
    let (workload, arm) = (workload.to_owned(), arm.to_owned());
    Some(Difference { workload, arm, of, per, base, new, estimate, large })
}

fn of_pairs(cells: &[[Side; 2]]) -> Option<Estimate> {
    let rounds: BTreeSet<u32> =
        cells.iter().flat_map(|cell| &cell[0].values).map(|(round, _)| *round).collect();
    let of_cell = |[base, new]: &[Side; 2]| {
        rounds
            .iter()
            .map(|round| Some((new.values.get(round)? / base.values.get(round)?).ln()))
            .collect::<Vec<_>>()
    };
    stats::grid(&cells.iter().map(of_cell).collect::<Vec<_>>()).map(|grid| grid.estimate)
}

fn of_sets(cells: &[[Side; 2]], by_hand: ByHand) -> Option<Estimate> {
    let logs = |cell: &[Side; 2]| cell.each_ref().map(|side| sets::logs(&side.values, by_hand));
    let cells: Vec<[sets::Logs; 2]> = cells.iter().map(logs).collect();
    sets::change(&cells.iter().collect::<Vec<_>>())
}

fn of_all(cells: &[[Side; 2]]) -> Option<Estimate> {
    let each: Vec<Estimate> =
        cells.iter().filter_map(|[base, new]| stats::welch(&base.logs(), &new.logs())).collect();
    stats::combined(&each).map(|grid| grid.estimate)
}

fn is_large_and_steady(estimate: &Estimate) -> bool {
    let enough = estimate.n >= FEWEST;
    let Some((low, high)) = estimate.interval(CONFIDENCE).filter(|_| enough) else { return false };
    let surely = low > SURELY.ln() || high < -SURELY.ln();
    surely && estimate.log_ratio.abs() >= LARGE.ln()
}

#[cfg(test)]
mod tests {
    use spec::figures::Figure;
    use spec::{OrderScheme, Validity};

    use super::*;
    use crate::fixture::{experiment, run};

    /// Eight rounds of two arms at 1,000 transactions a run, with the counts of each in a round of an arm.
    fn runs(figure: Figure, of: impl Fn(u32, bool) -> f64) -> Vec<Run> {
        let one = |round: u32, arm: &str| {
            let mut own = run("reads", 4, Some(arm), round, 1000.0);
            own.figures = [(figure, of(round, arm == "B"))].into();
            own.counts = [figures::OK, figures::DUE].map(|of| (of, own.count(of))).into();
            own
        };
        (1..=8).flat_map(|round| ["A", "B"].map(|arm| one(round, arm))).collect()
    }

    type Expected = Option<(f64, f64, Option<f64>)>;
    /// A figure, the count of a round of an arm, and the expected output.
    type Case<'c> = (Figure, &'c dyn Fn(u32, bool) -> f64, Expected);

    fn judged(figure: Figure, of: impl Fn(u32, bool) -> f64) -> Expected {
        let all = differences(&experiment(&["A", "B"]), &runs(figure, of));
        let digits = |value: f64| (value * 1e3).round() / 1e3;
        largest(&all, "reads", "B", 3)
            .first()
            .map(|own| (digits(own.base), digits(own.new), own.ratio().map(digits)))
    }

    fn noise(round: u32, arm: bool) -> f64 {
        f64::from((round * 7 + u32::from(arm) * 5) % 11) / 11.0
    }

    #[test]
    fn what_is_told_is_large_steady_and_matters() {
        let two = |arm, base: f64, new: f64| if arm { new } else { base };
        let cases: [Case<'_>; 10] = [
            // Twice the WAL, under noise of 10 %.
            (
                figures::WAL_BYTES,
                &|round, arm| two(arm, 2e6, 4e6) * (0.95 + 0.1 * noise(round, arm)),
                Some((1997.727, 3977.273, Some(1.991))),
            ),
            // Rounds with almost nothing: "0.287 and 0.068 (0.043 times)".
            (
                figures::WAL_BYTES,
                &|round, arm| {
                    two(arm, if round == 1 { 8e6 } else { 1e3 }, if round == 1 { 4e6 } else { 2e2 })
                },
                Some((1000.875, 500.175, Some(0.5))),
            ),
            // It grows from round to round in both arms.
            (
                figures::WAL_BYTES,
                &|round, arm| two(arm, 1e6, 2e6) * f64::from(round),
                Some((4500.0, 9000.0, Some(2.0))),
            ),
            // Zero in the base: no ratio.
            (figures::TEMP_BYTES, &|_, arm| two(arm, 0.0, 8e6), Some((0.0, 8000.0, None))),
            // 3 and 2 blocks.
            (figures::BLOCKS_READ, &|_, arm| two(arm, 3.0, 2.0), None),
            // Half of 10 blocks in 1,000 transactions is steady, but does not matter.
            (figures::BLOCKS_READ, &|_, arm| two(arm, 10.0, 5.0), None),
            // Twice as much on average, but not steadily.
            (
                figures::BLOCKS_READ,
                &|round, arm| if arm { 1e3 * f64::from(round % 4) + 1.0 } else { 800.0 },
                None,
            ),
            // Not large.
            (figures::WAL_BYTES, &|_, arm| two(arm, 1e6, 1.2e6), None),
            // All in one round.
            (figures::TEMP_FILES, &|round, arm| two(arm, 0.0, if round == 3 { 90.0 } else { 0.0 }), None),
            // Not compared.
            (figures::DEADLOCKS, &|_, arm| two(arm, 1e3, 9e3), None),
        ];
        for (figure, of, wanted) in cases {
            assert_eq!(judged(figure, of), wanted, "{figure:?}");
        }
    }

    /// One round has no spread, and two agree by chance.
    #[test]
    fn two_rounds_tell_no_difference() {
        let all = runs(figures::WAL_BYTES, |_, arm| if arm { 9e6 } else { 1e6 });
        for (rounds, large) in [(1, false), (2, false), (3, true)] {
            let found = differences(&experiment(&["A", "B"]), &all[..rounds * 2]);
            let told: Vec<_> = found.iter().map(|own| (own.of.row.name, own.large)).collect();
            assert_eq!(told, [("wal_bytes", large)], "{rounds} rounds");
        }
    }

    #[test]
    fn invalid_runs_take_their_pair_out() {
        let mut all = runs(figures::WAL_BYTES, |_, arm| if arm { 4e6 } else { 2e6 });
        for at in [1, 4] {
            all[at].validity = Validity::Invalid;
            all[at].figures.set(figures::WAL_BYTES, 1e12);
        }
        all[0].figures.set(figures::WAL_BYTES, 1e11);
        let found = differences(&experiment(&["A", "B"]), &all);
        assert_eq!((found[0].base, found[0].new, found[0].estimate.n), (2000.0, 4000.0, 6));
    }

    #[test]
    fn sets_that_were_not_measured_together_are_compared_as_sets() {
        let mut all = runs(figures::WAL_BYTES, |round, arm| {
            (if arm { 4e6 } else { 2e6 }) * (0.95 + 0.1 * noise(round, arm))
        });
        all.retain(|run| run.arm.as_deref() == Some("A") || run.round < 5);
        let imported = ExperimentRecord { order_scheme: OrderScheme::Imported, ..experiment(&["A", "B"]) };
        let found = differences(&imported, &all);
        assert!(found[0].large && found[0].estimate.n == 4, "{found:?}");
    }

    /// Bytes of WAL, its records and full-page images are three figures of one family.
    #[test]
    fn one_figure_of_a_family_is_told() {
        let mut all = runs(figures::WAL_BYTES, |_, arm| if arm { 4e6 } else { 2e6 });
        for run in &mut all {
            let times = if run.arm.as_deref() == Some("B") { 1.0 } else { 5.0 };
            run.figures.extend([
                (figures::WAL_RECORDS, 1e4 * times),
                (figures::BLOCKS_HIT, 2e4 * times),
                (figures::SERVER_CPU_S, 0.1 * times),
                (figures::TEMP_BYTES, 1e7 * times * times),
            ]);
        }
        let found = differences(&experiment(&["A", "B"]), &all);
        let names =
            |most| largest(&found, "reads", "B", most).iter().map(|own| own.of.row.name).collect::<Vec<_>>();
        // Timed figures come after counted ones.
        assert_eq!(names(9), ["temp_bytes", "wal_records", "blocks_hit", "server_cpu_s"]);
        assert_eq!(names(3).len(), 3);
        let json = serde_json::to_value(&found[0]).unwrap();
        assert_eq!(
            (&json["figure"], &json["per"], &json["unit"]),
            (&"temp_bytes".into(), &"transaction".into(), &"bytes".into())
        );
        assert!((json["ratio"].as_f64().unwrap() - 0.04).abs() < 1e-9, "{json}");
    }

    /// Regression: "rows fetched 0.068 times" came first, and the WAL that an index adds was missing.
    #[test]
    fn what_differs_most_surely_comes_first_and_near_zero_has_no_place() {
        let mut all = runs(figures::WAL_BYTES, |round, arm| {
            (if arm { 1_233e3 } else { 662e3 }) * (0.99 + 0.02 * noise(round, arm))
        });
        for run in &mut all {
            let (new, noise) =
                (run.arm.as_deref() == Some("B"), noise(run.round, run.arm.as_deref() == Some("B")));
            let of = |base: f64, arm: f64| if new { arm } else { base };
            run.figures.extend([
                // Six times as much, but varying by half.
                (figures::BLOCKS_READ, of(300.0, 1800.0) * (0.5 + noise)),
                // Nearly zero in both.
                (figures::TEMP_FILES, of(0.001, 5.0)),
                // The CPU time of pgdyno itself.
                (figures::CLIENT_CPU_S, of(0.01, 0.1)),
                (figures::CLIENT_CPU_US_PER_TX, of(10.0, 100.0)),
                (figures::SERVER_CPU_S, of(0.1, 0.9)),
            ]);
        }
        let found = differences(&experiment(&["A", "B"]), &all);
        let names: Vec<_> = found.iter().map(|own| own.of.row.name).collect();
        assert_eq!(names, ["wal_bytes", "blocks_read", "server_cpu_s", "temp_files"]);
        assert_eq!(found[3].ratio().or(found[3].over_noise()), None);
        assert!(!found[3].large);
    }
}
