//! A search for the highest clean rate: doubling, then bisecting. It is independent of what is measured.

/// Lowest and highest rate that is tried.
const LOWEST: f64 = 200.0;
const HIGHEST: f64 = 10e6;
/// Target ratio of the unclean to the clean rate.
const CLOSE: f64 = 1.04;

/// The state of a search; a rate counts as unclean after two failed tries.
#[derive(Debug, Clone, Copy)]
pub(super) struct Search {
    clean: Option<f64>,
    unclean: Option<f64>,
    next: f64,
    /// Whether `next` failed once.
    again: bool,
}

impl Search {
    pub(super) fn from(first: f64) -> Self {
        Self { clean: None, unclean: None, next: first, again: false }
    }

    /// A search between a clean rate and an unclean one; without a clean one, from the other downwards.
    pub(super) fn between(clean: Option<f64>, unclean: Option<f64>) -> Self {
        Self { clean, unclean, next: 0.0, again: false }.aimed()
    }

    /// The rate to try now, and whether it was tried before; `None` at the end.
    pub(super) fn next(&self) -> Option<(f64, bool)> {
        let close = match (self.clean, self.unclean) {
            (Some(clean), Some(unclean)) => unclean <= clean * CLOSE,
            _ => false,
        };
        (!close && (LOWEST..=HIGHEST).contains(&self.next)).then_some((self.next, self.again))
    }

    pub(super) fn saw(&mut self, clean: bool) {
        if !clean && !self.again {
            self.again = true;
            return;
        }
        self.again = false;
        if clean {
            self.clean = Some(self.next);
        } else {
            self.unclean = Some(self.next);
        }
        *self = self.aimed();
    }

    fn aimed(self) -> Self {
        let next = match (self.clean, self.unclean) {
            (Some(clean), Some(unclean)) => rounded((clean * unclean).sqrt()),
            (Some(clean), None) => clean * 2.0,
            (None, Some(unclean)) => rounded(unclean / 2.0),
            (None, None) => self.next,
        };
        Self { next, ..self }
    }
}

/// To three digits, for readable rates.
pub(super) fn rounded(rate: f64) -> f64 {
    if rate < 1.0 {
        return rate;
    }
    let unit = 10f64.powf(rate.log10().floor() - 2.0);
    (rate / unit).round() * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Highest rate found clean, if all up to `limit` are; `unlucky` are the indexes of trials that fail
    /// without a reason.
    fn found(limit: f64, unlucky: &[usize]) -> (Option<f64>, usize) {
        let mut search = Search::from(5_000.0);
        let (mut best, mut trials) = (None, 0);
        while let Some((rate, _)) = search.next() {
            trials += 1;
            assert!(trials < 60, "it does not end");
            let clean = rate <= limit && !unlucky.contains(&trials);
            if clean {
                best = Some(best.unwrap_or(0.0_f64).max(rate));
            }
            search.saw(clean);
        }
        (best, trials)
    }

    #[test]
    fn the_limit_is_found_from_both_sides_and_in_few_steps() {
        for limit in [330.0, 700.0, 4_999.0, 5_000.0, 123_456.0, 3.1e6] {
            let (best, trials) = found(limit, &[]);
            let best = best.unwrap();
            assert!(best <= limit && best * CLOSE * 1.01 >= limit, "{best} for {limit}");
            assert!(trials <= 24, "{trials} trials for {limit}");
        }
        assert_eq!(found(1.0, &[]).0, None);
    }

    #[test]
    fn one_unlucky_trial_changes_nothing() {
        assert_eq!(found(80_000.0, &[3]).0, found(80_000.0, &[]).0);
    }

    #[test]
    fn it_goes_on_where_another_ended() {
        assert_eq!(Search::between(Some(1000.0), Some(1020.0)).next(), None);
        assert_eq!(Search::between(Some(1000.0), Some(4000.0)).next(), Some((2000.0, false)));
        assert_eq!(Search::between(None, Some(5000.0)).next(), Some((2500.0, false)));
        assert_eq!(Search::between(Some(1000.0), None).next(), Some((2000.0, false)));
    }

    #[test]
    fn it_ends_where_everything_is_clean() {
        assert!(found(f64::INFINITY, &[]).0.is_some_and(|best| best <= HIGHEST));
    }

    #[test]
    fn rates_have_three_digits() {
        for (rate, wanted) in
            [(0.5, 0.5), (7.0, 7.0), (1234.0, 1230.0), (98_765.0, 98_800.0), (999.9, 1000.0)]
        {
            assert!((rounded(rate) - wanted).abs() < 1e-6, "{rate}: {}", rounded(rate));
        }
    }
}
