//! A gate over commits: how its figure moved, where it changed, and by which commit most likely.

use spec::{GateRecord, Judgement};
use stats::percent_change;

use crate::store::ExperimentId;

/// Fewest commits on a level that can be distinguished from others.
const FEWEST: usize = 2;
/// Smallest change between two levels that is named, as a share.
const LEAST: f64 = 0.01;
/// Commits are named until one of them is the cause with this probability.
const SURE: f64 = 0.95;

/// All gates of a name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GateHistory {
    /// In the order in which they were judged, each commit once for a base.
    pub points: Vec<HistoryPoint>,
    pub changes: Vec<HistoryChange>,
}

/// A judged commit.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryPoint {
    pub experiment: ExperimentId,
    pub gate: GateRecord,
    /// Number of its series, from 0: figures of one series are relative to one base.
    pub series: usize,
}

/// A change of the figure from one commit on.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryChange {
    /// Index of the first point of the new level.
    pub at: usize,
    /// In percent.
    pub change_pct: f64,
    /// Commits that may have caused it, the most likely first; together at least 95 % if levels are compared, and a single
    /// one if a gate compared it with the commit before.
    pub causes: Vec<LikelyCommit>,
}

/// A commit that may have caused a change.
#[derive(Debug, Clone, PartialEq)]
pub struct LikelyCommit {
    /// Index of its point.
    pub at: usize,
    /// Probability that it was this one, 0..1, if one of the judged commits was it.
    pub probability: f64,
}

impl HistoryPoint {
    /// Its change against the base, in percent.
    #[must_use]
    pub fn change_pct(&self) -> Option<f64> {
        self.gate.log_ratio.map(percent_change)
    }

    fn base(&self) -> &str {
        self.gate.base_commit.as_deref().unwrap_or(&self.gate.base)
    }
}

impl GateHistory {
    /// The history of these gates of one name, in the order in which they were judged.
    #[must_use]
    pub fn of(gates: Vec<(ExperimentId, GateRecord)>) -> Self {
        let mut points: Vec<HistoryPoint> = Vec::new();
        for (experiment, gate) in gates {
            let point = HistoryPoint { experiment, gate, series: 0 };
            // The last judgement of a commit counts.
            let same =
                |known: &HistoryPoint| known.gate.commit == point.gate.commit && known.base() == point.base();
            match points.iter_mut().find(|known| same(known)) {
                Some(known) => (known.experiment, known.gate) = (point.experiment, point.gate),
                None => points.push(point),
            }
        }
        let mut series = 0;
        for at in 1..points.len() {
            let [before, now] = [&points[at - 1], &points[at]];
            let is_one = before.base() == now.base()
                && before.gate.metric == now.gate.metric
                && (before.gate.arm == now.gate.arm || is_commit_name(&before.gate, &now.gate));
            series += usize::from(!is_one);
            points[at].series = series;
        }
        let mut changes = Vec::new();
        let mut from = 0;
        while from < points.len() {
            let to =
                from + points[from..].iter().take_while(|point| point.series == points[from].series).count();
            changes.extend(of_series(&points, from, to));
            from = to;
        }
        changes.extend((1..points.len()).filter_map(|at| by_its_own_gate(&points, at)));
        changes.sort_by_key(|change| change.at);
        Self { points, changes }
    }
}

/// Whether arms are named after their commits, so that other names are the same arms.
fn is_commit_name(one: &GateRecord, other: &GateRecord) -> bool {
    let is_so = |gate: &GateRecord| !gate.commit.is_empty() && gate.commit.starts_with(&gate.arm);
    is_so(one) && is_so(other)
}

/// Changes between levels of one series: all its commits were compared with one base.
fn of_series(points: &[HistoryPoint], from: usize, to: usize) -> Vec<HistoryChange> {
    // A commit that changed nothing was judged by the runs of another one: that is no further measurement.
    let is_measured = |at: &usize| {
        let own = points[*at].experiment;
        !points[from..*at].iter().any(|before| before.experiment == own)
    };
    let with: Vec<(usize, f64)> = (from..to)
        .filter(is_measured)
        .filter_map(|at| Some((at, points[at].gate.log_ratio?.exp())))
        .collect();
    let values: Vec<f64> = with.iter().map(|(_, ratio)| *ratio).collect();
    let levels = stats::levels(&values, FEWEST, LEAST);
    let change = |pair: &[stats::SeriesLevel]| {
        let [before, after] = [pair[0], pair[1]];
        let places = stats::places_of_step(&values[before.from..after.to]);
        let mut sum = 0.0;
        let causes = places.into_iter().map_while(|(place, probability)| {
            let is_needed = sum < SURE;
            sum += probability;
            is_needed.then(|| LikelyCommit { at: with[before.from + place].0, probability })
        });
        HistoryChange {
            at: with[after.from].0,
            change_pct: 100.0 * after.change_from(&before),
            causes: causes.collect(),
        }
    };
    levels.windows(2).map(change).collect()
}

/// The change of a commit that was compared with the commit before it: its own gate says it.
fn by_its_own_gate(points: &[HistoryPoint], at: usize) -> Option<HistoryChange> {
    let (before, now) = (&points[at - 1], &points[at]);
    let follows = now.gate.base_commit.as_ref() == Some(&before.gate.commit) && before.series != now.series;
    let is_change = matches!(now.gate.judgement, Judgement::Worse | Judgement::Better);
    Some(HistoryChange {
        at,
        change_pct: now.change_pct()?,
        causes: vec![LikelyCommit { at, probability: 1.0 }],
    })
    .filter(|_| follows && is_change)
}
