//! Where the search of a cell is, and what comes next: a pure function of its runs.

use std::collections::{BTreeMap, BTreeSet};

use record::{AskedLimit, PEAK, Profile, Run};
use stats::{LimitEnded, LimitRange, LimitSearch, LimitStep, Trial};

use super::confirm::{Confirmed, Shaped, is_confirming};
use super::trial::{counted, trial};

/// Without bounds of one's own: shares of the peak between which the limit is looked for.
const LOWEST: f64 = 0.01;
const HIGHEST: f64 = 1.2;
/// Around the limit of the base arm: shares of it between which those of all arms are looked for, ...
const AROUND: [f64; 2] = [0.25, 4.0];
/// ... and at which all arms are tried first.
const FIRST: [f64; 3] = [1.0, 0.9, 1.1];
/// The limit of most promises is about so far below the peak: where a search expects it.
const BELOW_PEAK: f64 = 0.75;
/// More trials than this of one search are no search any more, but a machine that changes under it.
const MOST_TRIALS: usize = 60;
/// Runs as fast as so many clients can of which none counts: there is no more to be had.
const MOST_PEAKS: usize = 2;
/// How often the highest rate that follows from the peak is doubled, where the promise holds even there.
const FURTHER: u32 = 4;
/// Arrivals that a trial at the lowest rate has on the mean, where that follows from the peak.
const LEAST_ARRIVALS: f64 = 10.0;
/// With less growth than this from one number of clients to twice as many, more bring nothing.
const GROWTH: f64 = 1.1;
/// Trials of a search of which nothing is known yet.
const USUAL_TRIALS: usize = 12;

/// What comes next for a cell.
#[derive(Debug, Clone, PartialEq)]
pub enum LimitNext {
    /// A run as fast as so many clients can, of the base arm.
    Peak {
        clients: u32,
        /// Which run with so many it is, from 1.
        round: u32,
    },
    /// A trial, of these arms one after the other.
    Trial {
        /// Transactions per second.
        rate: f64,
        clients: u32,
        /// Which trial at this rate it is, from 1.
        round: u32,
        arms: Vec<Option<String>>,
        /// Highest rate known to keep the promise, and lowest known not to, so far.
        between: [Option<f64>; 2],
    },
    /// A trial of this arm, whose limit is known, under a rate that changes.
    Confirm { shaped: Shaped, clients: u32, round: u32, arm: Option<String> },
    /// Nothing.
    Ended,
}

/// What became of the search for one arm's limit.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum LimitState {
    /// It goes on.
    Searching,
    /// It ended.
    Ended(LimitEnded),
    /// So many trials did not decide it.
    GivenUp,
    /// The base has no limit around which it could have been tried.
    NotTried,
}

/// The limit of one arm of a cell.
#[derive(Debug, Clone)]
pub struct ArmLimit<'r> {
    /// `None` where nothing is compared.
    pub arm: Option<String>,
    pub state: LimitState,
    /// What was counted, in the order it was made.
    pub trials: Vec<&'r Run>,
    /// Trials that did not count: they could not be believed, or the machine was disturbed.
    pub uncounted: usize,
    /// What the limit was worth under rates that change, in the order they were asked for; none before it is known.
    pub confirmed: Vec<Confirmed<'r>>,
}

/// A cell whose limit is looked for.
#[derive(Debug, Clone)]
pub struct CellLimit<'r> {
    /// Its arms, base first; one without a name where nothing is compared.
    pub arms: Vec<ArmLimit<'r>>,
    /// Fastest run as fast as the clients could, transactions per second, of the base arm.
    pub peak_per_s: Option<f64>,
    /// How many clients that was.
    pub peak_clients: u32,
    /// Clients of the trials; of the next peak run where there were none yet.
    pub clients: u32,
    /// Whether more clients may do more as fast as they can, and no more are let in.
    pub still_growing: bool,
    pub next: LimitNext,
    /// About how many runs are missing.
    pub left: usize,
}

/// A search that is on: of the base arm, then of all arms together.
struct Stage<'r> {
    search: LimitSearch,
    /// Counted and not, in order, of each arm.
    trials: Vec<Vec<&'r Run>>,
}

impl<'r> CellLimit<'r> {
    /// Of a cell with these arms, base first, from its runs in the order they were made. `clients` is what it begins with,
    /// `most_clients` what the server lets in.
    #[must_use]
    pub fn of(
        asked: &AskedLimit,
        arms: &[Option<String>],
        (clients, most_clients): (u32, Option<u32>),
        runs: &[&'r Run],
    ) -> Self {
        // Never more than are let in, where it is ours to choose.
        let clients = match most_clients {
            Some(most) if asked.grow_clients => clients.min(most),
            _ => clients,
        };
        let peaks: Vec<(u32, f64)> = runs.iter().filter_map(|run| peak(run)).collect();
        let fastest = peaks.iter().max_by(|(_, one), (_, other)| one.total_cmp(other));
        let peak_per_s = fastest.map(|(_, tps)| *tps);
        let growth = growing(&peaks);
        let last = peaks.iter().map(|(clients, _)| *clients).max();
        let most = most_clients.unwrap_or(u32::MAX).max(clients);
        let peaks_with = |clients: u32| {
            runs.iter().filter(|run| run.offered_rate.is_none() && run.clients == clients).count()
        };
        // What was tried at one peak would be worth nothing at another.
        let has_trials = runs.iter().any(|run| run.offered_rate.is_some());
        let wanted = match last {
            None => Some(clients),
            Some(last) if asked.grow_clients && growth && last < most && !has_trials => {
                Some((2 * last).min(most))
            }
            Some(_) => None,
        };
        let wanted = wanted.filter(|clients| peaks_with(*clients) < MOST_PEAKS);
        let now = last.unwrap_or(clients);
        let mut cell = Self {
            arms: arms.iter().map(|arm| ArmLimit::unknown(arm.clone())).collect(),
            peak_per_s,
            peak_clients: fastest.map_or(clients, |(clients, _)| *clients),
            clients: wanted.unwrap_or(now),
            still_growing: asked.grow_clients && growth && last.is_some() && wanted.is_none(),
            next: LimitNext::Ended,
            left: 0,
        };
        let peak_s = runs.iter().find_map(|run| peak(run).map(|_| run.measured_s));
        match (wanted, peak_per_s.and_then(|peak| range(asked, peak, peak_s))) {
            (Some(clients), _) => {
                cell.next = LimitNext::Peak { clients, round: peaks_with(clients) as u32 + 1 };
                cell.left = 1 + USUAL_TRIALS * if arms.len() > 1 { 1 + 2 * arms.len() } else { 1 };
            }
            // Nothing was done at all: there is nowhere to look.
            (None, None) => cell.arms.iter_mut().for_each(|arm| arm.state = LimitState::GivenUp),
            (None, Some(range)) => {
                let (confirming, trials) = runs
                    .iter()
                    .copied()
                    .filter(|run| run.offered_rate.is_some())
                    .partition::<Vec<_>, _>(|run| is_confirming(run));
                cell.search(asked, range, &trials);
                cell.confirm(asked, &confirming);
            }
        }
        cell
    }

    /// Follows the trials from where the peak is known.
    fn search(&mut self, asked: &AskedLimit, range: LimitRange, trials: &[&'r Run]) {
        let together = together(trials, self.arms.len());
        let is_together = |run: &&'r Run| together.contains(&place(run));
        let base = self.arms[0].arm.clone();
        let alone: Vec<&'r Run> =
            trials.iter().copied().filter(|run| run.arm == base && !is_together(run)).collect();
        let (first, state) = self.first(asked, range, &alone);
        self.arms[0].saw(&first, 0, state);
        let several = self.arms.len() > 1;
        match (state, several) {
            (LimitState::Searching, _) => {
                self.next = first.next(self.clients, vec![base], trials);
                self.left = first.left() + if several { 2 * self.arms.len() * USUAL_TRIALS / 2 } else { 0 };
            }
            (LimitState::Ended(LimitEnded { lower: Some(limit), upper: Some(_), .. }), true) => {
                self.compare(asked, limit, trials, is_together);
            }
            // Without a limit of the base there is nothing to try the others around.
            _ => self.arms[1..].iter_mut().for_each(|arm| arm.state = LimitState::NotTried),
        }
    }

    /// The search of the base arm. Where the promise holds at all rates that follow from the peak, the peak was none (something
    /// disturbed that run), and higher ones are tried.
    fn first(&self, asked: &AskedLimit, range: LimitRange, alone: &[&'r Run]) -> (Stage<'r>, LimitState) {
        let (mut range, mut peak, mut further) = (range, self.peak_per_s, 0);
        loop {
            let search = LimitSearch::new(asked.goal(), range, peak);
            let stage = Stage { search, trials: vec![alone.to_vec()] };
            let state = stage.state(0);
            let holds = matches!(state, LimitState::Ended(LimitEnded { lower: Some(_), upper: None, .. }));
            let highest = (2.0 * range.highest).min(Profile::BOUNDS[1]);
            if !holds || asked.highest.is_some() || further == FURTHER || highest <= range.highest {
                return (stage, state);
            }
            peak = Some(range.highest / BELOW_PEAK);
            range = LimitRange { lowest: range.highest, highest };
            further += 1;
        }
    }

    /// Each arm at its own limit, once all are known, under the rates that change.
    fn confirm(&mut self, asked: &AskedLimit, confirming: &[&'r Run]) {
        if self.next != LimitNext::Ended {
            self.left += self.arms.len() * asked.confirm.len() * Confirmed::LEAST;
            return;
        }
        for arm in &mut self.arms {
            let LimitState::Ended(LimitEnded { lower: Some(limit), .. }) = arm.state else { continue };
            let own = |run: &&&'r Run| run.arm == arm.arm;
            let own: Vec<&'r Run> = confirming.iter().filter(own).copied().collect();
            let shapes = asked.confirm.iter().map(|shape| Shaped::of(shape, limit));
            arm.confirmed = shapes.map(|shaped| Confirmed::of(&asked.goal(), shaped, &own)).collect();
        }
        let each = || self.arms.iter().flat_map(|arm| arm.confirmed.iter().map(move |shape| (arm, shape)));
        self.left = each().map(|(_, shape)| shape.left).sum();
        if let Some((arm, shape)) = each().find(|(_, shape)| shape.left > 0) {
            self.next = LimitNext::Confirm {
                shaped: shape.shaped.clone(),
                clients: self.clients,
                round: shape.round,
                arm: arm.arm.clone(),
            };
        }
    }

    /// All arms in turn around the limit of the base.
    fn compare(
        &mut self,
        asked: &AskedLimit,
        limit: f64,
        trials: &[&'r Run],
        is_together: impl Fn(&&'r Run) -> bool,
    ) {
        let [lowest, highest] = AROUND.map(|share| share * limit);
        let [least, most] = Profile::BOUNDS;
        let (least, most) = (asked.lowest.unwrap_or(least), asked.highest.unwrap_or(most));
        let range = LimitRange { lowest: lowest.max(least), highest: highest.min(most) };
        let of = |arm: &ArmLimit<'_>| {
            trials.iter().copied().filter(|run| is_together(run) && run.arm == arm.arm).collect()
        };
        let stage = Stage {
            search: LimitSearch::new(asked.goal(), range, Some(limit / BELOW_PEAK)),
            trials: self.arms.iter().map(of).collect(),
        };
        let names: Vec<Option<String>> = self.arms.iter().map(|arm| arm.arm.clone()).collect();
        let mut searching = None;
        for (index, arm) in self.arms.iter_mut().enumerate() {
            let state = stage.state(index);
            arm.saw(&stage, index, state);
            searching = searching.or(matches!(state, LimitState::Searching).then_some(index));
        }
        let begun = stage.trials[0].len();
        let rate = match FIRST.get(begun) {
            Some(share) => Some(stage.search.nearest(share * limit)),
            None => searching.and_then(|index| stage.wants(index)),
        };
        let Some(rate) = rate else { return };
        let round = round_at(trials, rate);
        let mut arms = names;
        if begun % 2 == 1 {
            arms.reverse();
        }
        let between = stage.between(searching.unwrap_or(0));
        self.left = arms.len() * stage.left().max(FIRST.len().saturating_sub(begun));
        self.next = LimitNext::Trial { rate, clients: self.clients, round, arms, between };
    }
}

impl<'r> ArmLimit<'r> {
    fn unknown(arm: Option<String>) -> Self {
        Self { arm, state: LimitState::Searching, trials: Vec::new(), uncounted: 0, confirmed: Vec::new() }
    }

    /// Whether a load that never exceeds the limit broke the promise all the same: it is none.
    #[must_use]
    pub fn is_refuted(&self) -> bool {
        self.confirmed.iter().any(Confirmed::refutes)
    }

    fn saw(&mut self, stage: &Stage<'r>, index: usize, state: LimitState) {
        let all = &stage.trials[index];
        self.trials = counted(all);
        self.uncounted = all.len() - self.trials.len();
        self.state = state;
    }
}

impl Stage<'_> {
    fn trials_of(&self, index: usize) -> Vec<Trial> {
        counted(&self.trials[index]).into_iter().filter_map(trial).collect()
    }

    fn state(&self, index: usize) -> LimitState {
        match self.search.next(&self.trials_of(index)) {
            LimitStep::Ended(ended) => LimitState::Ended(ended),
            LimitStep::Try(_) if self.trials[index].len() >= MOST_TRIALS => LimitState::GivenUp,
            LimitStep::Try(_) => LimitState::Searching,
        }
    }

    fn wants(&self, index: usize) -> Option<f64> {
        match self.search.next(&self.trials_of(index)) {
            LimitStep::Try(rate) => Some(rate),
            LimitStep::Ended(_) => None,
        }
    }

    fn between(&self, index: usize) -> [Option<f64>; 2] {
        self.search.between(&self.trials_of(index))
    }

    fn next(&self, clients: u32, arms: Vec<Option<String>>, trials: &[&Run]) -> LimitNext {
        match self.wants(0) {
            Some(rate) => {
                let round = round_at(trials, rate);
                LimitNext::Trial { rate, clients, round, arms, between: self.between(0) }
            }
            None => LimitNext::Ended,
        }
    }

    /// Trials that are missing of the arm that misses most.
    fn left(&self) -> usize {
        (0..self.trials.len()).map(|index| self.search.left(&self.trials_of(index))).max().unwrap_or(0)
    }
}

/// Clients and speed of a run that went as fast as it could, where it counts.
fn peak(run: &Run) -> Option<(u32, f64)> {
    Some((run.clients, *run.figures.get(PEAK)?))
}

/// Whether the last doubling of the clients was worth it; so it is as long as there was none. Where the server did not let in
/// twice as many, the last step is too short to tell by itself.
fn growing(peaks: &[(u32, f64)]) -> bool {
    let mut sorted = peaks.to_vec();
    sorted.sort_by_key(|(clients, _)| *clients);
    let Some((last, before)) = sorted.split_last() else { return true };
    let half = before.iter().rev().find(|(clients, _)| 2 * clients <= last.0);
    half.or(before.last()).is_none_or(|(_, half)| last.1 > GROWTH * half)
}

/// Where the limit is looked for, from a peak and how long it was measured.
fn range(asked: &AskedLimit, peak: f64, measured_s: Option<f64>) -> Option<LimitRange> {
    let some_arrivals =
        measured_s.filter(|seconds| *seconds > 0.0).map_or(0.0, |seconds| LEAST_ARRIVALS / seconds);
    let rounded = |rate: f64| format!("{rate:.3e}").parse().unwrap_or(rate);
    let lowest = asked.lowest.unwrap_or_else(|| rounded((LOWEST * peak).max(some_arrivals)));
    let highest = asked.highest.unwrap_or_else(|| rounded(HIGHEST * peak));
    // One bound of one's own may lie beyond what follows from the peak.
    let lowest = if asked.lowest.is_none() { lowest.min(highest / 4.0) } else { lowest };
    let highest = if asked.highest.is_none() { highest.max(4.0 * lowest) } else { highest };
    let [least, most] = Profile::BOUNDS;
    let (lowest, highest) = (lowest.clamp(least, most), highest.clamp(least, most));
    Some(LimitRange { lowest, highest }).filter(|range| range.lowest < range.highest)
}

/// A rate and the number of a trial there.
fn place(run: &Run) -> (u64, u32) {
    (run.offered_rate.unwrap_or_default().to_bits(), run.round)
}

/// Where all arms were tried.
fn together(trials: &[&Run], arms: usize) -> BTreeSet<(u64, u32)> {
    let mut tried: BTreeMap<(u64, u32), BTreeSet<&Option<String>>> = BTreeMap::new();
    for run in trials {
        tried.entry(place(run)).or_default().insert(&run.arm);
    }
    tried.into_iter().filter(|(_, tried)| arms > 1 && tried.len() == arms).map(|(place, _)| place).collect()
}

/// The number of the next trial at a rate, of whichever arm.
fn round_at(trials: &[&Run], rate: f64) -> u32 {
    let there = trials.iter().filter(|run| run.offered_rate == Some(rate));
    there.map(|run| run.round).max().unwrap_or(0) + 1
}

#[cfg(test)]
mod tests {
    use record::{Doubt, Load, PROMISE_KEPT, Reason, RunKey, RunKind, Term, Validity};
    use stats::LimitClass;

    use super::super::{Came, Found};
    use super::*;
    use crate::comparison::Cell;

    fn asked() -> AskedLimit {
        let term = Term { script: None, within_us: 20_000, share: 0.01, written: "p99 < 20ms".into() };
        AskedLimit {
            promise: vec![term],
            lowest: None,
            highest: None,
            width: 0.03,
            grow_clients: false,
            confirm: Vec::new(),
        }
    }

    fn run(rate: Option<f64>, clients: u32, round: u32, arm: &Option<String>) -> Run {
        let factors = rate.map(|rate| ("rate".to_owned(), rate.to_string())).into_iter().collect();
        let key = RunKey { workload: "w".into(), factors, arm: arm.clone(), round };
        let load = if rate.is_some() { Load::Rate } else { Load::Closed };
        Run { offered_rate: rate, clients, load, measured_s: 1.0, ..Run::new(RunKind::Client, key) }
    }

    /// A server: what so many clients do as fast as they can, and whether a trial (the how manieth, from 0) keeps the promise.
    struct Server<'s> {
        peak: &'s dyn Fn(u32) -> u64,
        trial: &'s dyn Fn(&mut Run, usize),
    }

    /// Follows a search to its end; gives its runs.
    fn search(
        asked: &AskedLimit,
        arms: &[Option<String>],
        most: Option<u32>,
        server: &Server<'_>,
    ) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        loop {
            assert!(runs.len() < 400, "it does not end");
            let all: Vec<&Run> = runs.iter().collect();
            let cell = CellLimit::of(asked, arms, (8, most), &all);
            let begun = runs.len();
            match cell.next {
                LimitNext::Peak { clients, round } => {
                    let mut peak = run(None, clients, round, &arms[0]);
                    let done = (server.peak)(clients);
                    peak.figures.extend((done > 0).then(|| (PEAK.to_owned(), done as f64)));
                    runs.push(peak);
                }
                LimitNext::Trial { rate, clients, round, arms, .. } => {
                    for arm in &arms {
                        let mut trial = run(Some(rate), clients, round, arm);
                        (server.trial)(&mut trial, begun);
                        runs.push(trial);
                    }
                }
                LimitNext::Confirm { shaped, clients, round, arm } => {
                    let mut trial = run(Some(shaped.offered.mean(20.0)), clients, round, &arm);
                    trial.factors.insert("rate".into(), shaped.offered.to_string());
                    (server.trial)(&mut trial, begun);
                    runs.push(trial);
                }
                LimitNext::Ended => {
                    assert_eq!(cell.left, 0);
                    return runs;
                }
            }
        }
    }

    fn judged(run: &mut Run, limit: f64) {
        let good = run.offered_rate.is_some_and(|rate| rate < limit);
        run.figures.insert(PROMISE_KEPT.into(), f64::from(u8::from(good)));
    }

    fn ended(cell: &CellLimit<'_>, arm: usize) -> (f64, f64) {
        match cell.arms[arm].state {
            LimitState::Ended(LimitEnded { lower: Some(lower), upper: Some(upper), .. }) => (lower, upper),
            state => panic!("{state:?}"),
        }
    }

    #[test]
    fn a_peak_then_trials() {
        let server = Server { peak: &|_| 1000, trial: &|run, _| judged(run, 700.0) };
        let runs = search(&asked(), &[None], None, &server);
        let all: Vec<&Run> = runs.iter().collect();
        let cell = CellLimit::of(&asked(), &[None], (8, None), &all);
        let (lower, upper) = ended(&cell, 0);
        assert!(lower < 700.0 && upper >= 700.0 && upper / lower < 1.035, "{lower} {upper}");
        assert_eq!((cell.peak_per_s, cell.clients, cell.still_growing), (Some(1000.0), 8, false));
        assert!((7..=20).contains(&runs.len()), "{}", runs.len());
        // Trials at one rate are numbered.
        let mut keys: Vec<_> = runs.iter().map(Run::key).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), runs.len());
    }

    /// A run as fast as the clients can that others disturbed said too little.
    #[test]
    fn a_limit_beyond_a_disturbed_peak_is_found_and_bounds_of_ones_own_are_kept() {
        for (asked, limit, wanted) in [
            (asked(), 3_000.0, Some(3_000.0)),
            (asked(), f64::INFINITY, None),
            (AskedLimit { highest: Some(2_000.0), ..asked() }, 3_000.0, None),
        ] {
            let server = Server { peak: &|_| 1000, trial: &|run, _| judged(run, limit) };
            let runs = search(&asked, &[None], None, &server);
            let all: Vec<&Run> = runs.iter().collect();
            let cell = CellLimit::of(&asked, &[None], (8, None), &all);
            let LimitState::Ended(LimitEnded { lower, upper, .. }) = cell.arms[0].state else {
                panic!("{cell:?}")
            };
            match wanted {
                Some(limit) => assert!(
                    lower.is_some_and(|lower| lower < limit) && upper.is_some_and(|upper| upper >= limit)
                ),
                None => assert_eq!((lower, upper), (Some(asked.highest.unwrap_or(19_200.0)), None)),
            }
        }
    }

    #[test]
    fn clients_are_doubled_until_it_brings_nothing() {
        let asked = AskedLimit { grow_clients: true, ..asked() };
        let server = Server {
            peak: &|clients| 100 * u64::from(clients.min(40)),
            trial: &|run, _| judged(run, 3_000.0),
        };
        for (most, clients, growing) in [(None, 128, false), (Some(20), 20, true), (Some(17), 17, true)] {
            let runs = search(&asked, &[None], most, &server);
            let all: Vec<&Run> = runs.iter().collect();
            let cell = CellLimit::of(&asked, &[None], (8, most), &all);
            assert_eq!((cell.clients, cell.still_growing), (clients, growing), "{most:?}");
            let trials = runs.iter().filter(|run| run.offered_rate.is_some());
            assert!(trials.into_iter().all(|run| run.clients == clients));
        }
    }

    /// A role may have fewer connections than a search begins with.
    #[test]
    fn no_more_clients_than_are_let_in() {
        let grows = AskedLimit { grow_clients: true, ..asked() };
        let server = Server { peak: &|_| 1000, trial: &|run, _| judged(run, 700.0) };
        for (asked, clients) in [(grows, 2), (asked(), 8)] {
            let runs = search(&asked, &[None], Some(2), &server);
            assert!(runs.iter().all(|run| run.clients == clients), "{clients}");
        }
    }

    /// A bound of one's own may be there to protect the server: it is that of all arms.
    #[test]
    fn bounds_of_ones_own_are_kept_by_all_arms() {
        let asked = AskedLimit { lowest: Some(500.0), highest: Some(720.0), ..asked() };
        let arms = [Some("base".to_owned()), Some("new".to_owned())];
        let server = Server {
            peak: &|_| 1000,
            trial: &|run, _| judged(run, if run.arm.as_deref() == Some("new") { 2_000.0 } else { 700.0 }),
        };
        let runs = search(&asked, &arms, None, &server);
        let rates = runs.iter().filter_map(|run| run.offered_rate);
        assert!(rates.into_iter().all(|rate| (500.0..=720.0).contains(&rate)));
        let all: Vec<&Run> = runs.iter().collect();
        let cell = CellLimit::of(&asked, &arms, (8, None), &all);
        let state = cell.arms[1].state;
        assert!(
            matches!(state, LimitState::Ended(LimitEnded { lower: Some(_), upper: None, .. })),
            "{state:?}"
        );
    }

    /// Both arms at the same rates, the base first in every other round; each has passed and failed in the end.
    #[test]
    fn arms_are_tried_in_turn_around_the_limit_of_the_base() {
        let arms = [Some("base".to_owned()), Some("new".to_owned())];
        let server = Server {
            peak: &|_| 1000,
            trial: &|run, _| judged(run, if run.arm.as_deref() == Some("new") { 840.0 } else { 700.0 }),
        };
        let runs = search(&asked(), &arms, None, &server);
        let all: Vec<&Run> = runs.iter().collect();
        let cell = CellLimit::of(&asked(), &arms, (8, None), &all);
        let ((base, above), (lower, upper)) = (ended(&cell, 0), ended(&cell, 1));
        assert!(base < 700.0 && above >= 700.0 && lower < 840.0 && upper >= 840.0);
        assert!(above / base < 1.035 && upper / lower < 1.035, "{base} {above} {lower} {upper}");
        let rates = |arm: usize| {
            let mut rates: Vec<_> = cell.arms[arm].trials.iter().map(|run| place(run)).collect();
            rates.sort_unstable();
            rates
        };
        assert_eq!(rates(0), rates(1));
        let first: Vec<_> = cell.arms[1].trials[..3].iter().filter_map(|run| run.offered_rate).collect();
        let shares: Vec<f64> = first.iter().map(|rate| (10.0 * rate / base).round() / 10.0).collect();
        assert_eq!(shares, [1.0, 0.9, 1.1]);
    }

    #[test]
    fn what_cannot_be_believed_does_not_count() {
        // The fourth run cannot count at all; every third is slowed down by a neighbour.
        let trial = |run: &mut Run, number: usize| {
            judged(run, 700.0);
            if number == 4 {
                (run.validity, run.figures) = (Validity::Invalid, BTreeMap::new());
            } else if number.is_multiple_of(3) {
                run.figures.insert(PROMISE_KEPT.into(), 0.0);
                run.doubts.push(Doubt { reason: Reason::Steal, detail: String::new() });
            }
        };
        let runs = search(&asked(), &[None], None, &Server { peak: &|_| 1000, trial: &trial });
        let all: Vec<&Run> = runs.iter().collect();
        let cell = CellLimit::of(&asked(), &[None], (8, None), &all);
        let (lower, upper) = ended(&cell, 0);
        assert!(lower < 700.0 && upper >= 700.0, "{lower} {upper}");
        assert!(cell.arms[0].uncounted >= 3, "{}", cell.arms[0].uncounted);
    }

    /// Once the limit is known each shape has trials of its own: three where they agree, at the arm's own limit.
    #[test]
    fn a_limit_is_confirmed_under_rates_that_change() {
        let confirm = ["ramp 0.5..1 over 20s", "spike 0.5 to 1.5 for 2s at 8s", "sine 0.8 ± 0.2 every 5s"];
        let confirm = confirm.map(|shape| shape.parse().unwrap()).to_vec();
        let asked = AskedLimit { confirm, ..asked() };
        // What goes above it breaks the promise; of the sine a bad trial that was disturbed does not count.
        let trial = |run: &mut Run, number: usize| {
            let spike = run.factors["rate"].starts_with("spike");
            judged(run, if spike { 0.0 } else { 700.0 });
            if run.factors["rate"].starts_with("sine") && number.is_multiple_of(2) {
                run.figures.insert(PROMISE_KEPT.into(), 0.0);
                run.doubts.push(Doubt { reason: Reason::Steal, detail: String::new() });
            }
        };
        let arms = [Some("base".to_owned()), Some("new".to_owned())];
        for arms in [&[None][..], &arms] {
            let runs = search(&asked, arms, None, &Server { peak: &|_| 1000, trial: &trial });
            let all: Vec<&Run> = runs.iter().collect();
            let cell = CellLimit::of(&asked, arms, (8, None), &all);
            for (index, arm) in cell.arms.iter().enumerate() {
                let (lower, _) = ended(&cell, index);
                let classes: Vec<_> = arm.confirmed.iter().map(|shape| shape.class).collect();
                assert_eq!(classes, [LimitClass::Lower, LimitClass::Upper, LimitClass::Lower]);
                assert_eq!(arm.confirmed[0].shaped.offered, asked.confirm[0].scaled(lower));
                assert_eq!(arm.confirmed.iter().map(|shape| shape.left).sum::<usize>(), 0);
                assert_eq!((arm.confirmed[0].trials.len(), arm.confirmed[1].kept()), (3, 0));
                // Above the limit is no promise.
                assert!(arm.confirmed.iter().all(|shape| !shape.refutes()));
                assert!(arm.trials.iter().all(|run| !is_confirming(run)));
            }
            let mut keys: Vec<_> = runs.iter().map(Run::key).collect();
            keys.sort();
            keys.dedup();
            assert_eq!(keys.len(), runs.len());
        }
    }

    #[test]
    fn a_peak_that_never_counts_is_not_asked_for_without_end() {
        let none = Server { peak: &|_| 0, trial: &|_, _| unreachable!("there is nowhere to look") };
        let runs = search(&asked(), &[None], None, &none);
        assert_eq!(runs.iter().map(|run| run.round).collect::<Vec<_>>(), [1, 2]);
        let all: Vec<&Run> = runs.iter().collect();
        assert_eq!(CellLimit::of(&asked(), &[None], (8, None), &all).arms[0].state, LimitState::GivenUp);
        // With twice as many clients nothing ends in time: it is searched with those that there were.
        let asked = AskedLimit { grow_clients: true, ..asked() };
        let peak = |clients: u32| if clients > 8 { 0 } else { 1000 };
        let runs =
            search(&asked, &[None], None, &Server { peak: &peak, trial: &|run, _| judged(run, 700.0) });
        let peaks: Vec<_> =
            runs.iter().filter(|run| run.offered_rate.is_none()).map(|run| run.clients).collect();
        assert_eq!(peaks, [8, 16, 16]);
        assert!(runs.iter().filter(|run| run.offered_rate.is_some()).all(|run| run.clients == 8));
    }

    #[test]
    fn who_goes_on_with_a_search_keeps_its_clients() {
        let asked = AskedLimit { grow_clients: true, ..asked() };
        let server =
            Server { peak: &|clients| 100 * u64::from(clients), trial: &|run, _| judged(run, 700.0) };
        let runs = search(&asked, &[None], Some(94), &server);
        let all: Vec<&Run> = runs.iter().collect();
        for most in [None, Some(95), Some(400)] {
            let cell = CellLimit::of(&asked, &[None], (8, most), &all);
            assert_eq!((&cell.next, cell.clients), (&LimitNext::Ended, 94), "{most:?}");
        }
    }

    #[test]
    fn an_arm_whose_base_has_no_limit_is_not_tried() {
        let arms = [Some("base".to_owned()), Some("new".to_owned())];
        let asked = AskedLimit { highest: Some(900.0), ..asked() };
        for (limit, bounds, came) in
            [(0.0, (false, true), Came::Never), (5_000.0, (true, false), Came::Undecided)]
        {
            let server = Server { peak: &|_| 1000, trial: &|run, _| judged(run, limit) };
            let runs = search(&asked, &arms, None, &server);
            let all: Vec<&Run> = runs.iter().collect();
            let limit = CellLimit::of(&asked, &arms, (8, None), &all);
            let LimitState::Ended(LimitEnded { lower, upper, .. }) = limit.arms[0].state else {
                panic!("{limit:?}")
            };
            assert_eq!((lower.is_some(), upper.is_some()), bounds);
            assert_eq!(limit.arms[1].state, LimitState::NotTried);
            // Of the other arm nothing is known, whatever the base is worth.
            assert_eq!(Found { cell: Cell::of(all[0]), limit }.came(), [came]);
        }
    }

    #[test]
    fn trials_that_never_count_are_given_up() {
        let asked = AskedLimit { confirm: vec!["ramp 0.5..1 over 20s".parse().unwrap()], ..asked() };
        let trial = |run: &mut Run, _| {
            judged(run, 700.0);
            if is_confirming(run) {
                run.figures.clear();
            }
        };
        let runs = search(&asked, &[None], None, &Server { peak: &|_| 1000, trial: &trial });
        let all: Vec<&Run> = runs.iter().collect();
        let cell = CellLimit::of(&asked, &[None], (8, None), &all);
        let shape = &cell.arms[0].confirmed[0];
        assert_eq!((shape.class, shape.left, shape.uncounted), (LimitClass::Undecided, 0, 10));
    }

    #[test]
    fn bounds_of_ones_own_go_beyond_the_peak() {
        let asked = AskedLimit { lowest: Some(2_000.0), ..asked() };
        let of = |asked: &AskedLimit, peak| {
            range(asked, peak, Some(20.0)).map(|range| (range.lowest, range.highest))
        };
        assert_eq!(of(&asked, 1000.0), Some((2_000.0, 8_000.0)));
        let asked = AskedLimit { highest: Some(5.0), lowest: None, ..asked };
        assert_eq!(of(&asked, 1000.0), Some((1.25, 5.0)));
        // No rate without arrivals, and none that cannot be written, or only with many digits.
        assert_eq!(
            range(&AskedLimit { highest: None, ..asked.clone() }, 2761.5, None).map(|range| range.highest),
            Some(3314.0)
        );
        let asked = AskedLimit { highest: None, ..asked };
        assert_eq!(of(&asked, 10.0), Some((0.5, 12.0)));
        assert_eq!(range(&asked, 0.001, Some(1e9)), Some(LimitRange { lowest: 0.001, highest: 0.0012 }));
    }
}
