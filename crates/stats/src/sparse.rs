//! A histogram for many figures, most of them in a narrow range or empty.

use crate::buckets::{BUCKETS, HIGHEST_NS, index_of, value_of};
use crate::histogram::Histogram;

const BLOCK: usize = 128;

/// Latencies in nanoseconds, in the buckets of [`Histogram`], with memory only for the ranges they fall in.
///
/// It takes no memory before the first value, then 1.7 kB, and 1 kB for each block of 128 neighbouring
/// buckets (a tenth of an octave) with a value. So recording may allocate, at most 217 times and nearly
/// always for the first values.
#[derive(Debug, Clone, Default)]
pub struct SparseHistogram {
    blocks: Vec<Option<Box<[u64; BLOCK]>>>,
    sum_ns: u128,
    sum_squares: f64,
    /// Smallest and largest value; meaningless while there are no blocks.
    extremes_ns: (u64, u64),
}

impl SparseHistogram {
    /// Records one value in nanoseconds.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        let index = match index_of(ns) {
            index @ ..BUCKETS => index,
            _ => index_of(HIGHEST_NS),
        };
        match self.blocks.get_mut(index / BLOCK) {
            Some(Some(block)) => block[index % BLOCK] += 1,
            _ => self.record_in_new_block(index),
        }
        self.sum_ns += u128::from(ns);
        self.sum_squares += (ns as f64) * (ns as f64);
        self.extremes_ns = (self.extremes_ns.0.min(ns), self.extremes_ns.1.max(ns));
    }

    #[cold]
    fn record_in_new_block(&mut self, index: usize) {
        if self.blocks.is_empty() {
            self.blocks.resize_with(BUCKETS / BLOCK, || None);
            self.extremes_ns = (u64::MAX, 0);
        }
        self.blocks[index / BLOCK].get_or_insert_with(|| Box::new([0; BLOCK]))[index % BLOCK] += 1;
    }

    /// Adds everything to a full histogram; exact, since the buckets are equal.
    pub fn add_to(&self, histogram: &mut Histogram) {
        let counters = self.blocks.iter().enumerate().flat_map(|(number, block)| {
            let counters = block.iter().flat_map(|block| block.iter());
            counters.enumerate().map(move |(at, count)| (value_of(number * BLOCK + at), *count))
        });
        histogram.add_counters(
            counters.filter(|(_, count)| *count > 0),
            self.sum_ns,
            self.sum_squares,
            self.extremes_ns,
        );
    }

    /// Allocated bytes.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let table = self.blocks.capacity() * size_of::<Option<Box<[u64; BLOCK]>>>();
        table + self.blocks.iter().flatten().count() * size_of::<[u64; BLOCK]>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn it_adds_up_to_the_histogram_of_the_same_values(
            values in proptest::collection::vec((0u32..44, any::<u64>()), 0..300),
            before in proptest::collection::vec(0u64..1_000_000_000, 0..3),
        ) {
            let (mut sparse, mut full, mut sum) = (SparseHistogram::default(), Histogram::new(), Histogram::new());
            for ns in before {
                full.record(ns);
                sum.record(ns);
            }
            for (bits, raw) in values {
                let ns = (1u64 << bits) | (raw & ((1u64 << bits) - 1));
                sparse.record(ns);
                full.record(ns);
            }
            sparse.add_to(&mut sum);
            prop_assert_eq!(sum.encode(), full.encode());
            prop_assert_eq!((sum.sum_ns(), sum.min_ns(), sum.max_ns()), (full.sum_ns(), full.min_ns(), full.max_ns()));
            prop_assert!((sum.sum_squares() - full.sum_squares()).abs() <= full.sum_squares() * 1e-12);
        }
    }

    #[test]
    fn a_narrow_range_takes_few_blocks_and_nothing_takes_none() {
        let mut sparse = SparseHistogram::default();
        assert_eq!(sparse.heap_bytes(), 0);
        (200_000..400_000).for_each(|ns| sparse.record(ns));
        assert!(sparse.heap_bytes() < 12_000, "{}", sparse.heap_bytes());
    }
}
