//! The time of each layer inside tiles that one statement or function makes.

use std::collections::BTreeMap;

use results::comparison::Cell;
use results::{CellValue, Table};
use spec::{LayerTimeSource, MapPart, OUTSIDE_LAYERS, Run, StatementPlan};

use crate::numbers::{counted, latency_us, real_cell};
use results::ReportData;
use results::data::levels;

/// Arms with a line in the summary, at most.
const MOST_ARMS: usize = 3;

/// The tiles of one script in an arm of a cell.
struct SplitTiles {
    cell: Cell,
    arm: Option<String>,
    script: String,
    map: Option<MapPart>,
    tiles: usize,
    /// The longest first.
    layers: Vec<LayerFigures>,
}

struct LayerFigures {
    name: String,
    /// Mean over the tiles.
    ms: f64,
    /// Of the tile, 0..=1.
    share: f64,
    source: LayerTimeSource,
}

impl SplitTiles {
    /// By cell, arm (the base first) and script.
    fn all(data: &ReportData) -> Vec<Self> {
        let mut arms = data.arms();
        arms.sort_by_key(|arm| *arm != data.base());
        let place = |run: &Run| arms.iter().position(|arm| run.arm.as_deref() == *arm);
        // A repeated run replaces the former.
        let mut runs: BTreeMap<(Cell, usize), &Run> = BTreeMap::new();
        for run in data.grid_runs().filter(|run| run.plans.iter().any(|plan| !plan.layers.is_empty())) {
            if let Some(arm) = place(run) {
                runs.insert((Cell::of(run), arm), run);
            }
        }
        runs.into_iter().flat_map(|((cell, _), run)| Self::of_run(&cell, run)).collect()
    }

    fn of_run(cell: &Cell, run: &Run) -> Vec<Self> {
        let split = |script: &spec::ScriptRecord| {
            let plans: Vec<&StatementPlan> = run
                .plans
                .iter()
                .filter(|plan| plan.script == script.name && !plan.layers.is_empty())
                .collect();
            (!plans.is_empty()).then(|| Self {
                cell: cell.clone(),
                arm: run.arm.clone(),
                script: script.name.clone(),
                map: script.part.clone(),
                tiles: plans.len(),
                layers: figures(&plans),
            })
        };
        run.scripts.iter().filter_map(split).collect()
    }

    fn total_ms(&self) -> f64 {
        self.layers.iter().map(|layer| layer.ms).sum()
    }

    /// `z9`, else its script.
    fn place(&self) -> String {
        let zoom = self.map.as_ref().and_then(|part| part.zoom);
        zoom.map_or_else(|| self.script.clone(), |zoom| format!("z{zoom}"))
    }
}

fn figures(plans: &[&StatementPlan]) -> Vec<LayerFigures> {
    let mut sums: BTreeMap<&str, (f64, LayerTimeSource)> = BTreeMap::new();
    for layer in plans.iter().flat_map(|plan| &plan.layers) {
        sums.entry(&layer.name).or_insert((0.0, layer.source)).0 += layer.ms;
    }
    let all: f64 = sums.values().map(|(ms, _)| ms).sum();
    let mut layers: Vec<LayerFigures> = sums
        .into_iter()
        .map(|(name, (ms, source))| LayerFigures {
            name: name.to_owned(),
            ms: ms / plans.len() as f64,
            share: if all > 0.0 { ms / all } else { 0.0 },
            source,
        })
        .collect();
    layers.sort_by(|one, other| other.ms.total_cmp(&one.ms));
    layers
}

/// One line per cell, arm, script and layer, the longest layer of a script first: mean time over the tiles of a
/// sample, and share of the tile, with what is outside of layers. Empty where no tile has several layers.
#[must_use]
pub fn plan_layers(data: &ReportData) -> Table {
    let mut table =
        Table::new(["workload", "cell", "arm", "script", "layer", "mean_ms", "share_pct", "tiles", "source"]);
    table.optional(["arm"]);
    for own in SplitTiles::all(data) {
        for layer in &own.layers {
            table.push([
                own.cell.workload.as_str().into(),
                levels(&own.cell).into(),
                CellValue::from(own.arm.clone()),
                own.script.as_str().into(),
                layer.name.as_str().into(),
                real_cell(Some(layer.ms)),
                real_cell(Some(100.0 * layer.share)),
                (own.tiles as u64).into(),
                source(layer.source).into(),
            ]);
        }
    }
    table
}

fn source(source: LayerTimeSource) -> &'static str {
    match source {
        LayerTimeSource::Plan => "its plan",
        LayerTimeSource::Nested => "auto_explain",
        LayerTimeSource::Alone => "measured alone",
    }
}

/// For each arm the layer that takes most where its tiles take longest: `tiles: layer roads takes 72 % of z9, 5.02 s of
/// 6.97 s for a tile`.
pub(crate) fn layer_summary(data: &ReportData) -> Vec<String> {
    let all = SplitTiles::all(data);
    let mut slowest: BTreeMap<usize, &SplitTiles> = BTreeMap::new();
    let mut arms: Vec<&Option<String>> = Vec::new();
    for own in &all {
        let at = arms.iter().position(|arm| **arm == own.arm).unwrap_or_else(|| {
            arms.push(&own.arm);
            arms.len() - 1
        });
        let known = slowest.entry(at).or_insert(own);
        if own.total_ms() > known.total_ms() {
            *known = own;
        }
    }
    let line = |own: &&SplitTiles| {
        let most = own.layers.first()?;
        let place = match &own.arm {
            Some(arm) => format!("{} of {arm}", own.place()),
            None => own.place(),
        };
        let share = 100.0 * most.share;
        let takes = match most.name == OUTSIDE_LAYERS {
            true => format!(
                "{share:.0} % of {place} is outside of its layers, in what several or none of them use"
            ),
            false => format!("layer {} takes {share:.0} % of {place}", most.name),
        };
        Some(format!(
            "tiles: {takes}: {} of {} a tile, mean of {}",
            latency_us(most.ms * 1e3),
            latency_us(own.total_ms() * 1e3),
            counted(own.tiles, "sampled tile")
        ))
    };
    slowest.values().filter_map(line).take(MOST_ARMS).collect()
}

#[cfg(test)]
mod tests {
    use spec::{LayerTime, StatementPart};

    use super::*;
    use crate::explained::tests::{data, run, script};

    /// Two tiles at z9 and one at z14, with these milliseconds of roads and water.
    fn tiles(arm: &str, z9: [[f64; 2]; 2], z14: [f64; 2]) -> Run {
        let mut made = run(arm, 1, (StatementPart::SeqScan, "Seq Scan", ""), &[1.0, 1.0, 1.0]);
        made.scripts = [9, 14]
            .map(|zoom| spec::ScriptRecord {
                part: Some(MapPart { layer: "map()".into(), zoom: Some(zoom), cached: None }),
                ..script(&format!("map(), z{zoom}"))
            })
            .into();
        for (plan, (zoom, [roads, water])) in made.plans.iter_mut().zip([(9, z9[0]), (9, z9[1]), (14, z14)]) {
            plan.script = format!("map(), z{zoom}");
            plan.layers = [("roads", roads), ("water", water)]
                .map(|(name, ms)| LayerTime { name: name.into(), ms, source: LayerTimeSource::Nested })
                .into();
        }
        made
    }

    #[test]
    fn the_layer_that_makes_a_zoom_slow_is_named() {
        let runs = vec![
            tiles("b", [[10.0, 90.0], [20.0, 80.0]], [1.0, 0.5]),
            tiles("a", [[1.0, 2.0], [1.0, 2.0]], [700.0, 100.0]),
        ];
        let said = layer_summary(&data(runs.clone()));
        assert_eq!(
            said,
            [
                "tiles: layer roads takes 88 % of z14 of a: 700 ms of 800 ms a tile, mean of 1 sampled tile",
                "tiles: layer water takes 85 % of z9 of b: 85.0 ms of 100 ms a tile, mean of 2 sampled tiles",
            ]
        );
        let table = plan_layers(&data(runs));
        let row = |at: usize| table.rows[at][2..].to_vec();
        assert_eq!(table.rows.len(), 8);
        let wanted: Vec<CellValue> = vec![
            "b".into(),
            "map(), z9".into(),
            "water".into(),
            CellValue::Real(85.0),
            CellValue::Real(85.0),
            CellValue::Int(2),
            "auto_explain".into(),
        ];
        assert_eq!(row(4), wanted);
    }

    /// A layer of 10 ms was called the slow one of a tile that takes 1.6 s.
    #[test]
    fn a_tile_that_is_slow_outside_of_its_layers_has_no_slow_layer() {
        let mut slow = tiles("a", [[10.0, 50.0], [10.0, 50.0]], [1.0, 1.0]);
        for plan in &mut slow.plans[..2] {
            plan.layers.push(LayerTime {
                name: OUTSIDE_LAYERS.into(),
                ms: 1540.0,
                source: LayerTimeSource::Nested,
            });
        }
        let said = layer_summary(&data(vec![slow]));
        let wanted = "tiles: 96 % of z9 of a is outside of its layers, in what several or none of them use: 1.54 s of 1.60 s a tile, \
                      mean of 2 sampled tiles";
        assert_eq!(said, [wanted]);
    }

    #[test]
    fn statements_of_one_layer_have_no_table() {
        let one = run("a", 1, (StatementPart::SeqScan, "Seq Scan", ""), &[1.0]);
        assert!(
            plan_layers(&data(vec![one.clone()])).rows.is_empty()
                && layer_summary(&data(vec![one])).is_empty()
        );
    }
}
