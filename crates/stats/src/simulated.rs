//! Random numbers for tests that simulate measurements: the same in every run.

/// Standard normal deviates.
pub(crate) struct Normals {
    state: u64,
}

impl Normals {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    fn uniform(&mut self) -> f64 {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The next one, by Box & Muller.
    pub(crate) fn next(&mut self) -> f64 {
        let (radius, angle) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }
}
