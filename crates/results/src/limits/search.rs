//! State of the search of a cell, and its next step: a pure function of its runs.

use std::collections::{BTreeMap, BTreeSet};

use spec::{AskedLimit, Profile, Run};
use stats::{LimitEnded, LimitRange, LimitSearch, LimitStep, Trial};

use super::confirm::{Confirmed, Shaped, is_confirming};
use super::generator::GeneratorLimit;
use super::peaks::Peaks;
use super::range::{of_users, range};
use super::tried::{are_decisive, counted, fewest_users, is_stuck, kept, kept_below, learnt, stalled};

/// Around the limit of the base arm: shares of it between which all arms' limits are searched, ...
const AROUND: [f64; 2] = [0.25, 4.0];
/// ... and at which all arms are tried first.
const FIRST: [f64; 3] = [1.0, 0.9, 1.1];
/// Most limits are about this share of the peak: the expectation of a search.
const BELOW_PEAK: f64 = 0.75;
/// With more trials a search is aborted: the machine changes under it.
const MOST_TRIALS: usize = 60;
/// The same for users, counted from where both a kept and a broken trial are known. Their trials take longer:
/// these are eight minutes at the usual length.
const MOST_BETWEEN_OF_USERS: usize = 20;
/// How often the highest rate that follows from the peak is doubled, if the promise still holds there.
const FURTHER: u32 = 4;
/// The same for users, whose highest number follows from nothing.
const FURTHER_USERS: u32 = 14;
/// Most users that are tried.
const MOST_USERS: f64 = 100_000.0;
/// Runs at full speed if clients grow: at least two, up to eight doublings.
const PEAKS_GROWING: [usize; 2] = [2, 6];
/// Trials of all arms at one rate, around the limit of the base.
const BLOCKS: [usize; 2] = [6, 36];
/// Trials of one rate that changes.
const CONFIRMING: [usize; 2] = [3, 5];
/// Trials of a search without results yet.
const USUAL_TRIALS: usize = 12;

/// The next step of a cell.
#[derive(Debug, Clone, PartialEq)]
pub enum LimitNext {
    /// A run at the full speed of this many clients, of the base arm.
    Peak {
        clients: u32,
        /// Number of the run with this many, from 1.
        round: u32,
    },
    /// A trial, of these arms one after the other.
    Trial {
        /// Transactions per second.
        rate: f64,
        clients: u32,
        /// Number of the trial at this rate, from 1.
        round: u32,
        arms: Vec<Option<String>>,
        /// Highest rate known to keep the promise, and lowest known not to, so far.
        between: [Option<f64>; 2],
    },
    /// A trial of this arm, whose limit is known, under a rate that changes.
    Confirm {
        shaped: Shaped,
        clients: u32,
        round: u32,
        arm: Option<String>,
    },
    Ended,
}

/// State of the search for one arm's limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LimitState {
    Searching,
    Ended(LimitEnded),
    /// This many trials did not decide it.
    GivenUp,
    /// The base has no limit around which it could have been tried.
    NotTried,
}

/// The limit of one arm of a cell.
#[derive(Debug, Clone)]
pub struct ArmLimit<'r> {
    /// `None` if nothing is compared.
    pub arm: Option<String>,
    pub state: LimitState,
    /// Counted trials, in order of execution.
    pub trials: Vec<&'r Run>,
    /// Uncounted trials: invalid ones, or with a disturbed machine.
    pub uncounted: usize,
    /// Trials that do not count since the generator stalled.
    pub stalled: Vec<&'r Run>,
    /// Results of the limit under rates that change, in the requested order; empty before it is known.
    pub confirmed: Vec<Confirmed<'r>>,
}

/// A cell whose limit is searched.
#[derive(Debug, Clone)]
pub struct CellLimit<'r> {
    /// Its arms, base first; one unnamed arm if nothing is compared.
    pub arms: Vec<ArmLimit<'r>>,
    /// Fastest run at full speed, transactions per second, of the base arm.
    pub peak_per_s: Option<f64>,
    pub peak_run: Option<&'r Run>,
    pub peak_clients: u32,
    /// Clients of the trials; of the next peak run before the first trial.
    pub clients: u32,
    /// Whether more clients may do more at full speed, and the server accepts no more.
    pub still_growing: bool,
    pub next: LimitNext,
    /// Approximate number of missing runs.
    pub left: usize,
    /// Usual number of runs of a whole search, least and most.
    pub usual: [usize; 2],
}

/// A search in progress: of the base arm, then of all arms together.
struct SearchStage<'a, 'r> {
    asked: &'a AskedLimit,
    search: LimitSearch,
    /// Counted and not, in order, of each arm.
    trials: Vec<Vec<&'r Run>>,
}

impl<'r> CellLimit<'r> {
    /// Of a cell with these arms, base first, from its runs in order of execution. `clients` is the initial
    /// number, `most_clients` the server's limit.
    #[must_use]
    pub fn of(
        asked: &AskedLimit,
        arms: &[Option<String>],
        (clients, most_clients): (u32, Option<u32>),
        runs: &[&'r Run],
    ) -> Self {
        // Never more than the server accepts, if the search chooses.
        let clients = match most_clients {
            Some(most) if asked.grow_clients => clients.min(most),
            _ => clients,
        };
        let peaks = Peaks::of(runs);
        let (peak_clients, peak_per_s) = peaks.fastest().unzip();
        let trials: Vec<&'r Run> = runs.iter().copied().filter(|run| run.tried_level().is_some()).collect();
        // Trials at one peak would be worthless at another.
        let may_grow = trials.is_empty() || peak_per_s.is_none();
        let wanted = peaks.wanted(asked, clients, most_clients).filter(|_| may_grow && !asked.are_users());
        let mut cell = Self {
            arms: arms.iter().map(|arm| ArmLimit::unknown(arm.clone())).collect(),
            peak_per_s,
            peak_run: peaks.fastest_run(),
            peak_clients: peak_clients.unwrap_or(clients),
            clients: wanted.or(peaks.most_clients()).unwrap_or(clients),
            still_growing: asked.grow_clients
                && peaks.are_growing()
                && peak_per_s.is_some()
                && wanted.is_none(),
            next: LimitNext::Ended,
            left: 0,
            usual: usual(asked, arms.len()),
        };
        let range = match asked.are_users() {
            true => of_users(asked),
            false => peak_per_s.and_then(|peak| range(asked, peak, peaks.measured_s())),
        };
        let most = most_clients.map_or(MOST_USERS, f64::from);
        match (wanted, range) {
            (Some(clients), _) => {
                cell.next = LimitNext::Peak { clients, round: peaks.tried_with(clients) as u32 + 1 };
                cell.left = 1 + USUAL_TRIALS * if arms.len() > 1 { 1 + 2 * arms.len() } else { 1 };
            }
            // Nothing was done at all, so the search has no range.
            (None, None) => cell.arms.iter_mut().for_each(|arm| arm.state = LimitState::GivenUp),
            (None, Some(range)) => {
                let (confirming, trials) =
                    trials.into_iter().partition::<Vec<_>, _>(|run| is_confirming(run));
                cell.search(asked, range, most, &trials);
                cell.confirm(asked, &confirming);
            }
        }
        cell
    }

    fn search(&mut self, asked: &AskedLimit, range: LimitRange, most: f64, trials: &[&'r Run]) {
        let together = together(trials, self.arms.len());
        let is_together = |run: &&'r Run| together.contains(&rate_and_round(run));
        let base = self.arms[0].arm.clone();
        let alone: Vec<&'r Run> =
            trials.iter().copied().filter(|run| run.arm == base && !is_together(run)).collect();
        let (first, state) = self.first(asked, range, most, &alone);
        self.arms[0].saw(&first, 0, state);
        let several = self.arms.len() > 1;
        match (state, several) {
            (LimitState::Searching, _) => {
                self.next = first.next(self.clients, vec![base], trials);
                self.left = first.left() + if several { 2 * self.arms.len() * USUAL_TRIALS / 2 } else { 0 };
            }
            (LimitState::Ended(LimitEnded { lower: Some(limit), upper: Some(_), .. }), true) => {
                self.compare(asked, (limit, most), trials, is_together);
            }
            // Without a limit of the base the others cannot be tried around it.
            _ => self.arms[1..].iter_mut().for_each(|arm| arm.state = LimitState::NotTried),
        }
    }

    /// The search of the base arm. If the promise holds at all rates that follow from the peak, that run
    /// was disturbed and was no peak; higher rates are tried.
    fn first<'a>(
        &self,
        asked: &'a AskedLimit,
        range: LimitRange,
        most: f64,
        alone: &[&'r Run],
    ) -> (SearchStage<'a, 'r>, LimitState) {
        let peak = asked.users.map(f64::from).or(self.peak_per_s);
        let (mut range, mut peak, mut further) = (range, peak, 0);
        let is_free = asked.are_users() && asked.lowest.is_none();
        let fewest = if is_free { fewest_users(asked, alone) } else { None };
        let (most, often) =
            if asked.are_users() { (most, FURTHER_USERS) } else { (Profile::BOUNDS[1], FURTHER) };
        loop {
            let search = match asked.are_users() {
                true => LimitSearch::of_whole_numbers(asked.goal(), range, most, peak),
                false => LimitSearch::new(asked.goal(), range, peak),
            };
            let search = match fewest {
                Some(fewest) => search.not_below(fewest),
                None => search,
            };
            let stage = SearchStage { asked, search, trials: vec![alone.to_vec()] };
            let state = stage.state(0);
            let holds = matches!(state, LimitState::Ended(LimitEnded { lower: Some(_), upper: None, .. }));
            let highest =
                if asked.are_users() { 2.0 * range.highest } else { (2.0 * range.highest).min(most) };
            let is_last = highest <= range.highest || range.highest >= most;
            if !holds || asked.highest.is_some() || further == often || is_last {
                return (stage, state);
            }
            peak = Some(range.highest / if asked.are_users() { 1.0 } else { BELOW_PEAK });
            range = LimitRange { lowest: range.highest, highest };
            further += 1;
        }
    }

    /// Each arm at its limit, once all are known, under the rates that change.
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

    fn compare(
        &mut self,
        asked: &AskedLimit,
        (limit, most_users): (f64, f64),
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
        let search = match asked.are_users() {
            true => LimitSearch::of_whole_numbers(asked.goal(), range, most_users, Some(limit)),
            false => LimitSearch::new(asked.goal(), range, Some(limit / BELOW_PEAK)),
        };
        let stage = SearchStage { asked, search, trials: self.arms.iter().map(of).collect() };
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
        Self {
            arm,
            state: LimitState::Searching,
            trials: Vec::new(),
            uncounted: 0,
            stalled: Vec::new(),
            confirmed: Vec::new(),
        }
    }

    /// Whether a load that never exceeds the limit broke the promise: then it is not a limit.
    #[must_use]
    pub fn is_refuted(&self) -> bool {
        self.confirmed.iter().any(Confirmed::refutes)
    }

    /// The server's bounds, if there are both; `None` if the load generator set the upper one.
    #[must_use]
    pub fn bounds(&self, asked: &AskedLimit) -> Option<(f64, f64)> {
        let LimitState::Ended(LimitEnded { lower: Some(lower), upper: Some(upper), .. }) = self.state else {
            return None;
        };
        self.generator(asked).is_none().then_some((lower, upper))
    }

    /// What the load generator lacked at the upper bound, if that is why the promise was broken there.
    #[must_use]
    pub fn generator(&self, asked: &AskedLimit) -> Option<GeneratorLimit> {
        let LimitState::Ended(LimitEnded { upper: Some(upper), .. }) = self.state else { return None };
        GeneratorLimit::at(asked, &self.trials, &self.stalled, upper)
    }

    /// Whether trials at the upper bound had so few arrivals of a term that a single bad one breaks it, and
    /// all of them together had no more bad ones than chance gives.
    #[must_use]
    pub fn one_decides(&self, asked: &AskedLimit) -> bool {
        let LimitState::Ended(LimitEnded { upper: Some(upper), .. }) = self.state else { return false };
        let there = || self.trials.iter().filter(|run| run.tried_level() == Some(upper));
        let decides = |term: &spec::Term| {
            let kept: Vec<spec::TermResult> = there().filter_map(|run| term.kept(run)).collect();
            let (bad, offered) =
                kept.iter().fold((0.0, 0.0), |sum, own| (sum.0 + own.bad, sum.1 + own.offered));
            let few = !kept.is_empty() && kept.iter().all(|own| own.offered * term.share < 1.0);
            few && bad > 0.0 && chance_of(bad.round() as u64, offered.round() as u64, term.share) > 0.05
        };
        asked.promise.iter().any(decides)
    }

    /// Whether even the fewest users with which a trial has enough transactions broke the promise, and fewer were
    /// therefore not tried.
    #[must_use]
    pub fn has_too_few_below(&self, asked: &AskedLimit) -> bool {
        let LimitState::Ended(LimitEnded { lower: None, upper: Some(upper), .. }) = self.state else {
            return false;
        };
        let is_free = asked.are_users() && asked.lowest.is_none() && upper > 1.0;
        // The next number below it is one or 3 % less.
        let next = (0.95 * upper).min(upper - 1.0);
        is_free && fewest_users(asked, &self.trials).is_some_and(|fewest| fewest > next)
    }

    /// Whether its trials contradict each other, or a load that never exceeds the limit broke the promise.
    #[must_use]
    pub fn is_irregular(&self) -> bool {
        let ended = match self.state {
            LimitState::Ended(ended) => Some(ended),
            _ => None,
        };
        ended.is_some_and(|ended| ended.inverted || ended.contradicted) || self.is_refuted()
    }

    fn saw(&mut self, stage: &SearchStage<'_, 'r>, index: usize, state: LimitState) {
        let all = &stage.trials[index];
        self.trials = counted(all);
        self.uncounted = all.len() - self.trials.len();
        self.stalled = stalled(all);
        self.state = state;
    }
}

/// Chance that at least `bad` of `all` arrivals are bad if each is bad with this probability; for small
/// expected numbers.
fn chance_of(bad: u64, all: u64, share: f64) -> f64 {
    let mut exactly = (1.0 - share).powf(all as f64);
    let mut fewer = 0.0;
    for count in 0..bad.min(all) {
        fewer += exactly;
        exactly *= (all - count) as f64 / (count + 1) as f64 * share / (1.0 - share);
    }
    (1.0 - fewer).max(0.0)
}

impl SearchStage<'_, '_> {
    fn trials_of(&self, index: usize) -> Vec<Trial> {
        learnt(self.asked, &self.trials[index])
    }

    fn state(&self, index: usize) -> LimitState {
        match self.search.next(&self.trials_of(index)) {
            LimitStep::Ended(ended) => LimitState::Ended(ended),
            LimitStep::Try(_) if is_stuck(&self.trials[index]) => self.stuck(index),
            LimitStep::Try(_) if self.are_too_many(index) => LimitState::GivenUp,
            LimitStep::Try(_) => LimitState::Searching,
        }
    }

    fn are_too_many(&self, index: usize) -> bool {
        let trials = &self.trials[index];
        let first = |keeps: bool| trials.iter().position(|run| kept(run) == keeps);
        let bounded = first(true).zip(first(false)).map_or(trials.len(), |(kept, broken)| kept.max(broken));
        let between = trials.len() - bounded;
        trials.len() >= MOST_TRIALS || self.asked.are_users() && between > MOST_BETWEEN_OF_USERS
    }

    /// The state after too many trials that did not count: at least the lower bound, if the generator set the
    /// upper one.
    fn stuck(&self, index: usize) -> LimitState {
        let [lower, upper] = self.between(index);
        let at_upper = |run: &&Run| run.tried_level() == upper;
        let broken =
            counted(&self.trials[index]).into_iter().filter(|run| at_upper(run) && !kept(run)).count();
        let stalled = stalled(&self.trials[index]).iter().filter(|run| at_upper(run)).count();
        match upper.filter(|_| are_decisive(stalled, broken)) {
            Some(at) => {
                let lower = lower.or_else(|| kept_below(&self.trials[index], at));
                LimitState::Ended(LimitEnded { lower, upper, inverted: false, contradicted: false })
            }
            None => LimitState::GivenUp,
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

    fn left(&self) -> usize {
        (0..self.trials.len()).map(|index| self.search.left(&self.trials_of(index))).max().unwrap_or(0)
    }
}

fn usual(asked: &AskedLimit, arms: usize) -> [usize; 2] {
    let peaks = match () {
        () if asked.are_users() => [0, 0],
        () if asked.grow_clients => PEAKS_GROWING,
        () => [1, 1],
    };
    let blocks = if arms > 1 { BLOCKS } else { [0, 0] };
    let shapes = arms * asked.confirm.len();
    let of = |end: usize| {
        peaks[end] + LimitSearch::USUAL_TRIALS[end] + arms * blocks[end] + shapes * CONFIRMING[end]
    };
    [of(0), of(1)]
}

fn rate_and_round(run: &Run) -> (u64, u32) {
    (run.tried_level().unwrap_or_default().to_bits(), run.round)
}

fn together(trials: &[&Run], arms: usize) -> BTreeSet<(u64, u32)> {
    let mut tried: BTreeMap<(u64, u32), BTreeSet<&Option<String>>> = BTreeMap::new();
    for run in trials {
        tried.entry(rate_and_round(run)).or_default().insert(&run.arm);
    }
    tried.into_iter().filter(|(_, tried)| arms > 1 && tried.len() == arms).map(|(place, _)| place).collect()
}

/// The number of the next trial at a rate, of any arm.
fn round_at(trials: &[&Run], rate: f64) -> u32 {
    let there = trials.iter().filter(|run| run.tried_level() == Some(rate));
    there.map(|run| run.round).max().unwrap_or(0) + 1
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
