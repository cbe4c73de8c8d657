//! The hash functions and the permutation of pgbench's expressions.

use crate::random::Random;

/// FNV-1a with 64 bits (Fowler, Noll, Vo), bytes lowest first; the seed is mixed into the offset basis.
pub fn fnv1a(value: i64, seed: i64) -> i64 {
    const OFFSET_BASIS: u64 = 0xCBF2_9CE4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01B3;
    let start = OFFSET_BASIS ^ seed as u64;
    value.to_le_bytes().iter().fold(start, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME)) as i64
}

/// MurmurHash64A (Appleby's Murmur 2 for 64-bit machines) of one eight-byte block.
pub fn murmur2(value: i64, seed: i64) -> i64 {
    const MULTIPLIER: u64 = 0xC6A4_A793_5BD1_E995;
    const SHIFT: u32 = 47;
    const BLOCK_LEN: u64 = 8;

    let mut block = (value as u64).wrapping_mul(MULTIPLIER);
    block ^= block >> SHIFT;
    block = block.wrapping_mul(MULTIPLIER);

    let mut hash = seed as u64 ^ BLOCK_LEN.wrapping_mul(MULTIPLIER);
    hash = (hash ^ block).wrapping_mul(MULTIPLIER);
    hash ^= hash >> SHIFT;
    hash = hash.wrapping_mul(MULTIPLIER);
    (hash ^ (hash >> SHIFT)) as i64
}

/// Rounds of mixing; part of the function's definition.
const ROUNDS: usize = 6;

/// Where `value` (taken modulo `size`, as an unsigned number) goes in the permutation of 0..`size` chosen by `seed`.
///
/// 0 when `size` is below 2.
pub fn permute(value: i64, size: i64, seed: i64) -> i64 {
    if size < 2 {
        return 0;
    }
    let size = size as u64;
    let mut random = Random::new(seed as u64);
    let half = Half::of(size);
    let mut position = value as u64 % size;
    for _ in 0..ROUNDS {
        let (multiplier, mask) = half.draw(&mut random);
        if position <= half.mask {
            position = half.mix(position, multiplier, mask);
        }
        let (multiplier, mask) = half.draw(&mut random);
        let mirrored = size - 1 - position;
        if mirrored <= half.mask {
            position = size - 1 - half.mix(mirrored, multiplier, mask);
        }
        // Cannot overflow: both are below 2^63.
        position = (position + random.up_to(size - 1)) % size;
    }
    position as i64
}

/// The largest power of two that fits in the size: its lower and upper copies overlap and cover the whole range.
struct Half {
    bits: u32,
    mask: u64,
}

impl Half {
    fn of(size: u64) -> Self {
        let bits = size.ilog2();
        Self { bits, mask: (1 << bits) - 1 }
    }

    /// An odd multiplier and a mask for one bijection of the half.
    fn draw(&self, random: &mut Random) -> (u64, u64) {
        let multiplier = (random.next_u64() & self.mask) | 1;
        (multiplier, random.next_u64() & self.mask)
    }

    /// Multiplies, flips bits, and rotates by one, all modulo the power of two.
    fn mix(&self, value: u64, multiplier: u64, mask: u64) -> u64 {
        let mixed = (value.wrapping_mul(multiplier) ^ mask) & self.mask;
        ((mixed << 1) & self.mask) | (mixed >> (self.bits - 1))
    }
}
