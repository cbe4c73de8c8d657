//! pgdyno's latency histogram: HdrHistogram in nanoseconds with fixed bounds.
//!
//! Equal bounds make merging exact: adding two histograms gives the histogram of the concatenated samples.
//! Figures that a histogram cannot give exactly (mean, standard deviation, extremes) are kept as plain sums.

mod growing;
mod packed;

use std::ops::ControlFlow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

use self::growing::{ALL_LINES, GrowingCounters};
use self::packed::{PackedCounters, PackedWriter};
use crate::buckets::{DIGITS, HIGHEST_NS, LOWEST_NS, counted_at, highest_of, value_of};
use crate::verdict::TooFew;

/// Why stored bytes are not a valid histogram.
#[derive(Debug, thiserror::Error)]
pub enum HistogramError {
    /// The bytes are not an HdrHistogram V2 encoding.
    #[error("not an HdrHistogram V2 encoding: {0}")]
    Encoding(String),
    /// The stored sums and extremes contradict the counts.
    #[error("minimum {min_ns} ns and maximum {max_ns} ns do not fit {count} values")]
    Extremes {
        /// Number of values in the encoding.
        count: u64,
        min_ns: u64,
        max_ns: u64,
    },
    /// A histogram with other bounds cannot be merged exactly.
    #[error("histogram bounds differ from {LOWEST_NS} ns .. {HIGHEST_NS} ns with {DIGITS} digits")]
    Bounds,
}

/// Latencies in nanoseconds, 64 ns to 1 h, with exact count, sum, sum of squares, minimum and maximum.
#[derive(Clone)]
pub struct Histogram {
    counters: Counters,
    sum_ns: u128,
    sum_squares: f64,
    min_ns: u64,
    max_ns: u64,
}

/// Each value is counted in one of the two.
#[derive(Clone, Default)]
struct Counters {
    /// What was recorded or added.
    growing: GrowingCounters,
    /// What was read, or packed since.
    packed: PackedCounters,
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Histogram({} values, {:?}..{:?} ns)", self.count(), self.min_ns(), self.max_ns())
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

/// The stored form: a few kilobytes, compared with a hundred for counting.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoded {
    pub v2: Vec<u8>,
    pub count: u64,
    /// Exact sum, ns.
    pub sum_ns: u128,
    /// Sum of squares, ns².
    pub sum_squares: f64,
    /// Exact smallest value, ns; `None` when empty.
    pub min_ns: Option<u64>,
    /// Exact largest value, ns; `None` when empty.
    pub max_ns: Option<u64>,
}

impl Encoded {
    /// Restores the histogram.
    ///
    /// # Errors
    /// As [`Histogram::decode`].
    pub fn decode(&self) -> Result<Histogram, HistogramError> {
        let (min_ns, max_ns) = (self.min_ns.unwrap_or(u64::MAX), self.max_ns.unwrap_or(0));
        Histogram::decode(&self.v2, self.sum_ns, self.sum_squares, min_ns, max_ns)
    }
}

impl Histogram {
    /// An empty histogram, without memory for counters: they are allocated for the ranges that values fall in.
    #[must_use]
    pub fn new() -> Self {
        Self::with_room(0)
    }

    /// An empty histogram that allocates nothing until its values fall in many places: memory for so many lines of 16
    /// counters, up to [`Self::ALL_LINES`], with which recording never allocates.
    #[must_use]
    pub fn with_room(lines: usize) -> Self {
        let counters = Counters { growing: GrowingCounters::with_room(lines), ..Counters::default() };
        Self { counters, sum_ns: 0, sum_squares: 0.0, min_ns: u64::MAX, max_ns: 0 }
    }

    /// The most lines of 16 counters that a histogram can need, 64 bytes each.
    pub const ALL_LINES: usize = ALL_LINES;

    /// Records one value in nanoseconds.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.counters.growing.record(counted_at(ns));
        self.sum_ns += u128::from(ns);
        self.sum_squares += (ns as f64) * (ns as f64);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds all of `other`; exact, since bounds are equal.
    pub fn add(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        let own = &mut self.counters.growing;
        other
            .counters
            .growing
            .counters()
            .chain(other.counters.packed.counters())
            .for_each(|(index, count)| own.add(index, count));
        self.sum_ns += other.sum_ns;
        self.sum_squares += other.sum_squares;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// All values of many histograms together, the same as adding one after another.
    #[must_use]
    pub fn sum<'h>(histograms: impl IntoIterator<Item = &'h Self>) -> Self {
        let mut sum = Self::new();
        histograms.into_iter().for_each(|own| sum.add(own));
        sum
    }

    /// Empties the histogram and keeps its memory.
    pub fn clear(&mut self) {
        self.counters.growing.clear();
        self.counters.packed = PackedCounters::default();
        (self.sum_ns, self.sum_squares, self.min_ns, self.max_ns) = (0, 0.0, u64::MAX, 0);
    }

    /// Allocated bytes.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.counters.growing.heap_bytes() + self.counters.packed.heap_bytes()
    }

    /// Number of recorded values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counters.growing.count().saturating_add(self.counters.packed.count())
    }

    /// Whether nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Exact smallest value in nanoseconds; `None` when empty.
    #[must_use]
    pub fn min_ns(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.min_ns)
    }

    /// Exact largest value in nanoseconds; `None` when empty.
    #[must_use]
    pub fn max_ns(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.max_ns)
    }

    /// Exact sum of all values in nanoseconds.
    #[must_use]
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// Sum of squared values in ns², to double precision.
    #[must_use]
    pub fn sum_squares(&self) -> f64 {
        self.sum_squares
    }

    /// Arithmetic mean in nanoseconds; `None` when empty.
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.sum_ns as f64 / self.count() as f64)
    }

    /// Population standard deviation in nanoseconds (as pgbench computes it); `None` when empty.
    #[must_use]
    pub fn stddev_ns(&self) -> Option<f64> {
        let mean = self.mean_ns()?;
        Some((self.sum_squares / self.count() as f64 - mean * mean).max(0.0).sqrt())
    }

    /// Value at quantile `q` in 0..=1, in nanoseconds, at most the exact maximum; `None` when empty.
    #[must_use]
    pub fn quantile_ns(&self, q: f64) -> Option<u64> {
        // As HdrHistogram's `value_at_quantile`.
        let wanted = ((q.min(1.0) * self.count() as f64).ceil() as u64).max(1);
        let mut before = 0_u64;
        let found = self.counters.each(|index, count| {
            before = before.saturating_add(count);
            if before < wanted { ControlFlow::Continue(()) } else { ControlFlow::Break(index) }
        })?;
        let ns = if q == 0.0 { value_of(found) } else { highest_of(found) };
        Some(ns.clamp(self.min_ns, self.max_ns))
    }

    /// As [`Self::quantile_ns`], but `None` with too few values beyond it ([`TooFew`]).
    #[must_use]
    pub fn percentile_ns(&self, q: f64) -> Option<u64> {
        TooFew::of(q, self.count()).map_or_else(|| self.quantile_ns(q), |_| None)
    }

    /// Number of values above `ns`, to the histogram's resolution.
    #[must_use]
    pub fn count_above(&self, ns: u64) -> u64 {
        let mut above = 0_u64;
        self.counters.each(|index, count| {
            above += if index > counted_at(ns) { count } else { 0 };
            ControlFlow::<()>::Continue(())
        });
        above
    }

    /// Points of the distribution for drawing: (quantile, value in ns), densest towards 1.
    #[must_use]
    pub fn curve(&self) -> Vec<(f64, u64)> {
        let mut whole = hdrhistogram::Histogram::<u64>::new_with_bounds(LOWEST_NS, HIGHEST_NS, DIGITS)
            .expect("bounds are valid");
        self.counters.each(|index, count| {
            whole.saturating_record_n(value_of(index), count);
            ControlFlow::<()>::Continue(())
        });
        whole.iter_quantiles(5).map(|v| (v.quantile(), v.value_iterated_to().min(self.max_ns))).collect()
    }

    /// HdrHistogram's V2 compressed encoding, which other tools can read.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        if self.counters.growing.count() == 0 {
            return self.counters.packed.encode();
        }
        self.counters.all_packed().encode()
    }

    /// The encoding together with the exact sums and extremes.
    #[must_use]
    pub fn encoded(&self) -> Encoded {
        Encoded {
            v2: self.encode(),
            count: self.count(),
            sum_ns: self.sum_ns,
            sum_squares: self.sum_squares,
            min_ns: self.min_ns(),
            max_ns: self.max_ns(),
        }
    }

    /// One line of text: exact sum, sum of squares, smallest and largest value, then HdrHistogram's V2
    /// encoding in base64.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Encoded { v2, sum_ns, sum_squares, .. } = self.encoded();
        format!("{sum_ns} {sum_squares:?} {} {} {}", self.min_ns, self.max_ns, BASE64.encode(v2))
    }

    /// Parses the text of [`Self::to_text`].
    ///
    /// # Errors
    /// As [`Self::decode`].
    pub fn from_text(text: &str) -> Result<Self, HistogramError> {
        let wrong = |why: &str| HistogramError::Encoding(why.to_owned());
        let parts: Vec<&str> = text.split_ascii_whitespace().collect();
        let [sum_ns, sum_squares, min_ns, max_ns, v2] = parts[..] else {
            return Err(wrong("five parts are needed"));
        };
        let (Ok(sum_ns), Ok(sum_squares), Ok(min_ns), Ok(max_ns)) =
            (sum_ns.parse(), sum_squares.parse(), min_ns.parse(), max_ns.parse())
        else {
            return Err(wrong("four numbers come first"));
        };
        let v2 = BASE64.decode(v2).map_err(|error| wrong(&error.to_string()))?;
        Self::decode(&v2, sum_ns, sum_squares, min_ns, max_ns)
    }

    /// Restores a histogram from [`Self::encode`]'s bytes and its exact figures.
    ///
    /// # Errors
    /// When the bytes are not such an encoding, have other bounds, or contradict the exact figures.
    pub fn decode(
        bytes: &[u8],
        sum_ns: u128,
        sum_squares: f64,
        min_ns: u64,
        max_ns: u64,
    ) -> Result<Self, HistogramError> {
        let packed = PackedCounters::decode(bytes)?;
        let count = packed.count();
        if count > 0 && min_ns > max_ns {
            return Err(HistogramError::Extremes { count, min_ns, max_ns });
        }
        let counters = Counters { packed, ..Counters::default() };
        Ok(Self { counters, sum_ns, sum_squares, min_ns, max_ns })
    }

    /// Packs the counters if those that are not packed take more than so many bytes.
    pub fn shrink_beyond(&mut self, bytes: usize) {
        if self.counters.growing.heap_bytes() > bytes {
            self.shrink();
        }
    }

    /// Packs the counters, for many histograms in memory: one with a value takes a byte or two.
    pub fn shrink(&mut self) {
        if self.counters.growing.count() > 0 {
            self.counters = Counters { packed: self.counters.all_packed(), ..Counters::default() };
        }
    }
}

impl Counters {
    fn all_packed(&self) -> PackedCounters {
        let mut all = PackedWriter::default();
        self.each(|index, count| {
            all.push(index, count);
            ControlFlow::<()>::Continue(())
        });
        all.finish()
    }

    /// Passes index and count of each bucket with values to `look`, by value, until it breaks.
    fn each<B>(&self, mut look: impl FnMut(usize, u64) -> ControlFlow<B>) -> Option<B> {
        let mut pair = |(index, count)| look(index, count);
        if self.packed.count() == 0 {
            return self.growing.counters().try_for_each(pair).break_value();
        }
        if self.growing.count() == 0 {
            return self.packed.counters().try_for_each(pair).break_value();
        }
        let (mut growing, mut packed) =
            (self.growing.counters().peekable(), self.packed.counters().peekable());
        loop {
            let next = match (growing.peek(), packed.peek()) {
                (Some((one, _)), Some((other, _))) if one == other => {
                    let (index, count) = growing.next()?;
                    (index, count.saturating_add(packed.next()?.1))
                }
                (Some((one, _)), Some((other, _))) if one > other => packed.next()?,
                (Some(_), _) => growing.next()?,
                (None, _) => packed.next()?,
            };
            if let ControlFlow::Break(found) = pair(next) {
                return Some(found);
            }
        }
    }
}

#[cfg(test)]
mod tests;
