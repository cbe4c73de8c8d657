//! From a plan and a measurement to the stored record. Only this module makes the record of a run.

use spec::figures::{self, Counters, Figure, Figures};
use spec::plan::PlannedRun;
use spec::users::SessionTimes;
use spec::{
    AskedLimit, Counts, JudgedTrial, Reason, Run, RunEvent, RunKind, ScriptRecord, TileFigures, Validity,
    changes_data,
};
use workloads::{ScriptInfo, TileItem};

use super::happened::events;
use crate::measure::Measured;
use crate::setup::{Cache, Load, Setup};
use crate::validity::trend::speeds;
use crate::validity::{Evidence, Machine, Probes, Trend, counts, is_out_of_ports, judge, script_counts};

/// Clients, threads and rate of a shared load are its part here.
pub(crate) fn planned(run: &PlannedRun, setup: &Setup) -> Run {
    let changing = setup.own_profile().filter(|profile| !profile.is_constant());
    let rate = changing.map(|profile| RunEvent {
        time_us: 0,
        kind: RunEvent::RATE.to_owned(),
        detail: profile.to_string(),
    });
    let promise = setup.promise.map(|promise| (figures::PROMISE_MS, promise.as_secs_f64() * 1e3));
    Run {
        sequence: run.sequence,
        position_in_pair: run.position_in_pair,
        beside: run.beside,
        started_at: jiff::Timestamp::now().to_string(),
        load: (&setup.load).into(),
        offered_rate: setup.own_rate(),
        clients: setup.own_clients(),
        threads: setup.own_threads(),
        seed: setup.seed,
        warmup_s: setup.warmup.as_secs_f64(),
        counts: if setup.load == Load::Job { Counters::default() } else { Counts::default().stored() },
        figures: promise.into_iter().collect(),
        events: rate.into_iter().collect(),
        ..Run::new(if setup.load == Load::Job { RunKind::Job } else { RunKind::Client }, run.key())
    }
}

/// Inputs of a verdict other than the measurement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Judged<'a> {
    pub(crate) changed: Option<&'a str>,
    pub(crate) probes: Probes,
    /// How late 1 % of the arrivals start on this host with nothing to do, µs.
    pub(crate) host_lag_us: Option<f64>,
    pub(crate) scripts: &'a [ScriptInfo],
    /// Tiles with separate figures, in the order of `measured.items`.
    pub(crate) items: &'a [TileItem],
    /// Whether empty answers were declared as expected.
    pub(crate) may_be_empty: bool,
    /// What to look at when nothing was returned.
    pub(crate) advice_on_empty: &'a str,
}

/// Judges the measurement, and fills in the record. Response times of its seconds stay where they are.
pub(crate) fn judge_and_record(run: &mut Run, setup: &Setup, measured: &mut Measured, judged: &Judged<'_>) {
    let figure = |of: Figure| measured.figures.get(of);
    let totals = measured.engine.totals();
    let changes = changes_data(totals.affected, totals.processed(), figure(figures::WAL_BYTES));
    let is_judged = setup.load == Load::Closed && setup.sought.is_none() && setup.cache != Cache::Cold;
    let trend = (changes && is_judged).then(|| Trend::of(&speeds(&measured.series, &run.slices))).flatten();
    let profile = setup.own_profile();
    let sessions = setup.users().and_then(|users| users.sessions.as_ref());
    (run.validity, run.doubts) = judge(&Evidence {
        measured: &measured.engine,
        series: &measured.series,
        rate: setup.own_rate(),
        profile: profile.as_ref(),
        user_arrivals: sessions.map(|sessions| &sessions.arrivals),
        warmup_s: setup.warmup.as_secs_f64(),
        clients: setup.own_clients(),
        limit_s: setup.promise.map(|promise| promise.as_secs_f64()),
        changed: judged.changed,
        trend,
        machine: Machine {
            steal_pct: figure(figures::SERVER_STEAL_PCT).or_else(|| figure(figures::STEAL_PCT)),
            busy_pct: figure(figures::SERVER_CPU_BUSY_PCT).or_else(|| figure(figures::CPU_BUSY_PCT)),
            others_pct: figure(figures::CPU_OTHERS_PCT),
            waited_pct: figure(figures::SERVER_THROTTLED_PCT),
            probes: judged.probes,
        },
        host_lag_us: judged.host_lag_us,
        is_trial: setup.sought.is_some(),
        scripts: judged.scripts,
        may_be_empty: judged.may_be_empty,
        advice_on_empty: judged.advice_on_empty,
        // A cache of tiles may begin empty, and stay so: on a miss the database makes the tile.
        hit_pct: figure(figures::HIT_PCT)
            .filter(|_| judged.scripts.iter().all(|script| script.part.is_none())),
        cold_pct: run.figures.get(figures::PAGE_CACHE_PCT).filter(|_| setup.cache == Cache::Cold),
    });
    run.started_at.clone_from(&measured.started_at);
    run.driver = measured.engine.driver.to_owned();
    run.measured_s = measured.engine.elapsed as f64 / 1e9;
    run.counts = counts(&measured.engine, run.offered_rate.is_some());
    run.events.extend(events(&measured.engine, &measured.figures));
    run.events.extend(measured.missing.iter().map(|missing| RunEvent {
        time_us: 0,
        kind: RunEvent::REMARK.to_owned(),
        detail: (*missing).to_owned(),
    }));
    run.figures.append(std::mem::take(&mut measured.figures));
    run.figures.extend(trend.map(Trend::figure));
    let host_lag = judged.host_lag_us.filter(|_| run.offered_rate.is_some());
    run.figures.extend(host_lag.map(|us| (figures::HOST_LAG_P99_US, us)));
    run.series = std::mem::take(&mut measured.series);
    run.samples = std::mem::take(&mut measured.samples);
    let figures = measured.engine.scripts.iter().zip(judged.scripts);
    run.scripts = figures
        .map(|(figures, info)| ScriptRecord {
            name: info.name.clone(),
            text_hash: info.text_hash.clone(),
            weight: info.weight,
            part: info.part.clone(),
            counts: script_counts(figures),
            response: figures.response.clone(),
            service: figures.service().clone(),
        })
        .collect();
    run.sessions = measured
        .engine
        .users
        .as_ref()
        .map(|users| SessionTimes { duration: users.duration.clone(), response: users.response.clone() });
    run.tiles = judged.items.iter().zip(&measured.engine.items).filter_map(tile_figures).collect();
    if let Some(asked) = &setup.sought {
        run.figures.append(search_figures(asked, run, &measured.engine));
    }
}

fn tile_figures((item, figures): (&TileItem, &engine::ItemFigures)) -> Option<TileFigures> {
    let requests = figures.requests;
    (requests > 0).then(|| TileFigures {
        script: item.script.into(),
        z: item.tile.z,
        x: item.tile.x,
        y: item.tile.y,
        requests,
        mean_us: figures.total_ns as f64 / requests as f64 / 1e3,
        max_us: figures.max_ns as f64 / 1e3,
        bytes: figures.bytes as f64 / requests as f64,
    })
}

/// Figures of a search: for a trial, whether the promise was kept; for a run at full speed, its peak. Empty
/// if the run cannot count, because clients were aborted, settings or answers were wrong, or the generator stalled. A
/// promise that is kept despite a stall is kept, unless so little was offered that the run is invalid.
fn search_figures(asked: &AskedLimit, run: &Run, measured: &engine::EngineResult) -> Figures {
    let other =
        |doubt: &spec::Doubt| matches!(doubt.reason, Reason::SettingsNotApplied | Reason::EmptyResults);
    let is_stalled = run.doubts.iter().any(|doubt| doubt.reason == Reason::GeneratorStalled);
    if run.offered_rate.is_some() && is_out_of_ports(measured) {
        // The generator's host broke the promise.
        return [(figures::PROMISE_KEPT, 0.0), (figures::PROMISE_BAD_PCT, 100.0)].into();
    }
    if !measured.aborts.is_empty() || run.doubts.iter().any(other) {
        return Figures::default();
    }
    if run.offered_rate.is_none() && !asked.are_users() {
        if is_stalled {
            return Figures::default();
        }
        let per_second = run.completed() as f64 / run.measured_s;
        let counts = per_second.is_finite() && per_second > 0.0;
        return counts.then_some((figures::PEAK_PER_S, per_second)).into_iter().collect();
    }
    let Some(JudgedTrial { kept, bad_share, left_share, by_clients }) = asked.judge(run) else {
        return Figures::default();
    };
    if is_stalled && (!kept || run.validity == Validity::Invalid) {
        return Figures::default();
    }
    let figures = [
        (figures::PROMISE_KEPT, f64::from(u8::from(kept))),
        (figures::PROMISE_BAD_PCT, 100.0 * bad_share),
        (figures::CLIENTS_LIMIT, f64::from(u8::from(by_clients))),
    ];
    let left = left_share.map(|share| (figures::PROMISE_LEFT_PCT, 100.0 * share));
    figures.into_iter().chain(left).collect()
}

#[cfg(test)]
mod tests {
    use spec::{Doubt, OfferedLoad, RunKey, Term};

    use super::*;

    /// Regression: two trials of which 0.4 and 0.7 % were late did not count, since the generator had stalled.
    #[test]
    fn a_promise_that_is_kept_despite_a_stall_is_kept_and_a_broken_one_does_not_count() {
        let term = Term { script: None, within_us: 40_000, share: 0.1, written: "p90 < 40ms".into() };
        let asked = |users| AskedLimit {
            promise: vec![term.clone()],
            lowest: None,
            highest: None,
            width: 0.03,
            grow_clients: false,
            users,
            confirm: Vec::new(),
        };
        for (users, rate) in [(Some(12), None), (None, Some(50.0))] {
            for (late, validity, wanted) in [
                (3, Validity::Suspect, Some(1.0)),
                (30, Validity::Suspect, None),
                // Users that stand still offer little.
                (3, Validity::Invalid, None),
            ] {
                let key = RunKey { workload: "w".into(), factors: [].into(), arm: None, round: 1 };
                let load = if users.is_some() { OfferedLoad::Users } else { OfferedLoad::Rate };
                let doubts = vec![Doubt { reason: Reason::GeneratorStalled, detail: "0.2 s".into() }];
                let mut times = stats::Histogram::new();
                (0..200).for_each(|number| times.record(if number < late { 90_000_000 } else { 1_000_000 }));
                let counts: Counters = [(figures::DUE, 200), (figures::OK, 200)].into();
                let script = ScriptRecord {
                    name: "a.sql".into(),
                    text_hash: String::new(),
                    weight: 1,
                    part: None,
                    counts: counts.clone(),
                    response: times.clone(),
                    service: times,
                };
                let run = Run {
                    load,
                    offered_rate: rate,
                    measured_s: 4.0,
                    clients: 12,
                    validity,
                    doubts,
                    counts,
                    scripts: vec![script],
                    ..Run::new(RunKind::Client, key)
                };
                let figures = search_figures(&asked(users), &run, &engine::EngineResult::default());
                assert_eq!(
                    figures.get(figures::PROMISE_KEPT),
                    wanted,
                    "{users:?}, {late} late, {validity:?}"
                );
            }
        }
    }
}
