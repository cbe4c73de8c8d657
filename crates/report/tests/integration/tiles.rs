//! Map tiles on the page: samples side by side, and their limits.

use std::sync::Arc;

use crate::fixture::{Shape, data, remade};
use report::{ReportData, html};
use results::{StoredTile, TilesOf};
use spec::{Artifact, Run, TileFigures};

const TILE: &[u8] = include_bytes!("../data/malta-14-8851-6439.mvt");

fn tile(place: &str, bytes: &[u8]) -> Artifact {
    Artifact {
        name: format!("tile/{place}"),
        media_type: report::tile::MEDIA_TYPE.into(),
        caption: String::new(),
        bytes: bytes.to_vec(),
    }
}

/// The small experiment with these artifacts at the first run of each arm.
fn with(artifacts: impl Fn(&Run) -> Vec<Artifact>) -> ReportData {
    let mut data = data(&Shape::small());
    for arm in ["stock", "gis"] {
        let run =
            data.runs.iter_mut().find(|run| run.arm.as_deref() == Some(arm)).expect("a run of each arm");
        run.artifacts = artifacts(run);
    }
    remade(data)
}

fn section(data: &ReportData) -> String {
    section_of(data, "tiles")
}

fn section_of(data: &ReportData, anchor: &str) -> String {
    let page = html::page(data);
    let (_, from) = page.split_once(&format!("<section id=\"{anchor}\">")).expect("the section");
    from.split_once("</section>").expect("its end").0.to_owned()
}

#[test]
fn arms_stand_side_by_side_and_the_same_bytes_once() {
    let shown = section(&with(|run| {
        let other = if run.arm.as_deref() == Some("gis") { &[][..] } else { TILE };
        vec![tile("14/8851/6439", TILE), tile("14/8852/6439", other)]
    }));
    assert_eq!(shown.matches("<h3>polygons, z14/8851/6439</h3>").count(), 1);
    assert_eq!(shown.matches("<h4>stock</h4>").count(), 2);
    assert_eq!(shown.matches("<h4>gis</h4>").count(), 2);
    assert_eq!(shown.matches("The same bytes as in stock.").count(), 1);
    assert!(shown.contains("z14/8852/6439: 0 bytes, 0 features"));
    // Three layers of two of them are drawn separately, too.
    assert_eq!(shown.matches("<svg").count(), 3 + 2 * 3);
    assert_eq!(shown.matches("<small>© OpenStreetMap contributors</small>").count(), 3);
    let place = |arm: &str| shown.find(&format!("<h4>{arm}</h4>")).expect("the arm");
    assert!(place("stock") < place("gis"), "the base comes first");
}

#[test]
fn pictures_of_many_large_tiles_stay_within_bounds_and_the_rest_is_told() {
    let data = with(|run| {
        let other = run.arm.as_deref() == Some("gis");
        // Two layers; the second differs between the arms.
        let bytes =
            |place: u8| [TILE, &[0x1a, 4, 0x0a, 2, b'a' + place, if other { b'x' } else { b'y' }]].concat();
        (0..20).map(|place| tile(&format!("14/{place}/6439"), &bytes(place))).collect()
    });
    let shown = section(&data);
    assert!(shown.len() < 1_100_000, "{} bytes", shown.len());
    assert_eq!(shown.matches("<figure class=\"tile\">").count(), 24);
    assert!(shown.contains("Tiles of 8 places more are kept in the results file"), "it is said");
}

/// Tiles of this many columns and rows, requested from both arms; the second takes half as long; a layer
/// for each arm, or one for both.
fn asked(columns: u32, rows: u32, is_layer_of_arm: bool) -> ReportData {
    let mut data = data(&Shape::small());
    for (arm, factor) in [("stock", 1.0), ("gis", 0.5)] {
        let layer = if is_layer_of_arm { format!("{arm}.sql") } else { "roads".to_owned() };
        let of = Arc::new(TilesOf {
            workload: "polygons".into(),
            factors: [("clients".to_owned(), "1".to_owned())].into(),
            arm: Some(arm.into()),
            script: layer.clone(),
            layer,
            cached: None,
        });
        let figures = |number: u32| TileFigures {
            script: 0,
            z: 14,
            x: 8840 + number % columns,
            y: 6430 + number / columns,
            requests: 3,
            mean_us: factor * 100.0 * f64::from(number + 1),
            max_us: factor * 150.0 * f64::from(number + 1),
            bytes: 52_400.0,
        };
        let tiles = (0..columns * rows).map(|number| StoredTile {
            of: Arc::clone(&of),
            figures: figures(number),
            rank_us: figures(number).mean_us,
        });
        data.tiles.extend(tiles);
    }
    data
}

#[test]
fn where_it_is_slow_stands_on_a_map_of_each_arm_and_in_a_list() {
    let shown = section_of(&asked(4, 3, false), "slow");
    assert!(shown.contains("<h3>polygons, 1 client, roads</h3>"), "{shown}");
    assert_eq!(shown.matches("<svg").count(), 2);
    assert_eq!(shown.matches("<rect").count(), 24);
    assert_eq!(
        (shown.matches("<desc>").count(), shown.matches("role=\"img\"").count()),
        (2, 2),
        "each is told in words"
    );
    assert!(shown.contains("The 10 slowest of 12 tiles"));
    // The slowest is in the last column and row.
    let slowest = "<a href=\"https://www.openstreetmap.org/#map=14/36.02245/14.31519\" rel=\"noreferrer\">z14/8843/6432</a>";
    assert!(shown.find(slowest).expect("the slowest") < shown.find("z14/8842/6432</a>").expect("the next"));
    for wanted in
        ["Mean, stock", "Mean, gis", "1.20 ms", "600 µs", "1.80 ms", "51.2 kB", "36.022° N, 14.315° E"]
    {
        assert!(shown.contains(wanted), "{wanted}");
    }
    let links = shown.matches("https:").count();
    assert_eq!((links, shown.matches("<a href=\"https://www.openstreetmap.org/#map=14/").count()), (10, 10));
    assert!(section_of(&asked(4, 3, true), "slow").contains("<h3>polygons, 1 client</h3>"), "one question");
}

#[test]
fn maps_of_very_many_tiles_stay_small() {
    let shown = section_of(&asked(140, 120, false), "slow");
    assert!(shown.len() < 200_000, "{} bytes", shown.len());
    assert!(shown.contains("drawn as tiles of z12"), "16,800 tiles");
    assert!(shown.contains("16,800 tiles, mean"));
}

#[test]
fn without_single_tiles_there_is_no_map() {
    assert!(!html::page(&data(&Shape::small())).contains("Where it is slow"));
}
