//! The time of a load in successive stages: its phases overlap, and some are within others.

use spec::{Phase, PhaseSource, Run};

/// Phases of reading in order, and the name of each stage.
const READ: [(&str, &str); 6] = [
    ("node", "nodes"),
    ("way", "ways"),
    ("relation", "relations"),
    ("flush", "end of copying"),
    ("pending ways", "pending ways"),
    ("pending relations", "pending relations"),
];
const OBJECTS: [&str; 3] = ["node", "way", "relation"];
/// Phases that are neither of reading nor of tables.
const OUTSIDE: [&str; 3] = ["set up", "find parents of marked objects (stage 1c)", UNEXPLAINED];
/// Tables are clustered, indexed and analyzed side by side.
pub(crate) const TABLES: &str = "cluster, index, analyze";
/// Indexes of ids, and objects processed once more: the second stage of osm2pgsql's output flex.
const SECOND: &str = "second stage";
const REPROCESS: &str = "reprocess ";
/// Time that no line of the log explains, from a second on.
const UNEXPLAINED: &str = "unexplained";
/// Starting, connecting, making tables, and time outside all phases.
pub(crate) const REST: &str = "rest";

/// Reading of all kinds together, if they are reported in whole seconds, which are too coarse for a short
/// load.
const READING: &str = "reading";
/// From this much reading on whole seconds suffice, seconds.
const LONG_S: f64 = 30.0;

pub(crate) fn all() -> impl Iterator<Item = &'static str> {
    std::iter::once(READING).chain(READ.iter().map(|(_, name)| *name)).chain([
        SECOND,
        TABLES,
        UNEXPLAINED,
        REST,
    ])
}

/// Seconds of each stage of a load, in order; they add up to all of its time. Empty if it has no phase of
/// reading: it is another job.
pub(crate) fn of(run: &Run) -> Vec<(&'static str, f64)> {
    let seconds = |us: u64| us as f64 / 1e6;
    let is_read = |phase: &&Phase| phase.name == "read" || READ.iter().any(|(name, _)| *name == phase.name);
    if !run.phases.iter().any(|phase| is_read(&phase)) {
        return Vec::new();
    }
    let end = |phase: &Phase| phase.start_us.saturating_add(phase.duration_us);
    let is_other =
        |phase: &&Phase| phase.name.starts_with(REPROCESS) || OUTSIDE.contains(&phase.name.as_str());
    let of_tables = || run.phases.iter().filter(|phase| !is_read(phase) && !is_other(phase));
    let named = |name: &'static str| run.phases.iter().filter(move |phase| phase.name == name);
    let took = |name: &'static str| seconds(named(name).map(|phase| phase.duration_us).sum::<u64>());
    let in_whole_seconds = || {
        let mut kinds = OBJECTS.into_iter().flat_map(named);
        took("read") < LONG_S && kinds.any(|phase| phase.source == PhaseSource::Reported)
    };
    let one = named("read").next().is_some() && in_whole_seconds();
    let mut stages: Vec<(&'static str, f64)> = Vec::new();
    if one {
        stages.push((READING, took("read")));
    }
    let read = READ.iter().filter(|(phase, _)| !one || !OBJECTS.contains(phase));
    stages.extend(read.map(|(phase, name)| (*name, took(phase))));
    let mut read_until = run.phases.iter().filter(is_read).map(end).max().unwrap_or(0);
    let again = || run.phases.iter().filter(|phase| phase.name.starts_with(REPROCESS));
    if let (Some(start), Some(until)) = (again().map(|phase| phase.start_us).min(), again().map(end).max()) {
        let begin = of_tables().map(|phase| phase.start_us).min().unwrap_or(start).min(start);
        stages.push((SECOND, seconds(until.saturating_sub(begin))));
        read_until = read_until.max(until);
    }
    if let (Some(start), Some(until)) =
        (of_tables().map(|phase| phase.start_us).min(), of_tables().map(end).max())
    {
        stages.push((TABLES, seconds(until.saturating_sub(start.max(read_until)))));
    }
    stages.push((UNEXPLAINED, Some(took(UNEXPLAINED)).filter(|took| *took >= 1.0).unwrap_or(0.0)));
    // The sum of whole seconds may exceed the time.
    let mut left = run.measured_s;
    for (_, stage) in &mut stages {
        *stage = stage.min(left);
        left -= *stage;
    }
    stages.retain(|(name, stage)| *stage > 0.0 || *name == TABLES);
    stages.push((REST, left));
    stages
}

#[cfg(test)]
mod tests {
    use spec::{RunKey, RunKind};

    use super::*;

    fn phase(name: &str, start_us: u64, duration_us: u64) -> Phase {
        let source = PhaseSource::Stamped;
        Phase { name: name.into(), item: String::new(), start_us, duration_us, count: None, source }
    }

    #[test]
    fn stages_follow_each_other_and_add_up() {
        let key = RunKey { workload: "load".into(), factors: [].into(), arm: None, round: 1 };
        let mut run = Run { measured_s: 10.0, ..Run::new(RunKind::Job, key) };
        assert!(of(&run).is_empty());
        run.phases = vec![
            phase("read", 500_000, 5_000_000),
            phase("node", 500_000, 2_000_000),
            phase("way", 2_500_000, 2_500_000),
            phase("relation", 5_000_000, 500_000),
            // Side by side; the first begins before reading is over.
            phase("index", 5_400_000, 2_000_000),
            phase("cluster", 6_000_000, 3_500_000),
        ];
        let wanted = [("nodes", 2.0), ("ways", 2.5), ("relations", 0.5), (TABLES, 4.0), (REST, 1.0)];
        assert_eq!(of(&run), wanted);
    }

    fn load(measured_s: f64, phases: Vec<Phase>) -> Run {
        let key = RunKey { workload: "load".into(), factors: [].into(), arm: None, round: 1 };
        Run { measured_s, phases, ..Run::new(RunKind::Job, key) }
    }

    fn told(name: &str, start_us: u64, duration_us: u64) -> Phase {
        Phase { source: PhaseSource::Reported, ..phase(name, start_us, duration_us) }
    }

    /// Regression: ways took 0 or 1 s by turns, and the stages more than the load.
    #[test]
    fn whole_seconds_of_a_short_load_are_one_stage() {
        let short = load(
            1.78,
            vec![
                told("node", 0, 0),
                told("way", 0, 1_000_000),
                phase("read", 20_000, 930_000),
                told("relation", 950_000, 0),
                phase("flush", 950_000, 420_000),
                phase("cluster", 1_370_000, 350_000),
            ],
        );
        let stages = of(&short);
        let names: Vec<&str> = stages.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, [READING, "end of copying", TABLES, REST]);
        assert!((stages.iter().map(|(_, seconds)| seconds).sum::<f64>() - 1.78).abs() < 1e-9, "{stages:?}");
        // They suffice for an hour, and never exceed it.
        let seconds = |s: u64| s * 1_000_000;
        let planet = vec![
            told("read", 0, seconds(70)),
            told("node", 0, seconds(27)),
            told("way", seconds(27), seconds(39)),
            told("relation", seconds(66), seconds(4)),
            told("index", seconds(70), seconds(31)),
        ];
        let wanted = [("nodes", 27.0), ("ways", 39.0), ("relations", 4.0), (TABLES, 30.0), (REST, 0.0)];
        assert_eq!(of(&load(100.0, planet)), wanted);
    }

    /// Regression: the second stage of output flex was among the work on tables.
    #[test]
    fn the_second_stage_and_unexplained_time_are_stages() {
        let s = |s: u64| s * 1_000_000;
        let flex = vec![
            phase("set up", 0, s(2)),
            phase("read", s(2), s(100)),
            phase("index", s(102), s(10)),
            phase("reprocess ways (stage 2)", s(112), s(500)),
            phase("cluster", s(612), s(40)),
            phase("index", s(652), s(20)),
            phase("unexplained", s(672), s(8)),
        ];
        let wanted = [(READING, 0.0), (SECOND, 510.0), (TABLES, 60.0), (UNEXPLAINED, 8.0), (REST, 102.0)];
        assert_eq!(of(&load(680.0, flex))[..], wanted[1..]);
    }

    /// Regression: all of `pgbench -i` was "cluster, index, analyze".
    #[test]
    fn another_job_has_no_stages_of_a_load() {
        assert!(
            of(&load(1.0, vec![phase("generate", 0, 500_000), phase("vacuum", 500_000, 500_000)])).is_empty()
        );
    }
}
