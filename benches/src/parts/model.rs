//! An open load dealt to parts, of which some begin late, on servers with one queue (M/M/c), in simulated time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use stats::Histogram;

pub(super) const PER_SECOND: f64 = 20_000.0;
/// Mean service time.
pub(super) const MEAN_S: f64 = 0.001;
pub(super) const SERVERS: usize = 25;
pub(super) const WARMUP_S: f64 = 2.0;
pub(super) const MEASURED_S: f64 = 20.0;

/// How late the parts begin.
#[derive(Debug, Clone, Copy)]
pub(super) enum Lateness {
    None,
    /// Each for itself, exponential.
    Random {
        mean_s: f64,
    },
    First {
        late_s: f64,
    },
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Model {
    pub(super) parts: usize,
    pub(super) lateness: Lateness,
}

/// What all parts measured together.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) per_second: f64,
    /// Of the added histograms.
    pub(super) p99_s: f64,
    pub(super) mean_of_p99_s: f64,
}

impl Model {
    /// Arrival k belongs to part k mod N, is late by as much as that part, and counts if it is in that part's own
    /// measured time: what pgdyno does.
    pub(super) fn outcome(self) -> Outcome {
        let mut random = Draws(7);
        let late: Vec<f64> =
            (0..self.parts).map(|part| self.late(part, &mut Draws(part as u64 + 1_000))).collect();
        let mut arrivals = Vec::new();
        let mut at = 0.0;
        for k in 0.. {
            at += random.exponential(1.0 / PER_SECOND);
            if at > WARMUP_S + MEASURED_S {
                break;
            }
            let part = k % self.parts;
            arrivals.push((at + late[part], part, at >= WARMUP_S, random.exponential(MEAN_S)));
        }
        arrivals.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut free: BinaryHeap<Reverse<Moment>> = (0..SERVERS).map(|_| Reverse(Moment(0.0))).collect();
        let mut times: Vec<Vec<f64>> = vec![Vec::new(); self.parts];
        for (due, part, counts, service) in arrivals {
            let Reverse(Moment(server)) = free.pop().expect("there are servers");
            let end = server.max(due) + service;
            free.push(Reverse(Moment(end)));
            if counts {
                times[part].push(end - due);
            }
        }
        let (mut all, mut means) = (Histogram::new(), Vec::new());
        for part in times.iter().filter(|part| !part.is_empty()) {
            let mut own = Histogram::new();
            part.iter().for_each(|time| own.record((time * 1e9) as u64));
            means.push(own.quantile_ns(0.99).unwrap_or_default() as f64 / 1e9);
            all.add(&own);
        }
        Outcome {
            per_second: all.count() as f64 / MEASURED_S,
            p99_s: all.quantile_ns(0.99).unwrap_or_default() as f64 / 1e9,
            mean_of_p99_s: means.iter().sum::<f64>() / means.len() as f64,
        }
    }

    fn late(self, part: usize, draws: &mut Draws) -> f64 {
        match self.lateness {
            Lateness::None => 0.0,
            Lateness::Random { mean_s } => draws.exponential(mean_s),
            Lateness::First { late_s } => {
                if part == 0 {
                    late_s
                } else {
                    0.0
                }
            }
        }
    }
}

/// A time that is ordered.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Moment(f64);

impl Eq for Moment {}

impl PartialOrd for Moment {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Moment {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// SplitMix64, uniform in (0, 1].
struct Draws(u64);

impl Draws {
    fn exponential(&mut self, mean: f64) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let bits = (z ^ (z >> 31)) >> 11;
        -(((bits + 1) as f64) / (1_u64 << 53) as f64).ln() * mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By Erlang's formula a fifth of the arrivals wait, exponentially, 0.2 ms on average.
    #[test]
    fn one_generator_meets_the_queue_that_theory_has() {
        let Outcome { per_second, p99_s, .. } = Model { parts: 1, lateness: Lateness::None }.outcome();
        assert!((per_second / PER_SECOND - 1.0).abs() < 0.01, "{per_second}");
        // Without a queue it would be ln(100) ms.
        assert!((0.0045..0.0052).contains(&p99_s), "{p99_s}");
    }

    #[test]
    fn parts_that_begin_at_once_are_one_generator() {
        let alone = Model { parts: 1, lateness: Lateness::None }.outcome();
        let parts = Model { parts: 100, lateness: Lateness::None }.outcome();
        assert_eq!((alone.per_second, alone.p99_s), (parts.per_second, parts.p99_s));
    }
}
