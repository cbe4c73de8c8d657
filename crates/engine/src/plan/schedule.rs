//! The arrivals of an open load: when each transaction is due, whatever the target does.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use spec::Profile;

use super::inverse::Inverse;
use super::{GapDistribution, GapStream, Rate, Timeline};
use crate::client::Time;

/// Weyl increment of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
pub(super) const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// One thread's arrivals in the order they are due.
///
/// On the global timeline arrival k of the run belongs to thread k mod threads, so the arrivals of all threads
/// together do not depend on how many threads there are.
pub(crate) struct Schedule {
    source: ArrivalSource,
    next: Time,
}

enum ArrivalSource {
    Global { timeline: Global, threads: u64 },
    PerThread(GapStream),
}

impl Schedule {
    /// The arrivals of `thread` out of `threads`, counted from `start`; a warm-up of this length has the
    /// profile's first rate.
    pub(crate) fn new(
        rate: &Rate,
        (seed, warmup): (u64, Time),
        (thread, threads): (usize, usize),
        start: Time,
    ) -> Self {
        match rate.timeline {
            Timeline::Global => {
                let mut timeline = Global::new(rate, seed, warmup, start);
                let first = timeline.skip(thread as u64);
                Self { source: ArrivalSource::Global { timeline, threads: threads as u64 }, next: first }
            }
            Timeline::PerThread => Self::of_gaps(per_thread_gaps(rate, seed, thread, threads), start),
        }
    }

    /// Arrivals with these gaps; the first gap is before the first arrival.
    pub(crate) fn of_gaps(mut gap: GapStream, start: Time) -> Self {
        let next = start.saturating_add(gap());
        Self { source: ArrivalSource::PerThread(gap), next }
    }

    #[inline]
    pub(crate) fn peek(&self) -> Time {
        self.next
    }

    pub(crate) fn take(&mut self) -> Time {
        let due = self.next;
        self.next = match &mut self.source {
            ArrivalSource::Global { timeline, threads } => timeline.skip(*threads - 1),
            ArrivalSource::PerThread(gap) => due.saturating_add(gap()),
        };
        due
    }
}

/// The one timeline of a run: arrival k is a pure function of seed, profile and k.
///
/// On a clock where one arrival is expected per unit, arrivals have equal or exponential gaps at any rate.
/// The inverse of the cumulative rate maps that clock to time (Çinlar, "Introduction to Stochastic
/// Processes", 1975, chapter 4.7).
struct Global {
    arrivals: GapDistribution,
    seed: u64,
    clock: ScheduleClock,
    start: Time,
    k: u64,
}

/// How arrivals become times.
enum ScheduleClock {
    /// A constant rate: gaps in whole ns.
    Even {
        mean_gap_ns: f64,
        /// Poisson: sum of the gaps before arrival `k`, ns from the start.
        elapsed: Time,
    },
    /// A changing rate: by the number of arrivals expected before.
    Changing {
        inverse: Box<Inverse>,
        /// Poisson: sum of the gaps before arrival `k`, in arrivals expected.
        expected: f64,
    },
}

impl Global {
    fn new(rate: &Rate, seed: u64, warmup: Time, start: Time) -> Self {
        let clock = match rate.profile {
            Profile::Constant(per_second) => {
                ScheduleClock::Even { mean_gap_ns: 1e9 / per_second, elapsed: 0 }
            }
            ref profile => {
                ScheduleClock::Changing { inverse: Box::new(Inverse::new(profile, warmup)), expected: 0.0 }
            }
        };
        Self { arrivals: rate.arrivals, seed: mix(seed), clock, start, k: 0 }
    }

    /// Skips `count` arrivals; returns the time of the next one.
    fn skip(&mut self, count: u64) -> Time {
        let after = match (&mut self.clock, self.arrivals) {
            // From k, not by adding gaps: rounding errors must not add up.
            (ScheduleClock::Even { mean_gap_ns, .. }, GapDistribution::Uniform) => {
                ((self.k + count) as f64 * *mean_gap_ns).round() as Time
            }
            (ScheduleClock::Changing { inverse, .. }, GapDistribution::Uniform) => {
                inverse.when((self.k + count) as f64)
            }
            (ScheduleClock::Even { mean_gap_ns, elapsed }, GapDistribution::Poisson) => {
                for k in self.k..=self.k + count {
                    *elapsed = elapsed.saturating_add(poisson_gap(unit(self.seed, k), *mean_gap_ns));
                }
                *elapsed
            }
            (ScheduleClock::Changing { inverse, expected }, GapDistribution::Poisson) => {
                for k in self.k..=self.k + count {
                    *expected -= unit(self.seed, k).ln();
                }
                inverse.when(*expected)
            }
        };
        self.k += count + 1;
        self.start.saturating_add(after)
    }
}

/// pgbench's timeline: each thread draws gaps of whole microseconds from its own stream at rate / threads.
fn per_thread_gaps(rate: &Rate, seed: u64, thread: usize, threads: usize) -> GapStream {
    let mean_us = 1e6 * threads as f64 / rate.profile.rate(0.0);
    match rate.arrivals {
        GapDistribution::Uniform => {
            // From the number of the gap, as on the global timeline: rounding to µs must not add up.
            let mut k = 0u64;
            Box::new(move || {
                let at = |k: u64| (k as f64 * mean_us).round() as Time;
                k += 1;
                1000 * (at(k) - at(k - 1))
            })
        }
        GapDistribution::Poisson => {
            let mut stream = Xoshiro256PlusPlus::seed_from_u64(mix(seed) ^ thread as u64);
            Box::new(move || 1000 * poisson_gap(to_unit(stream.next_u64()), mean_us))
        }
    }
}

/// An exponential gap by inversion, in whole units of `mean`.
fn poisson_gap(unit: f64, mean: f64) -> Time {
    (-unit.ln() * mean).round() as Time
}

/// Number `k` of the stream `seed`, uniform in (0, 1]; the cost does not depend on k.
fn unit(seed: u64, k: u64) -> f64 {
    to_unit(mix(seed.wrapping_add(k.wrapping_mul(GOLDEN))))
}

/// The top 53 bits as a number in (0, 1], so that its logarithm is finite.
pub(super) fn to_unit(bits: u64) -> f64 {
    ((bits >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// SplitMix64's output function.
pub(super) fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(GOLDEN);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(per_second: f64, arrivals: GapDistribution, timeline: Timeline) -> Rate {
        Rate { profile: per_second.into(), arrivals, timeline }
    }

    fn first(schedule: &mut Schedule, count: usize) -> Vec<Time> {
        (0..count).map(|_| schedule.take()).collect()
    }

    #[test]
    fn uniform_arrivals_are_exact_and_do_not_drift() {
        let mut schedule =
            Schedule::new(&rate(3.0, GapDistribution::Uniform, Timeline::Global), (1, 0), (0, 1), 7);
        assert_eq!(first(&mut schedule, 4), [7, 333_333_340, 666_666_674, 1_000_000_007]);
        let mut schedule =
            Schedule::new(&rate(3.0, GapDistribution::Uniform, Timeline::Global), (1, 0), (0, 1), 0);
        assert_eq!(*first(&mut schedule, 3_000_001).last().unwrap(), 1_000_000_000_000_000);
    }

    #[test]
    fn arrivals_do_not_depend_on_the_number_of_threads() {
        for arrivals in [GapDistribution::Poisson, GapDistribution::Uniform] {
            let rate = rate(12_345.0, arrivals, Timeline::Global);
            let alone = first(&mut Schedule::new(&rate, (42, 0), (0, 1), 5), 300);
            let mut dealt: Vec<Time> = (0..3)
                .flat_map(|thread| first(&mut Schedule::new(&rate, (42, 0), (thread, 3), 5), 100))
                .collect();
            dealt.sort_unstable();
            assert_eq!(alone, dealt);
        }
    }

    #[test]
    fn another_seed_gives_other_arrivals() {
        let rate = rate(1000.0, GapDistribution::Poisson, Timeline::Global);
        let of = |seed| first(&mut Schedule::new(&rate, (seed, 0), (0, 1), 0), 10);
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }

    /// Kolmogorov-Smirnov distance of the gaps from the exponential distribution; the bound is the 0.1 % point.
    #[test]
    fn poisson_gaps_are_exponential() {
        for timeline in [Timeline::Global, Timeline::PerThread] {
            let mut schedule =
                Schedule::new(&rate(1000.0, GapDistribution::Poisson, timeline), (7, 0), (0, 1), 0);
            let times = first(&mut schedule, 20_000);
            let mut gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
            gaps.sort_unstable_by(f64::total_cmp);
            let count = gaps.len() as f64;
            let distance = gaps
                .iter()
                .enumerate()
                .map(|(i, gap)| (1.0 - (-gap / 1e6).exp() - (i as f64 + 0.5) / count).abs())
                .fold(0.0, f64::max);
            assert!(distance < 1.95 / count.sqrt(), "distance {distance} on {timeline:?}");
        }
    }

    /// Counts of a Poisson process in equal intervals have variance equal to their mean.
    #[test]
    fn poisson_counts_spread_as_they_should() {
        let mut schedule =
            Schedule::new(&rate(1000.0, GapDistribution::Poisson, Timeline::Global), (11, 0), (0, 1), 0);
        let mut counts = vec![0.0_f64; 1000];
        while schedule.peek() < 100_000_000_000 {
            counts[(schedule.take() / 100_000_000) as usize] += 1.0;
        }
        let mean = counts.iter().sum::<f64>() / 1000.0;
        let variance = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / 999.0;
        assert!((mean - 100.0).abs() < 1.5, "mean {mean}");
        assert!((variance / mean - 1.0).abs() < 0.2, "variance {variance}, mean {mean}");
    }

    /// Uniform gaps give the requested rate within 0.1 %, Poisson gaps within 4 / sqrt(N), for every rate and
    /// thread count.
    #[test]
    fn rates_are_those_that_were_asked_for() {
        const COUNT: usize = 20_000;
        for per_second in [0.7, 3.0, 70.0, 1_234.5, 70_000.0, 333_333.0] {
            for (arrivals, tolerance) in
                [(GapDistribution::Uniform, 0.001), (GapDistribution::Poisson, 4.0 / (COUNT as f64).sqrt())]
            {
                for (timeline, threads) in
                    [(Timeline::Global, 1), (Timeline::Global, 3), (Timeline::PerThread, 3)]
                {
                    let rate = rate(per_second, arrivals, timeline);
                    for thread in 0..threads {
                        let mut schedule = Schedule::new(&rate, (5, 0), (thread, threads), 0);
                        let from = schedule.take();
                        let to = *first(&mut schedule, COUNT).last().unwrap();
                        let found = COUNT as f64 * 1e9 / (to - from) as f64 * threads as f64;
                        let off = found / per_second - 1.0;
                        assert!(
                            off.abs() <= tolerance,
                            "{found}/s with {rate:?}, thread {thread} of {threads}"
                        );
                    }
                }
            }
        }
    }

    /// Profiles with their warm-up, and how long they are looked at, seconds.
    const CHANGING: [(&str, u64, f64); 8] = [
        ("step 100, 200, 400 every 2s", 0, 8.0),
        ("step 100, 0, 400 every 2s", 1, 8.0),
        ("ramp 100..1000 over 6s", 0, 8.0),
        ("ramp 0..1000 over 6s", 2, 8.0),
        ("ramp 1000..0 over 6s", 2, 8.0),
        ("sine 500 ± 500 every 4s", 0, 10.0),
        ("sine 500 ± 200 every 1.5s", 1, 6.0),
        ("spike 100 to 3000 for 1s at 3s", 1, 8.0),
    ];

    fn changing(text: &str, arrivals: GapDistribution) -> Rate {
        Rate { profile: text.parse().unwrap(), arrivals, timeline: Timeline::Global }
    }

    /// Arrivals of a profile up to an end, as seconds since the end of warm-up.
    fn arrivals(rate: &Rate, seed: u64, warmup_s: u64, end_s: f64) -> Vec<f64> {
        let mut schedule = Schedule::new(rate, (seed, warmup_s * 1_000_000_000), (0, 1), 0);
        let mut times = Vec::new();
        loop {
            let at = schedule.take() as f64 / 1e9 - warmup_s as f64;
            if at >= end_s {
                return times;
            }
            times.push(at);
        }
    }

    #[test]
    fn even_arrivals_of_a_changing_rate_are_its_integral_to_the_nanosecond() {
        for (text, warmup, end) in CHANGING {
            let rate = changing(text, GapDistribution::Uniform);
            let profile = &rate.profile;
            let lead = profile.rate(0.0) * warmup as f64;
            let times = arrivals(&rate, 1, warmup, end);
            assert!(!times.is_empty());
            for (k, at) in times.iter().enumerate() {
                let expected = if *at < 0.0 {
                    profile.rate(0.0) * (at + warmup as f64)
                } else {
                    lead + profile.arrivals(*at)
                };
                // A ns at the highest rate.
                let tolerance = profile.greatest() * 2e-9 + 1e-6;
                assert!((expected - k as f64).abs() < tolerance, "{text}: arrival {k} at {at} s, {expected}");
            }
            let all = lead + profile.arrivals(end);
            assert!((times.len() as f64 - all).abs() <= 1.0, "{text}: {} of {all}", times.len());
        }
    }

    /// Counts per tenth of a second are Poisson's of the integral: mean and spread by the sum of their standardised squares,
    /// over 20 seeds.
    #[test]
    fn random_arrivals_of_a_changing_rate_are_a_poisson_process() {
        const BIN: f64 = 0.1;
        for (text, warmup, end) in CHANGING {
            let rate = changing(text, GapDistribution::Poisson);
            let bins = (end / BIN).round() as usize;
            let (mut squares, mut used, mut total, mut wanted) = (0.0, 0.0, 0.0, 0.0);
            for seed in 0..20 {
                let mut counts = vec![0.0; bins];
                for at in arrivals(&rate, seed, warmup, end) {
                    if at >= 0.0 {
                        counts[((at / BIN) as usize).min(bins - 1)] += 1.0;
                    }
                }
                for (bin, count) in counts.into_iter().enumerate() {
                    let (from, to) = (bin as f64 * BIN, (bin + 1) as f64 * BIN);
                    let mean = rate.profile.arrivals(to) - rate.profile.arrivals(from);
                    (total, wanted) = (total + count, wanted + mean);
                    if mean > 5.0 {
                        squares += (count - mean).powi(2) / mean;
                        used += 1.0;
                    } else if mean < 1e-9 {
                        assert_eq!(count, 0.0, "{text}: arrivals where the rate is 0, {from} s");
                    }
                }
            }
            // Chi-squared over its degrees of freedom; its standard deviation is sqrt(2 / n).
            let (ratio, spread) = (squares / used, f64::sqrt(2.0 / used));
            assert!((ratio - 1.0).abs() < 4.0 * spread, "{text}: {ratio} ± {spread}");
            assert!((total - wanted).abs() < 4.0 * f64::sqrt(wanted), "{text}: {total} of {wanted}");
        }
    }

    #[test]
    fn arrivals_of_a_changing_rate_do_not_depend_on_the_number_of_threads() {
        for (text, warmup, _) in CHANGING {
            for arrivals in [GapDistribution::Poisson, GapDistribution::Uniform] {
                let rate = changing(text, arrivals);
                let of = |thread, threads, count| {
                    let mut schedule =
                        Schedule::new(&rate, (42, warmup * 1_000_000_000), (thread, threads), 5);
                    first(&mut schedule, count)
                };
                let alone = of(0, 1, 900);
                assert!(alone.is_sorted(), "{text}");
                let mut dealt: Vec<Time> = (0..3).flat_map(|thread| of(thread, 3, 300)).collect();
                dealt.sort_unstable();
                assert_eq!(alone, dealt, "{text}");
            }
        }
    }

    /// Random gaps equal the draws of a constant rate: a profile with equal levels changes nothing.
    #[test]
    fn a_step_between_equal_levels_is_a_constant_rate() {
        let constant = arrivals(&rate(500.0, GapDistribution::Poisson, Timeline::Global), 3, 0, 4.0);
        let stepped = arrivals(&changing("step 500, 500 every 1s", GapDistribution::Poisson), 3, 0, 4.0);
        assert_eq!(constant.len(), stepped.len());
        for (one, other) in constant.iter().zip(&stepped) {
            assert!((one - other).abs() < 2e-6, "{one} {other}");
        }
    }

    #[test]
    fn a_rate_that_ends_at_0_has_no_further_arrivals() {
        let rate = changing("ramp 100..0 over 2s", GapDistribution::Uniform);
        let mut schedule = Schedule::new(&rate, (1, 0), (0, 1), 0);
        assert!(first(&mut schedule, 100).iter().all(|at| *at < 2_000_000_000));
        assert_eq!(first(&mut schedule, 3)[1..], [Time::MAX; 2]);
    }

    #[test]
    fn a_thread_of_its_own_keeps_whole_microseconds_and_its_share() {
        let mut schedule =
            Schedule::new(&rate(2000.0, GapDistribution::Poisson, Timeline::PerThread), (3, 0), (1, 4), 0);
        let times = first(&mut schedule, 10_000);
        assert!(times.iter().all(|at| at % 1000 == 0));
        let mean_us = *times.last().unwrap() as f64 / 1e3 / 10_000.0;
        assert!((mean_us - 2000.0).abs() < 60.0, "mean gap {mean_us} us");
        let mut uniform =
            Schedule::new(&rate(2000.0, GapDistribution::Uniform, Timeline::PerThread), (3, 0), (1, 4), 10);
        assert_eq!(first(&mut uniform, 3), [2_000_010, 4_000_010, 6_000_010]);
    }
}
