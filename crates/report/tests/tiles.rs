//! Map tiles on the page: samples side by side, and how much of them fits.

mod fixture;

use fixture::{Shape, data, remade};
use record::{Artifact, Run};
use report::{ReportData, html};

const TILE: &[u8] = include_bytes!("data/malta-14-8851-6439.mvt");

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

/// What stands below the heading of the section.
fn section(data: &ReportData) -> String {
    let page = html::page(data);
    let (_, from) = page.split_once("<section id=\"tiles\">").expect("the section");
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
    // Three layers of two of them are drawn alone, too.
    assert_eq!(shown.matches("<svg").count(), 3 + 2 * 3);
    assert_eq!(shown.matches("<small>© OpenStreetMap contributors</small>").count(), 3);
    let place = |arm: &str| shown.find(&format!("<h4>{arm}</h4>")).expect("the arm");
    assert!(place("stock") < place("gis"), "the base comes first");
}

#[test]
fn pictures_of_many_large_tiles_stay_within_bounds_and_the_rest_is_told() {
    let data = with(|run| {
        let other = run.arm.as_deref() == Some("gis");
        // Two layers, of which the second differs between the arms.
        let bytes =
            |place: u8| [TILE, &[0x1a, 4, 0x0a, 2, b'a' + place, if other { b'x' } else { b'y' }]].concat();
        (0..20).map(|place| tile(&format!("14/{place}/6439"), &bytes(place))).collect()
    });
    let shown = section(&data);
    assert!(shown.len() < 1_100_000, "{} bytes", shown.len());
    assert_eq!(shown.matches("<figure class=\"tile\">").count(), 24);
    assert!(shown.contains("Tiles of 8 places more are kept in the results file"), "it is said");
}
