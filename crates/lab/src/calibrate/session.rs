//! The measurements of a calibration, one after another: each announced, carried out, stored and told.

use std::time::{Duration, Instant};

use record::Run;
use results::ExperimentId;

use super::asked::Asked;
use super::drive::{Bench, Shape};
use super::keep::Book;
use super::{LAG_CLIENTS, LAG_RATE, Lateness, Limit, Options, Row, limit, search};
use crate::error::{Class, LabError};
use crate::execute::{LabEvent, Progress, Step, Tell};
use target::Stop;

/// Shares of the time for the cells, the start lag with nothing to do and with something, and the search for the
/// highest rate.
const CELLS_SHARE: f64 = 0.55;
const IDLE_SHARE: f64 = 0.05;
const LAG_SHARE: f64 = 0.1;
const SEARCH_SHARE: f64 = 0.3;
/// Of a cell's time, what is measured as fast as it goes; the rest at a third of that speed.
const CLOSED_SHARE: f64 = 0.65;
/// A third of what was possible: the thread sleeps between most arrivals, and is woken for them.
const CALM: f64 = 1.0 / 3.0;
/// Shortest measured part that says anything.
const SHORTEST: Duration = Duration::from_millis(150);

/// What can be asked, with a server or without.
pub(super) fn operations(server: bool) -> impl Iterator<Item = Asked> {
    Asked::OPERATIONS.into_iter().filter(move |asked| server || !asked.is_server())
}

/// Nominal lengths of all that is to be measured, in order.
fn planned(options: &Options, server: bool) -> Vec<Duration> {
    let cells = operations(server).count() * options.clients.len();
    let cell = options.time.mul_f64(CELLS_SHARE / cells.max(1) as f64);
    let mut planned = vec![cell; cells];
    planned.extend(
        [IDLE_SHARE / 2.0, IDLE_SHARE / 2.0, LAG_SHARE, SEARCH_SHARE]
            .map(|share| options.time.mul_f64(share)),
    );
    planned
}

/// Measurement after measurement.
pub(super) struct Session<'a> {
    progress: &'a mut dyn Progress,
    stop: &'a Stop,
    book: Book,
    planned: Vec<Duration>,
    started: usize,
}

impl<'a> Session<'a> {
    /// Announces what is to come.
    pub(super) fn begin(
        options: &'a Options,
        server: bool,
        book: Book,
        progress: &'a mut dyn Progress,
        stop: &'a Stop,
    ) -> Self {
        let planned = planned(options, server);
        let (count, left) = (planned.len(), planned.iter().sum());
        progress.event(LabEvent::Begin { planned: count, stored: 0, left, results: options.results.clone() });
        Self { progress, stop, book, planned, started: 0 }
    }

    /// What the runs are stored under, and why the rest of them are not.
    pub(super) fn end(self) -> (ExperimentId, Option<LabError>) {
        self.book.close()
    }

    /// Unlike an experiment it does not go on where it stopped: the machine may be another one by then.
    fn stopped(&self) -> LabError {
        let kept = crate::words::count(self.started.saturating_sub(1), "measurement");
        LabError::failed(
            Class::Interrupted,
            format!("stopped; {kept} of {} are kept", self.planned.len()),
            "",
        )
    }

    /// Announces the next measurement, and gives its length.
    fn next(&mut self, what: &str) -> Result<Duration, LabError> {
        let planned = self.planned.len();
        let (takes, left) = (self.planned[self.started], self.planned[self.started..].iter().sum());
        self.started += 1;
        if self.stop.soon() {
            return Err(self.stopped());
        }
        let (number, what) = (self.started, what.to_owned());
        self.progress.event(LabEvent::RunStarted { number, planned, what, takes, next: None, left });
        Ok(takes)
    }

    fn finished(&mut self, what: &str, run: &Run) {
        let ms = |q| run.response_us(q).map(|us| us / 1e3);
        self.progress.event(LabEvent::RunFinished {
            number: self.started,
            planned: self.planned.len(),
            what: what.to_owned(),
            tps: run.tps().unwrap_or_default(),
            latency_mean_ms: run.response().mean_ns().map(|ns| ns / 1e6),
            latency_p99_ms: ms(0.99),
            arrivals: record::Arrivals::of(run),
            promise: record::Promise::of(run),
            validity: run.validity,
            doubts: run.doubts.clone(),
            left: self.planned[self.started..].iter().sum(),
        });
    }

    /// One run, stored.
    fn measure(&mut self, bench: &mut Bench<'_>, shape: &Shape<'_>) -> Result<Run, LabError> {
        let mut done = bench.measure(shape, self.stop)?;
        if self.stop.at_once() {
            return Err(self.stopped());
        }
        self.book.enter(&mut done);
        Ok(done.run)
    }

    /// Cost as fast as it goes, then lateness at a third of that speed.
    pub(super) fn cell(
        &mut self,
        bench: &mut Bench<'_>,
        asked: Asked,
        clients: u32,
    ) -> Result<Row, LabError> {
        let what = format!("{}, {}", asked.name(), crate::words::count(clients as usize, "client"));
        let length = self.next(&what)?;
        let (closed, open) = (length.mul_f64(CLOSED_SHARE), length.mul_f64(1.0 - CLOSED_SHARE));
        let fast = Shape { asked, clients, rate: None, part: "cost", length: closed.max(SHORTEST) };
        let cost = self.measure(bench, &fast)?;
        let rate = search::rounded(cost.tps().unwrap_or_default() * CALM);
        let calm = Shape { rate: Some(rate.max(1.0)), part: "lateness", length: open.max(SHORTEST), ..fast };
        let lateness = self.measure(bench, &calm)?;
        self.finished(&what, &cost);
        Ok(Row { rate: calm.rate, ..row(asked, &cost, &lateness) })
    }

    /// How late scheduled arrivals start.
    pub(super) fn start_lag(
        &mut self,
        bench: &mut Bench<'_>,
        asked: Asked,
        part: &'static str,
    ) -> Result<Row, LabError> {
        let what = format!("{part} at {LAG_RATE}/s");
        let length = self.next(&what)?.max(SHORTEST);
        let rate = Some(LAG_RATE);
        let run = self.measure(bench, &Shape { asked, clients: LAG_CLIENTS, rate, part, length })?;
        self.finished(&what, &run);
        Ok(Row { what: part, rate, ..row(asked, &run, &run) })
    }

    /// The highest rates.
    pub(super) fn limit(&mut self, bench: &mut Bench<'_>, idle_us: f64) -> Result<Limit, LabError> {
        let what = "highest clean rate";
        let length = self.next(what)?;
        let mut trials = limit::Trials::new(idle_us, length, Instant::now());
        while let Some(shape) = trials.next(Instant::now()).filter(|_| !self.stop.soon()) {
            let run = self.measure(bench, &shape)?;
            let mut progress: &mut dyn Progress = &mut *self.progress;
            progress.step(Step::Measure, trials.words(&run));
            trials.saw(&run);
        }
        if self.stop.soon() {
            return Err(self.stopped());
        }
        let limit = trials.into_limit(target::host::cores());
        if let Some(best) = limit.clean.as_ref().or(limit.kept.as_ref()) {
            self.finished(what, best);
        }
        Ok(limit)
    }
}

fn row(asked: Asked, cost: &Run, lateness: &Run) -> Row {
    let figure = |run: &Run, name: &str| run.figures.get(name).copied();
    let late = |name: &str| {
        let of = |quantile: &str| figure(lateness, &format!("{name}_{quantile}_us"));
        Some(Lateness { p50_us: of("p50")?, p99_us: of("p99")? })
    };
    let mut doubts = cost.doubts.clone();
    doubts.extend(lateness.doubts.iter().filter(|doubt| !cost.doubts.contains(doubt)).cloned());
    Row {
        what: asked.name(),
        clients: cost.clients,
        driver: cost.driver.clone(),
        cpu_us: figure(cost, "client_cpu_us_per_tx"),
        per_second: cost.tps(),
        busy_pct: figure(cost, "client_busiest_thread_pct"),
        rate: None,
        wakeup: late("timer_lateness"),
        start_lag: late("start_lag"),
        validity: crate::validity::worst([cost.validity, lateness.validity].into_iter()),
        doubts,
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use engine::DriverChoice;

    use super::*;

    #[test]
    fn the_time_is_shared_out() {
        let options = Options {
            driver: DriverChoice::Auto,
            time: Duration::from_secs(30),
            clients: vec![1, 8, 64],
            pg_bin: None,
            results: PathBuf::new(),
            seed: 1,
        };
        for (server, count) in [(true, 16), (false, 10)] {
            let planned = planned(&options, server);
            assert_eq!(planned.len(), count);
            let sum: Duration = planned.iter().sum();
            assert!((sum.as_secs_f64() - 30.0).abs() < 0.01, "{sum:?}");
        }
    }
}
