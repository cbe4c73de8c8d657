//! What became of the arrivals of an open load: offered, done in time, and what is missing between the two.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::counts::Counts;
use crate::run::Run;

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
    /// Arrivals that were due.
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
    /// Whether a promise was asked for.
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
    pub fn new(counts: &BTreeMap<String, u64>, offer: Offer) -> Self {
        let drained = counts.get("drained").copied().unwrap_or(0);
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

#[cfg(test)]
mod tests {
    use super::*;

    const OFFER: Offer = Offer { rate: Some(1000.0), promise: true, clients: 16, seconds: 4.0 };

    /// Counters by name, how the load was offered, and whether that is an overload.
    type Case = (&'static [(&'static str, u64)], Offer, bool);

    fn counts(list: &[(&str, u64)]) -> BTreeMap<String, u64> {
        let due = list.iter().filter(|(name, _)| *name != "drained").map(|(_, count)| count).sum();
        let all = list.iter().map(|(name, count)| ((*name).to_owned(), *count));
        all.chain([("due".to_owned(), due)]).collect()
    }

    #[test]
    fn a_run_below_99_percent_of_the_offered_rate_is_overloaded() {
        let open = Offer { promise: false, ..OFFER };
        let cases: [Case; 14] = [
            (&[("ok", 4000)], OFFER, false),
            (&[("ok", 3970), ("late", 30)], OFFER, false),
            (&[("ok", 3950), ("late", 50)], OFFER, true),
            (&[("ok", 3930), ("skipped", 70)], OFFER, true),
            (&[("ok", 3950), ("unfinished", 50)], open, true),
            // Done, but only after the end.
            (&[("ok", 4000), ("drained", 900)], open, true),
            (&[("ok", 4000), ("drained", 900)], OFFER, false),
            // Failing is another matter, unless time is what most of it wants.
            (&[("ok", 3900), ("failed", 95), ("late", 5)], OFFER, false),
            (&[("ok", 3952), ("failed", 24), ("late", 24)], OFFER, true),
            (&[("ok", 3000), ("failed", 600), ("late", 400)], OFFER, true),
            // Few are left over by bad luck, and one is none.
            (&[("ok", 90), ("unfinished", 10)], Offer { rate: Some(25.0), ..open }, false),
            (&[("ok", 49), ("late", 1)], Offer { rate: Some(12.5), ..OFFER }, false),
            (&[("ok", 48), ("late", 2)], Offer { rate: Some(12.5), ..OFFER }, true),
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
        let chance = Arrivals::new(&counts(&[("ok", 3850)]), open);
        assert_eq!((chance.offered, chance.is_overloaded()), (3850.0, false));
        let behind = Arrivals::new(&counts(&[("ok", 3000)]), open);
        assert_eq!((behind.offered_per_s(), behind.achieved_per_s()), (1000.0, 750.0));
        assert!(behind.is_overloaded() && behind.started_only);
        let unknown = Arrivals::new(&counts(&[("ok", 3000)]), Offer { rate: None, ..open });
        assert_eq!((unknown.offered, unknown.is_overloaded()), (3000.0, false));
    }

    #[test]
    fn the_shortfall_is_never_rounded_up() {
        let arrivals = Arrivals::new(&counts(&[("ok", 98_999), ("late", 900), ("skipped", 101)]), OFFER);
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
        let arrivals = Arrivals::new(&counts(&[("ok", 3000), ("skipped", 1000)]), OFFER);
        let both = Arrivals::together([arrivals, arrivals]).unwrap();
        assert_eq!((both.due, both.achieved_per_s(), both.share()), (8000, 750.0, 0.75));
        assert_eq!(Arrivals::together([]), None);
    }
}
