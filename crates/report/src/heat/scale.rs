//! Maps a figure to one of a few colours.

/// Colours of the scale: classes `h0` to `h6`.
pub(crate) const STEPS: usize = 7;

/// From this ratio of the greatest to the least on, steps grow with the figure.
const WIDE: f64 = 8.0;

/// Steps between two figures, equal by difference or by ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct HeatScale {
    low: f64,
    high: f64,
    by_ratio: bool,
}

impl HeatScale {
    /// Over these; `None` if none is above 0.
    pub(crate) fn over(figures: impl Iterator<Item = f64>) -> Option<Self> {
        let figures = figures.filter(|figure| figure.is_finite() && *figure > 0.0);
        let ends = figures.fold(None, |ends: Option<(f64, f64)>, figure| {
            let (low, high) = ends.unwrap_or((figure, figure));
            Some((low.min(figure), high.max(figure)))
        });
        ends.map(|(low, high)| Self { low, high, by_ratio: high > WIDE * low })
    }

    /// The step of a figure, 0..7; clamped to the ends.
    pub(crate) fn step(self, figure: f64) -> usize {
        let share = match self.by_ratio {
            true => (figure / self.low).ln() / (self.high / self.low).ln(),
            false => (figure - self.low) / (self.high - self.low),
        };
        // Equal figures have no range; they get the first step.
        (share * STEPS as f64).clamp(0.0, STEPS as f64 - 1.0) as usize
    }

    /// Bounds of each step; one step if all figures are equal.
    pub(crate) fn steps(self) -> Vec<[f64; 2]> {
        let end = |step: usize| {
            let share = step as f64 / STEPS as f64;
            match self.by_ratio {
                true => self.low * (self.high / self.low).powf(share),
                false => self.low + (self.high - self.low) * share,
            }
        };
        let steps = if self.high > self.low { STEPS } else { 1 };
        (0..steps).map(|step| [end(step), end(step + 1)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_even_or_grow_where_the_range_is_wide() {
        let near = HeatScale::over([2.0, 3.0, 9.0].into_iter()).unwrap();
        assert_eq!([2.0, 2.9, 3.1, 9.0].map(|figure| near.step(figure)), [0, 0, 1, 6]);
        assert_eq!(near.steps()[6], [8.0, 9.0]);
        let wide = HeatScale::over([1.0, 128.0].into_iter()).unwrap();
        assert_eq!(
            [1.0, 2.1, 4.1, 65.0, 128.0, 1e9, 0.0].map(|figure| wide.step(figure)),
            [0, 1, 2, 6, 6, 6, 0]
        );
        assert!((wide.steps()[3][1] - 16.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_alike_has_one_step() {
        let same = HeatScale::over([5.0, 5.0].into_iter()).unwrap();
        assert_eq!((same.step(5.0), same.steps().len()), (0, 1));
        assert_eq!(HeatScale::over([f64::NAN, 0.0].into_iter()), None);
    }
}
