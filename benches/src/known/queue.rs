//! Connections behind which transactions queue up, first come, first served, simulated.

/// Arrivals of a simulation, and those before that do not count.
const ARRIVALS: usize = 400_000;
const WARMUP: usize = 10_000;

/// How long a transaction keeps a connection busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Service {
    Fixed,
    Exponential,
    /// One in twenty takes ten times as long as the others.
    TwoValued,
}

impl Service {
    pub(super) const ALL: [Self; 3] = [Self::Fixed, Self::Exponential, Self::TwoValued];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed, 10 ms",
            Self::Exponential => "exponential, 10 ms",
            Self::TwoValued => "6.9 ms, every twentieth 69 ms",
        }
    }

    pub(super) fn promise(self) -> &'static str {
        match self {
            Self::Fixed => "p95 < 30ms",
            Self::Exponential => "p95 < 60ms",
            Self::TwoValued => "p95 < 80ms",
        }
    }

    /// What that promises, seconds.
    pub(super) fn within_s(self) -> f64 {
        match self {
            Self::Fixed => 0.03,
            Self::Exponential => 0.06,
            Self::TwoValued => 0.08,
        }
    }

    /// Seconds to sleep, as SQL.
    pub(super) fn sql(self, mean_s: f64) -> String {
        match self {
            Self::Fixed => mean_s.to_string(),
            Self::Exponential => format!("{mean_s} * -ln(1 - random())"),
            Self::TwoValued => format!("{mean_s} / 1.45 * CASE WHEN random() < 0.05 THEN 10 ELSE 1 END"),
        }
    }

    /// How long a transaction is to sleep, over the mean.
    fn draw(self, chance: &mut Chance) -> f64 {
        match self {
            Self::Fixed => 1.0,
            Self::Exponential => -(1.0 - chance.uniform()).ln(),
            Self::TwoValued if chance.uniform() < 0.05 => 10.0 / 1.45,
            Self::TwoValued => 1.0 / 1.45,
        }
    }
}

/// A server of known capacity, and what is promised of it for 95 % of what arrives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Queue {
    pub(super) service: Service,
    pub(super) connections: usize,
    pub(super) mean_s: f64,
    /// What it takes beyond the time that it is told to sleep, seconds.
    pub(super) overhead_s: f64,
    pub(super) within_s: f64,
    /// Whether an arrival that has waited for longer than that is skipped, as pgdyno does: it is late, and takes no time.
    pub(super) skips: bool,
    /// Whether it sleeps as PostgreSQL does: pg_sleep waits for whole milliseconds, and rounds up.
    pub(super) whole_ms: bool,
}

impl Queue {
    /// The rate at which 5 % of the arrivals take longer, per second.
    pub(super) fn limit(&self) -> f64 {
        let (mut low, mut high) = (1.0, self.connections as f64 / self.mean_s);
        while high / low > 1.002 {
            let middle: f64 = f64::sqrt(low * high);
            *if self.late(middle) > 0.05 { &mut high } else { &mut low } = middle;
        }
        (low * high).sqrt()
    }

    fn sleeps_s(&self, chance: &mut Chance) -> f64 {
        let told_s = self.service.draw(chance) * self.mean_s;
        if self.whole_ms { (told_s * 1e3 - 1e-6).ceil() / 1e3 } else { told_s }
    }

    /// Share of arrivals at this rate that take longer.
    fn late(&self, rate: f64) -> f64 {
        let mut chance = Chance(1);
        let mut free = vec![0.0_f64; self.connections];
        let (mut now, mut late) = (0.0, 0_usize);
        for number in 0..WARMUP + ARRIVALS {
            now += -(1.0 - chance.uniform()).ln() / rate;
            let next = (0..free.len()).min_by(|a, b| free[*a].total_cmp(&free[*b])).unwrap_or_default();
            let start = free[next].max(now);
            let skipped = self.skips && start - now > self.within_s;
            if !skipped {
                free[next] = start + self.sleeps_s(&mut chance) + self.overhead_s;
            }
            late += usize::from(number >= WARMUP && (skipped || free[next] - now > self.within_s));
        }
        late as f64 / ARRIVALS as f64
    }
}

/// Uniform numbers from a seed (SplitMix64).
pub(super) struct Chance(pub(super) u64);

impl Chance {
    /// From 0 to less than 1.
    pub(super) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One connection with exponential times is the queue M/M/1: P(longer than t) = exp(-(capacity - rate) t).
    #[test]
    fn a_queue_that_is_known_in_closed_form() {
        let queue = Queue {
            service: Service::Exponential,
            connections: 1,
            mean_s: 0.01,
            overhead_s: 0.0,
            within_s: 0.1,
            skips: false,
            whole_ms: false,
        };
        let wanted = 100.0 - 20.0_f64.ln() / 0.1;
        assert!((queue.limit() / wanted - 1.0).abs() < 0.01, "{} for {wanted}", queue.limit());
        // What is skipped makes room for what comes after it.
        let skipping = Queue { skips: true, ..queue };
        assert!((1.0..1.2).contains(&(skipping.limit() / queue.limit())), "{}", skipping.limit());
        // Half a millisecond more for each on the mean.
        let whole = Queue { whole_ms: true, ..queue };
        let wanted = 1.0 / 0.0105 - 20.0_f64.ln() / 0.1;
        assert!((whole.limit() / wanted - 1.0).abs() < 0.02, "{} for {wanted}", whole.limit());
    }
}
