//! Arms that take turns: one works for a slice while the others are held.
//!
//! Disturbances of a shared machine last from tenths of a second to minutes, so arms that alternate every
//! tenth of a second see much of the same disturbance. They run in the order A B B A, each in its own slice
//! with a hold between: effects of a switch then cancel within the four, a *quad*.

use std::time::{Duration, Instant};

use engine::Stretch;
use server::host::{HostSample, ServerCpu};
use spec::plan::TransactionLengths;
use spec::{Class, Error, Slice, figures};
use stats::Histogram;

use super::cpu_by_arm::{self, CpuByArm, Postmasters};
use super::memory::MemoryLooks;
use super::{Part, Sessions};

/// Bounds of a slice.
pub(crate) const SHORTEST: Duration = Duration::from_millis(50);
pub(crate) const LONGEST: Duration = Duration::from_secs(1);
/// Default length for short transactions.
pub(crate) const USUAL: Duration = Duration::from_millis(100);
/// Least length of a slice, in medians of a transaction.
const MEDIANS: u32 = 20;
/// With fewer medians, slices are not possible.
const FEWEST_MEDIANS: u32 = 2;
/// Longest drain that is not void, as a multiple of the slowest transaction expected in a slice.
const DRAINS: u32 = 3;
/// The slowest of at least this many transactions counts.
const OF_A_HUNDRED: f64 = 100.0;
/// How long an open transaction is waited for, with all others held.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
pub(crate) struct Turns {
    pub(crate) warmup: Duration,
    pub(crate) duration: Duration,
    pub(crate) length: Option<Duration>,
    /// Whether a length with fewer than two transactions is refused; else arms are not cut.
    pub(crate) strict: bool,
    /// Whether the processes of all arms take turns on CPUs: if no placement is set.
    pub(crate) spread: bool,
    /// Whether clients stay connected for the next round.
    pub(crate) keep: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) slices: Vec<Vec<Slice>>,
    /// CPU time of each arm's server for it, seconds; `None` if a turn's could not be read.
    pub(crate) server_cpu_s: Vec<Option<f64>>,
    /// Why they ran one after the other nevertheless, if they did.
    pub(crate) uncut: Option<String>,
    /// The requested slice is shorter than it should be.
    pub(crate) short: Option<String>,
    /// The arm whose transaction did not end in time.
    pub(crate) hung: Option<usize>,
    /// Lengths of transactions in the warm-up, which decide about slices; the inner `None` if none ended.
    pub(crate) lengths: Option<Option<TransactionLengths>>,
    /// How long the sessions of each arm had worked before.
    pub(crate) ages: Vec<Duration>,
}

#[derive(Debug, PartialEq, Eq)]
enum Cut {
    /// Slices of each arm in so many quads, and the drain that voids one.
    Slices {
        quads: u32,
        each: Duration,
        drain: Duration,
    },
    Uncut {
        why: String,
    },
}

/// Lets connected, held runs take turns until each has had its load.
pub(super) fn take(arms: &mut [Part<'_, '_>], turns: &Turns, servers: &Postmasters) -> Result<Taken, Error> {
    let mut taken = Taken { slices: vec![Vec::new(); arms.len()], ..Taken::default() };
    for (number, Part { sessions: Sessions { run, .. }, watch }) in arms.iter_mut().enumerate() {
        run.release(turns.warmup);
        // The length of its transactions is still unknown.
        if run.wait_until_idle(turns.warmup + PATIENCE, watch).is_none() {
            taken.hung = (!run.is_over()).then_some(number);
            return Ok(taken);
        }
    }
    let warm: Vec<&Histogram> = arms.iter().map(|arm| arm.sessions.run.warm_up()).collect();
    let lengths = lengths(&warm, turns);
    taken.lengths = Some(lengths);
    let (quads, each, drain) = match Cut::of(lengths, turns)? {
        Cut::Slices { quads, each, drain } => (quads, each, drain),
        Cut::Uncut { why } => {
            taken.uncut = Some(why);
            (0, turns.duration, PATIENCE)
        }
    };
    let wanted = usual_length(longest(&warm, 0.5));
    taken.short = (taken.uncut.is_none() && each < wanted).then(|| {
        format!(
            "slices of {} are short: 20 transactions take {}; longer runs have longer slices",
            words(each),
            words(wanted)
        )
    });
    arms.iter_mut().for_each(|arm| arm.sessions.run.measure(&mut arm.watch));
    let mut conductor = Conductor {
        memory: MemoryLooks::begin(arms.len()),
        arms,
        each,
        drain,
        start: Instant::now(),
        host: HostSample::take(None),
        cpu: cpu_by_arm::begin(servers),
    };
    if taken.uncut.is_some() {
        // One after the other, without slices.
        for arm in 0..conductor.arms.len() {
            match conductor.slice(arm, 0) {
                Ok(slice) => taken.server_cpu_s.push(slice.server_cpu_us.map(|us| us / 1e6)),
                Err(hung) => {
                    taken.hung = hung;
                    return Ok(taken);
                }
            }
        }
        return Ok(taken);
    }
    for quad in 0..quads {
        if let Err(hung) = conductor.quad(quad, &mut taken.slices) {
            taken.hung = hung;
            // A turn has begun but its end was not read.
            return Ok(taken);
        }
    }
    let sum = |slices: &Vec<Slice>| slices.iter().map(|slice| slice.server_cpu_us).sum::<Option<f64>>();
    taken.server_cpu_s = taken.slices.iter().map(|slices| sum(slices).map(|us| us / 1e6)).collect();
    Ok(taken)
}

struct Conductor<'a, 'w, 'c> {
    arms: &'a mut [Part<'w, 'c>],
    memory: MemoryLooks,
    each: Duration,
    /// A longer drain voids its quad; so does a gap of the generator.
    drain: Duration,
    start: Instant,
    host: HostSample,
    cpu: CpuByArm<'a, ServerCpu, fn(u32) -> Option<ServerCpu>>,
}

impl Conductor<'_, '_, '_> {
    /// All arms in order and back; an error when it could not be completed, with the arm that hung.
    fn quad(&mut self, quad: u32, slices: &mut [Vec<Slice>]) -> Result<(), Option<usize>> {
        if quad == 0 {
            self.look();
        }
        let there = 0..self.arms.len();
        let mut is_void = false;
        for arm in there.clone().chain(there.rev()) {
            let slice = self.slice(arm, quad)?;
            is_void |= slice.is_void;
            slices[arm].push(slice);
        }
        if is_void {
            let all = slices.iter_mut().flatten();
            all.filter(|slice| slice.quad == quad).for_each(|slice| slice.is_void = true);
        }
        self.look();
        Ok(())
    }

    /// Reads the memory of all arms, which are held now, if that is due.
    fn look(&mut self) {
        let arms = self.arms.iter_mut();
        self.memory.look(arms.map(|arm| (arm.sessions.backends.as_ref(), &mut arm.watch.samples)));
    }

    /// One slice of an arm; an error when the arm has ended, or does not stop.
    fn slice(&mut self, arm: usize, quad: u32) -> Result<Slice, Option<usize>> {
        let start_us = self.start.elapsed().as_micros() as i64;
        self.cpu.turn_begins(arm);
        let Part { sessions: Sessions { run, .. }, watch } = &mut self.arms[arm];
        run.release(self.each);
        let stretch = match run.wait_until_idle(self.each + self.drain, watch) {
            Some(stretch) => stretch,
            None if run.is_over() => return Err(None),
            None => run.wait_until_idle(PATIENCE, watch).ok_or_else(|| (!run.is_over()).then_some(arm))?,
        };
        let server_cpu_us = self.cpu.turn_ended(arm).map(|seconds| seconds * 1e6);
        self.memory.worked(arm, (stretch.until - stretch.from + stretch.drain()) / 1000);
        let now = HostSample::take(None);
        let before = std::mem::replace(&mut self.host, now);
        let steal_pct = now.figures_since(&before).get(figures::STEAL_PCT);
        Ok(Slice { start_us, steal_pct, server_cpu_us, ..slice(&stretch, quad, self.drain) })
    }
}

fn slice(stretch: &Stretch, quad: u32, drain: Duration) -> Slice {
    Slice {
        quad,
        start_us: 0,
        length_us: (stretch.until - stretch.from) / 1000,
        drain_us: stretch.drain() / 1000,
        succeeded: stretch.succeeded,
        at_work_us: stretch.at_work as f64 / 1e3,
        steal_pct: None,
        server_cpu_us: None,
        is_void: u128::from(stretch.drain()) > drain.as_nanos() || stretch.stalled > 0,
    }
}

/// The longest of a quantile over the arms.
fn longest(warm: &[&Histogram], quantile: f64) -> Duration {
    let ns = warm.iter().filter_map(|warm| warm.quantile_ns(quantile)).max();
    Duration::from_nanos(ns.unwrap_or_default())
}

/// A sufficient length for these transactions, rounded up to hundredths of a second.
fn usual_length(median: Duration) -> Duration {
    let enough = MEDIANS * median;
    Duration::from_millis(enough.as_millis().next_multiple_of(10) as u64).max(SHORTEST)
}

/// Whether transactions of these lengths fit into slices.
pub(crate) fn fits(lengths: Option<TransactionLengths>, turns: &Turns) -> bool {
    matches!(Cut::of(lengths, &Turns { strict: false, ..turns.clone() }), Ok(Cut::Slices { .. }))
}

impl Cut {
    fn of(lengths: Option<TransactionLengths>, turns: &Turns) -> Result<Self, Error> {
        let uncut = |why: String| Ok(Self::Uncut { why });
        let Some(TransactionLengths { median_s, slowest_s, of }) = lengths else {
            return uncut("in the warm-up no transaction ended".to_owned());
        };
        let [median, slowest] = [median_s, slowest_s].map(Duration::from_secs_f64);
        if let Some(asked) = turns.length.filter(|asked| *asked < FEWEST_MEDIANS * median) {
            let short = format!(
                "slices of {} hold less than two transactions of a client: half of them take longer than {}",
                words(asked),
                words(median)
            );
            if !turns.strict {
                return uncut(short);
            }
            let hint = "a longer `slices`, or none: then pgdyno chooses";
            return Err(Error::new(Class::BadInput, short).with_hint(hint));
        }
        if MEDIANS * median > LONGEST {
            return uncut(format!(
                "in the warm-up half of the transactions took longer than {}",
                words(median)
            ));
        }
        if slowest > LONGEST {
            return uncut(format!(
                "in the warm-up one in {of} transactions took longer than {}",
                words(slowest)
            ));
        }
        let (quads, each) = slices(median, turns);
        Ok(Self::Slices { quads, each, drain: each.max(DRAINS * slowest) })
    }
}

/// Quads, and the length of a slice, for transactions of this median.
fn slices(median: Duration, turns: &Turns) -> (u32, Duration) {
    filling(turns.duration, turns.length.unwrap_or_else(|| usual_length(median).max(USUAL)))
}

/// The lengths that decide about slices; `None` if an arm ended no transaction.
fn lengths(warm: &[&Histogram], turns: &Turns) -> Option<TransactionLengths> {
    if warm.iter().any(|warm| warm.count() == 0) {
        return None;
    }
    let median = longest(warm, 0.5);
    let (_, each) = slices(median, turns);
    let (slowest, of) = slowest(warm, each.div_duration_f64(turns.warmup));
    Some(TransactionLengths { median_s: median.as_secs_f64(), slowest_s: slowest.as_secs_f64(), of })
}

/// The slowest transaction expected in a slice with this `share` of the warm-up's transactions, and their
/// number.
fn slowest(warm: &[&Histogram], share: f64) -> (Duration, u64) {
    let all = warm.iter().filter_map(|warm| {
        let of = (warm.count() as f64 * share).max(OF_A_HUNDRED);
        Some((Duration::from_nanos(warm.quantile_ns(1.0 - 1.0 / of)?), of as u64))
    });
    all.max().unwrap_or_default()
}

/// As many whole quads as fit into a duration, of slices that fill it; they are shorter than requested only
/// if one quad does not fit, or if they would exceed the maximum.
fn filling(duration: Duration, least: Duration) -> (u32, Duration) {
    let fit = duration.as_nanos() / (2 * least.as_nanos());
    let fewest = duration.as_nanos().div_ceil(2 * LONGEST.as_nanos());
    let quads = fit.max(fewest).max(1) as u32;
    (quads, duration / (2 * quads))
}

fn words(length: Duration) -> String {
    match length.as_secs_f64() {
        s if s >= 1.0 => format!("{s:.1} s"),
        s if s >= 0.01 => format!("{:.0} ms", s * 1e3),
        s => format!("{:.2} ms", s * 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latencies(ms: &[f64]) -> Histogram {
        let mut all = Histogram::new();
        ms.iter().for_each(|ms| all.record((ms * 1e6) as u64));
        all
    }

    fn cut(ms: &[f64], asked_ms: Option<u64>) -> Result<Cut, String> {
        let (base, other) = (latencies(&[0.1]), latencies(ms));
        let turns = Turns {
            warmup: Duration::from_secs(1),
            duration: Duration::from_secs(60),
            length: asked_ms.map(Duration::from_millis),
            strict: true,
            spread: false,
            keep: false,
        };
        Cut::of(lengths(&[&base, &other], &turns), &turns).map_err(|error| error.to_string())
    }

    #[test]
    fn a_slice_is_twenty_medians_and_a_tenth_of_a_second_at_least() {
        let each = |ms: &[f64]| match cut(ms, None) {
            Ok(Cut::Slices { each, .. }) => each.as_millis(),
            other => panic!("{other:?}"),
        };
        assert_eq!([0.2, 4.9, 5.2, 40.2].map(|ms| each(&[ms])), [100, 100, 110, 810]);
    }

    /// With 0.69 s requested, an arm worked 2.64 s of 2, and 1.38 s with others; two slices of a second made
    /// two seconds of one.
    #[test]
    fn slices_fill_the_duration() {
        let filled = |duration_ms, least_ms| {
            let (quads, each) = filling(Duration::from_millis(duration_ms), Duration::from_millis(least_ms));
            (quads, each.as_millis())
        };
        let cases = [
            ((2000, 690), (1, 1000)),
            ((2000, 450), (2, 500)),
            ((2500, 100), (12, 104)),
            ((5000, 250), (10, 250)),
        ];
        for ((duration, least), wanted) in cases {
            assert_eq!(filled(duration, least), wanted, "{duration} ms, {least} ms");
        }
        assert_eq!(filled(3900, 1000), (2, 975), "no slice is longer than the longest");
        assert_eq!(filled(1000, 810), (1, 500), "there is no room for more");
    }

    #[test]
    fn what_takes_long_is_not_cut() {
        let why = |ms: &[f64]| match cut(ms, None) {
            Ok(Cut::Uncut { why }) => why,
            other => panic!("{other:?}"),
        };
        assert!(why(&[51.0]).contains("half of the transactions took longer than 51 ms"), "{}", why(&[51.0]));
        let rare: Vec<f64> = (0..100).map(|k| if k < 2 { 1500.0 } else { 1.0 }).collect();
        assert!(why(&rare).contains("one in 100 transactions took longer than 1.5 s"), "{}", why(&rare));
        assert!(why(&[]).contains("no transaction ended"));
    }

    /// If every thousandth transaction sleeps, every slice of thousands drains that long: all quads were
    /// void.
    #[test]
    fn what_is_slow_in_every_slice_voids_none() {
        let rare = |sleep_ms: f64| {
            let all: Vec<f64> = (0..20_000).map(|k| if k % 1000 == 0 { sleep_ms } else { 0.1 }).collect();
            cut(&all, None).unwrap()
        };
        assert!(matches!(rare(400.0), Cut::Slices { drain, .. } if drain > Duration::from_millis(1190)));
        let long = rare(1400.0);
        assert!(
            matches!(&long, Cut::Uncut { why } if why == "in the warm-up one in 2000 transactions took longer than 1.4 s"),
            "{long:?}"
        );
    }

    /// A machine that is slower in a later round ended the whole experiment.
    #[test]
    fn a_slice_that_becomes_too_short_is_not_cut() {
        let warm = latencies(&[30.0]);
        let turns = Turns {
            warmup: Duration::from_secs(1),
            duration: Duration::from_secs(60),
            length: Some(Duration::from_millis(50)),
            strict: false,
            spread: false,
            keep: false,
        };
        let length = Cut::of(lengths(&[&warm], &turns), &turns).unwrap();
        assert!(matches!(&length, Cut::Uncut { why } if why.contains("less than two")), "{length:?}");
    }

    #[test]
    fn a_slice_shorter_than_its_transactions_is_refused() {
        assert!(matches!(cut(&[20.0], Some(50)), Ok(Cut::Slices { .. })));
        let error = cut(&[30.0], Some(50)).unwrap_err();
        assert_eq!(
            error,
            "slices of 50 ms hold less than two transactions of a client: half of them take longer than 30 ms"
        );
    }
}
