//! From the log of a load to the record of a run.

use std::collections::BTreeMap;
use std::path::Path;

use spec::figures::{self, Figures};
use spec::{
    Artifact, Doubt, OfferedLoad as LoadKind, Phase, PhaseSource, Reason, Run, RunEvent, RunKey, RunKind,
    Setting, Validity,
};

use super::reader::LoggedLoad;
use crate::import::found::{FoundRun, events};
use crate::spool::Spool;

/// Name of the workload and of its job, as for a load by pgdyno.
const WORKLOAD: &str = "osm";
/// Seconds by which time stamps and osm2pgsql's figure may differ.
const APART_S: u64 = 5;
/// Below this, whole seconds are too coarse: one is a tenth.
const FEW_SECONDS: u64 = 10;

pub(super) fn of(load: LoggedLoad, path: &Path, several: bool, changed_us: i64) -> FoundRun {
    let source = match several {
        true => format!("{} from line {}", path.display(), load.line),
        false => path.display().to_string(),
    };
    let notes = notes(&load);
    let driver = match &load.log.version {
        Some(version) => format!("osm2pgsql {version}"),
        None => "osm2pgsql".to_owned(),
    };
    let started_us = load.clock.began_us().unwrap_or(changed_us);
    let (validity, doubts) = judge(&load, &driver);
    let overall_s = load.log.overall_s.map(|seconds| seconds as f64);
    let span_s = load.clock.span_us() as f64 / 1e6;
    let key = RunKey { workload: WORKLOAD.to_owned(), factors: factors(&load), arm: None, round: 1 };
    let mut run = Run {
        load: LoadKind::Job,
        started_at: jiff::Timestamp::from_microsecond(started_us).unwrap_or_default().to_string(),
        measured_s: overall_s.unwrap_or(span_s),
        driver,
        validity,
        doubts,
        figures: figures(&load),
        settings: settings(&load),
        artifacts: vec![artifact(&load)],
        ..Run::new(RunKind::Job, key)
    };
    let versions = versions(&load);
    let (stamped, server, hash) = (load.stamped, load.server, load.sha256);
    run.phases = phases(load.log.phases, stamped);
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
    };
    found.run.events = versions.into_iter().chain(events(&found)).collect();
    found
}

/// Factors that distinguish cells, as far as the command line is known.
fn factors(load: &LoggedLoad) -> BTreeMap<String, String> {
    let mut factors = load.command.as_ref().map(|command| command.options.clone()).unwrap_or_default();
    factors.insert("workload".to_owned(), WORKLOAD.to_owned());
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
    let setting = |value| Setting { name: "server_version".into(), value, source: "osm2pgsql's log".into() };
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
    if load.stamped {
        say(
            "times are those of the log, in whole seconds; it has local time without a zone, which is taken for UTC",
        );
    } else {
        say("when it ran is not known: the file's own time stands for it");
        say(
            "the log has no time stamps: the lengths of phases are its own, in whole seconds; where they lie is estimated",
        );
    }
    if load.command.is_none() {
        say("the log does not say how osm2pgsql was called: --level FACTOR=LEVEL tells cells apart");
    }
    if !load.from_the_start {
        say("the beginning of the log is missing");
    }
    let span_s = load.clock.span_us() / 1_000_000;
    if let Some(overall_s) = load.log.overall_s.filter(|_| load.stamped && load.from_the_start)
        && overall_s.abs_diff(span_s) > APART_S
    {
        notes.push(format!(
            "its time stamps span {span_s} s, osm2pgsql took {overall_s} s by its own words, which count: the clock was set meanwhile, \
             or the log is not whole"
        ));
    }
    notes
}

/// Phases are the program's reports: pgdyno did not time its lines.
fn phases(mut phases: Vec<Phase>, stamped: bool) -> Vec<Phase> {
    for phase in &mut phases {
        phase.source = PhaseSource::Reported;
    }
    if !stamped {
        set_start_times(&mut phases);
    }
    phases
}

/// Places phases without times: nodes, ways and relations are read in this order, then pending ways; then
/// threads work on all tables at once.
fn set_start_times(phases: &mut [Phase]) {
    let mut end_us = 0;
    for name in ["node", "way", "relation", "pending ways"] {
        for phase in phases.iter_mut().filter(|phase| phase.name == name) {
            phase.start_us = end_us;
            end_us = phase.start_us.saturating_add(phase.duration_us);
        }
    }
    for phase in phases.iter_mut().filter(|phase| phase.name == "table") {
        phase.start_us = end_us;
    }
    phases.sort_by_key(|phase| phase.start_us);
}

/// The verdict with its reasons; suspect at best, since the measurement was not observed.
fn judge(load: &LoggedLoad, by: &str) -> (Validity, Vec<Doubt>) {
    let mut doubts = vec![Doubt {
        reason: Reason::Imported,
        detail: format!("measured by {by}; neither its server nor its machine was watched"),
    }];
    let mut validity = Validity::Suspect;
    let mut failed = |detail: String| {
        validity = Validity::Invalid;
        doubts.push(Doubt { reason: Reason::Errors, detail });
    };
    if let Some(error) = &load.log.error {
        failed(error.clone());
    }
    if let Some(how) = &load.resources.failed {
        failed(how.clone());
    }
    match load.log.overall_s {
        None if load.log.error.is_none() && load.resources.failed.is_none() => {
            failed("the log ends early: it does not say how long osm2pgsql took".to_owned());
        }
        Some(seconds @ 0..FEW_SECONDS) => {
            let detail = format!("{seconds} s, in whole seconds");
            doubts.push(Doubt { reason: Reason::TooShort, detail });
        }
        _ => {}
    }
    (validity, doubts)
}
