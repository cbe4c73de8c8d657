//! The engine's figures are true: they are compared with a server with known delays, a separate process that
//! timestamps every reply itself.
//!
//! Values that chance on a busy machine can change have generous limits and several tries; `pgdyno-benches
//! truth` compares with tight limits.

use std::path::Path;
use std::time::Duration;

use crate::support::Place;
use engine::{
    DriverChoice, EngineResult, GapDistribution, Load, Rate, RunPlan, StopFlag, Time, Timeline, Until,
};
use lab::measure::{Keep, Measurement, measure};
use lab::setup::{self, ConnectionPath, Counting, Server, Setup};
use server::child::Watchdog;
use server::home::Home;
use server::sink::{Delay, Sink};
use stats::Histogram;
use workloads::pgbench::{Pgbench, PgbenchOptions, QueryProtocol, ScriptSource};
use workloads::{ClientWorkload, Clients, Places};

const MS: Time = 1_000_000;
/// Largest error of a delay between two processes on a busy machine.
const BUSY: Time = 2 * MS;
/// At least one of these runs must be good: other tests may take the CPUs in any of them.
const TRIES: usize = 6;
const QUANTILES: [f64; 6] = [0.01, 0.25, 0.5, 0.9, 0.99, 0.999];
const DRIVERS: [DriverChoice; 2] = [DriverChoice::Portable, DriverChoice::Auto];

/// A sink, and its workload.
struct Bench {
    sink: Sink,
    workload: Pgbench,
    _place: Place,
}

impl Bench {
    fn new(delay: Delay, mode: QueryProtocol) -> Self {
        let place = Place::new();
        let program = Path::new(env!("CARGO_BIN_EXE_pgdyno"));
        let watchdog = Watchdog { exe: program.to_owned() };
        let sink = Sink::start(&Home::at(&place.home()), program, &watchdog, delay).expect("a sink");
        let source = ScriptSource::Text { name: "one".into(), text: b"SELECT 1;".to_vec(), weight: 1 };
        let options = PgbenchOptions { mode, vacuum: false, ..PgbenchOptions::default() };
        let workload = Pgbench::with_scripts(&options, &[source]).expect("a script");
        Self { sink, workload, _place: place }
    }

    fn places(&self) -> Places {
        self.sink.place().clone().into()
    }

    /// The engine's measurements, and the sink's, which agree ([`agreeing`]).
    #[track_caller]
    fn drive(
        &self,
        driver: DriverChoice,
        clients: usize,
        load: Load,
        length: Duration,
    ) -> (EngineResult, Histogram) {
        agreeing(|| self.drive_once(driver, clients, load.clone(), length))
    }

    fn drive_once(
        &self,
        driver: DriverChoice,
        clients: usize,
        load: Load,
        length: Duration,
    ) -> (EngineResult, Histogram) {
        let plan = RunPlan {
            threads: 1,
            part: engine::LoadPart::WHOLE,
            cpus: None,
            spin: 0,
            driver,
            load,
            warmup: 0,
            until: Until::Elapsed(length.as_nanos() as Time),
            promise: None,
            skip_late: false,
            drain: 10_000 * MS,
            count_drained: true,
            transactions: false,
            gaps: None,
            connect_timeout: 10_000 * MS,
            seed: 1,
            scripts: 1,
            statements: 0,
            items: 0,
        };
        let crew = Clients { count: clients, threads: 1, seed: 1, statements: false };
        let clients = self.workload.clients(&self.places(), crew).expect("clients");
        self.sink.figures().expect("figures");
        let measured = engine::run(&plan, clients, &mut (), &StopFlag::new()).expect("a run");
        let seen = self.sink.figures().expect("figures");
        assert_eq!(measured.totals().processed(), seen.count(), "every request was counted on both sides");
        (measured, seen)
    }
}

fn uniform(per_second: f64) -> Load {
    Load::Rate(Rate {
        profile: per_second.into(),
        arrivals: GapDistribution::Uniform,
        timeline: Timeline::Global,
    })
}

/// The first of several runs with a median close to the sink's. In each run, a request's time at the sink is
/// within its service time: so are all quantiles.
#[track_caller]
fn agreeing(mut run: impl FnMut() -> (EngineResult, Histogram)) -> (EngineResult, Histogram) {
    let mut medians = Vec::new();
    for _ in 0..TRIES {
        let (measured, seen) = run();
        let service = measured.scripts[0].service();
        let both = |q| (service.quantile_ns(q).unwrap(), seen.quantile_ns(q).unwrap());
        for (q, (ours, theirs)) in QUANTILES.map(|q| (q, both(q))) {
            assert!(ours >= theirs, "quantile {q}: {ours} ns here, {theirs} ns at the sink");
        }
        let (ours, theirs) = both(0.5);
        if ours - theirs <= BUSY.max(theirs / 100) {
            return (measured, seen);
        }
        medians.push((ours, theirs));
    }
    panic!("medians here and at the sink, in ns: {medians:?}");
}

#[test]
fn a_constant_delay_is_recorded_as_it_is() {
    let delay = Duration::from_millis(5);
    for (mode, driver) in [(QueryProtocol::Simple, DRIVERS[0]), (QueryProtocol::Prepared, DRIVERS[1])] {
        let bench = Bench::new(Delay::Constant(delay), mode);
        for (clients, load) in [(8, Load::Closed), (8, uniform(200.0))] {
            let (measured, seen) = bench.drive(driver, clients, load, Duration::from_millis(500));
            assert!(seen.min_ns() >= Some(5 * MS), "{:?}", seen.min_ns());
            // 8 clients cannot do more than 8 in each 5 ms, plus the open ones at the end.
            assert!(measured.totals().processed() <= 8 * 101, "{:?}", measured.totals());
        }
    }
}

#[test]
fn two_delays_stay_two() {
    let (fast, slow) = (Duration::from_millis(2), Duration::from_millis(60));
    let bench = Bench::new(Delay::Bimodal { fast, slow, every: 10 }, QueryProtocol::Simple);
    for load in [Load::Closed, uniform(100.0)] {
        let (measured, seen) = bench.drive(DriverChoice::Auto, 4, load, Duration::from_secs(1));
        let slow = seen.count_above(59 * MS);
        // The sink counts to ten over all runs.
        assert!(slow >= seen.count() / 10, "{slow} of {}", seen.count());
        assert!(measured.scripts[0].service().count_above(59 * MS) >= slow);
    }
}

#[test]
fn a_stall_delays_every_arrival_in_open_load_and_one_transaction_in_closed() {
    let ms = Duration::from_millis;
    let stalls = Delay::Stalls { base: ms(1), every: ms(1000), length: ms(300) };
    let bench = Bench::new(stalls, QueryProtocol::Simple);
    for driver in DRIVERS {
        let (open, seen) = bench.drive(driver, 1, uniform(100.0), ms(1500));
        let stalls = seen.count_above(200 * MS);
        assert!((1..=2).contains(&stalls), "{stalls} stalls in 1.5 s");
        let figures = &open.scripts[0];
        // One transaction was in the stall; the 20 due in its first 200 ms waited for more than 100 ms.
        assert!((stalls..=stalls + 1).contains(&figures.service().count_above(200 * MS)));
        let delayed = figures.response.count_above(100 * MS);
        assert!(delayed >= 17 * stalls, "{delayed} arrivals delayed by {stalls} stalls");
        assert_eq!(open.totals().due, 150, "every arrival is accounted for");

        let (closed, seen) = bench.drive(driver, 1, Load::Closed, ms(1500));
        let stalls = seen.count_above(200 * MS);
        let delayed = closed.scripts[0].response.count_above(100 * MS);
        assert!((1..=2).contains(&stalls) && delayed <= stalls + 1, "{delayed} delayed by {stalls} stalls");
    }
}

#[test]
fn the_drop_in_measures_the_same() {
    let bench = Bench::new(Delay::Constant(Duration::from_millis(3)), QueryProtocol::Simple);
    for rate in [None, Some(300.0)] {
        let setup = Setup {
            server: Server::Sink,
            connection: ConnectionPath::Direct,
            topology: spec::plan::topology::Topology::default(),
            changes: None,
            cache: lab::setup::Cache::AsLeft,
            arm: None,
            workload: String::new(),
            options: std::collections::BTreeMap::new(),
            load: rate.map_or(setup::Load::Closed, |rate| setup::Load::Rate(rate.into())),
            clients: 4,
            threads: 2,
            promise: None,
            sought: None,
            part: engine::LoadPart::WHOLE,
            warmup: Duration::ZERO,
            until: Until::PerClient(40),
            statements: true,
            transactions: false,
            driver: DriverChoice::Auto,
            placement: spec::plan::Placement::default(),
            seed: 1,
            waiting: spec::plan::Waiting::Auto,
            counting: Counting::PGBENCH,
        };
        let (places, stop) = (bench.places(), server::Stop::new());
        let (measured, seen) = agreeing(|| {
            bench.sink.figures().expect("figures");
            let load = Measurement {
                workload: &bench.workload,
                places: &places,
                setup: &setup,
                keep: Keep::Nothing,
                observer: &mut (),
                collectors: &mut [],
            };
            let measured = measure(load, &stop).expect("a run").engine;
            (measured, bench.sink.figures().expect("figures"))
        });
        assert_eq!((measured.totals().ok, seen.count()), (160, 160));
        let statement = &measured.statements[0].latency;
        assert!(statement.count() == 160 && statement.min_ns() >= seen.min_ns());
    }
}

#[test]
fn sinks_serve_thousands_and_end_with_us() {
    let bench = Bench::new(Delay::None, QueryProtocol::Prepared);
    let (measured, seen) =
        bench.drive_once(DriverChoice::Auto, 300, Load::Closed, Duration::from_millis(200));
    assert!(measured.aborts.is_empty() && seen.count() > 300);
    let pid = bench.sink.pid();
    drop(bench);
    assert!(!Path::new(&format!("/proc/{pid}")).exists(), "the sink is gone");
}
