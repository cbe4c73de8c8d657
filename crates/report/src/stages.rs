//! The time of a load in stages that follow each other: its phases overlap, and some stand within others.

use record::{Phase, Run};

/// What is read, in this order, by the names of its phases, and what each is called here.
const READ: [(&str, &str); 5] = [
    ("node", "nodes"),
    ("way", "ways"),
    ("relation", "relations"),
    ("flush", "end of copying"),
    ("pending ways", "pending ways"),
];
/// Tables are clustered, indexed and analyzed side by side.
pub(crate) const TABLES: &str = "cluster, index, analyze";
/// Starting, connecting, making tables, and what no phase tells of.
pub(crate) const REST: &str = "rest";

/// All stages there can be, in order.
pub(crate) fn all() -> impl Iterator<Item = &'static str> {
    READ.iter().map(|(_, name)| *name).chain([TABLES, REST])
}

/// Seconds of each stage of a job, in order; they add up to all of its time. Empty where no phase of it is known.
pub(crate) fn of(run: &Run) -> Vec<(&'static str, f64)> {
    if run.phases.is_empty() {
        return Vec::new();
    }
    let seconds = |us: u64| us as f64 / 1e6;
    let read = READ.iter().map(|(phase, name)| {
        let named = run.phases.iter().filter(|own| own.name == *phase);
        (*name, seconds(named.map(|own| own.duration_us).sum::<u64>()))
    });
    let mut stages: Vec<(&'static str, f64)> = read.filter(|(_, seconds)| *seconds > 0.0).collect();
    let end = |phase: &Phase| phase.start_us.saturating_add(phase.duration_us);
    let is_read = |phase: &&Phase| phase.name == "read" || READ.iter().any(|(name, _)| *name == phase.name);
    let read_until = run.phases.iter().filter(is_read).map(end).max().unwrap_or(0);
    let of_tables = || run.phases.iter().filter(|phase| !is_read(phase));
    if let (Some(start), Some(until)) =
        (of_tables().map(|phase| phase.start_us).min(), of_tables().map(end).max())
    {
        stages.push((TABLES, seconds(until.saturating_sub(start.max(read_until)))));
    }
    let known: f64 = stages.iter().map(|(_, seconds)| seconds).sum();
    stages.push((REST, (run.measured_s - known).max(0.0)));
    stages
}

#[cfg(test)]
mod tests {
    use record::{PhaseSource, RunKey, RunKind};

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
            // Side by side, and the first begins before reading is over.
            phase("index", 5_400_000, 2_000_000),
            phase("cluster", 6_000_000, 3_500_000),
        ];
        let wanted = [("nodes", 2.0), ("ways", 2.5), ("relations", 0.5), (TABLES, 4.0), (REST, 1.0)];
        assert_eq!(of(&run), wanted);
    }
}
