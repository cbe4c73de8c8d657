//! The next rate to try, and the end of the search.

use super::belief::Belief;
use super::contradiction::are_contradicted;
use super::{Goal, RateClass, STEPS, Tally, Trial};

/// A class is believed when all trials together give its opposite less than this probability ...
const DOUBT: f64 = 0.2;
/// ... or when the rate was tried this many times as often as usually necessary.
const STUBBORN: u32 = 2;

/// Two rates a width apart are tried when the limit is between them with this probability.
const LIKELY: f64 = 0.2;

/// How much each existing trial of a pair of rates, relative to those it needs, favours trying the pair.
const KNOWN: f64 = 0.8;
const ENOUGH: u32 = 3;

/// A trial beyond all tried rates is at most this many times as far ...
const STEP: f64 = 2.0;
/// ... and at most this, if the share of bad arrivals at the last of these rates is near the allowed one: within
/// these multiples of it.
const STEP_NEAR: f64 = 1.25;
const NEAR: std::ops::RangeInclusive<f64> = 0.5..=2.0;

/// More trials left than this are not reported.
const MOST_LEFT: usize = 40;

/// Share of the width that remains when rates are rounded to four digits.
const ROUNDING: f64 = 0.95;

/// The rates that may be tried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// Per second; above 0.
    pub lowest: f64,
    /// Per second; above `lowest`.
    pub highest: f64,
}

/// A search: a pure function of the trials so far.
#[derive(Debug, Clone)]
pub struct Search {
    goal: Goal,
    /// Ascending, at most half a width apart; or whole numbers, which may be further apart.
    rates: Vec<f64>,
    are_whole: bool,
    peak: Option<f64>,
    before: Belief,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum SearchStep {
    Try(f64),
    Ended(SearchResult),
}

/// The result of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchResult {
    /// Highest rate known to keep the promise, below `upper`; `None` if even the lowest breaks it.
    pub lower: Option<f64>,
    /// Lowest rate known to break it; `None` if even the highest keeps it.
    pub upper: Option<f64>,
    /// Whether a rate above `upper` was classified as keeping the promise (RFC 9971: loss inversion).
    pub inverted: bool,
    /// Whether trials well below `lower` broke the promise, or trials well above `upper` kept it, more often than chance explains.
    pub contradicted: bool,
}

impl Search {
    /// Fewest and most trials of a search: 19 times in 20, even if a few trials do not count or the server is
    /// slow for some.
    pub const USUAL_TRIALS: [usize; 2] = [8, 36];

    /// A search over these rates. `peak` is the rate of a closed load, if measured: the limit of most
    /// promises is somewhat below.
    #[must_use]
    pub fn new(goal: Goal, range: Range, peak: Option<f64>) -> Self {
        let wide = (range.highest / range.lowest).ln();
        // A little closer than requested, since rates are rounded.
        let steps = (STEPS as f64 * wide / -(1.0 - ROUNDING * goal.width).ln()).ceil().max(1.0);
        let rate = |step: f64| rounded(range.lowest * (wide * step / steps).exp());
        let mut rates: Vec<f64> = (0..steps as usize).map(|step| rate(step as f64)).collect();
        rates.push(range.highest);
        rates[0] = range.lowest;
        rates.dedup();
        Self::over(goal, rates, peak, false)
    }

    /// A search over whole numbers up to `most`, of users for example. `likely` is a guess at the limit.
    #[must_use]
    pub fn of_whole_numbers(goal: Goal, range: Range, most: f64, likely: Option<f64>) -> Self {
        let rates = Self::new(goal, range, None).rates;
        let mut rates: Vec<f64> = rates.iter().map(|rate| rate.round().max(1.0)).collect();
        rates.dedup();
        let fit = rates.partition_point(|rate| *rate <= most);
        rates.truncate(fit.max(1));
        Self::over(goal, rates, likely.map(|likely| likely / 0.75), true)
    }

    fn over(goal: Goal, rates: Vec<f64>, peak: Option<f64>, are_whole: bool) -> Self {
        let likely = |rate: f64| match peak {
            Some(peak) => (-(rate / (0.75 * peak)).ln().abs() / 0.4).exp() + 0.01,
            None => 1.0,
        };
        let within: Vec<f64> = rates.windows(2).map(|pair| likely((pair[0] * pair[1]).sqrt())).collect();
        let end = within.iter().sum::<f64>() / 20.0;
        let before = Belief::of(std::iter::once(end).chain(within).chain([end]));
        Self { goal, rates, are_whole, peak, before }
    }

    /// The same search without the rates below this one; the highest is kept.
    #[must_use]
    pub fn not_below(self, rate: f64) -> Self {
        let first = self.rates.partition_point(|known| *known < rate).min(self.rates.len() - 1);
        Self::over(self.goal, self.rates[first..].to_vec(), self.peak, self.are_whole)
    }

    /// The nearest rate that may be tried.
    #[must_use]
    pub fn nearest(&self, rate: f64) -> f64 {
        let far = |known: &&f64| (**known / rate).ln().abs();
        self.rates.iter().min_by(|a, b| far(a).total_cmp(&far(b))).copied().unwrap_or(rate)
    }

    /// What to do after these trials, in the order they were made; those at other rates do not count.
    #[must_use]
    pub fn next(&self, trials: &[Trial]) -> SearchStep {
        let seen = self.seen(trials);
        let (lower, upper) = seen.bounds();
        let aim = match self.are_close(lower, upper) {
            true => None,
            false => aim(lower, upper, &seen.below, &seen.tallies, self.are_whole)
                .map(|index| self.within_a_step(index, trials)),
        };
        match aim.or_else(|| seen.doubted_below(lower.unwrap_or(0))) {
            Some(index) => SearchStep::Try(self.rates[index]),
            None => SearchStep::Ended(SearchResult {
                lower: lower.map(|index| self.rates[index]),
                upper: upper.map(|index| self.rates[index]),
                inverted: upper.is_some_and(|upper| seen.classes[upper..].contains(&RateClass::Lower)),
                contradicted: are_contradicted(&seen.tallies, &seen.order, lower, upper),
            }),
        }
    }

    /// The highest rate known to keep the promise, and the lowest known to break it, so far.
    #[must_use]
    pub fn between(&self, trials: &[Trial]) -> [Option<f64>; 2] {
        let (lower, upper) = self.seen(trials).bounds();
        [lower, upper].map(|index| index.map(|index| self.rates[index]))
    }

    fn seen(&self, trials: &[Trial]) -> Seen {
        let mut tallies = vec![Tally::default(); self.rates.len()];
        let mut belief = self.before.clone();
        let mut order = Vec::with_capacity(trials.len());
        for trial in trials {
            let Some(index) = self.index(trial.rate) else { continue };
            let tally = &mut tallies[index];
            *if trial.good { &mut tally.good } else { &mut tally.bad } += 1;
            let class = self.goal.class(tally.good, tally.bad);
            tally.first = tally.first.or(Some(class).filter(|class| *class != RateClass::Undecided));
            belief.saw(index, trial.good);
            order.push((index, trial.good));
        }
        let below = belief.below();
        let alone: Vec<RateClass> =
            tallies.iter().map(|tally| self.goal.class(tally.good, tally.bad)).collect();
        let believed = |index: usize| {
            let often = tallies[index].good + tallies[index].bad > STUBBORN * self.goal.trials;
            match alone[index] {
                RateClass::Upper if below[index] < 1.0 - DOUBT && !often => RateClass::Undecided,
                RateClass::Lower if below[index] > DOUBT && !often => RateClass::Undecided,
                class => class,
            }
        };
        let classes = (0..tallies.len()).map(believed).collect();
        Seen { tallies, order, below, alone, classes }
    }

    /// Estimated number of trials still needed, if each has its most probable result.
    #[must_use]
    pub fn left(&self, trials: &[Trial]) -> usize {
        let mut all = trials.to_vec();
        let limit = self.middle(trials);
        while let SearchStep::Try(rate) = self.next(&all)
            && all.len() < trials.len() + MOST_LEFT
        {
            all.push(Trial { rate, good: rate < limit, used: None });
        }
        all.len() - trials.len()
    }

    /// The rate that splits the limit's probability in half, after these trials.
    fn middle(&self, trials: &[Trial]) -> f64 {
        let at = self.seen(trials).below.iter().position(|below| *below >= 0.5);
        at.map_or(f64::INFINITY, |index| self.rates[index])
    }

    /// This rate, or the one nearest to it that is not too far beyond all tried ones.
    fn within_a_step(&self, index: usize, trials: &[Trial]) -> usize {
        let tried = || trials.iter().rev().filter_map(|trial| Some((self.index(trial.rate)?, trial)));
        let Some((lowest, low)) = tried().min_by_key(|(index, _)| *index) else { return index };
        let Some((highest, high)) = tried().rev().max_by_key(|(index, _)| *index) else { return index };
        let step = |trial: &Trial| {
            if trial.used.is_some_and(|used| NEAR.contains(&used)) { STEP_NEAR } else { STEP }
        };
        let least = self.rates.partition_point(|rate| *rate < self.rates[lowest] / step(low));
        let most =
            self.rates.partition_point(|rate| *rate <= self.rates[highest] * step(high)).saturating_sub(1);
        // At least the next one, however far apart they are.
        let least = least.min(lowest.saturating_sub(1));
        let most = most.max((highest + 1).min(self.rates.len() - 1));
        index.clamp(least, most)
    }

    /// Whether the limit is known closely enough.
    fn are_close(&self, lower: Option<usize>, upper: Option<usize>) -> bool {
        match (lower, upper) {
            (Some(lower), Some(upper)) if self.are_whole => {
                upper - lower <= 1 || 1.0 - self.rates[lower] / self.rates[upper] <= self.goal.width
            }
            (Some(lower), Some(upper)) => (upper - lower) as i64 <= STEPS,
            (None, Some(upper)) => upper == 0,
            (Some(lower), None) => lower + 1 == self.rates.len(),
            (None, None) => false,
        }
    }

    fn index(&self, rate: f64) -> Option<usize> {
        let at = self.rates.partition_point(|known| *known < rate * (1.0 - 1e-9));
        self.rates.get(at).filter(|known| (*known / rate - 1.0).abs() < 1e-6).map(|_| at)
    }
}

/// What the trials show of each rate.
struct Seen {
    tallies: Vec<Tally>,
    /// The trials in order: index of the rate, and whether the promise was kept.
    order: Vec<(usize, bool)>,
    /// Probability that the limit is below it.
    below: Vec<f64>,
    /// By the rate's own trials.
    alone: Vec<RateClass>,
    /// The same, unless all trials together contradict it.
    classes: Vec<RateClass>,
}

impl Seen {
    /// Of the highest rate known to keep the promise, and of the lowest known to break it: the smallest upper
    /// bound counts, whatever larger rates show.
    fn bounds(&self) -> (Option<usize>, Option<usize>) {
        let upper = self.classes.iter().position(|class| *class == RateClass::Upper);
        let under = &self.classes[..upper.unwrap_or(self.classes.len())];
        (under.iter().rposition(|class| *class == RateClass::Lower), upper)
    }

    /// A rate below a good one whose own trials are bad: it is tried again, however little they are believed.
    fn doubted_below(&self, lower: usize) -> Option<usize> {
        let doubted = |index: &usize| {
            self.alone[*index] == RateClass::Upper && self.classes[*index] == RateClass::Undecided
        };
        (0..lower).find(doubted)
    }
}

/// The rate to try between the highest known to keep the promise and the lowest known to break it. `below` has for
/// each rate the probability that the limit is below it. Whole numbers may be neighbours in the end.
fn aim(
    lower: Option<usize>,
    upper: Option<usize>,
    below: &[f64],
    tallies: &[Tally],
    are_whole: bool,
) -> Option<usize> {
    let apart = if are_whole { 1 } else { STEPS };
    let count = below.len() as i64;
    let (low, high) = (lower.map_or(-1, |index| index as i64), upper.map_or(count, |index| index as i64));
    let is_open = |place: i64| low < place && place < high;
    let below = |place: i64| match place {
        -1 => 0.0,
        place => below.get(place as usize).copied().unwrap_or(1.0),
    };
    let pairs = (0..count - apart).map(|place| [place, place + apart]).chain([[-1, 0], [count - 1, count]]);
    let mass = |pair: &[i64; 2]| below(pair[1]) - below(pair[0]);
    let have = |[from, to]: &[i64; 2]| {
        let tally = |place: &i64| tallies.get(*place as usize).copied().unwrap_or_default();
        f64::from(tally(from).good.min(ENOUGH) + tally(to).bad.min(ENOUGH))
    };
    let score = |pair: &[i64; 2]| mass(pair) * (1.0 + KNOWN * have(pair));
    let within = pairs.filter(|[from, to]| low <= *from && *to <= high);
    let likely = within.max_by(|a, b| score(a).total_cmp(&score(b))).filter(|pair| mass(pair) >= LIKELY);
    let doubt = |place: &i64| (below(*place) - 0.5).abs();
    let nearest = |places: &mut dyn Iterator<Item = i64>| places.min_by(|a, b| doubt(a).total_cmp(&doubt(b)));
    let of_pair = likely.and_then(|pair| nearest(&mut pair.into_iter().filter(|place| is_open(*place))));
    of_pair.or_else(|| nearest(&mut (low + 1..high))).map(|place| place as usize)
}

/// To four digits, so that rates read well.
fn rounded(rate: f64) -> f64 {
    let behind = 3 - rate.log10().floor() as i32;
    let unit = 10f64.powi(behind.abs());
    if behind > 0 { (rate * unit).round() / unit } else { (rate / unit).round() * unit }
}
