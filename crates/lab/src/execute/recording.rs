//! From what was taken to the record that is stored.

use std::collections::BTreeMap;

use engine::{Counts, Measured};
use record::{Run, RunKind, ScriptRecord};
use results::Spool;
use workloads::ScriptInfo;

use super::measure::Taken;
use crate::plan::PlannedRun;

/// Counters of a run, as they are stored.
pub(crate) fn counts(measured: &Measured, open: bool) -> BTreeMap<String, u64> {
    let drained = open.then(|| ("drained".to_owned(), measured.drained));
    named(&measured.totals()).into_iter().chain(drained).collect()
}

/// Counters by name.
fn named(counts: &Counts) -> BTreeMap<String, u64> {
    [
        ("due", counts.due),
        ("ok", counts.ok),
        ("late", counts.late),
        ("failed", counts.failed),
        ("serialization_failures", counts.serialization_failures),
        ("deadlock_failures", counts.deadlock_failures),
        ("skipped", counts.skipped),
        ("unfinished", counts.unfinished),
        ("retried", counts.retried),
        ("retries", counts.retries),
        ("rows", counts.rows),
        ("bytes", counts.bytes),
        ("queries", counts.queries),
        ("changes", counts.changes),
        ("affected", counts.affected),
    ]
    .into_iter()
    .map(|(name, count)| (name.to_owned(), count))
    .collect()
}

/// A run as planned, with nothing measured yet.
pub(crate) fn planned(run: &PlannedRun, load: &str, warmup_s: f64, invocation: u32) -> Run {
    Run {
        sequence: run.sequence,
        position_in_pair: run.position_in_pair,
        beside: run.beside,
        invocation,
        started_at: jiff::Timestamp::now().to_string(),
        load: load.to_owned(),
        offered_rate: run.rate,
        clients: run.clients,
        threads: run.threads,
        seed: run.seed,
        warmup_s,
        counts: named(&Counts::default()),
        ..Run::new(RunKind::Client, run.key())
    }
}

/// Fills in what was measured; gives the response times of its seconds.
pub(crate) fn fill(run: &mut Run, taken: Taken, scripts: &[ScriptInfo]) -> Spool {
    run.started_at = taken.started_at;
    run.driver = taken.measured.driver.to_owned();
    run.measured_s = taken.measured.elapsed as f64 / 1e9;
    run.counts = counts(&taken.measured, run.offered_rate.is_some());
    run.figures.extend(taken.figures);
    run.events.extend(taken.events);
    run.series = taken.series;
    let figures = taken.measured.scripts.into_iter().zip(scripts);
    run.scripts = figures
        .map(|(figures, info)| ScriptRecord {
            name: info.name.clone(),
            text_hash: info.text_hash.clone(),
            weight: info.weight,
            counts: named(&figures.counts),
            response: figures.response,
            service: figures.service,
        })
        .collect();
    taken.seconds
}

/// A preparation job, before it is known what it gave.
pub(crate) fn job(name: &str, seed: u64, sequence: u32, invocation: u32) -> Run {
    let run = PlannedRun {
        sequence,
        round: 0,
        workload: name.to_owned(),
        factors: BTreeMap::from([("workload".to_owned(), name.to_owned())]),
        arm: None,
        position_in_pair: 1,
        seed,
        clients: 0,
        threads: 0,
        rate: None,
        beside: false,
    };
    Run { kind: RunKind::Job, ..planned(&run, "job", 0.0, invocation) }
}
