//! Tiles by layer and zoom: which zoom is slow, and where the time goes.

use results::comparison::zooms::Which;
use results::{CellValue, Table};

use super::verdicts::sentence;
use crate::block::{Block, Paragraph};
use crate::chart::axis::{Spacing, Tick};
use crate::chart::line::{AxisUnit, ChartPoint, LineChart, Series};
use crate::compared::FROM_SLICES;
use crate::numbers;
use crate::zooms::{
    ZoomFigures, ZoomsOfArm, ZoomsOfCell, answers, caveats, in_words, lines_by_place, remarks,
};
use results::ReportData;
use results::data::cell_text;

/// Cells shown unfolded, and cells that are drawn at all; the rest is in the table.
const OPEN: usize = 2;
const MOST: usize = 12;

const HOW: &str = "A tile's time is from when it was asked for until it came (service time), with what it waits for the other \
    clients' tiles meanwhile; shares of time are of the time that all clients spent. Changes are of mean times, in pairs of a \
    round; verdicts are Holm-adjusted over all layers and zooms of the cell.";

pub(super) fn blocks(data: &ReportData) -> Vec<Block> {
    let mut cells = ZoomsOfCell::all(data);
    if cells.is_empty() {
        return Vec::new();
    }
    let more = cells.len().saturating_sub(MOST);
    cells.truncate(MOST);
    let (open, folded) = cells.split_at(cells.len().min(OPEN));
    let head = [Block::text(HOW)].into_iter().chain(caveats(data).into_iter().map(Block::remark));
    let summary = format!("Zooms of {} more", folded.len());
    let folded = Block::details(summary, folded.iter().flat_map(of_cell).collect());
    let more = (more > 0).then(|| {
        let words = Paragraph::new("").plain(format!("{more} more cells are in "));
        words.code("pgdyno table tiles").plain(".").into()
    });
    head.chain(open.iter().flat_map(of_cell)).chain(folded).chain(more).collect()
}

fn of_cell(of: &ZoomsOfCell) -> Vec<Block> {
    let label = cell_text(&of.cell);
    let layers = of.layers();
    let charts_of = |(place, layer): (usize, &String)| {
        let label = if layers.len() > 1 { format!("{label}, {layer}") } else { label.clone() };
        [Drawn::Time, Drawn::Share].map(|drawn| chart(of, place, &label, drawn).map(Block::from))
    };
    let charts = layers.iter().enumerate().flat_map(charts_of).flatten();
    let charts = Block::group("charts", charts);
    [Block::Heading(label.clone())]
        .into_iter()
        .chain(remarks(of).into_iter().map(|line| Block::text(format!("{}.", sentence(&line)))))
        .chain(answers(of).into_iter().map(Block::text))
        .chain(charts)
        .chain([times(of).into(), contents(of).into()])
        .collect()
}

fn times(of: &ZoomsOfCell) -> Table {
    let mark = if of.arms.iter().any(|arm| arm.sliced) { format!(" {FROM_SLICES}") } else { String::new() };
    let caption = format!("Times of tiles, all rounds together, and their change against the base.{mark}");
    let table = in_words(lines_by_place(of)).select(&[
        "zoom",
        "layer",
        "arm",
        "requests",
        "tiles_share_pct",
        "time_share_pct",
        "mean_us",
        "p50_us",
        "p95_us",
        "p99_us",
        "change of mean",
        "verdict",
        "few",
    ]);
    Table { caption, ..table }
}

fn contents(of: &ZoomsOfCell) -> Table {
    let caption = "What tiles hold: length and share of empty ones as they were requested; then means of the tiles of a sample taken \
                   with the run; features: in → out";
    let whole = lines_by_place(of).into_iter().filter(|line| line.zoom.place.which == Which::All);
    let columns = [
        "zoom",
        "layer",
        "arm",
        "tile_bytes",
        "empty_pct",
        "sample",
        "sample_empty_pct",
        "features",
        "vertices",
    ];
    Table { caption: caption.to_owned(), ..in_words(whole).select(&columns) }
}

fn none() -> CellValue {
    "no request".into()
}

#[derive(Clone, Copy)]
enum Drawn {
    /// Mean time of a tile, ns.
    Time,
    /// Of all the time of its arm, percent.
    Share,
}

impl Drawn {
    fn point(self, zoom: &ZoomFigures) -> Option<ChartPoint> {
        let x = f64::from(zoom.place.zoom?);
        match self {
            Self::Time => Some(ChartPoint { x, y: zoom.mean_ns?, range: zoom.rounds_ns }),
            Self::Share => Some(ChartPoint { x, y: zoom.time_share? * 100.0, range: None }),
        }
    }

    fn written(self, point: &ChartPoint) -> String {
        match self {
            Self::Time => written(point),
            Self::Share => numbers::percent(point.y / 100.0),
        }
    }
}

/// A layer over zooms; `None` if it has fewer than two.
fn chart(of: &ZoomsOfCell, layer: usize, label: &str, drawn: Drawn) -> Option<LineChart> {
    let series = |arm: &ZoomsOfArm| {
        let of_layer = |zoom: &&ZoomFigures| {
            zoom.place.which == Which::All && of.layer_of_base(arm, zoom.place) == layer
        };
        let points = arm.zooms.iter().filter(of_layer).filter_map(|zoom| drawn.point(zoom)).collect();
        Series::banded(arm.arm.clone().unwrap_or_default(), points)
    };
    let series: Vec<Series> = of.arms.iter().map(series).collect();
    let mut zooms: Vec<u8> = series.iter().flat_map(|own| &own.points).map(|point| point.x as u8).collect();
    zooms.sort_unstable();
    zooms.dedup();
    if zooms.len() < 2 {
        return None;
    }
    let (title, caption, y_name, y_spacing, unit, data) = match drawn {
        Drawn::Time => (
            "time of a tile by zoom",
            "Mean service time of a tile; the band lies between the least and the most of the rounds. Lower is better.",
            "mean time",
            Spacing::Log,
            AxisUnit::Nanoseconds,
            "Mean time of a tile [least, most of the rounds]",
        ),
        Drawn::Share => (
            "where the time goes",
            "Of all the time that an arm's tiles took, that of each zoom: where it is high, a faster query pays.",
            "share of all time",
            Spacing::Linear,
            AxisUnit::Percent,
            "Share of all the time of the arm's tiles",
        ),
    };
    let mut data = Table::captioned(data)
        .text(["zoom"])
        .numbers(series.iter().map(|own| if own.name.is_empty() { "all" } else { &own.name }));
    for zoom in &zooms {
        let cell = |own: &Series| {
            let point = own.points.iter().find(|point| point.x as u8 == *zoom);
            point.map_or_else(none, |point| drawn.written(point).into())
        };
        data.push([format!("z{zoom}").into()].into_iter().chain(series.iter().map(cell)));
    }
    Some(LineChart {
        title: format!("{label}: {title}"),
        caption: caption.to_owned(),
        x_name: "zoom",
        y_name,
        x_ticks: zooms
            .iter()
            .map(|zoom| Tick { value: f64::from(*zoom), label: format!("z{zoom}") })
            .collect(),
        y_spacing,
        unit,
        markers: true,
        series,
        data,
    })
}

/// `12.3 ms [11.9 ms, 12.8 ms]`.
fn written(point: &ChartPoint) -> String {
    let range = point
        .range
        .map(|(low, high)| format!(" [{}, {}]", numbers::latency_ns(low), numbers::latency_ns(high)));
    numbers::latency_ns(point.y) + &range.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explained::tests::data;
    use crate::zooms::tests::{rounds, run, scripts};

    #[test]
    fn a_cell_has_its_answer_its_lines_and_its_rows() {
        let data = data(rounds());
        let page = crate::format::page(&blocks(&data));
        for wanted in [
            "A tile with b: 0.50 times as long",
            "z9 takes 80 % of its time",
            "map, 4 clients: time of a tile by zoom",
            "class=\"spread s1\"",
            "1.00 to 1.00 ms",
            "10.0",
            "faster",
            "same within 3 %",
        ] {
            assert!(page.contains(wanted), "{wanted}: {page}");
        }
        assert!(!page.contains("slices"), "{page}");
        let of = &ZoomsOfCell::all(&data)[0];
        let places = lines_by_place(of).iter().map(|line| line.zoom.place.zoom).collect::<Vec<_>>();
        assert_eq!(places, [9, 9, 12, 12, 16, 16].map(Some));
        let [times, shares] =
            [Drawn::Time, Drawn::Share].map(|drawn| chart(of, 0, "", drawn).expect("a chart"));
        assert_eq!(times.series.iter().map(|own| own.points.len()).collect::<Vec<_>>(), [3, 3]);
        let sum: f64 = shares.series[0].points.iter().map(|point| point.y).sum();
        assert!((sum - 100.0).abs() < 1e-9, "{sum}");
    }

    /// A page shows some of many cells, and refers to the others.
    #[test]
    fn many_cells_are_in_the_table() {
        let cell = |clients: u32| {
            let mut run = run("a", 1, scripts("t", &[(9, 30, 1.0), (10, 30, 2.0)], None));
            run.factors.insert("clients".into(), clients.to_string());
            run
        };
        let page = crate::format::page(&blocks(&data((1..=20).map(cell).collect())));
        assert!(page.contains("Zooms of 10 more") && page.contains("8 more cells are in"), "{page}");
        let none = run("a", 1, vec![crate::explained::tests::script("a.sql")]);
        assert!(blocks(&data(vec![none])).is_empty());
    }
}
