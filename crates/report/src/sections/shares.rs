//! The share of index scans in the time of a tile, by zoom: as a distribution, and how often it is below
//! the commonly claimed 20 %.

use std::collections::BTreeMap;

use results::comparison::Cell;
use results::{CellValue, Table};
use spec::StatementPart;

use crate::block::{Block, Paragraph};
use crate::chart::axis::{Spacing, Tick};
use crate::chart::line::{AxisUnit, ChartPoint, LineChart, Series};
use crate::explained::{A_FIFTH, Distribution, Explained};
use crate::numbers;
use results::data::{cell_label, varying};

/// Cells next to each other, at most; more lines would be hard to distinguish.
const MOST: usize = 6;

/// Of one workload and layer: a column of the table and a line of the chart for each arm of each cell.
#[derive(Debug)]
pub(super) struct Shares {
    said: Vec<String>,
    chart: Option<LineChart>,
    sheet: Table,
    more: usize,
}

struct Column<'e> {
    name: String,
    zooms: BTreeMap<u8, &'e Explained>,
}

/// Of all explained tiles, by workload and layer; without scripts that request no map.
pub(super) fn of(all: &[Explained]) -> Vec<Shares> {
    let tiles = || all.iter().filter(|own| own.zoom().is_some());
    let mut layers: Vec<(&str, usize)> = Vec::new();
    for tile in tiles() {
        let key = key(tile);
        if !layers.contains(&key) {
            layers.push(key);
        }
    }
    let one = |wanted: (&str, usize)| Shares::of(tiles().filter(|tile| key(tile) == wanted).collect());
    layers.into_iter().map(one).collect()
}

fn key(explained: &Explained) -> (&str, usize) {
    (explained.cell.workload.as_str(), explained.layer().unwrap_or(0))
}

impl Shares {
    fn of(all: Vec<&Explained>) -> Self {
        let title = title(all[0]);
        let mut columns = columns(&all);
        let more = columns.len().saturating_sub(MOST);
        let said = columns.iter().take(MOST).map(Column::words).collect();
        columns.truncate(MOST);
        let mut zooms: Vec<u8> = columns.iter().flat_map(|column| column.zooms.keys().copied()).collect();
        zooms.sort_unstable();
        zooms.dedup();
        let sheet = sheet(&columns, &zooms);
        let series = columns.iter().map(Column::series).collect();
        let chart = (zooms.len() > 1).then(|| LineChart {
            title: format!("{title}: what index scans take of a tile"),
            caption: format!(
                "Share of a tile's planning and execution that index scans take: median over the sample; the band lies between the quartiles. \
                 The claim “below {}” is about this share.",
                numbers::percent(A_FIFTH)
            ),
            x_name: "zoom",
            y_name: "share of index scans",
            x_ticks: zooms.iter().map(|zoom| Tick { value: f64::from(*zoom), label: format!("z{zoom}") }).collect(),
            y_spacing: Spacing::Linear,
            unit: AxisUnit::Percent,
            markers: true,
            series,
            data: sheet.clone(),
        });
        Self { said, chart, sheet, more }
    }
}

/// `q`; `q, roads` if there are several layers.
fn title(explained: &Explained) -> String {
    match &explained.map {
        Some(part) if explained.layers.len() > 1 => format!("{}, {}", explained.cell.workload, part.layer),
        _ => explained.cell.workload.clone(),
    }
}

fn columns<'e>(all: &[&'e Explained]) -> Vec<Column<'e>> {
    let factors = varying(all.iter().map(|own| &own.cell));
    let mut columns: Vec<(&Cell, Option<&str>, Column<'e>)> = Vec::new();
    for own in all {
        let Some(zoom) = own.map.as_ref().and_then(|part| part.zoom) else { continue };
        let arm = own.arm.as_deref();
        match columns.iter_mut().find(|(cell, of, _)| **cell == own.cell && *of == arm) {
            Some((.., column)) => drop(column.zooms.insert(zoom, own)),
            None => {
                let label = cell_label(&own.cell, &factors);
                let name = [arm.unwrap_or_default(), &label].into_iter().filter(|word| !word.is_empty());
                let name = name.collect::<Vec<_>>().join(", ");
                let name = if name.is_empty() { own.cell.workload.clone() } else { name };
                columns.push((&own.cell, arm, Column { name, zooms: [(zoom, *own)].into() }));
            }
        }
    }
    columns.into_iter().map(|(.., column)| column).collect()
}

/// Of index scans; all 0 if no plan has one.
const NONE: Distribution = Distribution { mean: 0.0, median: 0.0, p10: 0.0, p25: 0.0, p75: 0.0, p90: 0.0 };

fn share(explained: &Explained) -> Distribution {
    explained.part(StatementPart::Index).map_or(NONE, |part| part.share)
}

fn below(explained: &Explained) -> usize {
    explained.part(StatementPart::Index).map_or(explained.transactions, |part| part.below_a_fifth)
}

impl Column<'_> {
    /// `old.sql: index scans take less than 20 % in 58 of 59 sampled tiles (more in 1 of 16 at z15); in the
    /// median from 0.7 % at z10 to 6 % at z15.`
    fn words(&self) -> String {
        let (below, tiles) =
            self.zooms.values().fold((0, 0), |sum, own| (sum.0 + below(own), sum.1 + own.transactions));
        let by_median = |one: &(&u8, &&Explained), other: &(&u8, &&Explained)| {
            share(one.1).median.total_cmp(&share(other.1).median)
        };
        let place =
            |(zoom, own): (&u8, &&Explained)| format!("{} at z{zoom}", numbers::percent(share(own).median));
        let least = self.zooms.iter().min_by(by_median).map(place).unwrap_or_default();
        let most = self.zooms.iter().max_by(by_median).map(place).unwrap_or_default();
        let median = if self.zooms.len() > 1 { format!("from {least} to {most}") } else { most };
        format!(
            "{}: index scans take less than {} in {} of {}{}; in the median {median}.",
            self.name,
            numbers::percent(A_FIFTH),
            numbers::count(below as u64),
            numbers::counted(tiles, "sampled tile"),
            self.more()
        )
    }

    /// ` (more in 1 of 16 at z15, 4 of 16 at z16)`; empty if it is below in all.
    fn more(&self) -> String {
        let place = |(zoom, own): (&u8, &&Explained)| {
            let more = own.transactions - below(own);
            (more > 0).then(|| format!("{more} of {} at z{zoom}", own.transactions))
        };
        let places: Vec<String> = self.zooms.iter().filter_map(place).collect();
        if places.is_empty() { String::new() } else { format!(" (more in {})", places.join(", ")) }
    }

    fn series(&self) -> Series {
        let point = |(zoom, own): (&u8, &&Explained)| {
            let share = share(own);
            let percent = |share: f64| share * 100.0;
            ChartPoint {
                x: f64::from(*zoom),
                y: percent(share.median),
                range: Some((percent(share.p25), percent(share.p75))),
            }
        };
        Series::banded(self.name.clone(), self.zooms.iter().map(point).collect())
    }
}

fn sheet(columns: &[Column<'_>], zooms: &[u8]) -> Table {
    let caption = format!(
        "Index scans' share of a tile, median over the sample [quartiles], and how many of the sampled tiles are below {}",
        numbers::percent(A_FIFTH)
    );
    let mut sheet =
        Table::captioned(caption).text(["zoom"]).numbers(columns.iter().map(|column| &column.name));
    for zoom in zooms {
        let cell = |column: &Column<'_>| match column.zooms.get(zoom) {
            None => CellValue::from(numbers::ABSENT),
            Some(own) => written(own).into(),
        };
        sheet.push([format!("z{zoom}").into()].into_iter().chain(columns.iter().map(cell)));
    }
    sheet
}

fn written(explained: &Explained) -> String {
    let share = share(explained);
    let number = |share: f64| numbers::fixed(share * 100.0, 1);
    let quartiles = format!("[{}, {}]", number(share.p25), number(share.p75));
    format!(
        "{} {quartiles}, {} of {}",
        numbers::percent(share.median),
        below(explained),
        explained.transactions
    )
}

impl Shares {
    pub(super) fn blocks(self) -> Vec<Block> {
        let figures = self.chart.map_or(self.sheet.into(), Block::from);
        let more = (self.more > 0).then(|| {
            let words = Paragraph::new("").plain(format!("{} more are in ", self.more));
            words.code("pgdyno table plans").plain(".").into()
        });
        self.said.into_iter().map(Block::text).chain([figures]).chain(more).collect()
    }
}

#[cfg(test)]
mod tests {
    use spec::{MapPart, Run};

    use super::*;
    use crate::explained::tests::{data, run, script};

    /// Tiles of two zooms: at z9 the index takes a tenth or less, at z16 most of the time.
    fn tiles(arm: &str, clients: &str) -> Run {
        let mut made = run(arm, 1, (StatementPart::Index, "Index Scan", "i"), &[1.0, 1.0, 1.0, 1.0]);
        made.scripts = [9, 16]
            .map(|zoom| spec::ScriptRecord {
                part: Some(MapPart { layer: "t".into(), zoom: Some(zoom), cached: None }),
                ..script(&format!("t, z{zoom:02}"))
            })
            .into();
        let of_z9 = made.plans.clone().into_iter().map(|mut plan| {
            plan.script = "t, z09".into();
            plan.execution_ms = 10.0 + 10.0 * f64::from(plan.draw);
            plan
        });
        let of_z16 = made
            .plans
            .clone()
            .into_iter()
            .map(|plan| spec::StatementPlan { script: "t, z16".into(), ..plan });
        made.plans = of_z16.chain(of_z9).collect();
        made.factors.insert("clients".into(), clients.into());
        made
    }

    #[test]
    fn a_claim_about_the_index_is_confirmed_at_one_zoom_and_refuted_at_another() {
        let data = data(vec![tiles("a", "4"), tiles("b", "4")]);
        let found = of(&Explained::all(&data));
        let [own] = &found[..] else { panic!("{found:?}") };
        // At z9 planning takes 0.1 ms and execution 10, 20, 30 and 40 ms, 1 ms of it in the index.
        let wanted = "a: index scans take less than 20 % in 4 of 8 sampled tiles (more in 4 of 4 at z16); in the median from 4.1 % at z9 to 90.9 % at z16.";
        assert_eq!(own.said[0], wanted);
        let page = crate::format::page(&[own.sheet.clone().into()]);
        assert!(
            page.contains("4.1 % [3.1, 6.2], 4 of 4") && page.contains("90.9 % [90.9, 90.9], 0 of 4"),
            "{page}"
        );
        let chart = own.chart.as_ref().unwrap();
        assert_eq!(chart.series.iter().map(|own| own.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    }

    /// Next to each other: another size of the data, or more clients.
    #[test]
    fn cells_stand_beside_each_other() {
        let data = data(vec![tiles("a", "1"), tiles("a", "10")]);
        let found = of(&Explained::all(&data));
        let names = found[0].said.iter().map(|said| said.split(':').next().unwrap()).collect::<Vec<_>>();
        assert_eq!(names, ["a, 1 client", "a, 10 clients"]);
        assert!(
            of(&Explained::all(&crate::explained::tests::data(vec![run(
                "a",
                1,
                (StatementPart::Index, "Index Scan", "i"),
                &[1.0]
            )])))
            .is_empty()
        );
    }
}
