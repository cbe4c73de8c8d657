//! From the log of a load to the record of a run.

use std::collections::BTreeMap;
use std::path::Path;

use spec::figures::{self, Figures};
use spec::{
    Artifact, Doubt, OfferedLoad as LoadKind, PhaseSource, Reason, Run, RunEvent, RunKey, RunKind, Setting,
    Validity,
};

use super::open::{LoggedLoad, Times};
use crate::import::found::{FoundRun, events};
use crate::spool::Spool;

/// Name of the workload and of its job, as for a load by pgdyno.
const WORKLOAD: &str = "osm";
/// Adding changes to the tables of a load is another job.
const WORKLOAD_OF_APPEND: &str = "osm append";
const APPEND: &str = "append";
/// Factor of the containers of one log.
const CONTAINER: &str = "container";
/// Seconds by which time stamps and osm2pgsql's figure may differ.
const APART_S: u64 = 5;
/// Below this, whole seconds are too coarse: one is a tenth.
const FEW_SECONDS: u64 = 10;

/// What is in the load's file with it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Among {
    pub(super) loads: usize,
    /// Its container is a level, since it tells it from others.
    pub(super) several_containers: bool,
}

pub(super) fn of(load: LoggedLoad, path: &Path, among: Among, changed_us: i64) -> FoundRun {
    let container = load.container.clone().filter(|_| among.several_containers);
    let source = match (among.loads, &container) {
        (1, _) => path.display().to_string(),
        (_, None) => format!("{} from line {}", path.display(), load.line),
        (_, Some(container)) => format!("{} from line {} ({container})", path.display(), load.line),
    };
    let notes = notes(&load);
    let driver = match &load.log.version {
        Some(version) => format!("osm2pgsql {version}"),
        None => "osm2pgsql".to_owned(),
    };
    let started_us = load.clock.began_us().unwrap_or(changed_us);
    let (validity, doubts) = judge(&load, &driver);
    let mut factors = factors(&load);
    factors.extend(container.map(|container| (CONTAINER.to_owned(), container)));
    let key = RunKey { workload: workload(&load).to_owned(), factors, arm: None, round: 1 };
    let mut run = Run {
        load: LoadKind::Job,
        started_at: jiff::Timestamp::from_microsecond(started_us).unwrap_or_default().to_string(),
        measured_s: length_s(&load),
        driver,
        validity,
        doubts,
        figures: figures(&load),
        settings: settings(&load).into(),
        artifacts: vec![artifact(&load)],
        ..Run::new(RunKind::Job, key)
    };
    let versions = versions(&load);
    let (server, hash) = (load.server, load.sha256);
    run.phases = load.log.phases;
    // pgdyno did not time its lines.
    run.phases.iter_mut().for_each(|phase| phase.source = PhaseSource::Reported);
    let mut found = FoundRun {
        run,
        seconds: Spool::default(),
        source,
        hashes: vec![hash],
        notes,
        no_percentiles: None,
        pgbench: None,
        server,
        uuid: None,
        round: None,
    };
    found.run.events = versions.into_iter().chain(events(&found)).collect();
    found
}

fn workload(load: &LoggedLoad) -> &'static str {
    let asked = load.command.as_ref().is_some_and(|command| command.options.contains_key(APPEND));
    if asked || load.log.appends { WORKLOAD_OF_APPEND } else { WORKLOAD }
}

/// As osm2pgsql says it, else from the first time of the log to its last, or as long as its phases took.
fn length_s(load: &LoggedLoad) -> f64 {
    let phases = load.log.phases.iter().map(|phase| phase.start_us.saturating_add(phase.duration_us));
    let known_us = phases.max().unwrap_or(0).max(load.clock.span_us());
    load.log.overall_s.map_or(known_us as f64 / 1e6, |seconds| seconds as f64)
}

/// Factors that distinguish cells, as far as the command line is known, and the log itself shows them.
fn factors(load: &LoggedLoad) -> BTreeMap<String, String> {
    let mut factors = load.command.as_ref().map(|command| command.options.clone()).unwrap_or_default();
    let workload = workload(load);
    if workload == WORKLOAD_OF_APPEND {
        factors.insert(APPEND.to_owned(), "yes".to_owned());
    }
    factors.insert("workload".to_owned(), workload.to_owned());
    factors
}

fn figures(load: &LoggedLoad) -> Figures {
    let reported = [
        (figures::CHILD_REPORTED_S, load.log.overall_s.map(|seconds| seconds as f64)),
        (figures::CHILD_PEAK_MEMORY_BYTES, load.log.peak_memory_bytes.map(|bytes| bytes as f64)),
    ];
    let mut figures = load.resources.figures.clone();
    figures.extend(reported.into_iter().filter_map(|(of, value)| Some((of, value?))));
    figures
}

fn settings(load: &LoggedLoad) -> Vec<Setting> {
    let source = || "osm2pgsql's log".to_owned();
    let setting =
        |value| Setting { name: "server_version".into(), value, source: source(), is_initial: None };
    load.server.clone().map(setting).into_iter().collect()
}

fn versions(load: &LoggedLoad) -> Vec<RunEvent> {
    let named = [("osm2pgsql", &load.log.version), ("PostGIS", &load.postgis)];
    let event = |(program, version): (&str, &Option<String>)| {
        let detail = format!("{program} {}", version.as_ref()?);
        Some(RunEvent { time_us: 0, kind: "version".to_owned(), detail })
    };
    named.into_iter().filter_map(event).collect()
}

fn artifact(load: &LoggedLoad) -> Artifact {
    Artifact {
        name: format!("log/{WORKLOAD}"),
        media_type: "text/plain".to_owned(),
        caption: "what osm2pgsql said, without progress and statements".to_owned(),
        bytes: load.log.text.clone().into_bytes(),
    }
}

fn notes(load: &LoggedLoad) -> Vec<String> {
    let mut notes = Vec::new();
    let mut say = |text: &str| notes.push(text.to_owned());
    match load.times {
        Times::Own => say(
            "times are those of the log, in whole seconds; it has local time without a zone, which is taken for UTC",
        ),
        Times::Kept => {
            say("osm2pgsql wrote no times: the times are from the program that kept the log");
            if load.clock.began_us().is_none() {
                say("when it ran is not known: the time of the file is used");
            }
        }
        Times::None => {
            say("when it ran is not known: the time of the file is used");
            say(
                "the log has no time stamps: the lengths of phases are its own, in whole seconds; where they lie is estimated",
            );
        }
    }
    if load.command.is_none() {
        say("the log does not say how osm2pgsql was called: --level FACTOR=LEVEL tells cells apart");
    }
    if !load.from_the_start {
        say("its beginning is missing");
    }
    if let Some(error) = load.log.error.as_ref().filter(|_| load.log.overall_s.is_some()) {
        notes
            .push(format!("an error in its log is not taken for its own, since it came to its end: {error}"));
    }
    if load.clock.was_set_back() {
        say_set_back(&mut notes);
    }
    let span_s = load.clock.span_us() / 1_000_000;
    if let Some(overall_s) = load.log.overall_s.filter(|_| load.times != Times::None && load.from_the_start)
        && overall_s.abs_diff(span_s) > APART_S
    {
        notes.push(format!(
            "its time stamps span {span_s} s, osm2pgsql took {overall_s} s by its own words, which count: the clock was set meanwhile, \
             or the log is not whole"
        ));
    }
    notes
}

fn say_set_back(notes: &mut Vec<String>) {
    let text = "its time stamps go back: the clock was set meanwhile, on a Sunday morning by an hour (the end of summer time)";
    notes.push(text.to_owned());
}

/// The verdict with its reasons; suspect at best, since the measurement was not observed.
fn judge(load: &LoggedLoad, by: &str) -> (Validity, Vec<Doubt>) {
    let mut doubts = vec![Doubt {
        reason: Reason::Imported,
        detail: format!("measured by {by}; neither its server nor its machine was watched"),
    }];
    let is_complete = load.log.overall_s.is_some();
    let mut reasons: Vec<String> = load.log.error.iter().filter(|_| !is_complete).cloned().collect();
    if let Some(how) = load.ended_by.as_ref().or(load.resources.failed.as_ref()) {
        reasons.push(format!("{how}{}", reached(load)));
    }
    let has_ended = is_complete || !reasons.is_empty();
    reasons.extend(if has_ended { None } else { unfinished(load) });
    let validity = if reasons.is_empty() { Validity::Suspect } else { Validity::Invalid };
    doubts.extend(reasons.into_iter().map(|detail| Doubt { reason: Reason::Errors, detail }));
    let short = match load.log.overall_s {
        None if validity == Validity::Suspect => Some(NO_TOTAL.to_owned()),
        Some(seconds @ 0..FEW_SECONDS) => Some(format!("{seconds} s, in whole seconds")),
        _ => None,
    };
    doubts.extend(short.map(|detail| Doubt { reason: Reason::TooShort, detail }));
    (validity, doubts)
}

const NO_TOTAL: &str = "how long it took is not in the log, as before 0.81: the lengths of its phases count";

/// Why a log without a total time is not of a whole load.
fn unfinished(load: &LoggedLoad) -> Option<String> {
    let is_known = load.completes_tables && length_s(load) > 0.0;
    (!is_known)
        .then(|| format!("the log ends early{}: it does not say how long osm2pgsql took", reached(load)))
}

/// `, after 5,036,470k nodes`: how far a load came that was still reading.
fn reached(load: &LoggedLoad) -> String {
    let words = load.log.progress.and_then(|progress| progress.in_words());
    words.map(|words| format!(", after {words}")).unwrap_or_default()
}
