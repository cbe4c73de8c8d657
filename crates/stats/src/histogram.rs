//! pgdyno's latency histogram: HdrHistogram in nanoseconds with fixed bounds.
//!
//! Equal bounds make merging exact: adding two histograms gives the histogram of the concatenated samples.
//! Figures that a histogram cannot give exactly (mean, standard deviation, extremes) are kept as plain sums.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

use crate::verdict::TooFew;

/// Resolution, in nanoseconds.
pub(crate) const LOWEST_NS: u64 = 64;
/// Largest value, one hour in nanoseconds; longer ones are recorded as this.
pub(crate) const HIGHEST_NS: u64 = 3_600_000_000_000;
/// Significant decimal digits.
pub(crate) const DIGITS: u8 = 3;

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
    inner: hdrhistogram::Histogram<u64>,
    sum_ns: u128,
    sum_squares: f64,
    min_ns: u64,
    max_ns: u64,
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
    /// An empty histogram; allocates all counters, so that recording never allocates.
    #[must_use]
    pub fn new() -> Self {
        Self { inner: counters(HIGHEST_NS), sum_ns: 0, sum_squares: 0.0, min_ns: u64::MAX, max_ns: 0 }
    }

    /// Records one value in nanoseconds.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        if ns > self.inner.high() {
            self.make_room();
        }
        self.inner.saturating_record(ns);
        self.sum_ns += u128::from(ns);
        self.sum_squares += (ns as f64) * (ns as f64);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds all of `other`; exact, since bounds are equal.
    pub fn add(&mut self, other: &Self) {
        if other.inner.high() > self.inner.high() {
            self.make_room();
        }
        self.inner.add(&other.inner).expect("bounds are equal");
        self.sum_ns += other.sum_ns;
        self.sum_squares += other.sum_squares;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Adds values of known buckets with their exact sums; `extremes_ns` are the smallest and largest.
    pub(crate) fn add_counters(
        &mut self,
        counters: impl Iterator<Item = (u64, u64)>,
        sum_ns: u128,
        sum_squares: f64,
        (min_ns, max_ns): (u64, u64),
    ) {
        self.make_room();
        let before = self.count();
        counters.for_each(|(ns, count)| self.inner.saturating_record_n(ns, count));
        if self.count() > before {
            self.sum_ns += sum_ns;
            self.sum_squares += sum_squares;
            self.min_ns = self.min_ns.min(min_ns);
            self.max_ns = self.max_ns.max(max_ns);
        }
    }

    /// Empties the histogram and keeps its memory.
    pub fn clear(&mut self) {
        self.inner.reset();
        (self.sum_ns, self.sum_squares, self.min_ns, self.max_ns) = (0, 0.0, u64::MAX, 0);
    }

    /// Number of recorded values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.inner.len()
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
        (!self.is_empty()).then(|| self.inner.value_at_quantile(q).clamp(self.min_ns, self.max_ns))
    }

    /// As [`Self::quantile_ns`], but `None` with too few values beyond it ([`TooFew`]).
    #[must_use]
    pub fn percentile_ns(&self, q: f64) -> Option<u64> {
        TooFew::of(q, self.count()).map_or_else(|| self.quantile_ns(q), |_| None)
    }

    /// Number of values above `ns`, to the histogram's resolution.
    #[must_use]
    pub fn count_above(&self, ns: u64) -> u64 {
        self.count() - self.inner.count_between(0, ns)
    }

    /// Points of the distribution for drawing: (quantile, value in ns), densest towards 1.
    #[must_use]
    pub fn curve(&self) -> Vec<(f64, u64)> {
        self.inner.iter_quantiles(5).map(|v| (v.quantile(), v.value_iterated_to().min(self.max_ns))).collect()
    }

    /// HdrHistogram's V2 compressed encoding, which other tools can read.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        if self.inner.high() < HIGHEST_NS {
            let mut whole = self.clone();
            whole.make_room();
            return whole.encode();
        }
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&self.inner, &mut bytes).expect("writing to memory cannot fail");
        bytes
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
        let inner: hdrhistogram::Histogram<u64> = Deserializer::new()
            .deserialize(&mut &bytes[..])
            .map_err(|e| HistogramError::Encoding(format!("{e:?}")))?;
        if inner.low() != LOWEST_NS || inner.high() != HIGHEST_NS || inner.sigfig() != DIGITS {
            return Err(HistogramError::Bounds);
        }
        let count = inner.len();
        if count > 0 && min_ns > max_ns {
            return Err(HistogramError::Extremes { count, min_ns, max_ns });
        }
        // A report reads hundreds of these.
        let mut decoded = Self { inner, sum_ns, sum_squares, min_ns, max_ns };
        decoded.shrink();
        Ok(decoded)
    }

    /// Frees the counters above the largest value, for many histograms in memory; recording more allocates
    /// them again.
    pub fn shrink(&mut self) {
        let mut small = counters(self.inner.max().clamp(2 * LOWEST_NS, HIGHEST_NS));
        if small.add(&self.inner).is_ok() {
            self.inner = small;
        }
    }

    /// Restores all counters of a decoded or shrunk histogram.
    #[cold]
    fn make_room(&mut self) {
        if self.inner.high() < HIGHEST_NS {
            let mut whole = counters(HIGHEST_NS);
            whole.add(&self.inner).expect("smaller bounds fit");
            self.inner = whole;
        }
    }
}

/// Counters up to `highest` ns. A value has the same bucket for every `highest`, so adding stays exact.
fn counters(highest: u64) -> hdrhistogram::Histogram<u64> {
    hdrhistogram::Histogram::new_with_bounds(LOWEST_NS, highest, DIGITS).expect("bounds are valid")
}

#[cfg(test)]
mod tests;
