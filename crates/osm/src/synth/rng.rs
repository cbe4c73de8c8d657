//! Random numbers that depend only on a key: a cell is the same in any order and on any thread.

/// What is drawn; with a number, the key of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamKey {
    /// The contents of a cell, by its number.
    Cell = 1,
    Lattice,
    /// The settlement of a cell, which its neighbours use too.
    Settlement,
    /// What runs through a row or a column of cells.
    Row,
    Column,
}

/// SplitMix64 (Steele, Lea and Flood, 2014), started at a mixed key.
#[derive(Debug, Clone)]
pub(super) struct Draws {
    state: u64,
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of SplitMix64: every bit of the input affects every bit of the output.
fn mixed(mut bits: u64) -> u64 {
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

impl Draws {
    pub(super) fn new(seed: u64, layer: StreamKey, number: u64) -> Self {
        let layer = mixed(seed.wrapping_add(GOLDEN)) ^ (layer as u64).wrapping_mul(GOLDEN);
        Self { state: mixed(mixed(layer) ^ number) }
    }

    fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mixed(self.state)
    }

    /// Uniform in 0..`end`.
    pub(super) fn below(&mut self, end: u32) -> u32 {
        (((self.bits() >> 32) * u64::from(end)) >> 32) as u32
    }

    /// Uniform in [0, 1).
    pub(super) fn share(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    pub(super) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.share()
    }

    pub(super) fn chance(&mut self, share: f64) -> bool {
        self.share() < share
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u32) as usize]
    }

    /// A number with a long tail (Pareto, exponent 1): above `scale * k` once in k, at most `most`.
    pub(super) fn long_tailed(&mut self, scale: f64, most: f64) -> f64 {
        (scale / (1.0 - self.share())).min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_each_part_of_their_key_and_repeat() {
        let first = |seed, layer, number| Draws::new(seed, layer, number).bits();
        let key = first(1, StreamKey::Cell, 5);
        assert_eq!(key, first(1, StreamKey::Cell, 5));
        for other in [first(2, StreamKey::Cell, 5), first(1, StreamKey::Row, 5), first(1, StreamKey::Cell, 6)]
        {
            assert_ne!(key, other);
        }
    }

    #[test]
    fn draws_fill_their_ranges_evenly() {
        let mut draws = Draws::new(7, StreamKey::Cell, 0);
        let mut found = [0; 10];
        (0..10_000).for_each(|_| found[draws.below(10) as usize] += 1);
        assert!(found.iter().all(|count| (900..1100).contains(count)), "{found:?}");
        let mean = (0..10_000).map(|_| draws.share()).sum::<f64>() / 10_000.0;
        assert!((0.49..0.51).contains(&mean), "{mean}");
        let long = (0..10_000).filter(|_| draws.long_tailed(3.0, 1500.0) > 30.0).count();
        assert!((900..1100).contains(&long), "{long}");
    }
}
