//! Keys and values.

use std::sync::Arc;

use script::Random;

use super::options::{Distribution, RedisOptions};
use super::sizes::ValueSizes;

/// Random bytes in addition to a value's length, from which values are cut.
const SLACK: usize = 4096;

/// The keys `pgdyno:SIZE:000000000000` up to the number of keys. The name contains size and time to live, so
/// that workloads with other values do not share keys.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    prefix: Arc<str>,
    draw: Draw,
}

#[derive(Debug, Clone, Copy)]
enum Draw {
    /// Below this number.
    Uniform(u64),
    /// The first ones, with this parameter.
    Zipfian(i64, f64),
    First,
}

impl Keys {
    pub(super) fn new(options: &RedisOptions) -> Self {
        let sizes = options.value_bytes.to_string().replace(" to ", "-");
        let lives = options.ttl_s.map(|ttl| format!("ex{ttl}:")).unwrap_or_default();
        let keys = options.keys;
        let draw = match options.key_distribution {
            Distribution::Uniform => Draw::Uniform(keys),
            Distribution::Zipfian => Draw::Zipfian(keys.cast_signed(), options.zipf_parameter),
            Distribution::One => Draw::First,
        };
        Self { prefix: format!("pgdyno:{sizes}:{lives}").into(), draw }
    }

    /// Prefix of all names.
    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    #[inline]
    pub(super) fn draw(&self, random: &mut Random) -> u64 {
        match self.draw {
            Draw::Uniform(count) => random.up_to(count - 1),
            Draw::Zipfian(count, parameter) => random.zipfian(0, count - 1, parameter).cast_unsigned(),
            Draw::First => 0,
        }
    }

    pub(super) fn name(&self, key: u64) -> String {
        format!("{}{key:012}", self.prefix)
    }
}

/// Values: incompressible slices of random bytes, each at another offset.
#[derive(Debug, Clone)]
pub(super) struct Values {
    bytes: Arc<[u8]>,
    least: usize,
    /// Range of the values' lengths, bytes.
    more: u64,
}

impl Values {
    pub(super) fn new(sizes: ValueSizes, random: &mut Random) -> Self {
        let (least, greatest) = (*sizes.range().start(), sizes.greatest());
        let words = (greatest as usize + SLACK).div_ceil(8);
        let bytes: Vec<u8> = (0..words).flat_map(|_| random.next_u64().to_le_bytes()).collect();
        Self { bytes: bytes.into(), least: least as usize, more: greatest - least }
    }

    #[inline]
    pub(super) fn draw(&self, random: &mut Random) -> &[u8] {
        let length = match self.more {
            0 => self.least,
            more => self.least + random.up_to(more) as usize,
        };
        let start = random.up_to(SLACK as u64 - 1) as usize;
        &self.bytes[start..start + length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::options::RedisCommand;

    fn options(distribution: Distribution) -> RedisOptions {
        RedisOptions {
            value_bytes: ValueSizes::all(10),
            keys: 3,
            key_distribution: distribution,
            ..RedisOptions::new(RedisCommand::Get)
        }
    }

    #[test]
    fn keys_and_values_have_their_sizes() {
        let mut random = Random::new(1);
        let keys = Keys::new(&options(Distribution::Uniform));
        let (values, mixed) = (
            Values::new(ValueSizes::all(10), &mut random),
            Values::new(ValueSizes::between(1000, 64_000), &mut random),
        );
        let mut lengths = (usize::MAX, 0);
        for _ in 0..1000 {
            assert!(keys.draw(&mut random) < 3);
            assert_eq!(values.draw(&mut random).len(), 10);
            let length = mixed.draw(&mut random).len();
            lengths = (lengths.0.min(length), lengths.1.max(length));
        }
        assert_eq!(keys.name(2), "pgdyno:10:000000000002");
        assert!((1000..2000).contains(&lengths.0) && (63_000..=64_000).contains(&lengths.1), "{lengths:?}");
    }

    #[test]
    fn keys_that_live_otherwise_have_other_names() {
        let options = RedisOptions {
            ttl_s: Some(60),
            value_bytes: ValueSizes::between(1, 9),
            ..options(Distribution::One)
        };
        assert_eq!(Keys::new(&options).name(0), "pgdyno:1-9:ex60:000000000000");
    }

    #[test]
    fn distributions_draw_what_they_say() {
        let drawn = |distribution| {
            let (keys, mut random, mut seen) =
                (Keys::new(&options(distribution)), Random::new(7), [0_u32; 3]);
            (0..3000).for_each(|_| seen[keys.draw(&mut random) as usize] += 1);
            seen
        };
        assert_eq!(drawn(Distribution::One), [3000, 0, 0]);
        let [first, second, third] = drawn(Distribution::Zipfian);
        // 1, 2^-1.1 and 3^-1.1 of 1.765.
        assert!(
            (1600..1800).contains(&first) && (700..880).contains(&second) && third > 400,
            "{first} {second}"
        );
        assert!(drawn(Distribution::Uniform).iter().all(|count| (900..1100).contains(count)));
    }
}
