//! From a plan and what was measured to the record that is stored. Nothing else makes the record of a run.

use record::{Counts, Run, RunKind, ScriptRecord};
use workloads::ScriptInfo;

use super::happened::events;
use crate::measure::Measured;
use crate::plan::PlannedRun;
use crate::setup::{Cache, Setup};
use crate::validity::counts;
use crate::validity::{Evidence, judge};

/// A run as planned, with nothing measured yet.
pub(crate) fn planned(run: &PlannedRun, setup: &Setup) -> Run {
    let promise = setup.promise.map(|promise| ("promise_ms".to_owned(), promise.as_secs_f64() * 1e3));
    Run {
        sequence: run.sequence,
        position_in_pair: run.position_in_pair,
        beside: run.beside,
        started_at: jiff::Timestamp::now().to_string(),
        load: setup.load.into(),
        offered_rate: setup.load.rate(),
        clients: setup.clients,
        threads: setup.threads,
        seed: setup.seed,
        warmup_s: setup.warmup.as_secs_f64(),
        counts: Counts::default().named(),
        figures: promise.into_iter().collect(),
        ..Run::new(RunKind::Client, run.key())
    }
}

/// What a verdict takes beside what was measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Judged<'a> {
    /// Which settings somebody changed under the run, in words.
    pub(crate) changed: Option<&'a str>,
    /// Idle probe before this run, and the median of those before it, ms.
    pub(crate) probe_ms: Option<(f64, f64)>,
    /// How late 1 % of the arrivals start on this host with nothing to do, µs.
    pub(crate) host_lag_us: Option<f64>,
    /// What was counted apart.
    pub(crate) scripts: &'a [ScriptInfo],
    /// Whether it was said that nothing may come back.
    pub(crate) may_be_empty: bool,
}

/// Judges what was measured, and fills the record in. Response times of its seconds stay where they are.
pub(crate) fn judge_and_record(run: &mut Run, setup: &Setup, measured: &mut Measured, judged: &Judged<'_>) {
    (run.validity, run.doubts) = judge(&Evidence {
        measured: &measured.engine,
        series: &measured.series,
        rate: setup.load.rate(),
        clients: setup.clients,
        limit_s: setup.promise.map(|promise| promise.as_secs_f64()),
        changed: judged.changed,
        steal_pct: measured.figures.get("steal_pct").copied(),
        probe_ms: judged.probe_ms,
        host_lag_us: judged.host_lag_us,
        scripts: judged.scripts,
        may_be_empty: judged.may_be_empty,
        cold_pct: run.figures.get("page_cache_pct").copied().filter(|_| setup.cache == Cache::Cold),
    });
    run.started_at.clone_from(&measured.started_at);
    run.driver = measured.engine.driver.to_owned();
    run.measured_s = measured.engine.elapsed as f64 / 1e9;
    run.counts = counts(&measured.engine, run.offered_rate.is_some());
    run.events.extend(events(&measured.engine, &measured.figures));
    run.figures.append(&mut measured.figures);
    let host_lag = judged.host_lag_us.filter(|_| run.offered_rate.is_some());
    run.figures.extend(host_lag.map(|us| ("host_lag_p99_us".to_owned(), us)));
    run.series = std::mem::take(&mut measured.series);
    run.samples = std::mem::take(&mut measured.samples);
    let figures = measured.engine.scripts.iter().zip(judged.scripts);
    run.scripts = figures
        .map(|(figures, info)| ScriptRecord {
            name: info.name.clone(),
            text_hash: info.text_hash.clone(),
            weight: info.weight,
            counts: figures.counts.named(),
            response: figures.response.clone(),
            service: figures.service.clone(),
        })
        .collect();
}
