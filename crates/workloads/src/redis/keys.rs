//! Keys and values.

use std::io::Write;
use std::sync::Arc;

use script::Random;

/// How much longer than a value the random bytes are that values are cut from.
const SLACK: usize = 4096;

/// The keys `pgdyno:SIZE:0` up to the number of keys; the size is part of the name, so that workloads with other value
/// sizes do not meet.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    prefix: Arc<str>,
    count: u64,
}

impl Keys {
    pub(super) fn new(value_bytes: u64, count: u64) -> Self {
        Self { prefix: format!("pgdyno:{value_bytes}:").into(), count }
    }

    /// A random key, each as likely as another.
    #[inline]
    pub(super) fn draw(&self, random: &mut Random) -> u64 {
        random.up_to(self.count - 1)
    }

    /// Writes a key's name into memory that is used again.
    #[inline]
    pub(super) fn write(&self, key: u64, name: &mut Vec<u8>) {
        name.clear();
        name.extend_from_slice(self.prefix.as_bytes());
        // Writing to a vector cannot fail.
        let _ = write!(name, "{key:012}");
    }
}

/// Values: slices of random bytes that cannot be compressed, each from another place.
#[derive(Debug, Clone)]
pub(super) struct Values {
    bytes: Arc<[u8]>,
    length: usize,
}

impl Values {
    pub(super) fn new(length: u64, random: &mut Random) -> Self {
        let length = usize::try_from(length).unwrap_or(usize::MAX - SLACK);
        let words = (length + SLACK).div_ceil(8);
        let bytes: Vec<u8> = (0..words).flat_map(|_| random.next_u64().to_le_bytes()).collect();
        Self { bytes: bytes.into(), length }
    }

    #[inline]
    pub(super) fn draw(&self, random: &mut Random) -> &[u8] {
        let start = random.up_to(SLACK as u64 - 1) as usize;
        &self.bytes[start..start + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_have_their_sizes() {
        let mut random = Random::new(1);
        let (keys, values) = (Keys::new(10, 3), Values::new(10, &mut random));
        let mut name = Vec::new();
        for _ in 0..100 {
            let key = keys.draw(&mut random);
            assert!(key < 3);
            keys.write(key, &mut name);
            assert_eq!(name, format!("pgdyno:10:{key:012}").as_bytes());
            assert_eq!(values.draw(&mut random).len(), 10);
        }
    }
}
