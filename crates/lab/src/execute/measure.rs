//! One run of clients: the engine runs them, counters are read at both ends of the measured part.

use std::collections::BTreeMap;
use std::time::Duration;

use engine::{Measured, Observer, Second};
use record::{RunEvent, SeriesPoint};
use results::Spool;
use stats::Histogram;
use workloads::{ClientWorkload, Crew};

use super::event::{LabEvent, Progress, Step, Tell};
use super::series::Series;
use super::stage::Stage;
use crate::collect::{Counters, await_clients_gone};
use crate::error::LabError;
use crate::words::count;
use target::control::Control;
use target::host::HostSample;
use target::{Heeded, Stop};

/// What one run gave.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) started_at: String,
    pub(crate) measured: Measured,
    pub(crate) series: Vec<SeriesPoint>,
    pub(crate) seconds: Spool,
    pub(crate) figures: BTreeMap<String, f64>,
    pub(crate) events: Vec<RunEvent>,
    /// Which settings somebody changed under the run, in words.
    pub(crate) changed: Option<String>,
    /// Why nobody could ask the server about the run; what the clients saw stands all the same.
    pub(crate) lost: Option<LabError>,
}

/// Puts the load of `plan` on the stage's servers; `series` takes its seconds.
pub(crate) fn measure(
    stage: &mut Stage,
    workload: &dyn ClientWorkload,
    plan: &engine::Plan,
    crew: Crew,
    series: Series,
    mut progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<Taken, LabError> {
    let clients = workload.clients(&stage.places(), crew)?;
    let server = stage.target.postmaster();
    let started_at = jiff::Timestamp::now().to_string();
    progress.step(Step::WarmUp, "clients connect, then warm up");
    let control = stage.control()?;
    let mut watch = Watch {
        control,
        server,
        progress: &mut *progress,
        series,
        before: None,
        failure: None,
        stop,
        measuring: None,
    };
    let outcome = engine::run(plan, clients, &mut watch, &engine::Stop::from(stop.flag()));
    let after_host = HostSample::take(server);
    let Watch { before, failure, series, measuring: _measuring, .. } = watch;
    // What was measured until now is worth its counters, also if the user has seen enough.
    let _concluding = stop.concluding();
    let measured = outcome.map_err(|error| setup_failed(stage, &error))?;
    progress.step(Step::Collect, "counters and verdict");
    let failure = failure.filter(|_| !stop.at_once());
    let mut lost = stage.check().err().or(failure.map(LabError::from));
    let mut figures = own_figures(&measured);
    if let Some((counters, host)) = before {
        figures.extend(after_host.figures_since(&host));
        if lost.is_none() {
            match counted(stage, &measured, &counters) {
                Ok(counted) => figures.extend(counted),
                Err(_) if stop.at_once() => stage.close_control(),
                Err(error) => lost = Some(error),
            }
        }
    }
    let mut changed = None;
    // After an outage another server may answer.
    if lost.is_none() && measured.outages.is_empty() {
        match stage.changed() {
            Ok(found) => changed = found,
            Err(_) if stop.at_once() => {}
            Err(error) => lost = Some(error),
        }
    }
    let events = events(&measured, &figures);
    let (series, seconds) = series.into_parts();
    Ok(Taken { started_at, series, seconds, events, figures, measured, changed, lost })
}

/// What the server counted in the run. After an outage it may have begun anew, and our connection may be gone with the
/// clients': then nothing is known.
pub(crate) fn counted(
    stage: &mut Stage,
    measured: &Measured,
    before: &Counters,
) -> Result<BTreeMap<String, f64>, LabError> {
    if !measured.outages.is_empty() {
        stage.close_control();
        return Ok(BTreeMap::new());
    }
    let control = stage.control()?;
    await_clients_gone(control)?;
    Ok(Counters::take(control)?.since(before))
}

/// The load could not start: if the server is gone or refuses us too, that says more than the client's words.
fn setup_failed(stage: &mut Stage, error: &engine::EngineError) -> LabError {
    if let Err(gone) = stage.check() {
        return gone;
    }
    stage.close_control();
    match stage.control() {
        Err(refused) => refused,
        Ok(_) => LabError::failed(super::setup_class(error), error.to_string(), super::setup_hint(error)),
    }
}

/// Looks on while the load runs.
struct Watch<'a> {
    control: &'a mut Control,
    server: Option<u32>,
    progress: &'a mut dyn Progress,
    series: Series,
    before: Option<(Counters, HostSample)>,
    failure: Option<protocol::postgres::sql::SqlError>,
    stop: &'a Stop,
    /// From the start of the load on.
    measuring: Option<Heeded>,
}

impl Observer for Watch<'_> {
    fn loading(&mut self, _at: engine::Time) {
        self.measuring = Some(self.stop.measuring());
    }

    fn measuring(&mut self) {
        let mut progress: &mut dyn Progress = &mut *self.progress;
        progress.step(Step::Measure, "what happens from now on counts");
        match Counters::take(self.control) {
            Ok(counters) => self.before = Some((counters, HostSample::take(self.server))),
            Err(error) => self.failure = Some(error),
        }
    }

    fn second(&mut self, second: &Second) {
        self.progress.event(told(second));
        self.series.add(second);
    }
}

fn told(second: &Second) -> LabEvent {
    let (mut done, mut failed, mut late, mut skipped, mut sum_ns) = (0, 0, 0, 0, 0);
    for script in &second.scripts {
        done += script.counts.processed();
        failed += script.counts.failed;
        late += script.counts.late;
        skipped += script.counts.skipped;
        sum_ns += script.response.sum_ns();
    }
    let seconds = second.length_ns as f64 / 1e9;
    let end_ns = second.start_ns + second.length_ns as i64;
    LabEvent::Second {
        elapsed: (second.start_ns >= 0).then(|| Duration::from_nanos(end_ns.unsigned_abs())),
        tps: if seconds > 0.0 { done as f64 / seconds } else { 0.0 },
        latency_ms: (done > 0).then(|| sum_ns as f64 / done as f64 / 1e6),
        failed,
        late,
        skipped,
    }
}

/// What the engine says of itself.
pub(crate) fn own_figures(measured: &Measured) -> BTreeMap<String, f64> {
    let mut figures = BTreeMap::new();
    let own = &measured.own;
    let done = measured.totals().processed();
    let mut add = |name: &str, value: Option<f64>| {
        if let Some(value) = value {
            figures.insert(name.to_owned(), value);
        }
    };
    let cpu_us = (own.user_ns + own.system_ns) as f64 / 1e3;
    add("client_cpu_us_per_tx", (done > 0).then(|| cpu_us / done as f64));
    add("client_cpu_s", Some(cpu_us / 1e6));
    let available_us = measured.elapsed as f64 / 1e3 * f64::from(target::host::cores());
    add("client_cpu_pct", (available_us > 0.0).then(|| 100.0 * cpu_us / available_us));
    add("client_busiest_thread_pct", Some(own.busiest_thread * 100.0));
    let us = |histogram: &Histogram, q| histogram.quantile_ns(q).map(|ns| ns as f64 / 1e3);
    add("timer_lateness_p50_us", us(&own.timer_lateness, 0.5));
    add("timer_lateness_p99_us", us(&own.timer_lateness, 0.99));
    add("client_turn_p99_us", us(&own.turn, 0.99));
    add("start_lag_p50_us", us(&own.start_lag, 0.5));
    add("start_lag_p99_us", us(&own.start_lag, 0.99));
    add("connect_ms", Some(measured.connecting as f64 / 1e6));
    if measured.reconnections > 0 {
        add("reconnections", Some(measured.reconnections as f64));
        add("reconnect_mean_ms", Some(measured.reconnecting as f64 / measured.reconnections as f64 / 1e6));
    }
    if measured.connections_lost > 0 {
        add("connections_lost", Some(measured.connections_lost as f64));
    }
    if !measured.outages.is_empty() {
        let away: i64 = measured.outages.iter().map(|outage| outage.to_ns - outage.from_ns).sum();
        add("outage_s", Some(away as f64 / 1e9));
    }
    figures
}

/// `1 more outage was not kept`.
fn not_kept(number: u64, noun: &str) -> String {
    format!(
        "{} {} not kept",
        count(number as usize, &format!("more {noun}")),
        if number == 1 { "was" } else { "were" }
    )
}

/// Bytes of WAL above which a run counts as one that writes.
const WRITES: f64 = 1e6;

/// What is worth a word about a run.
pub(crate) fn events(measured: &Measured, figures: &BTreeMap<String, f64>) -> Vec<RunEvent> {
    let mut events = Vec::new();
    for outage in &measured.outages {
        let seconds = (outage.to_ns - outage.from_ns) as f64 / 1e9;
        let were = if outage.clients == 1 { "was" } else { "were" };
        let end = if outage.over { "" } else { ", up to the end of the run" };
        let detail = format!(
            "{} {were} without a connection for {seconds:.3} s in all{end}",
            count(outage.clients, "client")
        );
        events.push(RunEvent { time_us: outage.from_ns / 1000, kind: "outage".to_owned(), detail });
    }
    let mut add = |kind: &str, detail: String| {
        events.push(RunEvent { time_us: 0, kind: kind.to_owned(), detail });
    };
    if measured.outages_dropped > 0 {
        add("outage", not_kept(measured.outages_dropped, "outage"));
    }
    for abort in &measured.aborts {
        add("abort", format!("client {}: {abort}", abort.client));
    }
    for message in &measured.messages {
        add("notice", message.clone());
    }
    if measured.messages_dropped > 0 {
        add("notice", not_kept(measured.messages_dropped, "message"));
    }
    let figure = |name: &str| figures.get(name).copied().unwrap_or(0.0);
    if figure("wal_bytes") > WRITES && figure("checkpoints") == 0.0 {
        let megabytes = figure("wal_bytes") / 1e6;
        add(
            "no checkpoint",
            format!(
                "{megabytes:.0} MB of WAL were written and no checkpoint fell into the run: its cost is not in the figures"
            ),
        );
    }
    events
}
