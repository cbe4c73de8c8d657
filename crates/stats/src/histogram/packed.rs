//! Counters of a histogram as HdrHistogram writes them: for histograms that are read and added, and not recorded into.
//!
//! A counter takes a byte or two, and a range without values takes as little. The full array takes 200 kB.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::bufread::ZlibDecoder;
use flate2::write::ZlibEncoder;

use super::HistogramError;
use crate::buckets::{BUCKETS, DIGITS, HIGHEST_NS, LOWEST_NS};

/// What the two forms of the encoding begin with.
const V2: u32 = 0x1c84_9313;
const V2_COMPRESSED: u32 = 0x1c84_9314;
/// Bytes of the encoding before its counters.
const HEAD: usize = 40;
/// The most bytes of a number.
const LONGEST: usize = 9;
const TOO_MANY: &str = "it has too many counters";

/// Checked numbers, each in zigzag and LEB128: a count, or how many counters in a row are 0, negative.
#[derive(Debug, Clone, Default)]
pub(crate) struct PackedCounters {
    numbers: Box<[u8]>,
    count: u64,
}

impl PackedCounters {
    /// HdrHistogram's V2 encoding, compressed.
    pub(super) fn encode(&self) -> Vec<u8> {
        // HdrHistogram writes the first counter even if there are no values.
        let numbers = if self.numbers.is_empty() { &[0][..] } else { &self.numbers };
        let mut plain = Vec::with_capacity(HEAD + numbers.len());
        plain.extend(V2.to_be_bytes());
        plain.extend((numbers.len() as u32).to_be_bytes());
        plain.extend(0_u32.to_be_bytes());
        plain.extend(u32::from(DIGITS).to_be_bytes());
        plain.extend(LOWEST_NS.to_be_bytes());
        plain.extend(HIGHEST_NS.to_be_bytes());
        plain.extend(1.0_f64.to_be_bytes());
        plain.extend(numbers);
        let mut bytes = V2_COMPRESSED.to_be_bytes().to_vec();
        bytes.extend([0; 4]);
        let mut encoder = ZlibEncoder::new(bytes, Compression::default());
        encoder.write_all(&plain).expect("writing to memory cannot fail");
        let mut bytes = encoder.finish().expect("writing to memory cannot fail");
        let length = (bytes.len() - 8) as u32;
        bytes[4..8].copy_from_slice(&length.to_be_bytes());
        bytes
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
        let count = checked_count(&numbers).map_err(wrong)?;
        Ok(Self { numbers, count })
    }

    /// Allocated bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        self.numbers.len()
    }

    /// Number of values.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Index and count of each bucket with values, by value.
    pub(crate) fn counters(&self) -> impl Iterator<Item = (usize, u64)> {
        let mut walk = Walk { rest: &self.numbers, index: 0 };
        std::iter::from_fn(move || walk.step().expect("it was checked"))
    }
}

/// Number of values of these numbers, which are checked. Every distribution that is read passes through it.
fn checked_count(numbers: &[u8]) -> Result<u64, &'static str> {
    let (mut walk, mut count) = (Walk { rest: numbers, index: 0 }, 0_u64);
    while let [byte, rest @ ..] = walk.rest {
        // A short count: nearly all numbers.
        if byte & 0x81 == 0 {
            walk.rest = rest;
            walk.index += 1;
            count = count.saturating_add(u64::from(byte >> 1));
            // Zeros after the last bucket are no values.
            if walk.index > BUCKETS && *byte > 0 {
                return Err(TOO_MANY);
            }
        } else if let Some((_, own)) = walk.step()? {
            count = count.saturating_add(own);
        }
    }
    Ok(count)
}

/// Writes counters, by value.
#[derive(Default)]
pub(super) struct PackedWriter {
    numbers: Vec<u8>,
    next: usize,
    count: u64,
}

impl PackedWriter {
    pub(super) fn push(&mut self, index: usize, count: u64) {
        // As HdrHistogram writes it: one 0 alone is a count.
        match index - self.next {
            0 => {}
            1 => write_number(&mut self.numbers, 0),
            zeros => write_number(&mut self.numbers, -(zeros as i64)),
        }
        write_number(&mut self.numbers, i64::try_from(count).unwrap_or(i64::MAX));
        self.count = self.count.saturating_add(count);
        self.next = index + 1;
    }

    pub(super) fn finish(self) -> PackedCounters {
        PackedCounters { numbers: self.numbers.into(), count: self.count }
    }
}

/// A place among the numbers, and the counter that comes next.
struct Walk<'a> {
    rest: &'a [u8],
    index: usize,
}

impl Walk<'_> {
    /// The next counter that is not 0.
    #[inline]
    fn step(&mut self) -> Result<Option<(usize, u64)>, &'static str> {
        while !self.rest.is_empty() {
            let number = self.number().ok_or("a number is cut off")?;
            let at = self.index;
            let steps = if number < 0 { usize::try_from(number.unsigned_abs()).ok() } else { Some(1) };
            self.index = steps.and_then(|steps| at.checked_add(steps)).ok_or(TOO_MANY)?;
            if number > 0 {
                let is_known = at < BUCKETS;
                return is_known.then_some(Some((at, number.unsigned_abs()))).ok_or(TOO_MANY);
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

/// Writes a number in zigzag and LEB128, its ninth byte with eight bits.
fn write_number(numbers: &mut Vec<u8>, number: i64) {
    let mut rest = ((number << 1) ^ (number >> 63)) as u64;
    for _ in 1..LONGEST {
        if rest < 0x80 {
            break;
        }
        numbers.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    numbers.push(rest as u8);
}
