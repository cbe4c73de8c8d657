//! Where the time of statements goes, as a server explained a sample of transactions: by cell, arm and
//! script.

mod changed;
mod functions;
mod layers;
mod shares;

use std::collections::{BTreeMap, BTreeSet};

use results::comparison::{Cell, zooms};
use results::{CellValue, Table};
use spec::{MapPart, MeasuredTarget, Run, StatementPart, StatementPlan};

pub(crate) use self::changed::{change, of_base, summary};
pub(crate) use self::functions::FunctionFigures;
pub(crate) use self::layers::layer_summary;
pub use self::layers::plan_layers;
pub use self::shares::plan_shares;
use crate::numbers::real_cell;
use results::ReportData;
use results::data::levels;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Explained {
    pub(crate) cell: Cell,
    pub(crate) arm: Option<String>,
    pub(crate) script: String,
    /// Its place among all scripts of the run, from 0; `None` if the run does not name it.
    pub(crate) place: Option<usize>,
    pub(crate) is_one_of_several: bool,
    pub(crate) map: Option<MapPart>,
    /// Layers of its run, in their order; empty if it requests no map.
    pub(crate) layers: Vec<String>,
    pub(crate) transactions: usize,
    /// Planning and execution of a transaction's statements, ms.
    pub(crate) total_ms: Distribution,
    /// Mean of the same without timing of nodes; `None` if not measured.
    pub(crate) untimed_ms: Option<f64>,
    /// Mean service time of the script's transactions in the run itself.
    pub(crate) measured_ms: Option<f64>,
    /// Mean time of JIT compilation, which is included in nodes.
    pub(crate) jit_ms: f64,
    /// Possible error of own times by rounding, as a share of the whole.
    pub(crate) rounding: f64,
    pub(crate) parts: Vec<PartFigures>,
    /// Nodes of the commonest plans, in their order and without figures, and how many transactions have
    /// these.
    pub(crate) shape: Vec<String>,
    pub(crate) of_shape: usize,
    /// The nodes of [`Explained::shape`] without indents.
    pub(crate) nodes: Vec<String>,
    /// Functions of those nodes, each once.
    pub(crate) functions: BTreeSet<String>,
    /// What the server counted of functions, the longest first; empty if nothing.
    pub(crate) function_times: Vec<FunctionFigures>,
    /// The first of several equally slow ones, as for the kept text.
    pub(crate) slowest: StatementPlan,
    /// Possible error of rows per loop, since the server rounds them.
    pub(crate) rows_rounding: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PartFigures {
    pub(crate) part: StatementPart,
    pub(crate) ms: Distribution,
    /// Of the whole, 0 to 1.
    pub(crate) share: Distribution,
    pub(crate) below_a_fifth: usize,
}

/// A common claim about index scans: they take less than this.
pub(crate) const A_FIFTH: f64 = 0.2;

/// Over the transactions of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Distribution {
    pub(crate) mean: f64,
    pub(crate) median: f64,
    pub(crate) p10: f64,
    pub(crate) p25: f64,
    pub(crate) p75: f64,
    pub(crate) p90: f64,
}

impl Distribution {
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let quantile = |q: f64| {
            let at = q * (values.len() - 1) as f64;
            let (below, above) = (values[at.floor() as usize], values[at.ceil() as usize]);
            below + (above - below) * at.fract()
        };
        Self {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            median: quantile(0.5),
            p10: quantile(0.1),
            p25: quantile(0.25),
            p75: quantile(0.75),
            p90: quantile(0.9),
        }
    }
}

type TransactionPlans<'a> = Vec<&'a StatementPlan>;

impl Explained {
    /// All samples, by cell, arm (the base first) and script.
    pub(crate) fn all(data: &ReportData) -> Vec<Self> {
        let mut arms = data.arms();
        arms.sort_by_key(|arm| *arm != data.base());
        let place = |run: &Run| arms.iter().position(|arm| run.arm.as_deref() == *arm);
        // A repeated run replaces the former.
        let mut runs: BTreeMap<(Cell, usize), &Run> = BTreeMap::new();
        for run in data.grid_runs().filter(|run| !run.plans.is_empty()) {
            if let Some(arm) = place(run) {
                runs.insert((Cell::of(run), arm), run);
            }
        }
        let rounding = |run| rows_rounding(run, &data.target);
        runs.into_iter().flat_map(|((cell, _), run)| Self::of_run(&cell, run, rounding(run))).collect()
    }

    fn of_run(cell: &Cell, run: &Run, rows_rounding: f64) -> Vec<Self> {
        let mut scripts: Vec<(&str, BTreeMap<u32, TransactionPlans<'_>>)> = Vec::new();
        for plan in &run.plans {
            let known = scripts.iter().position(|(name, _)| *name == plan.script);
            let at = known.unwrap_or_else(|| {
                scripts.push((&plan.script, BTreeMap::new()));
                scripts.len() - 1
            });
            scripts[at].1.entry(plan.draw).or_default().push(plan);
        }
        let one = |(script, draws): (&str, BTreeMap<u32, TransactionPlans<'_>>)| {
            let transactions: Vec<TransactionPlans<'_>> = draws.into_values().collect();
            Self { rows_rounding, ..Self::of_script((cell, run), script, &transactions) }
        };
        scripts.into_iter().map(one).collect()
    }

    /// Of at least one transaction, each of at least one statement.
    fn of_script((cell, run): (&Cell, &Run), script: &str, transactions: &[TransactionPlans<'_>]) -> Self {
        let each = |of: &dyn Fn(&StatementPlan) -> f64| -> Vec<f64> {
            transactions.iter().map(|plans| plans.iter().map(|plan| of(plan)).sum()).collect()
        };
        let totals = each(&StatementPlan::total_ms);
        let total_ms = Distribution::of(totals.clone());
        let untimed = |plan: &StatementPlan| plan.untimed_ms.map_or(f64::NAN, |ms| ms + plan.planning_ms);
        let mean = |of: &dyn Fn(&StatementPlan) -> f64| Distribution::of(each(of)).mean;
        let place = run.scripts.iter().position(|own| own.name == script);
        let measured = place.map(|place| &run.scripts[place]);
        let slowest = transactions.iter().flatten().reduce(|slowest, plan| {
            let is_slower = plan.total_ms() > slowest.total_ms();
            if is_slower { plan } else { slowest }
        });
        let common = commonest(transactions);
        Self {
            cell: cell.clone(),
            arm: run.arm.clone(),
            script: script.to_owned(),
            place,
            is_one_of_several: run.scripts.len() > 1,
            map: measured.and_then(|own| own.part.clone()),
            layers: zooms::layers(run).into_iter().map(str::to_owned).collect(),
            transactions: transactions.len(),
            total_ms,
            untimed_ms: Some(mean(&untimed)).filter(|ms| ms.is_finite()),
            measured_ms: measured.and_then(|own| Some(own.service.mean_ns()? / 1e6)),
            jit_ms: mean(&|plan| plan.jit_ms),
            rounding: mean(&StatementPlan::rounding_ms) / total_ms.mean,
            parts: parts(transactions, &totals),
            of_shape: transactions.iter().filter(|plans| shape(plans) == shape(common)).count(),
            shape: shape(common),
            nodes: common.iter().flat_map(|plan| &plan.nodes).map(spec::PlanNode::words).collect(),
            functions: common
                .iter()
                .flat_map(|plan| &plan.nodes)
                .flat_map(|node| node.functions.iter().cloned())
                .collect(),
            function_times: functions::of(transactions, &totals),
            slowest: slowest.copied().cloned().unwrap_or_default(),
            rows_rounding: 0.0,
        }
    }

    /// Its arm, and its script if there are several; the script if nothing is compared. For tiles the zoom
    /// is first.
    pub(crate) fn name(&self) -> String {
        if let Some(tiles) = self.tiles() {
            return [Some(tiles), self.arm.clone()].into_iter().flatten().collect::<Vec<_>>().join(", ");
        }
        match (&self.arm, self.is_one_of_several) {
            (Some(arm), false) => arm.clone(),
            (Some(arm), true) => format!("{arm}, {}", self.script),
            (None, _) => self.script.clone(),
        }
    }

    /// `z12`, if its tiles have a zoom.
    pub(crate) fn zoom(&self) -> Option<String> {
        Some(format!("z{}", self.map.as_ref()?.zoom?))
    }

    /// `z12`; `z12 of roads` if there are several layers. `None` without a zoom.
    pub(crate) fn tiles(&self) -> Option<String> {
        let (zoom, part) = (self.zoom()?, self.map.as_ref()?);
        Some(if self.layers.len() > 1 { format!("{zoom} of {}", part.layer) } else { zoom })
    }

    /// Place of its layer among the layers of its run, from 0; `None` if it requests no map.
    pub(crate) fn layer(&self) -> Option<usize> {
        let part = self.map.as_ref()?;
        self.layers.iter().position(|layer| *layer == part.layer)
    }

    pub(crate) fn part(&self, part: StatementPart) -> Option<&PartFigures> {
        self.parts.iter().find(|own| own.part == part)
    }

    /// `41 % joins, 39 % sequential scans`: the largest shares, by their median.
    pub(crate) fn in_short(&self) -> String {
        let mut parts: Vec<&PartFigures> =
            self.parts.iter().filter(|part| part.share.median >= 0.1).collect();
        parts.sort_by(|one, other| other.share.median.total_cmp(&one.share.median));
        let words =
            parts.iter().take(3).map(|own| format!("{:.0} % {}", own.share.median * 100.0, own.part.words()));
        words.collect::<Vec<_>>().join(", ")
    }
}

/// Half of the last digit of rows per loop: whole numbers before PostgreSQL 18, hundredths since.
fn rows_rounding(run: &Run, target: &MeasuredTarget) -> f64 {
    const HUNDREDTHS: u32 = 18;
    let own = run.settings.iter().find(|setting| setting.name == "server_version");
    let version = own.map_or(&target.server_version, |own| &own.value);
    let major = version.split(|letter: char| !letter.is_ascii_digit()).next();
    match major.and_then(|major| major.parse::<u32>().ok()) {
        Some(HUNDREDTHS..) => 0.005,
        _ => 0.5,
    }
}

fn shape(plans: &[&StatementPlan]) -> Vec<String> {
    plans.iter().flat_map(|plan| plan.shape()).collect()
}

/// The transaction with the commonest plans; the first of several.
fn commonest<'t, 'p>(transactions: &'t [TransactionPlans<'p>]) -> &'t TransactionPlans<'p> {
    let like = |plans: &TransactionPlans<'_>| {
        transactions.iter().filter(|other| shape(other) == shape(plans)).count()
    };
    let most = transactions.iter().map(like).max();
    let found = transactions.iter().find(|plans| Some(like(plans)) == most);
    found.unwrap_or(&transactions[0])
}

fn parts(transactions: &[TransactionPlans<'_>], totals: &[f64]) -> Vec<PartFigures> {
    let each: Vec<BTreeMap<StatementPart, f64>> = transactions
        .iter()
        .map(|plans| {
            let mut sums = BTreeMap::new();
            for (part, ms) in plans.iter().flat_map(|plan| plan.parts()) {
                *sums.entry(part).or_insert(0.0) += ms;
            }
            sums
        })
        .collect();
    let one = |part: StatementPart| {
        each.iter().any(|sums| sums.contains_key(&part)).then(|| {
            let ms: Vec<f64> = each.iter().map(|sums| sums.get(&part).copied().unwrap_or(0.0)).collect();
            let share = |(ms, total): (&f64, &f64)| if *total > 0.0 { ms / total } else { 0.0 };
            let shares: Vec<f64> = ms.iter().zip(totals).map(share).collect();
            let below_a_fifth = shares.iter().filter(|share| **share < A_FIFTH).count();
            PartFigures { part, ms: Distribution::of(ms), share: Distribution::of(shares), below_a_fifth }
        })
    };
    StatementPart::ALL.into_iter().filter_map(one).collect()
}

/// Parts of the time of explained transactions: a line for each cell, arm, script and part; `total` is
/// planning and execution together. Medians over the sample with its 10th and 90th percentile, and the
/// mean, which adds up; for tiles also the quartiles of the share, and in how many of them it is below 20
/// %. Then a line for each function that the server counted (`part` is `function`), with its calls on
/// average: the booked time or, if none, the measured one.
#[must_use]
pub fn plans(data: &ReportData) -> Table {
    let mut table = Table::new([
        "workload",
        "cell",
        "arm",
        "script",
        "transactions",
        "part",
        "mean_ms",
        "median_ms",
        "p10_ms",
        "p90_ms",
        "share_median_pct",
        "share_p10_pct",
        "share_p90_pct",
        "function",
        "calls",
        "layer",
        "zoom",
        "share_p25_pct",
        "share_p75_pct",
        "below_20_pct",
    ]);
    let of_maps = ["layer", "zoom", "share_p25_pct", "share_p75_pct", "below_20_pct"];
    table.optional(of_maps);
    for own in Explained::all(data) {
        let head: [CellValue; 5] = [
            own.cell.workload.as_str().into(),
            levels(&own.cell).into(),
            own.arm.clone().into(),
            own.script.as_str().into(),
            (own.transactions as u64).into(),
        ];
        let map = own.map.as_ref();
        let mut line = |name: &str,
                        ms: &Distribution,
                        share: Option<&Distribution>,
                        calls: Option<&FunctionFigures>,
                        below: Option<usize>| {
            let ms = [ms.mean, ms.median, ms.p10, ms.p90].map(|ms| real_cell(Some(ms)));
            let pct = |value: fn(&Distribution) -> f64| real_cell(share.map(|share| 100.0 * value(share)));
            let shares = [pct(|share| share.median), pct(|share| share.p10), pct(|share| share.p90)];
            let calls = [calls.map(|own| own.name.clone()).into(), real_cell(calls.map(|own| own.calls))];
            let quartiles = [pct(|share| share.p25), pct(|share| share.p75)];
            let below = below.map(|below| 100.0 * below as f64 / own.transactions as f64);
            let of_map: [CellValue; 5] = match map {
                None => Default::default(),
                Some(part) => {
                    let [low, high] = quartiles;
                    [part.layer.as_str().into(), part.zoom.map(u64::from).into(), low, high, real_cell(below)]
                }
            };
            let line = head.iter().cloned().chain([name.into()]).chain(ms).chain(shares).chain(calls);
            table.push(line.chain(of_map));
        };
        for part in &own.parts {
            line(part.part.name(), &part.ms, Some(&part.share), None, Some(part.below_a_fifth));
        }
        line("total", &own.total_ms, None, None, None);
        for function in &own.function_times {
            line("function", &function.ms, Some(&function.share), Some(function), None);
        }
    }
    table
}

#[cfg(test)]
pub(crate) mod tests {
    use spec::{PlanNode, RunKey, RunKind, ScriptRecord, Setting};

    use super::*;

    /// A run with a statement for each of these times in a node of this kind, and a tenth of it for
    /// planning.
    pub(crate) fn run(arm: &str, round: u32, node: (StatementPart, &str, &str), each_ms: &[f64]) -> Run {
        let factors = [("clients".to_owned(), "4".to_owned())].into();
        let key = RunKey { workload: "w".into(), factors, arm: Some(arm.into()), round };
        let (part, node_type, index) = node;
        let plan = |(draw, ms): (u32, &f64)| {
            let scan = PlanNode {
                part,
                node_type: node_type.into(),
                relation: "t".into(),
                index: index.into(),
                own_ms: *ms,
                loops: 1.0,
                depth: 1,
                ..PlanNode::default()
            };
            let limit = PlanNode { node_type: "Limit".into(), loops: 1.0, ..PlanNode::default() };
            StatementPlan {
                script: "a.sql".into(),
                line: 1,
                draw,
                planning_ms: ms / 10.0,
                execution_ms: *ms,
                untimed_ms: Some(ms * 0.8),
                nodes: vec![limit, scan],
                ..StatementPlan::default()
            }
        };
        let plans = (0..).zip(each_ms).map(plan).collect();
        let scripts = vec![script("a.sql")];
        Run { plans, scripts, clients: 4, measured_s: 1.0, sequence: round, ..Run::new(RunKind::Client, key) }
    }

    pub(crate) fn script(name: &str) -> ScriptRecord {
        ScriptRecord {
            name: name.into(),
            text_hash: String::new(),
            weight: 1,
            part: None,
            counts: Default::default(),
            response: Default::default(),
            service: Default::default(),
        }
    }

    pub(crate) fn data(runs: Vec<Run>) -> ReportData {
        let arms =
            ["a", "b"].map(|name| serde_json::json!({"name": name, "settings": {}, "unsafe_settings": []}));
        let experiment = serde_json::from_value(serde_json::json!({
            "hash": "ab", "name": "demo", "question": "", "file_text": "", "seed": 1,
            "order_scheme": "pairs", "rounds": 2, "compare_factor": "index", "base": "a", "arms": arms,
            "margin": 0.03, "created_at": "",
        }));
        let host = serde_json::from_value(serde_json::json!({
            "uuid": "", "name": "", "cpu": "", "cores": 2, "memory_bytes": 0, "facts": {},
        }));
        let target = serde_json::from_value(serde_json::json!({
            "kind": "url", "dsn_redacted": "", "server_version": "18", "postgis_version": null, "versions": {},
        }));
        ReportData::new(experiment.unwrap(), host.unwrap(), target.unwrap(), runs)
    }

    #[test]
    fn parts_are_told_over_the_transactions_of_the_sample() {
        let scan = (StatementPart::SeqScan, "Seq Scan", "");
        let found = Explained::all(&data(vec![run("a", 1, scan, &[1.0, 2.0, 3.0, 10.0, 4.0])]));
        let [own] = &found[..] else { panic!("{found:?}") };
        assert_eq!((own.transactions, own.of_shape, own.name().as_str()), (5, 5, "a"));
        let scans = own.part(StatementPart::SeqScan).unwrap();
        assert_eq!((scans.ms.mean, scans.ms.median, scans.ms.p10), (4.0, 3.0, 1.4));
        assert!((scans.share.median - 1.0 / 1.1).abs() < 1e-9 && (scans.ms.p90 - 7.6).abs() < 1e-9);
        assert!(
            (own.untimed_ms.unwrap() - 3.6).abs() < 1e-9 && (own.slowest.execution_ms - 10.0).abs() < 1e-9
        );
        assert_eq!(own.in_short(), "91 % sequential scans");
        let means: f64 = own.parts.iter().map(|part| part.ms.mean).sum();
        assert!((means - own.total_ms.mean).abs() < 1e-9);
        let table = plans(&data(vec![run("a", 1, scan, &[1.0])]));
        let parts: Vec<&CellValue> = table.rows.iter().map(|row| &row[5]).collect();
        assert_eq!(
            parts,
            ["planning", "seq_scan", "other", "outside", "total"]
                .map(CellValue::from)
                .iter()
                .collect::<Vec<_>>()
        );
    }

    /// Regression: another of several equally slow ones could be kept as text.
    #[test]
    fn of_several_that_took_as_long_the_first_is_the_slowest() {
        let scan = (StatementPart::SeqScan, "Seq Scan", "");
        let found = Explained::all(&data(vec![run("a", 1, scan, &[1.0, 3.0, 3.0])]));
        assert_eq!(found[0].slowest.draw, 1);
    }

    #[test]
    fn rows_per_loop_are_rounded_as_the_version_of_the_run_has_it() {
        let scan = (StatementPart::SeqScan, "Seq Scan", "");
        let rounding = |version: Option<&str>| {
            let mut run = run("a", 1, scan, &[1.0]);
            let own = version.map(|version| Setting {
                name: "server_version".into(),
                value: version.into(),
                source: "default".into(),
                is_initial: None,
            });
            run.settings = run.settings.iter().cloned().chain(own).collect();
            Explained::all(&data(vec![run]))[0].rows_rounding
        };
        // All targets have version 18.
        for (version, wanted) in
            [(None, 0.005), (Some("17.4 (Debian 17.4-1)"), 0.5), (Some("19devel"), 0.005), (Some("?"), 0.5)]
        {
            assert_eq!(rounding(version), wanted, "{version:?}");
        }
    }

    #[test]
    fn what_was_measured_again_takes_the_place_of_the_former() {
        let scan = (StatementPart::SeqScan, "Seq Scan", "");
        let runs = vec![run("a", 1, scan, &[1.0]), run("a", 2, scan, &[2.0]), run("a", 3, scan, &[])];
        let found = Explained::all(&data(runs));
        assert_eq!((found.len(), found[0].slowest.execution_ms), (1, 2.0));
    }
}
