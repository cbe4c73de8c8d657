//! The differences that a plan will be able to detect, from the spread of stored pairs: reported before
//! anything is measured.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use results::{CellValue, ExperimentId, Store};
use server::host;
use spec::plan::{Plan, PlannedLoad, PlannedRun, TargetSpec, WorkMetric};
use stats::DetectableChange;

use crate::few;
use crate::jobs::input_bytes;
use crate::plan::setups::{self, Setups};
use crate::plan::{PreparationTime, jobs_of, length_words, turns};

/// Fewest pairs of a set for a spread.
const LEAST: usize = 3;
/// The newest sets that count: a host changes.
const NEWEST: usize = 5;
/// Runs that differ in length by more than this factor have another spread.
const ALIKE: f64 = 2.0;
/// More rounds than this are not advised.
const MOST_ROUNDS: u32 = 1000;

/// How long the plan takes, and what it will be able to detect, as text; the latter in a line for each workload
/// and number of clients, and not without a comparison, or if throughput does not decide.
#[must_use]
pub fn foresee(plan: &Plan, results: &Path) -> Vec<String> {
    if plan.content.has_only_jobs() {
        return earlier_jobs(plan, results);
    }
    let length = length_words(plan, &preparation(plan, results));
    length.into_iter().chain(detectable(plan, results)).collect()
}

/// How long the preparation takes: as earlier jobs with the same input, or roughly, or nobody knows.
fn preparation(plan: &Plan, results: &Path) -> PreparationTime {
    // Only a note depends on it.
    let store = Store::open_read_only(results).ok();
    let jobs = jobs_of(&plan.content.prepare);
    let probe_s = plan.content.probe.as_ref().map_or(0.0, |probe| probe.time.as_secs_f64());
    let mut time = PreparationTime { least_s: 0.0, most_s: probe_s * 1.5, unknown: Vec::new() };
    for job in jobs.jobs() {
        let bytes = input_bytes(&*job);
        let earlier_s =
            store.as_ref().filter(|_| bytes > 0).and_then(|store| store.usual_job_s(bytes).ok()?);
        let most_s = earlier_s.map(|seconds| seconds * 1.5).or_else(|| job.most_s(bytes));
        match most_s {
            Some(most_s) => time.most_s += most_s,
            None => time.unknown.push(job.what()),
        }
    }
    time
}

fn detectable(plan: &Plan, results: &Path) -> Vec<String> {
    // A job's time depends on its extract and options, so earlier runs of that name predict nothing.
    let only_jobs = plan.runs.iter().all(PlannedRun::is_job);
    let few = few::planned(plan);
    if !few.is_empty() {
        return few;
    }
    if plan.content.compare.is_none() || plan.content.measure.load == PlannedLoad::Rate || only_jobs {
        return Vec::new();
    }
    let seen = Seen::read(plan, results);
    let asked = asked(plan);
    let (known, unknown): (Vec<_>, Vec<_>) = asked.iter().partition(|asked| seen.of(plan, asked).is_some());
    let mut lines: Vec<String> =
        known.into_iter().filter_map(|asked| Some(words(plan, asked, seen.of(plan, asked)?))).collect();
    if !unknown.is_empty() {
        let names: Vec<_> = unknown.iter().map(|asked| asked.words()).collect();
        lines.push(format!(
            "what it will be able to tell is not known yet for {}: no earlier pairs of this host, workload, length and order in {}",
            names.join("; "),
            results.display()
        ));
    }
    lines
}

/// How long jobs with the same input took before, by this results file.
fn earlier_jobs(plan: &Plan, results: &Path) -> Vec<String> {
    // Only a note depends on it.
    let Ok(store) = Store::open_read_only(results) else { return Vec::new() };
    let jobs = jobs_of(&plan.content.prepare);
    let usual = jobs.jobs().into_iter().filter_map(|job| {
        let took = store.usual_job_s(input_bytes(&*job)).ok()??;
        let took = crate::words::duration(Duration::from_secs_f64(took));
        Some(format!(
            "{}: earlier ones of the same size took {took} on average, with whatever options",
            job.what()
        ))
    });
    usual.collect()
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Asked {
    workload: String,
    /// Hashes of the base arm's scripts, in order.
    scripts: String,
    clients: u32,
    sliced: bool,
}

impl Asked {
    fn words(&self) -> String {
        let clients = (self.clients > 0).then(|| crate::words::count(self.clients as usize, "client"));
        std::iter::once(self.workload.clone()).chain(clients).collect::<Vec<_>>().join(", ")
    }
}

fn asked<'p>(plan: &'p Plan) -> BTreeSet<Asked> {
    let base = plan.content.compare.as_ref().map(|compare| &compare.base);
    let of_base = |run: &&PlannedRun| !run.beside && !run.is_job() && run.arm.as_ref() == base;
    let mut setups = Setups::of(plan);
    let asked = |run: &'p PlannedRun| Asked {
        workload: run.workload.clone(),
        scripts: setups::scripts(plan, setups.without_load(run)),
        clients: run.clients,
        sliced: turns::takes_turns(plan, run),
    };
    plan.runs.iter().filter(of_base).map(asked).collect()
}

/// Log ratios of one cell and arm, by the base arm's scripts.
struct Set {
    experiment: i64,
    scripts: String,
    clients: i64,
    measured_s: f64,
    sliced: bool,
    ratios: Vec<f64>,
}

struct Seen(Vec<Set>);

struct Spread {
    deviation: f64,
    pairs: usize,
}

impl Seen {
    fn read(plan: &Plan, results: &Path) -> Self {
        let metric = plan.content.compare.as_ref().map_or(WorkMetric::default(), |compare| compare.metric);
        let read = || {
            let store = Store::open_read_only(results)?;
            let sets = sets(&store.query(&stored_runs(metric))?.rows);
            let mut known: BTreeMap<i64, bool> = BTreeMap::new();
            let here = |set: &Set| {
                *known
                    .entry(set.experiment)
                    .or_insert_with(|| is_of_same_target(&store, set.experiment, plan))
            };
            Ok::<_, spec::Error>(sets.into_iter().filter(here).collect())
        };
        // Only a note depends on it.
        Self(read().unwrap_or_default())
    }

    fn of(&self, plan: &Plan, asked: &Asked) -> Option<Spread> {
        let planned = plan.content.measure.duration_s;
        let alike = |set: &&Set| {
            let longer = if asked.clients == 0 { 1.0 } else { set.measured_s / planned };
            set.scripts == asked.scripts
                && set.clients == i64::from(asked.clients)
                && set.sliced == asked.sliced
                && (1.0 / ALIKE..=ALIKE).contains(&longer)
                && set.ratios.len() >= LEAST
        };
        let sets: Vec<&Set> = self.0.iter().filter(alike).take(NEWEST).collect();
        let squares: f64 = sets.iter().map(|set| squares(&set.ratios)).sum();
        let pairs: usize = sets.iter().map(|set| set.ratios.len()).sum();
        let freedom = pairs.checked_sub(sets.len()).filter(|freedom| *freedom > 0)?;
        Some(Spread { deviation: (squares / freedom as f64).sqrt(), pairs })
    }
}

/// Sum of the squared distances from the mean.
fn squares(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// Whether a stored experiment measured a private server as this plan does, or the same server given by URL.
fn is_of_same_target(store: &Store, experiment: i64, plan: &Plan) -> bool {
    let stored = store.experiment(ExperimentId(experiment)).ok();
    let target = stored.as_ref().and_then(|stored| Some(&stored.experiment.plan.plan()?.content.target));
    match (target, &plan.content.target) {
        (Some(TargetSpec::Managed { .. }), TargetSpec::Managed { .. }) => true,
        (Some(stored), planned) => stored.is_place_of(planned),
        (None, _) => false,
    }
}

/// SQL of a run's CPU time per transaction, µs, as [`spec::Run::server_cpu_us_per_tx`] without replicas.
const CPU: &str = "coalesce(
    (SELECT sum(server_cpu_us) / sum(succeeded) FROM slice s JOIN slice_cpu USING (run_id, position)
     WHERE s.run_id = r.run_id AND s.is_void = 0),
    (SELECT 1e6 * f.value / n.value FROM run_figure f JOIN run_count n USING (run_id)
     WHERE f.run_id = r.run_id AND f.name = 'server_cpu_s' AND n.name = 'completed'))";

/// Runs of arms on this host: experiment, cell, round, arm, whether it is the base, the metric's value, length,
/// clients, scripts, whether it was cut into slices.
fn stored_runs(metric: WorkMetric) -> String {
    let value = match metric {
        WorkMetric::Tps => "r.tps",
        WorkMetric::Cpu => CPU,
    };
    format!(
        "SELECT r.experiment_id, r.cell_id, r.round, r.arm, r.arm = e.base,
                CASE r.kind WHEN 'job' THEN 1.0 / r.measured_s ELSE {value} END, r.measured_s, r.clients,
                CASE r.kind WHEN 'job' THEN c.workload ELSE (SELECT group_concat(text_hash, ',') FROM
                    (SELECT DISTINCT text_hash FROM script s WHERE s.run_id = r.run_id ORDER BY text_hash)) END,
                EXISTS (SELECT 1 FROM slice WHERE slice.run_id = r.run_id)
         FROM run r JOIN experiment e USING (experiment_id) JOIN host h USING (host_id) JOIN cell c USING (cell_id)
         WHERE r.validity <> 'invalid' AND r.set_aside IS NULL AND r.beside = 0
           AND (r.load = 'closed' AND r.tps > 0 OR r.kind = 'job' AND r.round > 0 AND r.measured_s > 0) AND r.arm IS NOT NULL AND e.order_scheme <> 'imported' AND h.uuid = '{host}'
         ORDER BY r.experiment_id DESC, r.cell_id, r.round",
        host = host::describe(None).uuid.replace('\'', "''")
    )
}

fn sets(rows: &[Vec<CellValue>]) -> Vec<Set> {
    let mut found: Vec<Set> = Vec::new();
    let same_cell = |a: &[CellValue], b: &[CellValue]| a[..2] == b[..2];
    for cell in rows.chunk_by(|a, b| same_cell(a, b)) {
        // By the name of the other arm: all its rounds.
        let mut arms: BTreeMap<String, Set> = BTreeMap::new();
        for round in cell.chunk_by(|a, b| a[2] == b[2]) {
            let Some(base) = round.iter().find(|run| run[4] == CellValue::Int(1)) else { continue };
            for run in round.iter().filter(|run| run[4] != CellValue::Int(1)) {
                let (CellValue::Text(arm), CellValue::Real(own), CellValue::Real(of_base)) =
                    (&run[3], &run[5], &base[5])
                else {
                    continue;
                };
                let set = arms.entry(arm.clone()).or_insert_with(|| Set::of(base));
                set.ratios.push((own / of_base).ln());
            }
        }
        found.extend(arms.into_values());
    }
    found.sort_by_key(|set| std::cmp::Reverse(set.experiment));
    found
}

impl Set {
    /// A set without pairs, from a run of its base.
    fn of(base: &[CellValue]) -> Self {
        let whole = |at: usize| if let CellValue::Int(number) = base[at] { number } else { 0 };
        let measured_s = if let CellValue::Real(seconds) = base[6] { seconds } else { 0.0 };
        let scripts = if let CellValue::Text(scripts) = &base[8] { scripts.clone() } else { String::new() };
        let (experiment, clients, sliced) = (whole(0), whole(7), whole(9) == 1);
        Self { experiment, scripts, clients, measured_s, sliced, ratios: Vec::new() }
    }
}

fn words(plan: &Plan, asked: &Asked, spread: Spread) -> String {
    let margin = plan.content.compare.as_ref().map_or(0.03, |compare| compare.margin);
    let Some(sight) = DetectableChange::of(spread.deviation, plan.rounds, margin) else {
        return String::new();
    };
    let within = format!("within {} %", (margin * 1e5).round() / 1e3);
    let same = match (
        sight.can_show_same,
        DetectableChange::pairs_for_same(spread.deviation, margin, MOST_ROUNDS),
    ) {
        (true, _) => format!("and no difference as \"same {within}\""),
        (false, Some(rounds)) => format!("but \"same {within}\" takes about {rounds} rounds"),
        (false, None) => format!("but this host is too unsteady for \"same {within}\""),
    };
    format!(
        "what it will be able to tell of {}: with {}, half-width about {:.1} % (from {} seen here earlier), differences \
         above about {:.1} % would be decided, {same}",
        asked.words(),
        crate::words::count(plan.rounds as usize, "round"),
        sight.half_width_pct,
        crate::words::count(spread.pairs, "pair"),
        sight.differences_pct,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stored run: experiment, cell, round, arm, throughput; of 2.5 s with 4 clients, uncut.
    fn run(experiment: i64, round: i64, arm: &str, tps: f64) -> Vec<CellValue> {
        let is_base = i64::from(arm == "base");
        let head = [experiment, 1, round].map(CellValue::Int);
        let tail = [
            CellValue::from(arm),
            CellValue::Int(is_base),
            CellValue::Real(tps),
            CellValue::Real(2.5),
            CellValue::Int(4),
        ];
        head.into_iter().chain(tail).chain([CellValue::from("ab,cd"), CellValue::Int(0)]).collect()
    }

    /// A comparison of two scripts never got a forecast: arms that are workloads carry the names of both.
    #[test]
    fn what_the_base_arm_asks_is_looked_for() {
        let text = "question = \"?\"\n[target]\nmanaged = {}\n[workload.old]\npgbench = { builtin = \"select-only\" }\n\
                    [workload.new]\npgbench = { builtin = \"tpcb-like\" }\n[compare]\nfactor = \"workload\"\nbase = \"old\"\n";
        let plan = crate::plan::tests::plan(text);
        let asked: Vec<Asked> = asked(&plan).into_iter().collect();
        let old: Vec<&String> = plan.content.workloads["old"].scripts.values().collect();
        assert_eq!((asked.len(), &asked[0].scripts), (1, old[0]));
        assert_eq!(asked[0].workload, "old / new");
    }

    #[test]
    fn pairs_are_put_together_by_round_and_arm() {
        let mut rows = Vec::new();
        for (round, new) in [(1, 110.0), (2, 121.0), (3, 110.0)] {
            rows.extend([
                run(7, round, "base", 100.0),
                run(7, round, "new", new),
                run(7, round, "other", 100.0),
            ]);
        }
        // A pair needs its base, and two pairs are too few for a spread.
        rows.extend([run(6, 1, "new", 90.0), run(6, 2, "base", 100.0), run(6, 2, "new", 90.0)]);
        let found = sets(&rows);
        let lengths: Vec<_> = found.iter().map(|set| (set.experiment, set.ratios.len())).collect();
        assert_eq!(lengths, [(7, 3), (7, 3), (6, 1)]);
        let set = &found[0];
        assert_eq!((set.scripts.as_str(), set.clients, set.measured_s, set.sliced), ("ab,cd", 4, 2.5, false));
        assert!((set.ratios[1] - 1.21f64.ln()).abs() < 1e-12 && found[1].ratios == [0.0; 3]);
        // ln 1.1, ln 1.21, ln 1.1 differ by ln 1.1 once: 2/3 of its square.
        assert!((squares(&set.ratios) - 1.1f64.ln().powi(2) * 2.0 / 3.0).abs() < 1e-12);
    }
}
