//! Arms compared by script, if their runs mix several: the throughput of a mix is a mean over scripts,
//! which hides that one script is much faster and another is not.

use std::collections::BTreeSet;

use spec::{Run, ScriptRecord};
use stats::{Better, Estimate, TooFew, Verdict};

use super::{ArmComparison, Cell, How, Metric, Rule, pairs_of};

/// Transactions of each arm below which a round has no figure for a script.
const FEWEST_OF_ROUND: u64 = 5;

/// One script of a workload, in an arm against the base.
#[derive(Debug, Clone)]
pub struct ScriptComparison {
    pub workload: String,
    /// File or builtin name, as both arms have it.
    pub script: String,
    /// Change of its mean service time, or of the compared percentile of response times, over all cells of
    /// the workload; `None` if it ran too rarely.
    pub estimate: Option<Estimate>,
    /// From the interval of `estimate`, which allows for all scripts of all arms.
    pub verdict: Verdict,
}

/// Scripts of the workloads whose runs mix several, by workload and name. Maps are compared by layer and
/// zoom.
pub(super) fn of(arm: &ArmComparison, runs: &[Run], base: &str, rule: Rule) -> Vec<ScriptComparison> {
    // Sets without pairs, and arms relative to a control, are compared by throughput only. The CPU time of
    // a server cannot be divided among scripts.
    if rule.how != How::Paired || rule.metric == Metric::Cpu {
        return Vec::new();
    }
    let mut found = Vec::new();
    for workload in arm.workload_names() {
        let cells = arm.cells.iter().filter(|cell| cell.cell.workload == workload && !cell.scheduled);
        let counting: Vec<(&Cell, BTreeSet<u32>)> =
            cells.map(|cell| (&cell.cell, cell.differences.keys().copied().collect())).collect();
        let pairs: Vec<Vec<(&Run, &Run)>> = counting
            .iter()
            .map(|(cell, rounds)| {
                let pairs = pairs_of(runs, cell, base, &arm.arm).into_iter();
                pairs.filter(|(base, _)| rounds.contains(&base.round)).collect()
            })
            .collect();
        let names: BTreeSet<&str> =
            pairs.iter().flatten().flat_map(|(base, new)| in_both(base, new)).collect();
        if names.len() < 2 {
            continue;
        }
        found.extend(names.into_iter().map(|name| ScriptComparison {
            workload: workload.to_owned(),
            script: name.to_owned(),
            estimate: estimate(name, &pairs, rule.metric),
            verdict: Verdict::Inconclusive { more_pairs: None },
        }));
    }
    found
}

/// Names of the scripts that both runs have once.
fn in_both<'r>(base: &'r Run, new: &'r Run) -> impl Iterator<Item = &'r str> {
    let is_plain = |script: &&ScriptRecord| script.part.is_none();
    let names = base.scripts.iter().filter(is_plain).map(|script| script.name.as_str());
    names.filter(|name| named(base, name).is_some() && named(new, name).is_some())
}

fn named<'r>(run: &'r Run, name: &str) -> Option<&'r ScriptRecord> {
    let mut own = run.scripts.iter().filter(|script| script.name == name);
    own.next().filter(|_| own.next().is_none())
}

fn estimate(name: &str, cells: &[Vec<(&Run, &Run)>], metric: Metric) -> Option<Estimate> {
    let rounds: BTreeSet<u32> = cells.iter().flatten().map(|(base, _)| base.round).collect();
    let of_cell = |pairs: &Vec<(&Run, &Run)>| -> Vec<Option<f64>> {
        let of_round = |round: &u32| {
            let (base, new) = pairs.iter().find(|(base, _)| base.round == *round)?;
            let [base, new] = [base, new].map(|run| time_ns(named(run, name)?, run, metric));
            Some((new? / base?).ln())
        };
        rounds.iter().map(of_round).collect()
    };
    Some(stats::grid(&cells.iter().map(of_cell).collect::<Vec<_>>())?.estimate)
}

/// Of one run; `None` with too few transactions of the script.
fn time_ns(script: &ScriptRecord, run: &Run, metric: Metric) -> Option<f64> {
    let time = match metric.quantile() {
        None => script.service.mean_ns().filter(|_| script.service.count() >= FEWEST_OF_ROUND)?,
        Some(quantile) => {
            let few = TooFew::of(quantile, script.response.count()).is_some() || run.is_sliced();
            script.response.percentile_ns(quantile).filter(|_| !few)? as f64
        }
    };
    Some(time).filter(|ns| *ns > 0.0)
}

/// Gives each script its interval and verdict: the scripts of all arms are lines of one kind.
pub(super) fn judge(arms: &mut [&mut ArmComparison], rule: Rule) {
    let has_interval = |own: &&ScriptComparison| own.estimate.is_some_and(|of| of.standard_error.is_some());
    let lines = arms.iter().flat_map(|arm| &arm.scripts).filter(has_interval).count();
    for script in arms.iter_mut().flat_map(|arm| &mut arm.scripts) {
        let Some(estimate) = &mut script.estimate else { continue };
        *estimate = rule.among(*estimate, lines);
        script.verdict = stats::verdict(estimate, rule.margin, Better::Smaller);
    }
}
