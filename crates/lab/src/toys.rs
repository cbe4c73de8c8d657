//! A toy workload, factor, strategy and collector, through the same interfaces as real ones: an example of
//! how to add one.

use std::collections::BTreeMap;
use std::time::Duration;

use engine::{
    Client, DriverChoice, Endpoint, EngineResult, Event, Io, Returned, Step, TransactionOutcome, Until,
};
use protocol::postgres::sql::SqlError;
use server::Stop;
use spec::figures::{self, Figures};
use spec::plan::Placement;
use spec::plan::topology::Topology;
use spec::{Error, Sample, Scope};
use toml::Value;
use workloads::{ClientWorkload, Clients, Guarded, Places, Prepared, ScriptInfo, Site, Workload};

use crate::collectors::Collector;
use crate::factors::{Factor, LevelNames};
use crate::measure::{Keep, Measurement, measure};
use crate::plan::single_run;
use crate::runner::{Judged, judge_and_record, planned};
use crate::setup::{At, Cache, ConnectionPath, Counting, Load, Server, Setup};
use crate::strategies::{Next, PastRun, RunBlock, Strategy};
use crate::validity::Probes;
use spec::experiment::value::whole_number;

/// A workload without a server: each transaction is a pause of a millisecond.
struct Pauses;

impl Workload for Pauses {
    fn scripts(&self) -> Vec<ScriptInfo> {
        vec![ScriptInfo { name: "pause".into(), text_hash: String::new(), weight: 1, part: None }]
    }

    fn may_be_empty(&self) -> bool {
        true
    }

    fn check(&mut self, _site: &mut Site<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn prepare(&mut self, _site: &mut Site<'_>, _seed: u64) -> Result<Prepared, Error> {
        Ok(Prepared::default())
    }

    fn reset(&mut self, _site: &mut Site<'_>) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }

    fn guard(&mut self, _site: &mut Site<'_>, _seed: u64) -> Result<Guarded, Error> {
        Ok(Guarded::default())
    }

    fn artifacts(&mut self, _site: &mut Site<'_>) -> Result<Vec<spec::Artifact>, Error> {
        Ok(Vec::new())
    }
}

impl ClientWorkload for Pauses {
    fn clients(&self, _places: &Places, wanted: Clients) -> Result<Vec<Box<dyn Client>>, Error> {
        Ok((0..wanted.count).map(|_| Box::new(Pausing) as Box<dyn Client>).collect())
    }
}

struct Pausing;

impl Client for Pausing {
    fn endpoints(&self) -> Vec<Endpoint> {
        Vec::new()
    }

    fn handle(&mut self, event: Event<'_>, io: &mut Io<'_>) -> Step {
        match event {
            Event::Slot { .. } => Step::Until(io.now + 1_000_000),
            Event::Timer => {
                let returned = Returned { rows: 1, ..Returned::default() };
                Step::Ended(TransactionOutcome { script: 0, failure: None, tries: 1, returned })
            }
            _ => Step::Wait,
        }
    }
}

/// A factor: the length of the measured part.
struct Length;

impl Factor for Length {
    fn name(&self) -> &'static str {
        "length_ms"
    }

    fn read(&self, _key: &str, value: &Value, _known: &LevelNames<'_>) -> Result<String, String> {
        whole_number(value, 1, 10_000).map(|ms| ms.to_string())
    }

    fn apply(
        &self,
        _key: &str,
        level: &str,
        setup: &mut Setup,
        _known: &LevelNames<'_>,
    ) -> Result<(), String> {
        let ms: u64 = level.parse().map_err(|_| format!("invalid length {level:?}"))?;
        setup.until = Until::Elapsed(ms * 1_000_000);
        Ok(())
    }
}

/// A strategy: twice as long each time, until enough transactions are done.
struct Enough {
    transactions: u64,
}

impl Strategy for Enough {
    fn next(&self, done: &[PastRun]) -> Option<RunBlock> {
        if done.iter().any(|done| done.run.count(figures::OK) >= self.transactions) {
            return None;
        }
        let mut setup = setup();
        Length
            .apply("length_ms", &(50 << done.len()).to_string(), &mut setup, &LevelNames::default())
            .expect("a length");
        let takes = Duration::from_secs(1);
        let next = Next {
            run: single_run(&setup),
            setup,
            what: "pauses".into(),
            number: 1,
            takes,
            more_clients: false,
        };
        Some(RunBlock::of(vec![next]))
    }
}

#[derive(Default)]
struct Steps {
    seen: u32,
}

impl Collector for Steps {
    fn name(&self) -> &'static str {
        "steps"
    }

    fn begin(&mut self) -> Result<(), SqlError> {
        self.seen = 0;
        Ok(())
    }

    fn tick(&mut self, time_us: i64, samples: &mut Vec<Sample>) {
        self.seen += 1;
        let (source, name) = (self.name().to_owned(), "seen".to_owned());
        samples.push(Sample { scope: Scope::Run, source, name, time_us, value: self.seen.into() });
    }

    fn end(&mut self, measured: &EngineResult, samples: &mut Vec<Sample>) -> Result<Figures, SqlError> {
        self.tick((measured.elapsed / 1000) as i64, samples);
        let mut figures = Figures::default();
        figures.set_named("steps".to_owned(), self.seen.into());
        Ok(figures)
    }
}

fn setup() -> Setup {
    Setup {
        server: Server::Target(At::default()),
        connection: ConnectionPath::Direct,
        topology: Topology::default(),
        changes: None,
        cache: Cache::AsLeft,
        arm: None,
        workload: "pauses".into(),
        options: BTreeMap::new(),
        load: Load::Closed,
        clients: 2,
        threads: 1,
        promise: None,
        warmup: Duration::ZERO,
        until: Until::Elapsed(1),
        statements: false,
        transactions: false,
        driver: DriverChoice::Auto,
        placement: Placement::default(),
        seed: 1,
        sought: None,
        waiting: spec::plan::Waiting::Auto,
        part: engine::LoadPart::WHOLE,
        counting: Counting::EXPERIMENT,
    }
}

#[test]
fn what_is_new_needs_nothing_but_the_seams() {
    assert_eq!(Length.read("length_ms", &Value::Integer(50), &LevelNames::default()), Ok("50".to_owned()));
    assert_eq!(
        Length.read("length_ms", &Value::Integer(0), &LevelNames::default()),
        Err("must be from 1 to 10000".to_owned())
    );
    // Two clients reach at most 100 transactions in 50 ms.
    let strategy = Enough { transactions: 110 };
    let mut done: Vec<PastRun> = Vec::new();
    while let Some(RunBlock { runs, .. }) = strategy.next(&done) {
        assert!(done.len() < 8, "it does not end");
        for Next { run: planned_run, setup, .. } in runs {
            let mut run = planned(&planned_run, &setup);
            let mut steps: [Box<dyn Collector>; 1] = [Box::new(Steps::default())];
            let (places, stop) = (Places::default(), Stop::new());
            let measured = measure(
                Measurement {
                    workload: &Pauses,
                    places: &places,
                    setup: &setup,
                    keep: Keep::Counters,
                    observer: &mut (),
                    collectors: &mut steps,
                },
                &stop,
            );
            let scripts = Pauses.scripts();
            let judged = Judged {
                changed: None,
                probes: Probes::default(),
                host_lag_us: None,
                scripts: &scripts,
                items: &[],
                may_be_empty: true,
                advice_on_empty: workloads::EMPTY_SCRIPT,
            };
            judge_and_record(&mut run, &setup, &mut measured.expect("measured"), &judged);
            done.push(PastRun { run, cause: None, number: 0, in_turn: false });
        }
    }
    assert!(done.len() > 1, "the first one cannot do");
    let last = &done.last().expect("some").run;
    assert!(last.count(figures::OK) >= 110);
    assert_eq!(last.figures.named("steps"), Some(1.0), "the end of a run is the end of a step");
    let [sample] = &last.samples[..] else { panic!("{:?}", last.samples) };
    assert_eq!((sample.source.as_str(), sample.value), ("steps", 1.0));
    assert_eq!(last.factors["workload"], "pauses");
}
