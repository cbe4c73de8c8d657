//! Lost connections and the outages they caused.

use std::fmt;

use spec::Outage;

use super::Losses;
use super::facts::{FieldValue, part};

/// Outages listed one by one; machine formats have all.
const LISTED: usize = 10;

fn seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}

impl fmt::Display for Losses {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "connections lost: {}", self.connections)?;
        let (listed, rest) = self.outages.split_at(self.outages.len().min(LISTED));
        listed.iter().try_for_each(|outage| write_outage(outage, out))?;
        let more = rest.len() as u64 + self.outages_dropped;
        if more > 0 {
            let length = seconds(rest.iter().map(Outage::length_ns).sum());
            writeln!(out, "outages more: {more} ({length:.3} s)")?;
        }
        Ok(())
    }
}

fn write_outage(outage: &Outage, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Outage { from_ns, to_ns, clients, over } = *outage;
    let (from, to, length) = (seconds(from_ns), seconds(to_ns), seconds(outage.length_ns()));
    let plural = if clients == 1 { "" } else { "s" };
    let end = if over { "" } else { ", not over at the end" };
    writeln!(out, "outage: from {from:.3} s to {to:.3} s ({length:.3} s), {clients} client{plural}{end}")
}

pub(super) fn facts(losses: &Losses) -> FieldValue {
    let outage = |outage: &Outage| {
        part([
            ("from_s", seconds(outage.from_ns).into()),
            ("to_s", seconds(outage.to_ns).into()),
            ("length_s", seconds(outage.length_ns()).into()),
            ("clients", outage.clients.into()),
            ("over", outage.over.into()),
        ])
    };
    FieldValue::List(losses.outages.iter().map(outage).collect())
}

#[cfg(test)]
mod tests {
    use super::super::{json, lines, tests::plain, text};
    use super::*;

    fn outage(from_ms: i64, to_ms: i64, clients: u64, over: bool) -> Outage {
        Outage { from_ns: from_ms * 1_000_000, to_ns: to_ms * 1_000_000, clients, over }
    }

    #[test]
    fn outages_stand_behind_the_failures() {
        let mut report = plain();
        report.settings.failures_detailed = true;
        report.scripts[0].figures.failures.other = 9;
        let outages = vec![outage(-200, 300, 1, true), outage(3_200, 5_400, 8, false)];
        report.losses = Some(Losses { connections: 9, outages, outages_dropped: 0 });
        insta::assert_snapshot!(text(&report));
        let facts = lines(&report);
        let own = facts.lines().filter(|line| {
            ["connections_lost", "outages", "settings.reconnect_lost"]
                .iter()
                .any(|name| line.starts_with(name))
        });
        insta::assert_snapshot!(own.collect::<Vec<_>>().join("\n"));
        serde_json::from_str::<serde_json::Value>(&json(&report)).expect("valid JSON");
    }

    #[test]
    fn many_outages_are_summed_up() {
        let outages = (0..1000).map(|n| outage(10 * n, 10 * n + 5, 1, true)).collect();
        let out = Losses { connections: 5000, outages, outages_dropped: 4000 }.to_string();
        assert_eq!(out.lines().count(), 12);
        assert!(out.ends_with("outages more: 4990 (4.950 s)\n"), "{out}");
    }

    #[test]
    fn a_run_that_did_nothing_tells_them_too() {
        let mut report = plain();
        report.scripts[0].figures = Default::default();
        report.losses =
            Some(Losses { connections: 2, outages: vec![outage(0, 5_000, 2, false)], outages_dropped: 0 });
        assert!(text(&report).ends_with("2 clients, not over at the end\n"));
    }
}
