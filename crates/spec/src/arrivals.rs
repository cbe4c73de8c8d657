//! What became of the arrivals of an open load: offered, done in time, and what is missing between the two.

use serde::{Deserialize, Serialize};

use crate::figures::{self, Counters, Counts};
use crate::profile::Profile;
use crate::run::{Run, SeriesPoint};

/// Share of the offered rate that must be done in time; a run below it is overloaded.
pub const KEPT_UP: f64 = 0.99;
/// So many standard deviations fewer arrivals than asked for are no chance.
const CHANCE: f64 = 3.0;

/// Arrivals of one run, or of several taken together: `due = ok + late + failed + skipped + unfinished`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Arrivals {
    /// Arrivals offered. As a rule all that were due; where fewer were counted than the rate asked for explains by chance,
    /// those of the rate: pgbench, and runs of a number of transactions, do not count what no client came to take.
    pub offered: f64,
    pub due: u64,
    /// Succeeded within the promise; all successes, when there is none.
    pub ok: u64,
    /// Succeeded, but not within the promise.
    pub late: u64,
    /// Failed after their last try.
    pub failed: u64,
    /// Never started, because the promise was broken before a client was free.
    pub skipped: u64,
    /// Not ended when the time to drain was over.
    pub unfinished: u64,
    /// Without a promise: started only when the measured part was over. They are in the other counts, and not in time.
    pub drained: u64,
    /// Clients: so many may wait at the end by bad luck.
    pub clients: u64,
    /// Length of the measured parts, seconds.
    pub seconds: f64,
    /// Whether response times speak of a part of the arrivals only: in an overloaded run those that were never started have
    /// none.
    pub started_only: bool,
}

/// How a load was offered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offer {
    /// Rate asked for, where it is known.
    pub rate: Option<f64>,
    pub promise: bool,
    pub clients: u64,
    /// Length of the measured part, seconds.
    pub seconds: f64,
}

impl Arrivals {
    /// Of a run, from what is stored; `None` unless its load was open.
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

    /// Of counters by their stored names ([`Run::counts`]).
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

    /// Several runs taken together; `None` without any.
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

    /// Arrivals done in time: within the promise; without one, started while the measured part lasted.
    #[must_use]
    pub fn in_time(&self) -> u64 {
        self.ok.saturating_sub(self.drained)
    }

    /// Achieved rate: done in time, per second.
    #[must_use]
    pub fn achieved_per_s(&self) -> f64 {
        self.in_time() as f64 / self.seconds
    }

    /// Share of the offered arrivals that was done in time; 1 where nothing was offered.
    #[must_use]
    pub fn share(&self) -> f64 {
        if self.offered > 0.0 { self.in_time() as f64 / self.offered } else { 1.0 }
    }

    /// Whether less than [`KEPT_UP`] of the offered rate was achieved for want of time. What failed is another matter; a
    /// single arrival, and as many left over at the end as there are clients, are bad luck.
    #[must_use]
    pub fn is_overloaded(&self) -> bool {
        let left_over = (self.unfinished + self.drained).min(self.clients) as f64;
        let missed = self.offered - self.in_time() as f64 - self.failed as f64 - left_over;
        let most = missed > (1.0 - KEPT_UP) * self.offered || missed >= self.failed as f64;
        self.share() < KEPT_UP && missed > 1.0 && most
    }

    /// The first part of a run with this profile ([`Profile::parts`]) that was overloaded, by the seconds of the run: where it
    /// begins and ends, seconds, and its arrivals. Such a part is short, and what may be chance is no overload.
    #[must_use]
    pub fn overloaded_part(
        profile: &Profile,
        series: &[SeriesPoint],
        counts: &Counters,
        offer: Offer,
    ) -> Option<(f64, f64, Self)> {
        let parts = profile.parts(offer.seconds);
        parts.windows(2).enumerate().find_map(|(number, ends)| {
            let mut part = Part::of(profile, series, ends[0]..ends[1]);
            if number + 2 == parts.len() {
                // They came last, and what was done of them was done after the last second.
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

    /// How much of what was offered was done in time, and what became of the rest: the figures behind the doubt.
    #[must_use]
    pub fn shortfall(&self) -> String {
        // Never rounded up to the share that would have been enough.
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

/// The seconds of a part of a run.
#[derive(Default)]
struct Part {
    counts: Counters,
    expected: f64,
    seconds: f64,
}

impl Part {
    /// Seconds belong where their middle is.
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
            // One point for each script.
            if last.replace(point.start_us) != Some(point.start_us) {
                let (from, length) = (point.start_us as f64 / 1e6, point.length_us as f64 / 1e6);
                part.expected += profile.arrivals(from + length) - profile.arrivals(from);
                part.seconds += length;
            }
        }
        part
    }

    /// Seconds count what ended in them: as many as there are clients may be under way when the part is over.
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

    /// Counters by name, how the load was offered, and whether that is an overload.
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
            // Failing is another matter, unless time is what most of it wants.
            (&[(figures::OK, 3900), (figures::FAILED, 95), (figures::LATE, 5)], OFFER, false),
            (&[(figures::OK, 3952), (figures::FAILED, 24), (figures::LATE, 24)], OFFER, true),
            (&[(figures::OK, 3000), (figures::FAILED, 600), (figures::LATE, 400)], OFFER, true),
            // Few are left over by bad luck, and one is none.
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
        // 3,850 of 4,000 is chance, 3,000 is not.
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
        // 1.3 % of all are missed, all of them in the spike; 2 % of it.
        let missed = spiked([980, 0, 20], [100, 0, 0]);
        let (from, to, arrivals) = part(&missed, &[(figures::OK, 2960), (figures::SKIPPED, 40)]).unwrap();
        assert_eq!((from, to, arrivals.due, arrivals.seconds), (5.0, 7.0, 2000, 2.0));
        // Alike, but by chance, or within what is allowed.
        assert_eq!(
            part(&spiked([1000, 0, 0], [98, 2, 0]), &[(figures::OK, 2980), (figures::LATE, 20)]),
            None
        );
        assert_eq!(
            part(&spiked([991, 9, 0], [100, 0, 0]), &[(figures::OK, 2982), (figures::LATE, 18)]),
            None
        );
        // Fewer than were asked for in the spike.
        let never = part(&spiked([800, 0, 0], [100, 0, 0]), &[(figures::OK, 2600)]).unwrap();
        // Sixteen may have been under way.
        assert_eq!((never.0, never.2.offered_per_s(), never.2.achieved_per_s()), (5.0, 1000.0, 808.0));
        // A queue that is left at the end is the last part's.
        let left =
            part(&spiked([1000, 0, 0], [100, 0, 0]), &[(figures::OK, 3000), (figures::UNFINISHED, 90)])
                .unwrap();
        assert_eq!((left.0, left.2.unfinished), (7.0, 90));
    }

    /// 200 clients, each transaction takes 200 ms: what begins in the last of the spike ends in the second after it.
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
        run.load = crate::Load::Rate;
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
