//! Arrivals of an open load: how many were offered, done in time, or missed.

use serde::{Deserialize, Serialize};

use crate::figures::{self, Counters, Counts};
use crate::profile::Profile;
use crate::run::{Run, SeriesPoint};

/// Share of the offered rate that must be done in time; below it a run is overloaded.
pub const KEPT_UP: f64 = 0.99;
/// A shortfall of arrivals beyond this many standard deviations is not due to chance.
const CHANCE: f64 = 3.0;

/// Arrivals of one run, or the sum over several: `due = ok + late + failed + skipped + unfinished`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Arrivals {
    /// Arrivals offered: usually `due`; if that is below the rate by more than chance, rate times seconds.
    /// pgbench, and runs with a fixed number of transactions, do not count arrivals that no client took.
    pub offered: f64,
    pub due: u64,
    pub ok: u64,
    pub late: u64,
    pub failed: u64,
    /// Never started: the promise was already broken before a client was free.
    pub skipped: u64,
    /// Still open when the drain time was over.
    pub unfinished: u64,
    /// Started only after the measured part, in a load without a promise. Also in the other counts, but not
    /// in time.
    pub drained: u64,
    /// Up to this many arrivals may wait at the end by chance.
    pub clients: u64,
    /// Length of the measured parts, seconds.
    pub seconds: f64,
    /// Whether response times cover only some of the arrivals: in an overloaded run, arrivals that never
    /// started have none.
    pub started_only: bool,
}

/// How a load was offered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offer {
    pub rate: Option<f64>,
    pub promise: bool,
    pub clients: u64,
    /// Length of the measured part, seconds.
    pub seconds: f64,
}

impl Arrivals {
    /// The arrivals of a stored run; `None` unless its load was open.
    #[must_use]
    pub fn of(run: &Run) -> Option<Self> {
        let offer = Offer {
            rate: run.offered_rate,
            promise: run.promise_ms().is_some(),
            clients: run.clients.into(),
            seconds: run.measured_s,
        };
        (run.is_open() && run.measured_s > 0.0).then(|| Self::new(&run.counts, offer))
    }

    /// From counters by their stored names ([`Run::counts`]).
    #[must_use]
    pub fn new(counts: &Counters, offer: Offer) -> Self {
        let drained = counts.count(figures::DRAINED);
        let Counts { due, ok, late, failed, skipped, unfinished, .. } = Counts::of(counts);
        let asked = offer.rate.unwrap_or(0.0) * offer.seconds;
        let by_chance = asked - CHANCE * asked.max(0.0).sqrt();
        let mut arrivals = Self {
            offered: if (due as f64) < by_chance { asked } else { due as f64 },
            due,
            ok,
            late,
            failed,
            skipped,
            unfinished,
            drained: if offer.promise { 0 } else { drained },
            clients: offer.clients,
            seconds: offer.seconds,
            started_only: false,
        };
        arrivals.started_only = arrivals.is_overloaded() && arrivals.never_started();
        arrivals
    }

    /// The sum of several runs; `None` if there are none.
    #[must_use]
    pub fn together(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        all.into_iter().reduce(|sum, one| Self {
            offered: sum.offered + one.offered,
            due: sum.due + one.due,
            ok: sum.ok + one.ok,
            late: sum.late + one.late,
            failed: sum.failed + one.failed,
            skipped: sum.skipped + one.skipped,
            unfinished: sum.unfinished + one.unfinished,
            drained: sum.drained + one.drained,
            clients: sum.clients + one.clients,
            seconds: sum.seconds + one.seconds,
            started_only: sum.started_only || one.started_only,
        })
    }

    /// Offered rate, per second.
    #[must_use]
    pub fn offered_per_s(&self) -> f64 {
        self.offered / self.seconds
    }

    /// Arrivals done in time: within the promise; without a promise, started during the measured part.
    #[must_use]
    pub fn in_time(&self) -> u64 {
        self.ok.saturating_sub(self.drained)
    }

    /// Rate of arrivals done in time, per second.
    #[must_use]
    pub fn achieved_per_s(&self) -> f64 {
        self.in_time() as f64 / self.seconds
    }

    /// Share of the offered arrivals that was done in time; 1 if none were offered.
    #[must_use]
    pub fn share(&self) -> f64 {
        if self.offered > 0.0 { self.in_time() as f64 / self.offered } else { 1.0 }
    }

    /// Whether less than [`KEPT_UP`] of the offered rate was achieved because of slowness. Failures do not
    /// count. A single arrival, and up to one open arrival per client at the end, are treated as chance.
    #[must_use]
    pub fn is_overloaded(&self) -> bool {
        let left_over = (self.unfinished + self.drained).min(self.clients) as f64;
        let missed = self.offered - self.in_time() as f64 - self.failed as f64 - left_over;
        let most = missed > (1.0 - KEPT_UP) * self.offered || missed >= self.failed as f64;
        self.share() < KEPT_UP && missed > 1.0 && most
    }

    /// The first overloaded part of a run with this profile ([`Profile::parts`]): start and end in seconds,
    /// and its arrivals. Parts are short, so a shortfall that may be chance is not an overload.
    #[must_use]
    pub fn overloaded_part(
        profile: &Profile,
        series: &[SeriesPoint],
        counts: &Counters,
        offer: Offer,
    ) -> Option<(f64, f64, Self)> {
        let parts = profile.parts(offer.seconds);
        parts.windows(2).enumerate().find_map(|(number, ends)| {
            let mut part = ArrivalsPart::of(profile, series, ends[0]..ends[1]);
            if number + 2 == parts.len() {
                // These arrivals came last, and were done after the last second.
                let (unfinished, drained) =
                    (counts.count(figures::UNFINISHED), counts.count(figures::DRAINED));
                part.counts.extend([(figures::UNFINISHED, unfinished), (figures::DRAINED, drained)]);
                part.counts.add(figures::OK, drained);
                part.counts.add(figures::DUE, unfinished + drained);
            }
            let arrivals = part.arrivals(offer)?;
            let missed = arrivals.offered - (arrivals.in_time() + arrivals.failed) as f64;
            let allowed = (1.0 - KEPT_UP) * arrivals.offered;
            (arrivals.is_overloaded() && missed > allowed + CHANCE * allowed.sqrt())
                .then_some((ends[0], ends[1], arrivals))
        })
    }

    fn never_started(&self) -> bool {
        self.skipped + self.unfinished > 0 || self.offered > self.due as f64
    }

    /// Text with the share of the offered arrivals that was done in time, and what happened to the rest.
    #[must_use]
    pub fn shortfall(&self) -> String {
        // Round down: 98.96 % must not show as the 99 % that would be enough.
        let percent = (self.share() * 1000.0).floor() / 10.0;
        let rest = [
            (self.late, "late"),
            (self.skipped, "skipped"),
            (self.failed, "failed"),
            (self.unfinished, "unfinished"),
            (self.drained, "started only when the run was over"),
            ((self.offered - self.due as f64).round() as u64, "never taken by a client"),
        ];
        let rest: Vec<String> =
            rest.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
        format!(
            "{percent} % of the offered {:.0}/s were done in time ({:.0}/s); of {:.0}: {}",
            self.offered_per_s(),
            self.achieved_per_s(),
            self.offered,
            if rest.is_empty() { "nothing else is known".to_owned() } else { rest.join(", ") }
        )
    }
}

#[derive(Default)]
struct ArrivalsPart {
    counts: Counters,
    expected: f64,
    seconds: f64,
}

impl ArrivalsPart {
    /// A second belongs to the part that contains its middle.
    fn of(profile: &Profile, series: &[SeriesPoint], time: std::ops::Range<f64>) -> Self {
        let mut part = Self::default();
        let mut last = None;
        let middle = |point: &SeriesPoint| (point.start_us as f64 + point.length_us as f64 / 2.0) / 1e6;
        for point in series.iter().filter(|point| time.contains(&middle(point))) {
            let counts = [
                (figures::OK, point.ok),
                (figures::LATE, point.late),
                (figures::FAILED, point.failed),
                (figures::SKIPPED, point.skipped),
            ];
            for (of, count) in counts.into_iter().chain([(figures::DUE, counts.iter().map(|(_, n)| n).sum())])
            {
                part.counts.add(of, count);
            }
            // There is one point for each script.
            if last.replace(point.start_us) != Some(point.start_us) {
                let (from, length) = (point.start_us as f64 / 1e6, point.length_us as f64 / 1e6);
                part.expected += profile.arrivals(from + length) - profile.arrivals(from);
                part.seconds += length;
            }
        }
        part
    }

    /// Seconds count transactions that ended in them, so up to one per client may still run when the part
    /// ends.
    fn arrivals(&self, offer: Offer) -> Option<Arrivals> {
        let mut counts = self.counts.clone();
        let due = counts.count(figures::DUE);
        let under_way = ((self.expected - due as f64).max(0.0) as u64).min(offer.clients);
        [figures::OK, figures::DUE].into_iter().for_each(|of| counts.add(of, under_way));
        let rate = Some(self.expected / self.seconds);
        let offer = Offer { rate, seconds: self.seconds, ..offer };
        (self.seconds > 0.0 && self.expected > 0.0).then(|| Arrivals::new(&counts, offer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Counter;

    const OFFER: Offer = Offer { rate: Some(1000.0), promise: true, clients: 16, seconds: 4.0 };

    /// Counters by name, the offer, and whether this is an overload.
    type Case = (&'static [(Counter, u64)], Offer, bool);

    fn counts(list: &[(Counter, u64)]) -> Counters {
        let due = list.iter().filter(|(of, _)| *of != figures::DRAINED).map(|(_, count)| count).sum();
        list.iter().copied().chain([(figures::DUE, due)]).collect()
    }

    #[test]
    fn a_run_below_99_percent_of_the_offered_rate_is_overloaded() {
        let open = Offer { promise: false, ..OFFER };
        let cases: [Case; 14] = [
            (&[(figures::OK, 4000)], OFFER, false),
            (&[(figures::OK, 3970), (figures::LATE, 30)], OFFER, false),
            (&[(figures::OK, 3950), (figures::LATE, 50)], OFFER, true),
            (&[(figures::OK, 3930), (figures::SKIPPED, 70)], OFFER, true),
            (&[(figures::OK, 3950), (figures::UNFINISHED, 50)], open, true),
            // Done, but only after the end.
            (&[(figures::OK, 4000), (figures::DRAINED, 900)], open, true),
            (&[(figures::OK, 4000), (figures::DRAINED, 900)], OFFER, false),
            // Failures do not count, unless lateness is the larger part.
            (&[(figures::OK, 3900), (figures::FAILED, 95), (figures::LATE, 5)], OFFER, false),
            (&[(figures::OK, 3952), (figures::FAILED, 24), (figures::LATE, 24)], OFFER, true),
            (&[(figures::OK, 3000), (figures::FAILED, 600), (figures::LATE, 400)], OFFER, true),
            // A few open arrivals at the end, or a single late one, are chance.
            (&[(figures::OK, 90), (figures::UNFINISHED, 10)], Offer { rate: Some(25.0), ..open }, false),
            (&[(figures::OK, 49), (figures::LATE, 1)], Offer { rate: Some(12.5), ..OFFER }, false),
            (&[(figures::OK, 48), (figures::LATE, 2)], Offer { rate: Some(12.5), ..OFFER }, true),
            (&[], OFFER, true),
        ];
        for (list, offer, overloaded) in cases {
            let arrivals = Arrivals::new(&counts(list), offer);
            assert_eq!(arrivals.is_overloaded(), overloaded, "{arrivals:?}");
        }
    }

    #[test]
    fn arrivals_that_nobody_came_to_take_were_offered_all_the_same() {
        let open = Offer { promise: false, ..OFFER };
        // 3,850 of 4,000 is within chance, 3,000 is not.
        let chance = Arrivals::new(&counts(&[(figures::OK, 3850)]), open);
        assert_eq!((chance.offered, chance.is_overloaded()), (3850.0, false));
        let behind = Arrivals::new(&counts(&[(figures::OK, 3000)]), open);
        assert_eq!((behind.offered_per_s(), behind.achieved_per_s()), (1000.0, 750.0));
        assert!(behind.is_overloaded() && behind.started_only);
        let unknown = Arrivals::new(&counts(&[(figures::OK, 3000)]), Offer { rate: None, ..open });
        assert_eq!((unknown.offered, unknown.is_overloaded()), (3000.0, false));
    }

    fn second(start: i64, script: u32, [ok, late, skipped]: [u64; 3]) -> SeriesPoint {
        SeriesPoint {
            script,
            start_us: start * 1_000_000,
            length_us: 1_000_000,
            ok,
            late,
            failed: 0,
            skipped,
        }
    }

    /// Twelve seconds at 100/s, of which the spike's two are at 1,000/s, over two scripts.
    fn spiked(in_spike: [u64; 3], else_: [u64; 3]) -> Vec<SeriesPoint> {
        let second = |start| {
            let figures = if (5..7).contains(&start) { in_spike } else { else_ };
            [second(start, 0, figures), second(start, 1, [0, 0, 0])]
        };
        (0..12).flat_map(second).collect()
    }

    #[test]
    fn a_part_of_a_changing_rate_is_overloaded_by_itself() {
        let profile: Profile = "spike 100 to 1000 for 2s at 5s".parse().unwrap();
        let offer = Offer { rate: Some(profile.mean(12.0)), seconds: 12.0, ..OFFER };
        let part = |series: &[SeriesPoint], counts_: &[(Counter, u64)]| {
            Arrivals::overloaded_part(&profile, series, &counts(counts_), offer)
        };
        // 1.3 % of all arrivals are missed, all of them in the spike: 2 % of the spike's.
        let missed = spiked([980, 0, 20], [100, 0, 0]);
        let (from, to, arrivals) = part(&missed, &[(figures::OK, 2960), (figures::SKIPPED, 40)]).unwrap();
        assert_eq!((from, to, arrivals.due, arrivals.seconds), (5.0, 7.0, 2000, 2.0));
        // The same number, but within chance or within the limit.
        assert_eq!(
            part(&spiked([1000, 0, 0], [98, 2, 0]), &[(figures::OK, 2980), (figures::LATE, 20)]),
            None
        );
        assert_eq!(
            part(&spiked([991, 9, 0], [100, 0, 0]), &[(figures::OK, 2982), (figures::LATE, 18)]),
            None
        );
        // Fewer arrivals in the spike than the rate asks for.
        let never = part(&spiked([800, 0, 0], [100, 0, 0]), &[(figures::OK, 2600)]).unwrap();
        // Sixteen may still have been running.
        assert_eq!((never.0, never.2.offered_per_s(), never.2.achieved_per_s()), (5.0, 1000.0, 808.0));
        // A queue at the end belongs to the last part.
        let left =
            part(&spiked([1000, 0, 0], [100, 0, 0]), &[(figures::OK, 3000), (figures::UNFINISHED, 90)])
                .unwrap();
        assert_eq!((left.0, left.2.unfinished), (7.0, 90));
    }

    /// 200 clients, 200 ms a transaction: transactions that start at the end of the spike end in the second
    /// after it.
    #[test]
    fn what_is_under_way_when_a_part_ends_is_not_missed() {
        let profile: Profile = "spike 100 to 1000 for 2s at 5s".parse().unwrap();
        let mut series = spiked([910, 0, 0], [100, 0, 0]);
        series
            .iter_mut()
            .filter(|point| point.start_us == 7_000_000 && point.script == 0)
            .for_each(|point| point.ok = 280);
        for promise in [true, false] {
            let offer = Offer { rate: Some(profile.mean(12.0)), seconds: 12.0, clients: 200, promise };
            assert_eq!(
                Arrivals::overloaded_part(&profile, &series, &counts(&[(figures::OK, 3000)]), offer),
                None
            );
            let few = Offer { clients: 20, ..offer };
            assert!(
                Arrivals::overloaded_part(&profile, &series, &counts(&[(figures::OK, 3000)]), few).is_some()
            );
        }
    }

    #[test]
    fn the_shortfall_is_never_rounded_up() {
        let arrivals = Arrivals::new(
            &counts(&[(figures::OK, 98_999), (figures::LATE, 900), (figures::SKIPPED, 101)]),
            OFFER,
        );
        let words = arrivals.shortfall();
        assert_eq!(
            words,
            "98.9 % of the offered 25000/s were done in time (24750/s); of 100000: 900 late, 101 skipped"
        );
    }

    #[test]
    fn only_an_open_load_has_arrivals() {
        let mut run = crate::fixture::one(200);
        assert_eq!(Arrivals::of(&run), None);
        run.load = crate::OfferedLoad::Rate;
        assert_eq!(Arrivals::of(&run).map(|arrivals| arrivals.offered), Some(200.0));
        run.measured_s = 0.0;
        assert_eq!(Arrivals::of(&run), None);
    }

    #[test]
    fn runs_are_taken_together_by_their_counts() {
        let arrivals = Arrivals::new(&counts(&[(figures::OK, 3000), (figures::SKIPPED, 1000)]), OFFER);
        let both = Arrivals::together([arrivals, arrivals]).unwrap();
        assert_eq!((both.due, both.achieved_per_s(), both.share()), (8000, 750.0, 0.75));
        assert_eq!(Arrivals::together([]), None);
    }
}
