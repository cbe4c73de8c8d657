//! What changes with the age of an arm's sessions: throughput, server CPU per transaction, and the memory of their
//! server processes.
//!
//! A disturbance of the host moves the figures of all arms, so an arm is judged by its ratio to the base at the same
//! age. Lives are the replicates, or the rounds of sessions that are kept (`stats::change_over_life`). Of the base on
//! its own only what gets worse by a large share is claimed, and for kept sessions only memory: a host that becomes
//! slower over the rounds would look the same.

use std::collections::{BTreeMap, BTreeSet};

use spec::{AgePoint, AgingQuantity, OfferedLoad, Run, Validity, figures};
use stats::{Estimate, LifePoint, change_over_life, exceeds};

use crate::comparison::Cell;

/// The smallest claimed change of the base on its own, a share: as for other changes of speed (`answer::speed_trend`).
const OF_BASE: f64 = 0.15;
/// The beginning and the end of a life are this part of its points.
const END: usize = 10;

/// A quantity over the age of an arm's sessions.
#[derive(Debug, Clone, PartialEq)]
pub struct Aging {
    pub cell: Cell,
    pub arm: String,
    pub quantity: AgingQuantity,
    pub own: LifeEnds,
    /// The base at the same ages; `None` if the arm is the base.
    pub of_base: Option<LifeEnds>,
    /// The change from the beginning to the end of a life: of the ratio to the base, or of the base on its own. In logs; of
    /// memory, which grows by addition, as a share of the base's or of what it began with. Adjusted for all that were
    /// tested.
    pub change: Estimate,
    /// Whether the change is sure, and large enough to matter.
    pub is_claimed: bool,
    pub lives: usize,
    pub rounds: usize,
    /// Whether lives last longer than a round.
    pub is_kept: bool,
    /// Whether the workload changes its data: then data age with the sessions.
    pub changes_data: bool,
    pub clients: u32,
}

/// Values at the beginning and at the end of a life, geometric means over lives, and their ages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LifeEnds {
    pub first: f64,
    pub last: f64,
    /// Seconds.
    pub first_age_s: f64,
    pub last_age_s: f64,
}

impl LifeEnds {
    /// Seconds between them.
    #[must_use]
    pub fn span_s(&self) -> f64 {
        self.last_age_s - self.first_age_s
    }

    fn of(lives: &[Vec<LifePoint>]) -> Option<Self> {
        let lives = || lives.iter().filter(|life| !life.is_empty());
        let n = lives().count() as f64;
        let mean = |value: &dyn Fn(&[LifePoint]) -> f64| lives().map(|life| value(life)).sum::<f64>() / n;
        let tenth = |life: &[LifePoint]| (life.len() / END).max(1);
        let of = |part: &[LifePoint], value: fn(&LifePoint) -> f64| {
            part.iter().map(value).sum::<f64>() / part.len() as f64
        };
        let first = |value: fn(&LifePoint) -> f64| mean(&|life| of(&life[..tenth(life)], value));
        let last = |value: fn(&LifePoint) -> f64| mean(&|life| of(&life[life.len() - tenth(life)..], value));
        (n > 0.0).then(|| Self {
            first: first(|point| point.value).exp(),
            last: last(|point| point.value).exp(),
            first_age_s: first(|point| point.age),
            last_age_s: last(|point| point.age),
        })
    }
}

impl Aging {
    /// The change of the arm against the base at the beginning and at the end of a life, percent; `None` for the base.
    #[must_use]
    pub fn against_base_pct(&self) -> Option<(f64, f64)> {
        let base = self.of_base?;
        let change = |own: f64, base: f64| 100.0 * (own / base - 1.0);
        Some((change(self.own.first, base.first), change(self.own.last, base.last)))
    }

    /// The change in percent, with its interval if there is one; of memory percent of the base's, or of what it began
    /// with.
    #[must_use]
    pub fn change_pct(&self) -> (f64, Option<(f64, f64)>) {
        match self.quantity {
            AgingQuantity::Memory => {
                let interval = self.change.interval(0.95);
                (100.0 * self.change.log_ratio, interval.map(|(low, high)| (100.0 * low, 100.0 * high)))
            }
            AgingQuantity::Throughput | AgingQuantity::Cpu => {
                (self.change.change_pct(), self.change.interval_pct())
            }
        }
    }

    /// Whether the arm changes itself in the direction of its change against the base, by half of it at least; else the
    /// base does.
    #[must_use]
    pub fn changes_itself(&self) -> bool {
        let change = |ends: LifeEnds| match self.quantity {
            AgingQuantity::Memory => ends.last - ends.first,
            AgingQuantity::Throughput | AgingQuantity::Cpu => (ends.last / ends.first).ln(),
        };
        let own = change(self.own);
        let against = own - self.of_base.map_or(0.0, change);
        own * against > 0.0 && own.abs() >= against.abs() / 2.0
    }

    /// Whether it gets worse with age: against the base, or the base on its own.
    #[must_use]
    pub fn is_worse(&self) -> bool {
        match self.quantity {
            AgingQuantity::Throughput => self.change.log_ratio < 0.0,
            AgingQuantity::Cpu | AgingQuantity::Memory => self.change.log_ratio > 0.0,
        }
    }
}

/// All quantities of all cells and arms that can be tested, by cell, arm and quantity. `margin` is that of the
/// comparison, a share.
pub(crate) fn aging<'r>(
    runs: impl Iterator<Item = &'r Run>,
    arms: &[&str],
    base: &str,
    margin: f64,
) -> Vec<Aging> {
    let mut cells: BTreeMap<Cell, Vec<&Run>> = BTreeMap::new();
    for run in runs.filter(|run| counts(run)) {
        cells.entry(Cell::of(run)).or_default().push(run);
    }
    let mut found = Vec::new();
    for (cell, runs) in &cells {
        for arm in arms {
            for quantity in AgingQuantity::ALL {
                found.extend(of_arm(cell, runs, (base, arm), quantity));
            }
        }
    }
    let tests = found.len();
    for own in &mut found {
        // Curves that were tried are lines, too.
        own.change = own.change.among(tests * own.change.lines);
        own.is_claimed = is_claimed(own, margin);
    }
    found
}

/// Connections that were made again, as for each transaction, are of no age.
fn counts(run: &Run) -> bool {
    run.validity != Validity::Invalid
        && run.load == OfferedLoad::Closed
        && run.figures.get(figures::RECONNECTIONS).is_none_or(|number| number == 0.0)
}

fn is_claimed(own: &Aging, margin: f64) -> bool {
    let before = own.of_base.map_or(0.0, |base| (base.last / base.first).ln());
    let between_ends = (own.own.last / own.own.first).ln() - before;
    // The ends are what is printed.
    let agrees = between_ends * own.change.log_ratio > 0.0;
    let bound = |share: f64| if own.quantity == AgingQuantity::Memory { share } else { share.ln_1p() };
    match own.of_base {
        Some(_) => agrees && exceeds(&own.change, bound(margin)),
        None => agrees && own.is_worse() && exceeds(&own.change, bound(OF_BASE)),
    }
}

fn of_arm(cell: &Cell, runs: &[&Run], (base, arm): (&str, &str), quantity: AgingQuantity) -> Option<Aging> {
    let of = |name: &str| -> BTreeMap<u32, &Run> {
        let own = runs.iter().filter(|run| run.arm.as_deref() == Some(name));
        own.map(|run| (run.round, *run)).collect()
    };
    let (of_base, own) = (of(base), of(arm));
    let mut pairs: Vec<(&Run, &Run)> =
        own.iter().filter_map(|(round, run)| Some((*of_base.get(round)?, *run))).collect();
    // A round may be measured again later.
    pairs.sort_by(|(_, a), (_, b)| (&a.started_at, a.sequence).cmp(&(&b.started_at, b.sequence)));
    let mut courses = Courses::default();
    for (base, run) in pairs {
        courses.add(base, run, quantity);
    }
    let is_base = base == arm;
    let rounds: BTreeSet<u32> = courses.own.iter().flatten().map(|point| point.round).collect();
    let is_kept = courses.own.len() < rounds.len();
    let changes_data = own.values().any(|run| run.changes_data_in_closed_load());
    // A host that becomes slower, or tables that grow, look the same.
    if is_base && quantity != AgingQuantity::Memory && (is_kept || changes_data) {
        return None;
    }
    let change = change_over_life(if is_base { &courses.alone } else { &courses.ratio })?;
    Some(Aging {
        cell: cell.clone(),
        arm: arm.to_owned(),
        quantity,
        own: LifeEnds::of(&courses.own)?,
        of_base: if is_base { None } else { Some(LifeEnds::of(&courses.base)?) },
        change,
        is_claimed: false,
        lives: courses.own.len(),
        rounds: rounds.len(),
        is_kept,
        changes_data,
        clients: own.values().next()?.clients,
    })
}

/// Logs of a quantity over the lives of an arm and of the base, and what is tested: their ratio, and the arm alone.
#[derive(Default)]
struct Courses {
    own: Vec<Vec<LifePoint>>,
    base: Vec<Vec<LifePoint>>,
    ratio: Vec<Vec<LifePoint>>,
    alone: Vec<Vec<LifePoint>>,
    /// Age of the sessions before the round before.
    age_s: Option<f64>,
}

impl Courses {
    fn add(&mut self, base: &Run, run: &Run, quantity: AgingQuantity) {
        let age_s = run.figures.get(figures::SESSION_AGE_S).unwrap_or_default();
        // Sessions that are younger than those before, or as old, are others.
        if self.age_s.replace(age_s).is_none_or(|before| age_s <= before) {
            for lives in [&mut self.own, &mut self.base, &mut self.ratio, &mut self.alone] {
                lives.push(Vec::new());
            }
        }
        let of_base: BTreeMap<u32, AgePoint> =
            base.over_age(quantity).into_iter().map(|point| (point.place, point)).collect();
        for own in run.over_age(quantity) {
            let Some(base) = of_base.get(&own.place) else { continue };
            let at = |age: f64, value: f64| LifePoint { age, value, round: run.round };
            let ratio = own.value / base.value;
            let begun =
                self.own.last().and_then(|life| life.first()).map_or(own.value, |first| first.value.exp());
            // Memory grows by addition.
            let [ratio, alone] = match quantity {
                AgingQuantity::Memory => [ratio, own.value / begun],
                AgingQuantity::Throughput | AgingQuantity::Cpu => [ratio.ln(), own.value.ln()],
            };
            let points = [
                (&mut self.own, at(own.age_s, own.value.ln())),
                (&mut self.base, at(base.age_s, base.value.ln())),
                (&mut self.ratio, at(own.age_s, ratio)),
                (&mut self.alone, at(own.age_s, alone)),
            ];
            for (lives, point) in points {
                lives.last_mut().expect("a life has begun").push(point);
            }
        }
    }
}

/// Spans of a course, at most.
const SPANS: usize = 48;

/// A quantity over the age of the sessions in these runs of one cell and arm, with the age in seconds: geometric means
/// over the lives in equal spans of age.
#[must_use]
pub fn course_over_age<'r>(runs: impl Iterator<Item = &'r Run>, quantity: AgingQuantity) -> Vec<(f64, f64)> {
    let runs: Vec<Vec<AgePoint>> = runs.filter(|run| counts(run)).map(|run| run.over_age(quantity)).collect();
    let ages = || runs.iter().flatten().map(|point| point.age_s);
    let (Some(least), Some(most)) = (ages().reduce(f64::min), ages().reduce(f64::max)) else {
        return Vec::new();
    };
    let spans = runs.iter().map(Vec::len).max().unwrap_or_default().clamp(1, SPANS);
    let length = ((most - least) / spans as f64).max(f64::MIN_POSITIVE);
    let mut sums: BTreeMap<usize, (f64, f64, f64)> = BTreeMap::new();
    for point in runs.iter().flatten() {
        let span = (((point.age_s - least) / length) as usize).min(spans - 1);
        let sum = sums.entry(span).or_default();
        *sum = (sum.0 + 1.0, sum.1 + point.age_s, sum.2 + point.value.ln());
    }
    sums.into_values().map(|(n, age, log)| (age / n, (log / n).exp())).collect()
}

#[cfg(test)]
mod tests;
