//! When clients were without a connection they wanted.
//!
//! Each thread reports in the order of time; several threads together nearly so.

use std::collections::BTreeSet;

use spec::Outage;

use crate::client::Time;

/// Outages kept of a run: the first ones and the last one.
const KEPT: usize = 1000;

/// From the first loss until every client was back.
#[derive(Debug)]
struct Span {
    from: Time,
    /// `None` while a client is away.
    to: Option<Time>,
    clients: u64,
}

#[derive(Debug, Default)]
pub(super) struct Outages {
    away: BTreeSet<usize>,
    met: BTreeSet<usize>,
    latest: Time,
    spans: Vec<Span>,
    dropped: u64,
}

impl Outages {
    /// A client lost its connection and reconnects.
    pub(super) fn left(&mut self, client: usize, at: Time) {
        self.away.insert(client);
        if self.spans.last().is_none_or(|last| last.to.is_some_and(|to| to < at)) {
            if self.spans.len() == KEPT {
                self.spans.pop();
                self.dropped += 1;
            }
            self.met.clear();
            self.latest = at;
            self.spans.push(Span { from: at, to: None, clients: 0 });
        }
        self.met.insert(client);
        if let Some(last) = self.spans.last_mut() {
            *last = Span { from: last.from.min(at), to: None, clients: self.met.len() as u64 };
        }
    }

    /// A client is ready again, or stops for good.
    pub(super) fn back(&mut self, client: usize, at: Time) {
        self.away.remove(&client);
        self.latest = self.latest.max(at);
        if self.away.is_empty()
            && let Some(last) = self.spans.last_mut()
        {
            last.to = Some(self.latest);
        }
    }

    /// The outages of a measured part from `start` to `end`, and the number of dropped ones.
    pub(super) fn into_outages(self, start: Time, end: Time) -> (Vec<Outage>, u64) {
        let relative = |at: Time| at as i64 - start as i64;
        let outages = self.spans.into_iter().filter(|span| span.to.is_none_or(|to| to >= start));
        let outages = outages.map(|span| Outage {
            from_ns: relative(span.from),
            to_ns: relative(span.to.unwrap_or_else(|| end.max(span.from))),
            clients: span.clients,
            over: span.to.is_some(),
        });
        (outages.collect(), self.dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(outages: Outages) -> Vec<Outage> {
        outages.into_outages(100, 1000).0
    }

    fn outage(from_ns: i64, to_ns: i64, clients: u64) -> Outage {
        Outage { from_ns, to_ns, clients, over: true }
    }

    #[test]
    fn overlapping_absences_are_one_outage() {
        let mut outages = Outages::default();
        for (client, at) in [(0, 200), (1, 210), (2, 220)] {
            outages.left(client, at);
        }
        outages.back(1, 230);
        outages.left(1, 240);
        for (client, at) in [(0, 300), (2, 310), (1, 305)] {
            outages.back(client, at);
        }
        outages.left(7, 500);
        outages.back(7, 520);
        assert_eq!(kept(outages), [outage(100, 210, 3), outage(400, 420, 1)]);
    }

    #[test]
    fn threads_may_tell_a_little_late() {
        let mut outages = Outages::default();
        outages.left(0, 200);
        outages.back(0, 300);
        outages.left(1, 190);
        outages.back(1, 250);
        assert_eq!(kept(outages), [outage(90, 200, 2)]);
    }

    #[test]
    fn an_outage_may_outlast_the_run_and_one_of_the_warm_up_is_left_out() {
        let mut outages = Outages::default();
        outages.left(0, 20);
        outages.back(0, 99);
        outages.left(1, 400);
        outages.left(0, 500);
        outages.back(0, 600);
        assert_eq!(kept(outages), [Outage { over: false, ..outage(300, 900, 2) }]);
    }

    #[test]
    fn only_so_many_are_kept() {
        let mut outages = Outages::default();
        for at in 0..5000 {
            outages.left(0, 200 + 10 * at);
            outages.back(0, 205 + 10 * at);
        }
        let (kept, dropped) = outages.into_outages(0, 100_000);
        assert_eq!((kept.len() as u64 + dropped, kept.len()), (5000, KEPT));
        assert_eq!(kept[KEPT - 1].to_ns, 205 + 49_990);
    }
}
