//! The buckets of all histograms, which are HdrHistogram's.

/// Resolution, in nanoseconds.
pub(crate) const LOWEST_NS: u64 = 64;
/// Largest value, one hour in nanoseconds; longer ones are recorded as this.
pub(crate) const HIGHEST_NS: u64 = 3_600_000_000_000;
/// Significant decimal digits.
pub(crate) const DIGITS: u8 = 3;

/// Bits of a value below the resolution of the first bucket, [`LOWEST_NS`].
const UNIT_BITS: u32 = LOWEST_NS.ilog2();
/// Half the counters of a bucket, as a power of 2: the least that keeps the digits.
const HALF_BITS: u32 = 10u32.pow(DIGITS as u32).next_power_of_two().ilog2();
/// Buckets of all widths; longer values are counted as [`HIGHEST_NS`].
pub(crate) const BUCKETS: usize = ((index_of(HIGHEST_NS) >> HALF_BITS) + 1) << HALF_BITS;

/// Index of a value's bucket, as in HdrHistogram: 2^(`HALF_BITS` + 1) buckets of equal width, then for each
/// doubling of the values half as many that are twice as wide.
#[inline]
pub(crate) const fn index_of(ns: u64) -> usize {
    let units = ns >> UNIT_BITS;
    let doublings = (units | 1).ilog2().saturating_sub(HALF_BITS);
    (((doublings as u64) << HALF_BITS) + (units >> doublings)) as usize
}

/// The smallest value of a bucket.
pub(crate) fn value_of(index: usize) -> u64 {
    let doublings = doublings_of(index);
    (index as u64 - (doublings << HALF_BITS)) << (doublings + u64::from(UNIT_BITS))
}

/// The largest value of a bucket.
pub(crate) fn highest_of(index: usize) -> u64 {
    value_of(index) + ((1 << (doublings_of(index) + u64::from(UNIT_BITS))) - 1)
}

/// How often the width of a bucket was doubled.
fn doublings_of(index: usize) -> u64 {
    (index as u64 >> HALF_BITS).saturating_sub(1)
}

/// Index of the bucket that counts a value; a longer one than [`HIGHEST_NS`] counts as that.
#[inline]
pub(crate) fn counted_at(ns: u64) -> usize {
    match index_of(ns) {
        index @ ..BUCKETS => index,
        _ => index_of(HIGHEST_NS),
    }
}
