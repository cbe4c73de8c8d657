//! The generator and the distributions of pgbench's random functions.
//!
//! The generator is xoroshiro128** 1.0 (Blackman and Vigna, <https://prng.di.unimi.it/>) seeded by
//! splitmix64, as in PostgreSQL since version 15. The floating-point distributions use the platform's `log`,
//! `exp`, `pow` and `sin`, so they agree with a pgbench that uses the same mathematical library.

/// One stream of random numbers of a client or thread.
///
/// A clone replays the same numbers: a retried transaction gets its values again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Random {
    s0: u64,
    s1: u64,
}

impl Random {
    /// A stream filled from a 64-bit seed.
    pub fn new(seed: u64) -> Self {
        let mut filler = seed;
        let s0 = splitmix64(&mut filler);
        let s1 = splitmix64(&mut filler);
        if s0 == 0 && s1 == 0 {
            // All zeroes is a fixed point of the generator; PostgreSQL uses these constants instead.
            return Self { s0: 0x5851_F42D_4C95_7F2D, s1: 0x1405_7B7E_F767_814F };
        }
        Self { s0, s1 }
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s0 = self.s0;
        let mixed = self.s1 ^ s0;
        self.s0 = s0.rotate_left(24) ^ mixed ^ (mixed << 16);
        self.s1 = mixed.rotate_left(37);
        s0.wrapping_mul(5).rotate_left(7).wrapping_mul(9)
    }

    /// Uniform in [0, 1): the top 52 bits of one draw.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        const TWO_POW_MINUS_52: f64 = f64::EPSILON;
        (self.next_u64() >> 12) as f64 * TWO_POW_MINUS_52
    }

    /// Uniform in [0, `max`]; draws nothing when `max` is 0, otherwise repeats until the needed top bits fit.
    #[inline]
    pub fn up_to(&mut self, max: u64) -> u64 {
        if max == 0 {
            return 0;
        }
        let shift = max.leading_zeros();
        loop {
            let value = self.next_u64() >> shift;
            if value <= max {
                return value;
            }
        }
    }

    /// Uniform in [`low`, `high`]; `low` when the range is empty.
    #[inline]
    pub fn uniform(&mut self, low: i64, high: i64) -> i64 {
        if low >= high {
            return low;
        }
        low.wrapping_add(self.up_to(high.wrapping_sub(low) as u64) as i64)
    }

    /// Exponential in [`low`, `high`]: density falls by e^-`parameter` from one end to the other; `parameter` > 0.
    pub fn exponential(&mut self, low: i64, high: i64, parameter: f64) -> i64 {
        let cut = (-parameter).exp();
        let uniform = 1.0 - self.unit();
        let fraction = -(cut + (1.0 - cut) * uniform).ln() / parameter;
        scaled(low, high, fraction)
    }

    /// Gaussian around the middle of [`low`, `high`], which lies `parameter` standard deviations from each
    /// end; `parameter` >= 2. Values outside are drawn again.
    pub fn gaussian(&mut self, low: i64, high: i64, parameter: f64) -> i64 {
        let deviation = loop {
            let drawn = self.normal();
            let outside = drawn < -parameter || drawn >= parameter;
            if !outside {
                break drawn;
            }
        };
        scaled(low, high, (deviation + parameter) / (parameter * 2.0))
    }

    /// Zipfian over [`low`, `high`], most often `low`; `parameter` in [1.001, 1000].
    ///
    /// The rejection method of Devroye, "Non-Uniform Random Variate Generation", 1986, pages 550-551.
    pub fn zipfian(&mut self, low: i64, high: i64, parameter: f64) -> i64 {
        let count = high.wrapping_sub(low).wrapping_add(1);
        let rank = if count <= 1 { 1 } else { self.zipfian_rank(count, parameter) };
        low.wrapping_sub(1).wrapping_add(rank)
    }

    /// An exponentially distributed, rounded waiting time with mean `mean`: the gaps of a Poisson process.
    pub fn wait(&mut self, mean: f64) -> i64 {
        let uniform = 1.0 - self.unit();
        (-uniform.ln() * mean + 0.5) as i64
    }

    /// Standard normal, by the basic Box-Muller transform.
    fn normal(&mut self) -> f64 {
        let radius = 1.0 - self.unit();
        let angle = 1.0 - self.unit();
        (-2.0 * radius.ln()).sqrt() * (2.0 * std::f64::consts::PI * angle).sin()
    }

    fn zipfian_rank(&mut self, count: i64, parameter: f64) -> i64 {
        let excess = parameter - 1.0;
        let base = 2.0_f64.powf(excess);
        loop {
            let u = self.unit();
            let v = self.unit();
            let x = u.powf(-1.0 / excess).floor();
            let t = (1.0 + 1.0 / x).powf(excess);
            if v * x * (t - 1.0) / (base - 1.0) <= t / base && x <= count as f64 {
                return x as i64;
            }
        }
    }
}

/// The value at `fraction` (0 up to 1) of [`low`, `high`].
fn scaled(low: i64, high: i64, fraction: f64) -> i64 {
    let count = high.wrapping_sub(low).wrapping_add(1);
    low.wrapping_add((count as f64 * fraction) as i64)
}

/// Steele, Lea and Flood's generator, used only for seeding.
fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut value = *state;
    value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}
