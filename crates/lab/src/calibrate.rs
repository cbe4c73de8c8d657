//! What a calibration found about this host as a load generator: `pgdyno calibrate`.
//!
//! A function of its runs, which are judged by the rules of all runs and stored: placements of client and server,
//! the cost of an operation and the lateness of wake-ups against a [`Sink`](server::sink) and a private server, how
//! late scheduled arrivals start, idle and under load, and the highest rate without a fault.

use spec::figures::{self, Figure};
use spec::plan::{NotRun, Plan};
use spec::{Doubt, Error, Run, RunKind, Validity};

use crate::factors::PLACES;
use crate::known_host::{Advice, KnownHost, Lag};
use crate::plan::availability::CALIBRATED;
use crate::plan::calibration::LAG_RATE;
use crate::strategies::PastRun;
pub use crate::strategies::calibration::{Advised, Limit, Placed};
use crate::strategies::calibration::{Calibration, advised, disturbed, lag_us};
pub use crate::validity::HOST_FACTOR;

/// Quantiles of a distribution, µs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lateness {
    pub p50_us: f64,
    pub p99_us: f64,
}

/// Result for one kind of operation and one number of clients.
#[derive(Debug, Clone)]
pub struct Row {
    pub what: String,
    /// All on one thread.
    pub clients: u32,
    pub driver: String,
    /// Client CPU per operation, µs, at full speed; `None` if arrivals were scheduled.
    pub cpu_us: Option<f64>,
    pub per_second: Option<f64>,
    /// Share of the time in which the load thread ran, percent.
    pub busy_pct: Option<f64>,
    /// Arrivals per second for `wakeup` and `start_lag`.
    pub rate: Option<f64>,
    pub wakeup: Option<Lateness>,
    /// How late arrivals started that found a free client.
    pub start_lag: Option<Lateness>,
    pub validity: Validity,
    pub doubts: Vec<Doubt>,
}

/// The result of a calibration.
#[derive(Debug)]
pub struct Calibrated {
    pub rows: Vec<Row>,
    pub placements: Vec<Placed>,
    /// Placements that are not available, and why.
    pub not_placed: Vec<(String, String)>,
    pub advised: Option<Advised>,
    /// Start lag of arrivals with nothing to do, the better of two tries: the lag of the host
    /// itself.
    pub idle: Row,
    pub start_lag: Row,
    /// The highest clean rate, and the highest rate that is kept as well as the host can.
    pub limit: Limit,
    /// Why no server was measured, if none was.
    pub no_server: Option<String>,
}

/// What the runs of a calibration found on a host with so many cores; `None` if it is another experiment, or not
/// finished.
#[must_use]
pub fn calibrated(plan: &Plan, runs: &[Run], cores: u32) -> Option<Calibrated> {
    let strategy = Calibration::new(plan, plan.content.calibrate.as_ref()?);
    let mut runs: Vec<&Run> = runs.iter().filter(|run| run.kind == RunKind::Client).collect();
    runs.sort_by_key(|run| run.sequence);
    let done =
        runs.into_iter().map(|run| PastRun { run: run.clone(), cause: None, number: 0, in_turn: false });
    let done: Vec<PastRun> = done.collect();
    let found = strategy.found(&done);
    let lag = |what: &str, run: &Run| Row { rate: Some(LAG_RATE), ..row(what, run, run) };
    let cells = found.cells.iter();
    let rows = cells.map(|(cost, calm)| Row { rate: calm.offered_rate, ..row(&cost.workload, cost, calm) });
    let no_server = plan.not_run().iter().find(|not_run| not_run.what == CALIBRATED);
    let (placements, advised) = placements(&strategy, &done, cores);
    Some(Calibrated {
        rows: rows.collect(),
        idle: lag("nothing to do", found.idle?),
        start_lag: lag("start lag", found.lag?),
        placements,
        not_placed: not_placed(plan),
        advised,
        limit: strategy.limit(&done, cores),
        no_server: no_server.map(|not_run| not_run.why.clone()),
    })
}

/// Keeps what later runs use: the advised placement and the lag of this host. Returns remarks for people.
pub(crate) fn keep(plan: &Plan, done: &[PastRun], cores: u32) -> Vec<String> {
    let Some(asked) = &plan.content.calibrate else { return Vec::new() };
    let strategy = Calibration::new(plan, asked);
    let mut remarks = Vec::new();
    let quiet = strategy.found(done).idle.filter(|idle| match disturbed([*idle], cores) {
        Some(busy) => {
            remarks.push(format!("how late this host wakes up by itself is not kept: {busy}"));
            false
        }
        None => true,
    });
    let advice = placements(&strategy, done, cores).1.map(|Advised { level, why }| Advice::now(&level, &why));
    let lag = quiet.and_then(lag_us).map(Lag::now);
    let kept = KnownHost::update(|known| {
        known.lag = lag.or(known.lag.take());
        known.placement = advice.or(known.placement.take());
    });
    let lost = |error: Error| format!("what was found is not kept for experiments to come: {error}");
    remarks.extend(kept.err().map(lost));
    remarks
}

fn placements(strategy: &Calibration<'_>, done: &[PastRun], cores: u32) -> (Vec<Placed>, Option<Advised>) {
    let (placed, _) = strategy.parts(done);
    let placements = strategy.placements_found(done);
    let mut advised = advised(&placements);
    let busy = disturbed(placed.iter().map(|done| &done.run), cores);
    if let Some((advised, busy)) = advised.as_mut().zip(busy) {
        advised.why += &format!(" ({busy}: calibrate again when it is quiet)");
    }
    (placements, advised)
}

fn not_placed(plan: &Plan) -> Vec<(String, String)> {
    let why = |level: &str| {
        plan.not_run().iter().find_map(|NotRun { what, why }| match what.strip_prefix("placement ") {
            _ if what == CALIBRATED => Some("there is no server here".to_owned()),
            Some(own) => (own == level).then(|| why.clone()),
            None => None,
        })
    };
    PLACES.into_iter().filter_map(|level| Some((level.to_owned(), why(level)?))).collect()
}

fn row(what: &str, cost: &Run, lateness: &Run) -> Row {
    let late = |p50: Figure, p99: Figure| {
        Some(Lateness { p50_us: lateness.figures.get(p50)?, p99_us: lateness.figures.get(p99)? })
    };
    let mut doubts = cost.doubts.clone();
    doubts.extend(lateness.doubts.iter().filter(|doubt| !cost.doubts.contains(doubt)).cloned());
    Row {
        what: what.to_owned(),
        clients: cost.clients,
        driver: cost.driver.clone(),
        cpu_us: cost.figures.get(figures::CLIENT_CPU_US_PER_TX),
        per_second: cost.tps(),
        busy_pct: cost.figures.get(figures::CLIENT_BUSIEST_THREAD_PCT),
        rate: None,
        wakeup: late(figures::TIMER_LATENESS_P50_US, figures::TIMER_LATENESS_P99_US),
        start_lag: late(figures::START_LAG_P50_US, figures::START_LAG_P99_US),
        validity: crate::validity::worst([cost.validity, lateness.validity].into_iter()),
        doubts,
    }
}
