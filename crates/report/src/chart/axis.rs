//! Scales and ticks.

use super::text_width;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spacing {
    /// From 0.
    Linear,
    /// Not from 0: for values that are near each other.
    Near,
    /// Equal ratios; values must be above 0.
    Log,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct AxisScale {
    spacing: Spacing,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    pub(crate) value: f64,
    pub(crate) label: String,
}

impl AxisScale {
    /// A scale from `low..=high` to the coordinates `from..to`; an empty range is widened.
    pub(crate) fn new(spacing: Spacing, (low, high): (f64, f64), (from, to): (f64, f64)) -> Self {
        let (low, high) = match spacing {
            Spacing::Log => {
                let low = if low > 0.0 { low } else { 1.0 };
                (low.log10(), if high > low { high.log10() } else { low.log10() + 1.0 })
            }
            Spacing::Linear | Spacing::Near => (low, if high > low { high } else { low + 1.0 }),
        };
        Self { spacing, low, high, from, to }
    }

    /// Coordinate of a value; clamped to the ends.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let value = match self.spacing {
            Spacing::Log if value > 0.0 => value.log10(),
            Spacing::Log => self.low,
            Spacing::Linear | Spacing::Near => value,
        };
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        self.from + (self.to - self.from) * if share.is_nan() { 0.0 } else { share }
    }
}

/// Round numbers from 0, or from the step below a negative `low`, to the step at or above `high`.
pub(crate) fn round_ticks(low: f64, high: f64, about: f64) -> Vec<f64> {
    let (low, high) = (low.min(0.0), high.max(0.0));
    let span = high - low;
    if !span.is_finite() || span <= 0.0 {
        return vec![0.0, 1.0];
    }
    let rough = span / about;
    let magnitude = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * magnitude)
        .find(|step| *step >= rough * 0.999)
        .unwrap_or(magnitude * 10.0);
    let first = (low / step).floor() as i64;
    let last = (high / step - 1e-9).ceil() as i64;
    (first..=last.min(first + 20)).map(|n| n as f64 * step).collect()
}

/// 1, 2, 5 and their powers of ten from below `low` to above `high`; only powers of ten if these are many.
pub(crate) fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    if !(low > 0.0 && high.is_finite()) {
        return vec![1.0, 10.0];
    }
    let high = high.max(low);
    let factors: &[f64] = if high / low > 2e3 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let decades = (low.log10().floor() as i32)..=(high.log10().ceil() as i32);
    let all: Vec<f64> = decades.flat_map(|d| factors.iter().map(move |f| f * 10_f64.powi(d))).collect();
    let first = all.iter().rposition(|t| *t <= low * 1.000_001).unwrap_or(0);
    let last = all.iter().position(|t| *t >= high * 0.999_999).unwrap_or(all.len() - 1);
    all[first..=last.max(first)].to_vec()
}

/// Ticks of an axis of ratios around 1, from below `low` to above `high`: round changes in percent if both
/// are between half and twice, else round factors. All are above 0, so no change is below -100 %.
pub(crate) fn ratio_ticks(low: f64, high: f64) -> Vec<f64> {
    if !(low > 0.0 && high.is_finite() && low <= high) {
        return vec![0.5, 1.0, 2.0];
    }
    if low >= 0.5 && high <= 2.0 {
        let percents = round_ticks((low - 1.0) * 100.0, (high - 1.0) * 100.0, 5.0);
        return percents.into_iter().map(|percent| 1.0 + percent / 100.0).collect();
    }
    log_ticks(low.min(1.0), high.max(1.0))
}

/// Leaves out ticks whose labels would touch the one before; keeps the last.
pub(crate) fn without_overlap(ticks: Vec<Tick>, scale: &AxisScale) -> Vec<Tick> {
    const GAP: f64 = 8.0;
    let touch = |a: &Tick, b: &Tick| {
        (scale.at(b.value) - scale.at(a.value)).abs()
            < (text_width(&a.label) + text_width(&b.label)) / 2.0 + GAP
    };
    let mut kept: Vec<Tick> = Vec::new();
    let count = ticks.len();
    for (position, tick) in ticks.into_iter().enumerate() {
        let last = position + 1 == count;
        while kept.last().is_some_and(|before| touch(before, &tick)) && last && kept.len() > 1 {
            kept.pop();
        }
        if !kept.last().is_some_and(|before| touch(before, &tick)) {
            kept.push(tick);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_cover_the_range() {
        assert_eq!(round_ticks(0.0, 885.0, 4.0), [0.0, 250.0, 500.0, 750.0, 1000.0]);
        assert_eq!(round_ticks(-4.2, 6.1, 5.0), [-5.0, -2.5, 0.0, 2.5, 5.0, 7.5]);
        assert_eq!(round_ticks(0.0, 0.0, 4.0), [0.0, 1.0]);
        assert_eq!(round_ticks(f64::NAN, f64::INFINITY, 4.0), [0.0, 1.0]);
        assert_eq!(log_ticks(0.3, 4.0), [0.2, 0.5, 1.0, 2.0, 5.0]);
        assert_eq!(log_ticks(1.0, 1.0), [1.0]);
        assert_eq!(log_ticks(0.0, 1.0), [1.0, 10.0]);
    }

    #[test]
    fn ticks_of_ratios_stay_above_nothing() {
        let close = |got: Vec<f64>, wanted: &[f64]| {
            assert!(
                got.len() == wanted.len() && got.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-9),
                "{got:?} {wanted:?}"
            );
        };
        close(ratio_ticks(0.97, 1.06), &[0.96, 0.98, 1.0, 1.02, 1.04, 1.06]);
        close(ratio_ticks(0.1, 52.0), &[0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        close(ratio_ticks(3.0, 9.0), &[1.0, 2.0, 5.0, 10.0]);
        close(ratio_ticks(0.5, 2.0), &[0.5, 1.0, 1.5, 2.0]);
        for (low, high) in [(1e-9, 1e9), (0.5, 1.0), (0.0, 1.0), (f64::NAN, 2.0), (1.0, f64::INFINITY)] {
            assert!(ratio_ticks(low, high).iter().all(|tick| *tick > 0.0), "{low} {high}");
        }
    }

    #[test]
    fn scales_keep_to_their_ends() {
        let scale = AxisScale::new(Spacing::Log, (1.0, 100.0), (0.0, 10.0));
        assert_eq!(scale.at(10.0), 5.0);
        assert_eq!(scale.at(-3.0), 0.0);
        assert_eq!(scale.at(f64::NAN), 0.0);
        assert_eq!(AxisScale::new(Spacing::Linear, (5.0, 5.0), (0.0, 10.0)).at(1e9), 10.0);
    }

    #[test]
    fn labels_do_not_touch() {
        let scale = AxisScale::new(Spacing::Linear, (0.0, 100.0), (0.0, 100.0));
        let ticks = |values: &[f64]| -> Vec<Tick> {
            values.iter().map(|&value| Tick { value, label: "1000".to_owned() }).collect()
        };
        let kept = without_overlap(ticks(&[0.0, 10.0, 50.0, 90.0, 100.0]), &scale);
        assert_eq!(kept.iter().map(|t| t.value).collect::<Vec<_>>(), [0.0, 50.0, 100.0]);
    }
}
