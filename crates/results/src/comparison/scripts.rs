//! Arms compared by script, if their runs mix several: the throughput of a mix is a mean over scripts,
//! which hides that one script is much faster and another is not.

use std::collections::{BTreeMap, BTreeSet};

use spec::{Run, ScriptRecord};
use stats::{Better, Estimate, TooFew, Verdict};

use super::pairs::RunsByRound;
use super::{ArmComparison, Cell, How, Metric, Rule};

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
pub(super) fn of<'r>(
    arm: &'r ArmComparison,
    runs: &RunsByRound<'r>,
    base: &'r str,
    rule: Rule,
) -> Vec<ScriptComparison> {
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
                let pairs = runs.pairs(cell, base, &arm.arm).into_iter();
                pairs.filter(|(base, _)| rounds.contains(&base.round)).collect()
            })
            .collect();
        let pairs: Vec<Vec<Pair<'_>>> =
            pairs.iter().map(|cell| cell.iter().map(|(base, new)| Pair::of(base, new)).collect()).collect();
        let names: BTreeSet<&str> = pairs.iter().flatten().flat_map(Pair::in_both).collect();
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

/// The runs of a round, and the scripts of each.
struct Pair<'r> {
    round: u32,
    runs: [(&'r Run, Named<'r>); 2],
}

/// Scripts by name; `None` where several of the run have it.
type Named<'r> = BTreeMap<&'r str, Option<&'r ScriptRecord>>;

impl<'r> Pair<'r> {
    fn of(base: &'r Run, new: &'r Run) -> Self {
        let named = |run: &'r Run| {
            let mut named: Named<'r> = BTreeMap::new();
            for script in &run.scripts {
                named.entry(&script.name).and_modify(|own| *own = None).or_insert(Some(script));
            }
            (run, named)
        };
        Self { round: base.round, runs: [named(base), named(new)] }
    }

    /// Names of the scripts that both runs have once.
    fn in_both(&self) -> impl Iterator<Item = &'r str> {
        let [(_, base), (_, new)] = &self.runs;
        let is_plain = |script: &&ScriptRecord| script.part.is_none();
        let of_base = base.values().flatten().filter(move |script| is_plain(script));
        of_base.map(|script| script.name.as_str()).filter(|name| new.get(name).is_some_and(Option::is_some))
    }
}

fn estimate(name: &str, cells: &[Vec<Pair<'_>>], metric: Metric) -> Option<Estimate> {
    let rounds: BTreeSet<u32> = cells.iter().flatten().map(|pair| pair.round).collect();
    let of_cell = |pairs: &Vec<Pair<'_>>| -> Vec<Option<f64>> {
        let of_round = |round: &u32| {
            let pair = pairs.iter().find(|pair| pair.round == *round)?;
            let times = pair.runs.each_ref().map(|(run, named)| time_ns((*named.get(name)?)?, run, metric));
            let [base, new] = times;
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
