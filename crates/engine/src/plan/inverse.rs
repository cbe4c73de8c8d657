//! When so many arrivals are expected: the inverse of a rate's integral.

use spec::{Piece, Profile};

use crate::client::Time;

/// Steps of Newton's method, each at least as good as halving; far fewer are taken.
const STEPS: usize = 60;

/// The cumulative rate of a profile, to be asked backwards. Warm-up comes before it, at the rate of the beginning.
pub(super) struct Inverse {
    /// Length of the warm-up, seconds, its rate, and the arrivals expected in it.
    warmup: f64,
    rate: f64,
    lead: f64,
    shape: Shape,
}

enum Shape {
    /// Pieces, each with the arrivals expected before it, and when it begins, seconds.
    Pieces(Vec<(f64, f64, Piece)>),
    /// A sine: its profile, the length of a wave, and the arrivals expected in one.
    Waves { profile: Profile, every: f64, each: f64 },
}

impl Inverse {
    pub(super) fn new(profile: &Profile, warmup: Time) -> Self {
        let (warmup, rate) = (warmup as f64 / 1e9, profile.rate(0.0));
        let shape = match profile {
            Profile::Sine { mean, every, .. } => {
                let every = every.as_secs_f64();
                Shape::Waves { profile: profile.clone(), every, each: mean * every }
            }
            other => {
                let (mut before, mut begins) = (0.0, 0.0);
                let pieces = other.pieces().unwrap_or_default().into_iter().map(|piece| {
                    let placed = (before, begins, piece);
                    (before, begins) = (before + piece.arrivals(piece.length), begins + piece.length);
                    placed
                });
                Shape::Pieces(pieces.collect())
            }
        };
        Self { warmup, rate, lead: rate * warmup, shape }
    }

    /// When so many arrivals are expected to have come, ns since the load began; `Time::MAX` where they never will.
    pub(super) fn when(&self, arrivals: f64) -> Time {
        let seconds = if arrivals < self.lead {
            arrivals / self.rate
        } else {
            self.warmup + self.shape.when(arrivals - self.lead)
        };
        // Saturates.
        (seconds * 1e9).round() as Time
    }
}

impl Shape {
    /// Seconds since warm-up; infinite where it never comes.
    fn when(&self, arrivals: f64) -> f64 {
        match self {
            Self::Pieces(pieces) => {
                // Where pieces without arrivals follow, the last of those that begin alike: arrivals wait for the next.
                let after = pieces.partition_point(|(before, ..)| *before <= arrivals);
                let (before, begins, piece) = pieces[after.max(1) - 1];
                begins + within(&piece, arrivals - before)
            }
            Self::Waves { profile, every, each } => {
                let whole = (arrivals / each).floor();
                whole * every + in_wave(profile, *every, arrivals - whole * each)
            }
        }
    }
}

/// When so many arrivals have come in a piece, seconds since it began.
fn within(piece: &Piece, arrivals: f64) -> f64 {
    let Piece { length, from, to } = *piece;
    let change = if from == to { 0.0 } else { (to - from) / length };
    // The root of change/2 t² + from t = arrivals that does not cancel.
    let root = (from * from + 2.0 * change * arrivals).max(0.0).sqrt();
    let rates = from + root;
    match rates > 0.0 {
        true => (2.0 * arrivals / rates).min(length),
        false if arrivals > 0.0 => f64::INFINITY,
        // Nothing yet, at a rate of nothing: a rising one begins here, the last one never does.
        false if length.is_finite() => 0.0,
        false => f64::INFINITY,
    }
}

/// The same in a wave, by Newton's method inside of what is still possible.
fn in_wave(profile: &Profile, every: f64, arrivals: f64) -> f64 {
    let (mut low, mut high) = (0.0, every);
    let mut at = every * arrivals / profile.arrivals(every);
    for _ in 0..STEPS {
        let off = profile.arrivals(at) - arrivals;
        if off > 0.0 {
            high = at;
        } else {
            low = at;
        }
        let next = at - off / profile.rate(at);
        // Where the rate is next to nothing a step may go anywhere.
        let next = if next > low && next < high { next } else { f64::midpoint(low, high) };
        if (next - at).abs() < 1e-10 {
            return next;
        }
        at = next;
    }
    at
}
