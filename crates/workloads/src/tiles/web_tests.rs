//! Tiles from a web server with canned answers.

use std::sync::Mutex;

use protocol::http::Got;
use spec::{AnswerDifference, figures};

use super::tests::{database, open, options};
use crate::answers::Sampled;
use crate::place::Site;
use crate::testing::png;
use crate::testing::web::{FakeServer, got};
use crate::tiles::{Tiles, TilesOptions, Via};
use crate::workload::{Guarded, Workload};

const URL: &str = "http://h:3000/t/{z}/{x}/{y}";

/// A workload whose tiles are these answers, one after the other, the last one again and again.
fn with<T>(
    options: &TilesOptions,
    answers: Vec<Got>,
    work: impl FnOnce(&mut Tiles, &mut Site<'_>) -> T,
) -> T {
    let mut workload = open(&TilesOptions { via: Via::Http(URL.to_owned()), ..options.clone() });
    let web = FakeServer { addresses: Vec::new(), answers: Mutex::new(answers) };
    let mut sql = database();
    let mut site = Site { http: Some(&web), ..Site::postgres(&mut sql) };
    workload.prepare(&mut site, 1).unwrap();
    work(&mut workload, &mut site)
}

fn guard(options: &TilesOptions, answers: Vec<Got>) -> Result<Guarded, String> {
    with(options, answers, |workload, site| workload.guard(site, 1).map_err(|error| error.to_string()))
}

fn picture(pixels: [[u8; 3]; 6]) -> Got {
    let body = png(pixels);
    Got { bytes: body.len() as u64, body, ..got(200, "image/png", "") }
}

const SEA: [u8; 3] = [170, 211, 223];
const LAND: [u8; 3] = [242, 239, 233];

/// "not a vector tile: …; select what ST_AsMVT gives" was said to a web server.
#[test]
fn a_web_server_gets_no_advice_about_sql() {
    let table = options("planet_osm_polygon");
    for (answer, wanted) in [
        (
            got(200, "text/plain", "<?xml version='1.0'?><ServiceExceptionReport/>"),
            "of h:3000 returned an XML document, and neither a vector tile nor a PNG, JPEG or WebP picture",
        ),
        (got(200, "application/json", "{\"message\": \"not found\"}"), "returned a JSON document"),
        (
            Got { body: vec![0x1f, 0x8b, 8, 0, 0], ..got(200, "application/x-protobuf", "12345") },
            "let the server send Content-Encoding: gzip",
        ),
        (
            got(200, "", "<html><head><title>Log in to maps</title>"),
            "gave an HTML page (Content-Type \"\"): Log in to maps; open this URL in a browser",
        ),
        (got(404, "text/plain", "no such tile"), "gave 404: no such tile; check the path of the URL"),
    ] {
        let message = guard(&table, vec![answer]).unwrap_err();
        assert!(message.contains(wanted), "{message}");
        assert!(!message.contains("ST_AsMVT") && !message.contains("select"), "{message}");
    }
}

#[test]
fn pictures_are_tiles_and_one_colour_is_empty() {
    let table = options("planet_osm_polygon");
    let mut coast = [SEA; 6];
    coast[4] = LAND;
    let guarded = guard(&table, vec![picture([SEA; 6]), picture(coast)]).unwrap();
    assert_eq!((guarded.empty, guarded.rows), (None, 3));
    assert_eq!(guarded.figures[figures::EMPTY_TILES_PCT], 25.0);
    assert_eq!(guarded.figures.get(figures::TILE_FEATURES_MEAN), None);
    let said = "planet_osm_polygon has pictures: PNG, 3 x 2 pixels; 1 of 4 have one colour";
    assert!(guarded.notes.contains(&said.to_owned()), "{:?}", guarded.notes);
    let artifacts = with(&table, vec![picture(coast)], |workload, site| workload.artifacts(site).unwrap());
    assert!(artifacts.iter().all(|artifact| artifact.media_type == "image/png"), "{artifacts:?}");
    let blank = guard(&table, vec![picture([SEA; 6])]).unwrap();
    assert!(blank.empty.unwrap().contains("probed tiles of planet_osm_polygon are empty"));
    // A picture that was cut off is none.
    let cut = Got { body: picture(coast).body[..50].to_vec(), ..got(200, "image/png", "x") };
    assert!(guard(&table, vec![cut]).unwrap_err().contains("neither a vector tile nor a PNG"));
}

#[test]
fn statuses_of_empty_tiles_are_empty_tiles_where_that_is_asked_for() {
    let asked = TilesOptions { empty_status: vec![404], ..options("planet_osm_polygon") };
    let full = [LAND, SEA, LAND, SEA, LAND, SEA];
    let guarded =
        guard(&asked, vec![got(404, "text/html", "<html>"), picture(full), got(204, "", ""), picture(full)])
            .unwrap();
    assert_eq!((guarded.empty, guarded.rows), (None, 2));
    assert!(guarded.notes.contains(&"2 of 4 probed tiles are empty".to_owned()), "{:?}", guarded.notes);
    let wrong = TilesOptions { empty_status: vec![500], ..asked };
    let message = wrong.validate().unwrap_err().to_string();
    assert!(message.starts_with("tiles.empty_status: 500 is not a status of a missing tile"), "{message}");
}

/// Pictures of two servers were compared as broken vector tiles.
#[test]
fn pictures_are_compared_by_their_pixels() {
    let sample = |answers| -> Sampled {
        with(&options("planet_osm_polygon"), answers, |workload, site| workload.sample(site, 1).unwrap())
    };
    let mut map = [SEA; 6];
    map[0] = LAND;
    let base = sample(vec![picture(map)]);
    assert_eq!(sample(vec![picture(map)]).differences(&base), []);
    let mut other = map;
    (other[1], other[2]) = ([0; 3], [255, 0, 0]);
    let words = |found: Vec<AnswerDifference>| found[0].words("a");
    let said = words(sample(vec![picture(other), picture(map)]).differences(&base));
    assert!(
        said.contains("in 1 of 4 tiles: 1 picture with other pixels (up to 33 % of a picture)"),
        "{said}"
    );
    let said = words(sample(vec![got(204, "", "")]).differences(&base));
    assert!(said.contains("in 4 of 4 tiles: 4 pictures in one of both only"), "{said}");
}
