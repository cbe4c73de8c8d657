//! The rate of an open load over the time of a run: its shape, and the number of arrivals.

mod text;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use self::text::ProfileError;

/// Transactions per second over all clients, by the time since the start of the measured part. During warm-up
/// the initial rate applies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "text::Written", into = "text::Written")]
pub enum Profile {
    /// The same rate throughout.
    Constant(f64),
    /// One level after another; the last one stays.
    Step {
        /// At least two.
        levels: Vec<f64>,
        /// Length of each level.
        every: Duration,
    },
    /// Linear from one rate to another, which stays.
    Ramp { from: f64, to: f64, over: Duration },
    /// Around a mean, upwards first.
    Sine {
        mean: f64,
        /// At most the mean.
        swing: f64,
        every: Duration,
    },
    /// One temporary change of rate.
    Spike { base: f64, peak: f64, length: Duration, at: Duration },
}

/// A part of a profile with a linear or constant rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Piece {
    /// Seconds; infinite for the last piece.
    pub length: f64,
    pub from: f64,
    pub to: f64,
}

impl Piece {
    fn level(length: f64, rate: f64) -> Self {
        Self { length, from: rate, to: rate }
    }

    /// Expected arrivals in its first `seconds`.
    #[must_use]
    pub fn arrivals(&self, seconds: f64) -> f64 {
        let seconds = seconds.min(self.length);
        let gained = if self.from == self.to { 0.0 } else { (self.to - self.from) * seconds / self.length };
        // The difference of rates of an endless piece is 0, which avoids 0 × ∞.
        if seconds > 0.0 { seconds * (self.from + gained / 2.0) } else { 0.0 }
    }
}

impl From<f64> for Profile {
    fn from(rate: f64) -> Self {
        Self::Constant(rate)
    }
}

impl Profile {
    /// Least and greatest constant rate, per second: from one in a quarter of an hour to more than any server
    /// can do.
    pub const BOUNDS: [f64; 2] = [0.001, 10_000_000.0];

    /// The pieces in order; `None` for a sine, which has none.
    #[must_use]
    pub fn pieces(&self) -> Option<Vec<Piece>> {
        const REST: f64 = f64::INFINITY;
        match self {
            Self::Constant(rate) => Some(vec![Piece::level(REST, *rate)]),
            Self::Step { levels, every } => {
                let (last, before) = levels.split_last()?;
                let before = before.iter().map(|level| Piece::level(every.as_secs_f64(), *level));
                Some(before.chain([Piece::level(REST, *last)]).collect())
            }
            Self::Ramp { from, to, over } => {
                let ramp = Piece { length: over.as_secs_f64(), from: *from, to: *to };
                Some(vec![ramp, Piece::level(REST, *to)])
            }
            Self::Spike { base, peak, length, at } => Some(vec![
                Piece::level(at.as_secs_f64(), *base),
                Piece::level(length.as_secs_f64(), *peak),
                Piece::level(REST, *base),
            ]),
            Self::Sine { .. } => None,
        }
    }

    /// Expected arrivals in the first `seconds`: the integral of the rate.
    #[must_use]
    pub fn arrivals(&self, seconds: f64) -> f64 {
        use std::f64::consts::TAU;
        if let Self::Sine { mean, swing, every } = self {
            let every = every.as_secs_f64();
            return mean * seconds + swing * every / TAU * (1.0 - (TAU * (seconds / every).fract()).cos());
        }
        let (mut sum, mut left) = (0.0, seconds);
        for piece in self.pieces().unwrap_or_default() {
            sum += piece.arrivals(left);
            left -= piece.length;
            if left <= 0.0 {
                break;
            }
        }
        sum
    }

    /// The rate at a time, seconds; at a jump, the new rate.
    #[must_use]
    pub fn rate(&self, at: f64) -> f64 {
        use std::f64::consts::TAU;
        if let Self::Sine { mean, swing, every } = self {
            return mean + swing * (TAU * (at / every.as_secs_f64()).fract()).sin();
        }
        let mut left = at;
        for Piece { length, from, to } in self.pieces().unwrap_or_default() {
            if left < length {
                return if from == to { from } else { from + (to - from) * left / length };
            }
            left -= length;
        }
        0.0
    }

    /// Mean rate over the first `seconds`.
    #[must_use]
    pub fn mean(&self, seconds: f64) -> f64 {
        match self {
            Self::Constant(rate) => *rate,
            _ if seconds > 0.0 => self.arrivals(seconds) / seconds,
            _ => self.rate(0.0),
        }
    }

    /// The highest rate.
    #[must_use]
    pub fn greatest(&self) -> f64 {
        match self {
            Self::Constant(rate) => *rate,
            Self::Step { levels, .. } => levels.iter().copied().fold(0.0, f64::max),
            Self::Ramp { from, to, .. } => from.max(*to),
            Self::Sine { mean, swing, .. } => mean + swing,
            Self::Spike { base, peak, .. } => base.max(*peak),
        }
    }

    /// The same shape with rates multiplied by `by`, to six digits and within [`Profile::BOUNDS`].
    #[must_use]
    pub fn scaled(&self, by: f64) -> Self {
        let [least, most] = Self::BOUNDS;
        let scaled = |rate: &f64| {
            let rate = rate * by;
            let digits = format!("{rate:.5e}").parse().unwrap_or(rate);
            if rate > 0.0 { f64::clamp(digits, least, most) } else { 0.0 }
        };
        match self {
            Self::Constant(rate) => Self::Constant(scaled(rate)),
            Self::Step { levels, every } => {
                Self::Step { levels: levels.iter().map(scaled).collect(), every: *every }
            }
            Self::Ramp { from, to, over } => Self::Ramp { from: scaled(from), to: scaled(to), over: *over },
            Self::Sine { mean, swing, every } => {
                Self::Sine { mean: scaled(mean), swing: scaled(swing), every: *every }
            }
            Self::Spike { base, peak, length, at } => {
                Self::Spike { base: scaled(base), peak: scaled(peak), length: *length, at: *at }
            }
        }
    }

    /// Whether it is the same rate throughout.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        matches!(self, Self::Constant(_))
    }

    /// Time until the shape is complete, seconds: the shortest useful length of a run.
    #[must_use]
    pub fn lasts_s(&self) -> f64 {
        let lasts = match self {
            Self::Constant(_) => Duration::ZERO,
            Self::Step { levels, every } => every.mul_f64(levels.len() as f64),
            Self::Ramp { over, .. } => *over,
            Self::Sine { every, .. } => *every,
            Self::Spike { length, at, .. } => *at + *length,
        };
        lasts.as_secs_f64()
    }

    /// Parts of a run of this length in which the rate is nearly constant: their starts, and the end of the
    /// last. Levels of a step, tenths of a ramp, half waves of a sine; before, in and after a spike.
    #[must_use]
    pub fn parts(&self, seconds: f64) -> Vec<f64> {
        let each = |length: f64, most: f64| {
            let count = (seconds / length).ceil().min(most);
            (0..count as u32).map(|number| f64::from(number) * length).collect::<Vec<_>>()
        };
        let starts = match self {
            Self::Constant(_) => vec![0.0],
            Self::Step { levels, every } => each(every.as_secs_f64(), levels.len() as f64),
            Self::Ramp { over, .. } => each(over.as_secs_f64() / 10.0, 11.0),
            Self::Sine { every, .. } => each(every.as_secs_f64() / 2.0, seconds.max(1.0)),
            Self::Spike { length, at, .. } => {
                vec![0.0, at.as_secs_f64(), (*at + *length).as_secs_f64()]
            }
        };
        let mut parts: Vec<f64> = starts.into_iter().filter(|start| *start < seconds).collect();
        parts.push(seconds);
        parts.dedup();
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Profile {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn arrivals_are_the_integral_of_the_rate() {
        let cases = [
            ("50", 4.0, 200.0),
            ("step 100, 200, 400 every 10s", 5.0, 500.0),
            ("step 100, 200, 400 every 10s", 25.0, 5000.0),
            ("step 100, 200, 400 every 10s", 40.0, 11_000.0),
            ("ramp 100..1000 over 30s", 30.0, 16_500.0),
            ("ramp 100..1000 over 30s", 31.0, 17_500.0),
            ("ramp 0..100 over 10s", 5.0, 125.0),
            ("ramp 100..0 over 10s", 20.0, 500.0),
            ("spike 100 to 1000 for 2s at 10s", 10.0, 1000.0),
            ("spike 100 to 1000 for 2s at 10s", 11.0, 2000.0),
            ("spike 100 to 1000 for 2s at 10s", 20.0, 3800.0),
            ("spike 100 to 1000 for 2s at 0s", 1.0, 1000.0),
            ("sine 500 ± 200 every 20s", 20.0, 10_000.0),
            ("sine 500 ± 200 every 20s", 10.0, 5000.0 + 4000.0 / std::f64::consts::PI),
        ];
        for (text, seconds, wanted) in cases {
            let profile = of(text);
            assert!((profile.arrivals(seconds) - wanted).abs() < 1e-6, "{text}, {seconds} s");
            let steps = 200_000;
            let step = seconds / f64::from(steps);
            let sum: f64 = (0..steps).map(|k| profile.rate((f64::from(k) + 0.5) * step) * step).sum();
            assert!((sum / wanted - 1.0).abs() < 1e-3, "{text}: {sum} by its rates, not {wanted}");
            assert!((profile.mean(seconds) - wanted / seconds).abs() < 1e-9, "{text}");
        }
        assert_eq!(of("0.1").mean(3.0), 0.1);
    }

    #[test]
    fn parts_are_those_that_a_person_would_see() {
        let cases: [(&str, f64, &[f64]); 6] = [
            ("70", 10.0, &[0.0, 10.0]),
            ("step 100, 200, 400 every 10s", 35.0, &[0.0, 10.0, 20.0, 35.0]),
            ("step 100, 200, 400 every 10s", 15.0, &[0.0, 10.0, 15.0]),
            ("spike 100 to 1000 for 2s at 10s", 20.0, &[0.0, 10.0, 12.0, 20.0]),
            ("spike 100 to 1000 for 2s at 0s", 20.0, &[0.0, 2.0, 20.0]),
            ("sine 500 ± 200 every 20s", 30.0, &[0.0, 10.0, 20.0, 30.0]),
        ];
        for (text, seconds, wanted) in cases {
            assert_eq!(of(text).parts(seconds), wanted, "{text}");
        }
        let ramp = of("ramp 100..1000 over 30s").parts(40.0);
        assert_eq!((ramp.len(), ramp[1], ramp[10], ramp[11]), (12, 3.0, 30.0, 40.0));
    }

    #[test]
    fn a_shape_at_other_rates_is_the_same_shape() {
        for (shares, wanted) in [
            ("0.5", "271.9"),
            ("step 0.5, 0, 1 every 10s", "step 271.9, 0, 543.8 every 10s"),
            ("ramp 0.5..1 over 20s", "ramp 271.9..543.8 over 20s"),
            ("sine 0.75 ± 0.25 every 5s", "sine 407.85 ± 135.95 every 5s"),
            ("spike 0.1 to 1.5 for 2s at 8s", "spike 54.38 to 815.7 for 2s at 8s"),
        ] {
            let scaled = of(shares).scaled(543.8);
            assert_eq!(scaled.to_string(), wanted, "{shares}");
            assert_eq!(scaled, of(wanted), "{shares}");
        }
        assert_eq!(of("ramp 0.001..1 over 1s").scaled(0.01).to_string(), "ramp 0.001..0.01 over 1s");
    }

    #[test]
    fn a_run_shorter_than_this_does_not_show_it() {
        let lasts = |text| of(text).lasts_s();
        assert_eq!(lasts("70"), 0.0);
        assert_eq!(lasts("step 100, 200, 400 every 10s"), 30.0);
        assert_eq!(lasts("ramp 100..1000 over 30s"), 30.0);
        assert_eq!(lasts("spike 100 to 1000 for 2s at 10s"), 12.0);
        assert_eq!(lasts("sine 500 ± 200 every 20s"), 20.0);
    }
}
