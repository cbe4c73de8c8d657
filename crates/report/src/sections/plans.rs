//! Where the time of statements goes: a bar per arm in each cell, the differences of plans, and the slowest
//! plan node by node.

use std::collections::{BTreeMap, BTreeSet};

use results::{CellValue, Table};
use spec::{PlanNode, RunEvent, StatementPart, StatementPlan};

use super::shares;
use crate::block::Block;
use crate::chart::stacks::{Stack, StackScale, Stacks};
use crate::explained::{Distribution, Explained, FunctionFigures, change, of_base, plan_layers};
use crate::numbers;
use crate::stages::REST;
use results::ReportData;
use results::data::cell_text;

/// Cells shown unfolded; the rest is folded.
const OPEN: usize = 3;
/// Scripts of a cell that are shown: those that take the longest.
const SCRIPTS: usize = 20;
/// Parts with a separate colour; the small ones share one.
const PARTS: usize = 6;
/// From this ratio of bar lengths on, bars are also drawn as shares: otherwise the shortest one would be
/// invisible.
const FAR_APART: f64 = 4.0;
/// From this share on, a remark says that times per loop are rounded.
const ROUNDED: f64 = 0.05;

#[derive(Debug)]
struct PlansOfCell {
    label: String,
    /// Place of the layer of tiles.
    layer: Option<usize>,
    /// The base first; for tiles by zoom.
    arms: Vec<Explained>,
    /// How the plans of each arm differ from the base's, a sentence each.
    changes: Vec<String>,
    /// Scripts that are not shown.
    left_out: usize,
}

pub(super) fn blocks(data: &ReportData) -> Vec<Block> {
    let cells = PlansOfCell::all(data);
    let (open, folded) = cells.split_at(cells.len().min(OPEN));
    let head = (!cells.is_empty()).then(|| Block::text(HOW));
    let shares = shares::of(&Explained::all(data)).into_iter().flat_map(shares::Shares::blocks);
    let summary = format!("Plans of {} more", folded.len());
    let folded = Block::details(summary, folded.iter().flat_map(PlansOfCell::blocks).collect());
    let missing: Vec<&str> = data.remarks(RunEvent::NO_PLANS).into_iter().collect();
    let missing = (!missing.is_empty())
        .then(|| Block::remark(format!("Not everything was explained: {}.", missing.join("; "))));
    let open = open.iter().flat_map(PlansOfCell::blocks);
    let layers = plan_layers(data);
    let layers = (!layers.rows.is_empty()).then(|| Table { caption: LAYERS.to_owned(), ..layers }.into());
    head.into_iter().chain(shares).chain(layers).chain(open).chain(folded).chain(missing).collect()
}

const LAYERS: &str = "What each layer inside a tile took, mean over the first tiles of the sample, and its share of all layers: from the \
    statement's own plan, from the plans of the statements in a function (auto_explain), or each layer asked for alone.";

const FUNCTIONS: &str = "Milliseconds that are booked under their part, median over the sample [10th, 90th percentile], share of \
    the whole, and calls on average. What the server counted in the function itself is evened: no node gives more than its own time, \
    and below a Gather, where only the leader's calls are counted, workers are taken to have spent as large a share. What is booked \
    nowhere was called by operators, casts or planning: it stands as it was counted, and is in their parts.";

const HOW: &str = "A sample of transactions, the same for all arms, was explained (EXPLAIN ANALYZE) in one connection when \
    the first round's run of its cell and arm was over; nothing of it is in any figure of speed. Each node counts with its own \
    time; what an index scan reads of its table is in the index scan.";

/// The order of display: unchanged, except that tiles of a cell are by layer, zoom and then arm.
fn by_layer(mut all: Vec<Explained>) -> Vec<Explained> {
    // Cells and arms stay in their order.
    let mut cells: Vec<_> = all.iter().map(|own| own.cell.clone()).collect();
    cells.dedup();
    let place = |explained: &Explained| cells.iter().position(|cell| *cell == explained.cell);
    all.sort_by_key(|own| (place(own), own.layer(), own.map.as_ref().and_then(|part| part.zoom)));
    all
}

impl PlansOfCell {
    fn all(data: &ReportData) -> Vec<Self> {
        let mut cells: Vec<Self> = Vec::new();
        for own in by_layer(Explained::all(data)) {
            let is_with = |last: &&mut Self| last.arms[0].cell == own.cell && last.layer == own.layer();
            match cells.last_mut().filter(is_with) {
                Some(last) => last.arms.push(own),
                None => cells.push(Self::starting_with(own)),
            }
        }
        cells.iter_mut().for_each(Self::leave_out_fast_scripts);
        if let Some(base) = data.base() {
            cells.iter_mut().for_each(|cell| cell.changes = changes(&cell.arms, base));
        }
        cells
    }

    fn starting_with(own: Explained) -> Self {
        let cell = cell_text(&own.cell);
        let label = match &own.map {
            Some(part) if own.layers.len() > 1 => format!("{cell}, {}", part.layer),
            _ => cell,
        };
        Self { label, layer: own.layer(), arms: vec![own], changes: Vec::new(), left_out: 0 }
    }

    /// Keeps the scripts that take the longest, with all their arms.
    fn leave_out_fast_scripts(&mut self) {
        let mut longest_ms: BTreeMap<usize, f64> = BTreeMap::new();
        for (place, own) in self.arms.iter().filter_map(|own| Some((own.place?, own))) {
            let longest = longest_ms.entry(place).or_default();
            *longest = longest.max(own.measured_ms.unwrap_or(own.total_ms.mean));
        }
        let mut places: Vec<(usize, f64)> = longest_ms.into_iter().collect();
        if self.layer.is_some() || places.len() <= SCRIPTS {
            return;
        }
        places.sort_by(|one, other| other.1.total_cmp(&one.1));
        let left_out: BTreeSet<usize> = places.drain(SCRIPTS..).map(|(place, _)| place).collect();
        self.arms.retain(|own| own.place.is_none_or(|place| !left_out.contains(&place)));
        self.left_out = left_out.len();
    }

    /// The parts that take most, over all arms, in their usual order: those with a separate colour.
    fn largest(&self) -> Vec<StatementPart> {
        // Shares, so that a slow arm does not dominate.
        let weight = |part: StatementPart| -> f64 {
            self.arms.iter().filter_map(|own| own.part(part)).map(|own| own.share.mean).sum()
        };
        let mut parts: Vec<StatementPart> =
            StatementPart::ALL.into_iter().filter(|part| weight(*part) > 0.0).collect();
        parts.retain(|part| !matches!(part, StatementPart::Other | StatementPart::Outside));
        parts.sort_by(|one, other| weight(*other).total_cmp(&weight(*one)));
        parts.truncate(PARTS);
        parts.sort_unstable();
        parts
    }

    /// In milliseconds, and as shares if arms are far apart.
    fn charts(&self) -> Vec<Stacks> {
        let totals = || self.arms.iter().map(|own| own.total_ms.mean);
        let (least, most) = (totals().fold(f64::INFINITY, f64::min), totals().fold(0.0, f64::max));
        let chart = self.chart();
        let shares = (most > FAR_APART * least).then(|| {
            let share = |stack: &Stack| {
                let whole: f64 = stack.parts.iter().sum();
                let parts = stack.parts.iter().map(|length| 100.0 * length / whole).collect();
                Stack { parts, ..stack.clone() }
            };
            Stacks {
                title: format!("{}: shares of the time of a transaction", self.label),
                stacks: chart.stacks.iter().map(share).collect(),
                scale: StackScale::Shares,
                ..chart.clone()
            }
        });
        [Some(chart), shares].into_iter().flatten().collect()
    }

    fn chart(&self) -> Stacks {
        let parts = self.largest();
        let stack = |own: &Explained| {
            let mut lengths: Vec<f64> =
                parts.iter().map(|part| own.part(*part).map_or(0.0, |own| own.ms.mean)).collect();
            lengths.push((own.total_ms.mean - lengths.iter().sum::<f64>()).max(0.0));
            Stack { name: own.name(), parts: lengths, interval: None }
        };
        Stacks {
            title: format!("{}: where the time of a transaction goes", self.label),
            parts: parts.iter().map(|part| part.words()).chain([REST]).collect(),
            stacks: self.arms.iter().map(stack).collect(),
            scale: StackScale::Milliseconds,
            data: self.sheet(),
        }
    }

    fn sheet(&self) -> Table {
        let caption = "Own times in milliseconds, median over the sample [10th, 90th percentile], and shares of the whole";
        let mut sheet =
            Table::captioned(caption).text(["part"]).numbers(self.arms.iter().map(Explained::name));
        for part in StatementPart::ALL {
            let own: Vec<_> = self.arms.iter().map(|arm| arm.part(part)).collect();
            if own.iter().any(Option::is_some) {
                let cell = |own: &Option<_>| own.map_or_else(|| numbers::ABSENT.into(), figures_of);
                sheet.push([part.words().into()].into_iter().chain(own.iter().map(cell)));
            }
        }
        let totals = self.arms.iter().map(|own| CellValue::from(milliseconds(&own.total_ms)));
        sheet.push([CellValue::from("planning and execution")].into_iter().chain(totals));
        sheet
    }

    /// What the server counted of functions; `None` if it counted none.
    fn functions(&self) -> Option<Table> {
        // The base's order, then functions of other arms only.
        let mut names: Vec<&str> = Vec::new();
        for own in self.arms.iter().flat_map(|arm| &arm.function_times) {
            if !names.contains(&own.name.as_str()) {
                names.push(&own.name);
            }
        }
        let mut sheet = Table::captioned(FUNCTIONS)
            .text(["function", "booked under"])
            .numbers(self.arms.iter().map(Explained::name));
        for name in &names {
            let of_arms: Vec<Option<&FunctionFigures>> =
                self.arms.iter().map(|arm| arm.function_times.iter().find(|own| own.name == *name)).collect();
            let booked = of_arms.iter().flatten().find(|own| own.is_booked);
            let part = booked.map_or(numbers::ABSENT, |own| own.part.words());
            let cells =
                of_arms.iter().map(|own| own.map_or_else(|| numbers::ABSENT.into(), figures_of_function));
            sheet.push([CellValue::from(*name), part.into()].into_iter().chain(cells));
        }
        (!names.is_empty()).then_some(sheet)
    }

    fn blocks(&self) -> Vec<Block> {
        let functions = self.functions().map(Block::from).into_iter().collect();
        let functions = Block::details("Functions of PostGIS and others", functions);
        // Tiles have many: each zoom of each arm.
        let folded = self.layer.is_some();
        let remark = |explained: &Explained| Block::remark(sample_words(explained));
        let plan = |explained: &Explained| {
            let nodes = nodes(&explained.slowest, explained.rows_rounding).into();
            let blocks = folded.then(|| remark(explained)).into_iter().chain([nodes]).collect();
            Block::details(format!("The slowest plan of {}", explained.name()), blocks)
        };
        let left_out = (self.left_out > 0).then(|| {
            let left_out = numbers::counted(self.left_out, "script");
            Block::remark(format!(
                "{left_out} that took less time are not shown here: pgdyno table plans has all."
            ))
        });
        [Block::Heading(self.label.clone())]
            .into_iter()
            .chain(left_out)
            .chain(self.changes.iter().map(Block::text))
            .chain(self.charts().into_iter().map(Block::from))
            .chain(functions)
            .chain(self.arms.iter().filter(|_| !folded).map(remark))
            .chain(self.arms.iter().filter_map(plan))
            .collect()
    }
}

/// How each arm's plans differ from the base's; empty if the base was not explained. Tiles with the same
/// difference share a sentence: `With new.sql at z12, z13: …`.
fn changes(arms: &[Explained], base: &str) -> Vec<String> {
    // Arm, zooms, and the difference.
    let mut changes: Vec<(String, Vec<String>, String)> = Vec::new();
    for own in arms.iter().filter(|arm| arm.arm.as_deref() != Some(base)) {
        let Some(of_base) = of_base(arms, base, own) else { continue };
        let tiles = own.tiles();
        let [name, base] = match (&tiles, &own.arm) {
            (Some(_), Some(arm)) => [arm.clone(), base.to_owned()],
            _ => [own.name(), of_base.name()],
        };
        let said = match change(of_base, own) {
            Some(change) => format!(": {change}."),
            None => format!(" the plans are those of {base}."),
        };
        match changes.iter_mut().find(|(other, zooms, known)| {
            *other == name && *known == said && tiles.is_some() && !zooms.is_empty()
        }) {
            Some((_, zooms, _)) => zooms.extend(tiles),
            None => changes.push((name, tiles.into_iter().collect(), said)),
        }
    }
    let sentence = |(name, zooms, said): (String, Vec<String>, String)| {
        let at = if zooms.is_empty() { String::new() } else { format!(" at {}", zooms.join(", ")) };
        format!("With {name}{at}{said}")
    };
    changes.into_iter().map(sentence).collect()
}

/// `1.2 [1.1, 1.4], 45 %`.
fn figures_of(own: &crate::explained::PartFigures) -> CellValue {
    format!("{}, {:.0} %", milliseconds(&own.ms), 100.0 * own.share.median).into()
}

/// `1.2 [1.1, 1.4], 45 %, 820 calls`.
fn figures_of_function(own: &FunctionFigures) -> CellValue {
    let (share, calls) = (100.0 * own.share.median, numbers::counted(own.calls.round() as usize, "call"));
    format!("{}, {share:.0} %, {calls}", milliseconds(&own.ms)).into()
}

fn milliseconds(ms: &Distribution) -> String {
    format!(
        "{} [{}, {}]",
        numbers::figure_text(ms.median),
        numbers::figure_text(ms.p10),
        numbers::figure_text(ms.p90)
    )
}

fn sample_words(explained: &Explained) -> String {
    let ms = |ms: f64| numbers::latency_ns(ms * 1e6);
    let mut text = format!(
        "{}: {}; explained, one takes {} on average",
        explained.name(),
        numbers::counted(explained.transactions, "transaction"),
        ms(explained.total_ms.mean)
    );
    if let Some(untimed) = explained.untimed_ms {
        text += &format!(", {} without clocks at the nodes", ms(untimed));
    }
    text += &match explained.measured_ms {
        Some(measured) => format!(
            "; in the run of the first round {}, with the way to the client and what clients wait for each other.",
            ms(measured)
        ),
        None => ".".to_owned(),
    };
    if explained.of_shape < explained.transactions {
        let others = explained.transactions - explained.of_shape;
        text += &format!(
            " {} of them have the plans that are compared, {others} have others.",
            explained.of_shape
        );
    }
    if explained.jit_ms > explained.total_ms.mean * 0.01 {
        text += &format!(
            " Compiling expressions (JIT) took {}, that of all processes added up; it is within the nodes that need them.",
            ms(explained.jit_ms)
        );
    }
    if explained.rounding > ROUNDED {
        text += &format!(
            " The server rounds times of each loop to 1 µs: own times of nodes with many loops can be wrong by {:.0} % of the whole.",
            100.0 * explained.rounding
        );
    }
    text
}

const RANGE: &str = " to ";
const ROUNDED_ROWS: &str =
    "; rows as a range where the server rounds those of each loop (to whole ones before PostgreSQL 18)";

/// Rows over all loops; a range if rounding of each loop leaves that open.
fn rows_text(node: &PlanNode, rounding: f64) -> String {
    let off = if node.loops > 1.0 { node.loops * rounding } else { 0.0 };
    let (least, most) = ((node.rows - off).max(0.0).ceil() as u64, (node.rows + off).floor() as u64);
    match least < most {
        true => format!("{}{RANGE}{}", numbers::count(least), numbers::count(most)),
        false => numbers::count(node.rows.round() as u64),
    }
}

/// A plan, node by node; `rounding` is the one of rows per loop.
fn nodes(plan: &StatementPlan, rounding: f64) -> Table {
    let rows: Vec<String> = plan.nodes.iter().map(|node| rows_text(node, rounding)).collect();
    let ranges = if rows.iter().any(|rows| rows.contains(RANGE)) { ROUNDED_ROWS } else { "" };
    let caption = format!(
        "{}, line {}, transaction {} of the sample: planning {} ms, execution {} ms; own figures of each node{ranges}",
        plan.script,
        plan.line,
        plan.draw + 1,
        numbers::figure_text(plan.planning_ms),
        numbers::figure_text(plan.execution_ms)
    );
    let mut sheet = Table::captioned(caption)
        .text(["node"])
        .numbers(["ms", "of it functions", "rows", "loops", "blocks hit", "blocks read"])
        .text(["computes"]);
    for (node, rows) in plan.nodes.iter().zip(rows) {
        let role = if node.role.is_empty() { String::new() } else { format!("{}: ", node.role) };
        let indent = "\u{a0}\u{a0}".repeat(node.depth as usize);
        let counts = [rows, numbers::count(node.loops.round() as u64)].map(CellValue::from);
        let blocks =
            [node.hit_blocks, node.read_blocks].map(|blocks| CellValue::from(numbers::count(blocks)));
        let own_ms = CellValue::from(if node.loops > 0.0 {
            numbers::figure_text(node.own_ms)
        } else {
            "never".to_owned()
        });
        let words = CellValue::from(format!("{indent}{role}{}", node.words()));
        let functions = CellValue::from(node.functions.join(", "));
        let functions_ms =
            if node.functions_ms > 0.0 { numbers::figure_text(node.functions_ms) } else { String::new() };
        sheet.push(
            [words, own_ms, functions_ms.into()].into_iter().chain(counts).chain(blocks).chain([functions]),
        );
    }
    sheet
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explained::tests::{data, run};
    use crate::format::page;

    fn both() -> ReportData {
        let base = run("a", 1, (StatementPart::SeqScan, "Seq Scan", ""), &[2.0, 3.0, 4.0]);
        let mut new = run("b", 1, (StatementPart::Index, "Index Scan", "i"), &[0.5, 0.5, 0.6]);
        new.plans[2].nodes[1].functions = vec!["st_area".into()];
        new.plans[2].nodes[1].functions_ms = 0.25;
        new.plans[2].functions = vec![spec::FunctionTime {
            name: "st_area".into(),
            calls: 30,
            self_ms: 0.25,
            part: StatementPart::Geometry,
            booked_ms: 0.25,
        }];
        let missing =
            spec::RunEvent { time_us: 0, kind: RunEvent::NO_PLANS.into(), detail: "b.sql writes".into() };
        new.events.push(missing);
        data(vec![base, new])
    }

    #[test]
    fn arms_stand_below_each_other_with_what_differs() {
        let cells = PlansOfCell::all(&both());
        assert_eq!(
            cells[0].largest(),
            [StatementPart::Planning, StatementPart::Index, StatementPart::SeqScan, StatementPart::Geometry]
        );
        let page = page(&blocks(&both()));
        for wanted in [
            "With b: Index Scan using i on t instead of Seq Scan on t.",
            "Not everything was explained: b.sql writes.",
            "a: 3 transactions; explained, one takes 3.30 ms on average, 2.70 ms without clocks at the nodes.",
            "st_area",
            "sequential scans",
            "geometry functions",
            "10 calls",
        ] {
            assert!(page.contains(wanted), "{wanted}: {page}");
        }
        let chart = cells[0].chart();
        let sums: Vec<f64> = chart.stacks.iter().map(|stack| stack.parts.iter().sum()).collect();
        assert!((sums[0] - 3.3).abs() < 1e-9, "{sums:?}");
        assert_eq!(chart.stacks[1].name, "b");
        let charts = cells[0].charts();
        let shares: Vec<f64> = charts[1].stacks.iter().map(|stack| stack.parts.iter().sum()).collect();
        assert!(shares.iter().all(|sum| (sum - 100.0).abs() < 1e-9), "{shares:?}");
    }

    /// Regression: without the base's plans a third arm was compared with the second, with no base named.
    #[test]
    fn nothing_is_said_where_the_base_was_not_explained() {
        let mut found = both();
        let scan = (StatementPart::SeqScan, "Seq Scan", "");
        let third = run("c", 1, scan, &[2.0]);
        found.experiment.arms.push(spec::ArmRecord { name: "c".into(), ..found.experiment.arms[0].clone() });
        found.runs.push(third);
        let changes = |data: &ReportData| PlansOfCell::all(data)[0].changes.clone();
        let wanted =
            ["With b: Index Scan using i on t instead of Seq Scan on t.", "With c the plans are those of a."];
        assert_eq!(changes(&found), wanted);
        found.runs.iter_mut().filter(|run| run.arm.as_deref() == Some("a")).for_each(|run| run.plans.clear());
        assert!(changes(&found).is_empty());
    }

    /// Regression: 0.3 rows in each of 1,000 loops were printed as 0.
    #[test]
    fn rows_that_a_server_rounds_in_each_loop_are_a_range() {
        let of = |each: f64, loops: f64, rounding: f64| {
            rows_text(&PlanNode { rows: each * loops, loops, ..PlanNode::default() }, rounding)
        };
        assert_eq!(of(0.0, 1000.0, 0.5), "0 to 500");
        assert_eq!(of(3.0, 3.0, 0.5), "8 to 10");
        assert_eq!(of(7.0, 1.0, 0.5), "7");
        assert_eq!(of(0.0, 0.0, 0.5), "0");
        assert_eq!((of(0.33, 3.0, 0.005).as_str(), of(0.3, 1000.0, 0.005).as_str()), ("1", "295 to 305"));
        let mut old = both();
        old.runs.iter_mut().flat_map(|run| &mut run.plans).for_each(|plan| plan.nodes[1].loops = 1000.0);
        let page = |data: &ReportData| page(&blocks(data));
        assert!(page(&old).contains(">0 to 5<") && page(&old).contains(ROUNDED_ROWS));
        old.target.server_version = "17.4 (Debian)".into();
        assert!(page(&old).contains(">0 to 500<"));
        assert!(!page(&both()).contains(ROUNDED_ROWS));
    }

    #[test]
    fn what_could_not_be_explained_is_said_alone() {
        let mut only = both();
        only.runs.iter_mut().for_each(|run| run.plans.clear());
        let page = page(&blocks(&only));
        assert!(
            page.contains("Not everything was explained: b.sql writes.") && !page.contains("A sample of"),
            "{page}"
        );
        only.runs.iter_mut().for_each(|run| run.events.clear());
        assert!(blocks(&only).is_empty());
    }

    /// Regression: plans were ordered by arm, then script.
    #[test]
    fn tiles_stand_by_layer_and_zoom() {
        let mut found = both();
        for run in &mut found.runs {
            let name = |zoom: u8| format!("t, z{zoom:02}");
            let part = |zoom| Some(spec::MapPart { layer: "t".into(), zoom: Some(zoom), cached: None });
            run.scripts = [9, 12]
                .map(|zoom| spec::ScriptRecord {
                    part: part(zoom),
                    ..crate::explained::tests::script(&name(zoom))
                })
                .into();
            let other = run.plans.iter().cloned().map(|plan| StatementPlan { script: name(9), ..plan });
            let other: Vec<StatementPlan> = other.collect();
            run.plans.iter_mut().for_each(|plan| plan.script = name(12));
            run.plans.extend(other);
        }
        let cells = PlansOfCell::all(&found);
        let [cell] = &cells[..] else { panic!("{cells:?}") };
        assert_eq!(
            cell.arms.iter().map(Explained::name).collect::<Vec<_>>(),
            ["z9, a", "z9, b", "z12, a", "z12, b"]
        );
        assert_eq!(cell.changes, ["With b at z9, z12: Index Scan using i on t instead of Seq Scan on t."]);
        let page = page(&blocks(&found));
        assert!(
            page.contains("what index scans take of a tile")
                && page.contains("b: index scans take less than"),
            "{page}"
        );
        let table = crate::tables::plans(&found);
        let at = |name: &str| table.at(name).unwrap();
        let scan = table.rows.iter().find(|row| row[at("part")] == "seq_scan".into()).unwrap();
        assert_eq!(
            (&scan[at("zoom")], &scan[at("below_20_pct")]),
            (&results::CellValue::Int(12), &results::CellValue::Real(0.0))
        );
    }
}
