//! pgdyno's latency histogram: HdrHistogram in nanoseconds with fixed bounds.
//!
//! Equal bounds make merging exact: adding two histograms gives the histogram of the concatenated samples.
//! Figures that a histogram cannot give exactly (mean, standard deviation, extremes) are kept as plain sums.

mod packed;

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

use self::packed::PackedCounters;
use crate::buckets::{BUCKETS, DIGITS, HIGHEST_NS, LOWEST_NS, value_of};
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
    counters: HistogramCounters,
    sum_ns: u128,
    sum_squares: f64,
    min_ns: u64,
    max_ns: u64,
}

/// A histogram that is recorded into has all counters. One that was read has only those with values, until a value is
/// recorded or another one is added.
#[derive(Clone)]
enum HistogramCounters {
    All(hdrhistogram::Histogram<u64>),
    Packed(PackedCounters),
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
        Self { counters: HistogramCounters::All(all_counters()), ..Self::empty() }
    }

    /// An empty histogram without counters, for one that nothing may be added to.
    #[must_use]
    pub fn empty() -> Self {
        let counters = HistogramCounters::Packed(PackedCounters::default());
        Self { counters, sum_ns: 0, sum_squares: 0.0, min_ns: u64::MAX, max_ns: 0 }
    }

    /// Records one value in nanoseconds.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.all().saturating_record(ns);
        self.sum_ns += u128::from(ns);
        self.sum_squares += (ns as f64) * (ns as f64);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds all of `other`; exact, since bounds are equal.
    pub fn add(&mut self, other: &Self) {
        match &other.counters {
            HistogramCounters::All(counters) => self.all().add(counters).expect("bounds are equal"),
            HistogramCounters::Packed(packed) if packed.count() > 0 => add_packed(self.all(), packed),
            HistogramCounters::Packed(_) => return,
        }
        self.add_figures(other);
    }

    /// All values of many histograms together, the same as adding one after another.
    #[must_use]
    pub fn sum<'h>(histograms: impl IntoIterator<Item = &'h Self>) -> Self {
        let mut sum = Self::new();
        // Finding the bucket of each counter again takes longer than reading it.
        let mut counts = vec![0_u64; BUCKETS];
        for own in histograms {
            match &own.counters {
                HistogramCounters::Packed(packed) if packed.count() > 0 => {
                    for (index, count) in packed.counters() {
                        counts[index] = counts[index].saturating_add(count);
                    }
                    sum.add_figures(own);
                }
                _ => sum.add(own),
            }
        }
        let all = sum.all();
        for (index, count) in counts.into_iter().enumerate().filter(|(_, count)| *count > 0) {
            all.saturating_record_n(value_of(index), count);
        }
        sum
    }

    fn add_figures(&mut self, other: &Self) {
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
        let before = self.count();
        let all = self.all();
        counters.for_each(|(ns, count)| all.saturating_record_n(ns, count));
        if self.count() > before {
            self.sum_ns += sum_ns;
            self.sum_squares += sum_squares;
            self.min_ns = self.min_ns.min(min_ns);
            self.max_ns = self.max_ns.max(max_ns);
        }
    }

    /// Empties the histogram and keeps its memory.
    pub fn clear(&mut self) {
        self.all().reset();
        (self.sum_ns, self.sum_squares, self.min_ns, self.max_ns) = (0, 0.0, u64::MAX, 0);
    }

    /// Number of recorded values.
    #[must_use]
    pub fn count(&self) -> u64 {
        match &self.counters {
            HistogramCounters::All(counters) => counters.len(),
            HistogramCounters::Packed(packed) => packed.count(),
        }
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
        let ns = match &self.counters {
            HistogramCounters::All(counters) => counters.value_at_quantile(q),
            HistogramCounters::Packed(packed) => packed.value_at_quantile(q),
        };
        (!self.is_empty()).then(|| ns.clamp(self.min_ns, self.max_ns))
    }

    /// As [`Self::quantile_ns`], but `None` with too few values beyond it ([`TooFew`]).
    #[must_use]
    pub fn percentile_ns(&self, q: f64) -> Option<u64> {
        TooFew::of(q, self.count()).map_or_else(|| self.quantile_ns(q), |_| None)
    }

    /// Number of values above `ns`, to the histogram's resolution.
    #[must_use]
    pub fn count_above(&self, ns: u64) -> u64 {
        match &self.counters {
            HistogramCounters::All(counters) => self.count() - counters.count_between(0, ns),
            HistogramCounters::Packed(packed) => packed.count_above(ns),
        }
    }

    /// Points of the distribution for drawing: (quantile, value in ns), densest towards 1.
    #[must_use]
    pub fn curve(&self) -> Vec<(f64, u64)> {
        let counters = self.counters.whole();
        counters.iter_quantiles(5).map(|v| (v.quantile(), v.value_iterated_to().min(self.max_ns))).collect()
    }

    /// HdrHistogram's V2 compressed encoding, which other tools can read.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let (mut bytes, counters) = (Vec::new(), self.counters.whole());
        V2DeflateSerializer::new().serialize(&*counters, &mut bytes).expect("writing to memory cannot fail");
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
        let packed = PackedCounters::decode(bytes)?;
        let count = packed.count();
        if count > 0 && min_ns > max_ns {
            return Err(HistogramError::Extremes { count, min_ns, max_ns });
        }
        Ok(Self { counters: HistogramCounters::Packed(packed), sum_ns, sum_squares, min_ns, max_ns })
    }

    /// Keeps only counters with values, for many histograms in memory; recording more allocates all again.
    pub fn shrink(&mut self) {
        if let HistogramCounters::All(all) = &self.counters {
            self.counters = HistogramCounters::Packed(PackedCounters::of(all));
        }
    }

    #[inline]
    fn all(&mut self) -> &mut hdrhistogram::Histogram<u64> {
        if let HistogramCounters::Packed(packed) = &self.counters {
            self.counters = HistogramCounters::All(unpacked(packed));
        }
        match &mut self.counters {
            HistogramCounters::All(counters) => counters,
            HistogramCounters::Packed(_) => unreachable!("it was unpacked"),
        }
    }
}

impl HistogramCounters {
    fn whole(&self) -> Cow<'_, hdrhistogram::Histogram<u64>> {
        match self {
            Self::All(counters) => Cow::Borrowed(counters),
            Self::Packed(packed) => Cow::Owned(unpacked(packed)),
        }
    }
}

#[cold]
fn unpacked(packed: &PackedCounters) -> hdrhistogram::Histogram<u64> {
    let mut all = all_counters();
    add_packed(&mut all, packed);
    all
}

fn add_packed(all: &mut hdrhistogram::Histogram<u64>, packed: &PackedCounters) {
    packed.values().for_each(|(ns, count)| all.saturating_record_n(ns, count));
}

fn all_counters() -> hdrhistogram::Histogram<u64> {
    hdrhistogram::Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, DIGITS).expect("bounds are valid")
}

#[cfg(test)]
mod tests;
