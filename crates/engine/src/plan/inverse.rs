//! The inverse of a rate's integral: when a number of arrivals is expected.

use spec::{Piece, Profile};

use crate::client::Time;

/// Steps of Newton's method, each at least as good as halving; usually far fewer are needed.
const STEPS: usize = 60;

/// The inverse of a profile's cumulative rate. Warm-up comes first, at the profile's first rate.
pub(super) struct Inverse {
    /// Length of the warm-up in seconds, its rate, and its expected arrivals.
    warmup: f64,
    rate: f64,
    lead: f64,
    shape: Shape,
}

enum Shape {
    /// Pieces, each with the arrivals expected before it and its start in seconds.
    Pieces(Vec<(f64, f64, Piece)>),
    Waves {
        profile: Profile,
        every: f64,
        each: f64,
    },
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

    /// When `arrivals` are expected, ns since the load began; `Time::MAX` if never.
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
    /// Seconds since warm-up; infinite if never.
    fn when(&self, arrivals: f64) -> f64 {
        match self {
            Self::Pieces(pieces) => {
                // If pieces without arrivals follow, the last of the pieces that begin alike: arrivals wait
                // for the next.
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

/// When `arrivals` are expected in a piece, seconds since it began.
fn within(piece: &Piece, arrivals: f64) -> f64 {
    let Piece { length, from, to } = *piece;
    let change = if from == to { 0.0 } else { (to - from) / length };
    // The root of change/2 t² + from t = arrivals, in the form without cancellation.
    let root = (from * from + 2.0 * change * arrivals).max(0.0).sqrt();
    let rates = from + root;
    match rates > 0.0 {
        true => (2.0 * arrivals / rates).min(length),
        false if arrivals > 0.0 => f64::INFINITY,
        // At rate 0 nothing arrives: a rising piece begins here, the last piece never does.
        false if length.is_finite() => 0.0,
        false => f64::INFINITY,
    }
}

/// The same in a wave, by Newton's method between the known bounds.
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
        // Where the rate is near 0, a step may lead anywhere.
        let next = if next > low && next < high { next } else { f64::midpoint(low, high) };
        if (next - at).abs() < 1e-10 {
            return next;
        }
        at = next;
    }
    at
}
