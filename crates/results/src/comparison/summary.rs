//! Mean, least and most of some values.

/// Mean, least, most and count of some values.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Summary {
    pub n: usize,
    /// Arithmetic; `None` without values, like the others.
    pub mean: Option<f64>,
    pub min: Option<f64>,
    pub max: Option<f64>,
}

impl Summary {
    /// From the least to the most, if there are at least two values.
    #[must_use]
    pub fn range(&self) -> Option<(f64, f64)> {
        self.min.zip(self.max).filter(|_| self.n > 1)
    }
}

impl FromIterator<f64> for Summary {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let values: Vec<f64> = values.into_iter().collect();
        let n = values.len();
        Self {
            n,
            mean: (n > 0).then(|| values.iter().sum::<f64>() / n as f64),
            min: values.iter().copied().reduce(f64::min),
            max: values.iter().copied().reduce(f64::max),
        }
    }
}
