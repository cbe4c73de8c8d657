//! The hash functions of pgbench's expressions, over the eight bytes of an integer.

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
