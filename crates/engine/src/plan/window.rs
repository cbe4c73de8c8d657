//! The parts of a run on the time line, and its seconds.

use crate::client::Time;

pub(crate) const SECOND: Time = 1_000_000_000;

/// Load starts at `load`, counts from `measured` on, ends at `end`; `Time::MAX` where unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) load: Time,
    pub(crate) measured: Time,
    pub(crate) end: Time,
}

impl Window {
    pub(crate) const UNKNOWN: Self = Self { load: Time::MAX, measured: Time::MAX, end: Time::MAX };

    #[inline]
    pub(crate) fn measures(&self, at: Time) -> bool {
        at >= self.measured && at < self.end
    }

    /// End of the second that starts at `at`. Seconds are aligned to the start of the measured part and cut at
    /// its end, so that no second holds both warm-up and measured load; after the end they count from there.
    pub(crate) fn second_end(&self, at: Time) -> Time {
        if at >= self.end {
            self.end.saturating_add(((at - self.end) / SECOND + 1).saturating_mul(SECOND))
        } else if at < self.measured {
            let whole = (self.measured - at - 1) / SECOND;
            (self.measured - whole * SECOND).min(self.end)
        } else {
            (self.measured + ((at - self.measured) / SECOND + 1) * SECOND).min(self.end)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_aligned_to_the_measured_part() {
        const S: Time = SECOND;
        let full = Window { load: 100, measured: 100 + 5 * S / 2, end: 100 + 5 * S };
        let stopped_early = Window { end: 100 + S / 4, ..full };
        let open_ended = Window { end: Time::MAX, ..full };
        let cases = [
            (full, 100, 100 + S / 2),
            (full, 100 + S / 2, 100 + 3 * S / 2),
            (full, 100 + 3 * S / 2, full.measured),
            (full, full.measured, full.measured + S),
            (full, full.measured + 2 * S, full.end),
            (full, full.end, full.end + S),
            (full, full.end + 3 * S / 2, full.end + 2 * S),
            (stopped_early, 100, 100 + S / 4),
            (stopped_early, 100 + S / 4, 100 + S / 4 + S),
            (open_ended, full.measured + 10 * S, full.measured + 11 * S),
        ];
        for (window, at, end) in cases {
            assert_eq!(window.second_end(at), end, "{window:?} at {at}");
        }
    }
}
