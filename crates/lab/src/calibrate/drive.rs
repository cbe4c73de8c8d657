//! One measurement, as an ordinary run.

use results::Finished;
use std::time::Duration;

use engine::{Arrivals, DriverChoice, Load, Observer, Plan, Rate, Second, Time, Timeline, Until};
use workloads::pgbench::Pgbench;
use workloads::{ClientWorkload, Crew, Places};

use super::Options;
use super::asked::Asked;
use crate::bench::Single;
use crate::error::{Class, LabError};
use crate::execute::{Series, Stage, Taken, events, own_figures, setup_class, setup_hint};
use target::child::Watchdog;
use target::home::Home;
use target::host::HostSample;
use target::sink::{Delay, Sink};
use target::{Heeded, Stop};

/// Load before anything counts.
const WARMUP: Duration = Duration::from_millis(100);
/// For transactions that are open at the end, and no more: a queue must show as a backlog.
const DRAIN: Duration = Duration::from_millis(20);
/// For connecting.
const CONNECT: Duration = Duration::from_secs(20);

/// What one measurement is to be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape<'a> {
    pub(super) asked: Asked,
    pub(super) clients: u32,
    /// Arrivals per second; `None` for as fast as it goes.
    pub(super) rate: Option<f64>,
    /// Which part of the calibration it belongs to; a factor of its cell.
    pub(super) part: &'a str,
    /// Measured part.
    pub(super) length: Duration,
}

/// The servers and the workloads, ready.
pub(super) struct Bench<'a> {
    sink: Sink,
    sink_places: Places,
    server: Option<(Places, Option<u32>)>,
    workloads: Vec<(Asked, Pgbench)>,
    settings: Vec<record::Setting>,
    options: &'a Options,
}

impl<'a> Bench<'a> {
    /// Starts the sink, and sees to it that the server has what is asked of it.
    pub(super) fn open(
        stage: Option<&mut Stage>,
        options: &'a Options,
        stop: &Stop,
    ) -> Result<Self, LabError> {
        let watchdog = Watchdog::current().map_err(|source| {
            LabError::failed(Class::Internal, format!("cannot find pgdyno's own program: {source}"), "")
        })?;
        let sink = Sink::start(&Home::locate()?, &watchdog.exe, &watchdog, Delay::None)?;
        let sink_places = Places { postgres: Some(sink.place().clone()), ..Places::default() };
        let mut bench =
            Self { sink, sink_places, server: None, workloads: Vec::new(), settings: Vec::new(), options };
        let of_sink = Asked::OPERATIONS.into_iter().filter(|asked| !asked.is_server());
        for asked in of_sink.chain([Asked::Nothing]) {
            bench.workloads.push((asked, asked.workload()?));
        }
        if let Some(stage) = stage {
            bench.add_server(stage, stop)?;
        }
        Ok(bench)
    }

    fn add_server(&mut self, stage: &mut Stage, stop: &Stop) -> Result<(), LabError> {
        for asked in Asked::OPERATIONS.into_iter().filter(|asked| asked.is_server()) {
            let mut workload = asked.workload()?;
            stage.with_site(|site| workload.check(site))?;
            self.workloads.push((asked, workload));
        }
        let control = stage.control()?;
        crate::collect::settle(control, &|| stop.soon())?;
        self.settings = target::settings::recorded(control)?;
        self.server = Some((stage.places(), stage.target.postmaster()));
        Ok(())
    }

    /// Carries one out and judges it.
    pub(super) fn measure(&mut self, shape: &Shape<'_>, stop: &Stop) -> Result<Finished, LabError> {
        let missing =
            || LabError::failed(Class::Internal, format!("nothing to ask {:?} of", shape.asked), "");
        let (_, workload) =
            self.workloads.iter().find(|(asked, _)| *asked == shape.asked).ok_or_else(missing)?;
        let (places, server) = match &self.server {
            _ if !shape.asked.is_server() => (&self.sink_places, Some(self.sink.pid())),
            Some((places, server)) => (places, *server),
            None => return Err(missing()),
        };
        let crew =
            Crew { clients: shape.clients as usize, threads: 1, seed: self.options.seed, statements: false };
        let plan = plan(shape, self.options.driver, self.options.seed);
        let series = Series::of(plan.until, Some(&self.options.results))?;
        let mut watch = Watch { server, before: None, series, stop, measuring: None };
        let started_at = jiff::Timestamp::now().to_string();
        let measured =
            engine::run(&plan, workload.clients(places, crew)?, &mut watch, &engine::Stop::from(stop.flag()))
                .map_err(|error| {
                    LabError::failed(setup_class(&error), error.to_string(), setup_hint(&error))
                })?;
        let mut figures = own_figures(&measured);
        if let Some(before) = &watch.before {
            figures.extend(HostSample::take(server).figures_since(before));
        }
        let events = events(&measured, &figures);
        let (series, seconds) = watch.series.into_parts();
        let taken =
            Taken { started_at, series, seconds, events, figures, measured, changed: None, lost: None };
        Ok(self.record(shape, taken, workload))
    }

    fn record(&self, shape: &Shape<'_>, taken: Taken, workload: &Pgbench) -> Finished {
        let single = single(shape, self.options.seed);
        let mut run = single.record();
        run.factors.insert("part".to_owned(), shape.part.to_owned());
        if shape.asked.is_server() {
            run.settings.clone_from(&self.settings);
        }
        let seconds = single.fill(&mut run, taken, &workload.scripts());
        Finished { run, seconds }
    }
}

fn plan(shape: &Shape<'_>, driver: DriverChoice, seed: u64) -> Plan {
    let nanoseconds = |duration: Duration| duration.as_nanos() as Time;
    Plan {
        threads: 1,
        driver,
        load: match shape.rate {
            None => Load::Closed,
            Some(per_second) => {
                Load::Rate(Rate { per_second, arrivals: Arrivals::Poisson, timeline: Timeline::Global })
            }
        },
        warmup: nanoseconds(WARMUP),
        until: Until::Elapsed(nanoseconds(shape.length)),
        limit: None,
        skip_late: false,
        drain: nanoseconds(DRAIN),
        count_drained: false,
        transactions: false,
        gaps: None,
        connect_timeout: nanoseconds(CONNECT),
        seed,
        scripts: 1,
        statements: 0,
    }
}

fn single(shape: &Shape<'_>, seed: u64) -> Single {
    Single {
        workload: shape.asked.name().to_owned(),
        clients: shape.clients,
        threads: 1,
        rate: shape.rate,
        limit: None,
        warmup: WARMUP,
        seed,
        may_be_empty: false,
    }
}

/// Looks on while the load runs.
struct Watch<'a> {
    server: Option<u32>,
    before: Option<HostSample>,
    series: Series,
    stop: &'a Stop,
    /// From the start of the load on.
    measuring: Option<Heeded>,
}

impl Observer for Watch<'_> {
    fn loading(&mut self, _at: Time) {
        self.measuring = Some(self.stop.measuring());
    }

    fn measuring(&mut self) {
        self.before = Some(HostSample::take(self.server));
    }

    fn second(&mut self, second: &Second) {
        self.series.add(second);
    }
}
