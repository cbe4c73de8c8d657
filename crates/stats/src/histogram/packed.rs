//! Counters of a histogram as HdrHistogram writes them: for histograms that are read and added, and not recorded into.
//!
//! A counter takes a byte or two, and a range without values takes as little. The full array takes 200 kB.

use std::io::Read;

use flate2::read::ZlibDecoder;
use hdrhistogram::serialization::{Serializer, V2Serializer};

use super::HistogramError;
use crate::buckets::{BUCKETS, DIGITS, HIGHEST_NS, LOWEST_NS, highest_of, index_of, value_of};

/// What the two forms of the encoding begin with.
const V2: u32 = 0x1c84_9313;
const V2_COMPRESSED: u32 = 0x1c84_9314;
/// Bytes of the encoding before its counters.
const HEAD: usize = 40;
/// The most bytes of a number.
const LONGEST: usize = 9;

/// Checked numbers, each in zigzag and LEB128: a count, or how many counters in a row are 0, negative.
#[derive(Debug, Clone, Default)]
pub(crate) struct PackedCounters {
    numbers: Box<[u8]>,
    count: u64,
}

impl PackedCounters {
    pub(crate) fn of(full: &hdrhistogram::Histogram<u64>) -> Self {
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(full, &mut bytes).expect("writing to memory cannot fail");
        if full.is_empty() {
            return Self::default();
        }
        Self { numbers: bytes[HEAD..].into(), count: full.len() }
    }

    /// Of HdrHistogram's V2 encoding, compressed or not.
    pub(crate) fn decode(v2: &[u8]) -> Result<Self, HistogramError> {
        let wrong = |why: &str| HistogramError::Encoding(why.to_owned());
        let (kind, rest) = v2.split_first_chunk().ok_or_else(|| wrong("it is too short"))?;
        match u32::from_be_bytes(*kind) {
            V2 => Self::read(&mut &*v2),
            V2_COMPRESSED => {
                let (length, rest) = rest.split_first_chunk().ok_or_else(|| wrong("it is too short"))?;
                let length = u32::from_be_bytes(*length) as usize;
                Self::read(&mut ZlibDecoder::new(&rest[..length.min(rest.len())]))
            }
            _ => Err(wrong("it begins otherwise")),
        }
    }

    fn read(from: &mut impl Read) -> Result<Self, HistogramError> {
        let unreadable = |error: std::io::Error| HistogramError::Encoding(error.to_string());
        let wrong = |why: &str| HistogramError::Encoding(why.to_owned());
        let mut head = [0; HEAD];
        from.read_exact(&mut head).map_err(unreadable)?;
        let number = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let long = |at: usize| u64::from(number(at)) << 32 | u64::from(number(at + 4));
        if number(0) != V2 || number(8) != 0 || long(32) != 1.0f64.to_bits() {
            return Err(wrong("it is another kind"));
        }
        if (number(12), long(16), long(24)) != (u32::from(DIGITS), LOWEST_NS, HIGHEST_NS) {
            return Err(HistogramError::Bounds);
        }
        let length = number(4) as usize;
        if length > LONGEST * BUCKETS {
            return Err(wrong("it is too long"));
        }
        let mut numbers = vec![0; length].into_boxed_slice();
        from.read_exact(&mut numbers).map_err(unreadable)?;
        let mut walk = Walk { rest: &numbers, index: 0 };
        let mut count = 0_u64;
        while let Some((_, own)) = walk.step().map_err(wrong)? {
            count = count.saturating_add(own);
        }
        Ok(Self { numbers, count })
    }

    /// Number of values.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// A value of each bucket that has any, and their number, by value.
    pub(crate) fn values(&self) -> impl Iterator<Item = (u64, u64)> {
        self.counters().map(|(index, count)| (value_of(index), count))
    }

    /// As HdrHistogram's function of this name.
    pub(crate) fn value_at_quantile(&self, q: f64) -> u64 {
        let wanted = ((q.min(1.0) * self.count as f64).ceil() as u64).max(1);
        let mut before = 0_u64;
        let reaches = |(_, count): &(usize, u64)| {
            before = before.saturating_add(*count);
            before >= wanted
        };
        let found = self.counters().find(reaches).map(|(index, _)| index);
        found.map_or(0, |index| if q == 0.0 { value_of(index) } else { highest_of(index) })
    }

    /// Number of values above `ns`, to the resolution of the buckets.
    pub(crate) fn count_above(&self, ns: u64) -> u64 {
        self.counters().skip_while(|(index, _)| *index <= index_of(ns)).map(|(_, count)| count).sum()
    }

    /// Index and count of each bucket with values, by value.
    pub(crate) fn counters(&self) -> impl Iterator<Item = (usize, u64)> {
        let mut walk = Walk { rest: &self.numbers, index: 0 };
        std::iter::from_fn(move || walk.step().expect("it was checked"))
    }
}

/// A place among the numbers, and the counter that comes next.
struct Walk<'a> {
    rest: &'a [u8],
    index: usize,
}

impl Walk<'_> {
    /// The next counter that is not 0.
    fn step(&mut self) -> Result<Option<(usize, u64)>, &'static str> {
        while !self.rest.is_empty() {
            let number = self.number().ok_or("a number is cut off")?;
            let at = self.index;
            let steps = if number < 0 { usize::try_from(number.unsigned_abs()).ok() } else { Some(1) };
            self.index = steps.and_then(|steps| at.checked_add(steps)).ok_or("it has too many counters")?;
            if number > 0 {
                let is_known = at < BUCKETS;
                return is_known
                    .then_some(Some((at, number.unsigned_abs())))
                    .ok_or("it has too many counters");
            }
        }
        Ok(None)
    }

    #[inline]
    fn number(&mut self) -> Option<i64> {
        // Nearly all numbers.
        if let [byte @ ..0x80, rest @ ..] = self.rest {
            self.rest = rest;
            return Some(i64::from(byte >> 1) ^ -i64::from(byte & 1));
        }
        self.long_number()
    }

    fn long_number(&mut self) -> Option<i64> {
        let mut zigzag = 0_u64;
        for at in 0..LONGEST {
            let byte = *self.rest.get(at)?;
            let is_last = at + 1 == LONGEST || byte < 0x80;
            // The ninth byte has eight bits.
            let bits = if at + 1 == LONGEST { byte } else { byte & 0x7f };
            zigzag |= u64::from(bits) << (7 * at);
            if is_last {
                self.rest = &self.rest[at + 1..];
                break;
            }
        }
        Some((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
    }
}
