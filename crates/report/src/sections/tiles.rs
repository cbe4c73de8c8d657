//! Sample tiles as pictures: of a place side by side, as each arm returned them.

use maud::Render;
use spec::{Artifact, Run};

use super::origin;
use crate::block::Block;
use crate::tile::{self, DrawnSample, SizeLimit, SizeLimits, tile_name};
use results::ReportData;

/// Places, at most: a page with many more would load slowly.
const MOST_PLACES: usize = 12;

/// Pictures of tiles, at most, over all places.
const MOST_PICTURES: usize = 24;

/// Bytes of all pictures of whole tiles together, and of all single layers.
const WHOLE_BYTES: usize = 720_000;
const ALONE_BYTES: usize = 240_000;

type KeptTile<'r> = (&'r Run, &'r Artifact);

fn kept(data: &ReportData) -> impl Iterator<Item = KeptTile<'_>> {
    let artifacts =
        data.runs.iter().flat_map(|run| run.artifacts.iter().map(move |artifact| (run, artifact)));
    artifacts.filter(|(_, artifact)| tile::is_shown(&artifact.media_type))
}

/// Tiles by workload and place, arms in their order; each content of an arm once.
fn by_place(data: &ReportData) -> Vec<Vec<KeptTile<'_>>> {
    let mut places: Vec<Vec<KeptTile<'_>>> = Vec::new();
    for (run, artifact) in kept(data) {
        let is_same = |(of, other): &KeptTile<'_>| of.workload == run.workload && other.name == artifact.name;
        let is_known = |(of, other): &KeptTile<'_>| of.arm == run.arm && other.bytes == artifact.bytes;
        match places.iter_mut().find(|place| place.iter().any(is_same)) {
            Some(place) if place.iter().any(is_known) => {}
            Some(place) => place.push((run, artifact)),
            None => places.push(vec![(run, artifact)]),
        }
    }
    let arms = data.arms();
    let base = data.base();
    for place in &mut places {
        let order = |run: &Run| arms.iter().position(|arm| *arm == run.arm.as_deref());
        place.sort_by_key(|(run, _)| (run.arm.as_deref() != base, order(run)));
    }
    places
}

fn pictures(place: &[KeptTile<'_>]) -> usize {
    let is_first = |at: usize| !place[..at].iter().any(|(_, other)| other.bytes == place[at].1.bytes);
    (0..place.len()).filter(|at| is_first(*at)).count()
}

/// Layers of a place's tiles that may be drawn separately.
fn layers(place: &[KeptTile<'_>]) -> usize {
    let layers = |(_, artifact): &KeptTile<'_>| {
        ::tile::mvt::measure(&artifact.bytes).map_or(0, |found| found.layers.len())
    };
    place.iter().map(layers).sum()
}

/// Pictures of a place, grouped by content; the heading is empty if nothing is compared.
type PlacePictures = (String, Vec<Block>);

pub(super) fn blocks(data: &ReportData) -> Vec<Block> {
    let mut places = by_place(data);
    let all = places.len();
    if all == 0 {
        return Vec::new();
    }
    let mut drawn = 0;
    let fits = |place: &&Vec<KeptTile<'_>>| {
        let is_first = drawn == 0;
        drawn += pictures(place);
        is_first || drawn <= MOST_PICTURES
    };
    let shown = places.iter().take(MOST_PLACES).take_while(fits).count();
    places.truncate(shown);
    let limits = limits(&places);
    let mut colours = Vec::new();
    let source = origin::is_of_osm(data).then_some(tile::ATTRIBUTION);
    let places: Vec<PlacePictures> =
        places.iter().map(|place| of_place(place, (limits, source), &mut colours)).collect();
    let mut blocks = vec![Block::text(
        "What the server sent, drawn from the stored bytes and simplified to what a screen can show.",
    )];
    // Places with a single tile share rows.
    let mut row = Vec::new();
    for (heading, pictures) in places {
        if !heading.is_empty() {
            blocks.extend(Block::group("tiles", std::mem::take(&mut row)));
            blocks.push(Block::Heading(heading));
            blocks.extend(Block::group("tiles", pictures));
        } else {
            row.extend(pictures);
        }
    }
    blocks.extend(Block::group("tiles", row));
    blocks.extend((all > shown).then(|| Block::text(more(all - shown))));
    blocks
}

/// How much the pictures may show, so that the page stays small.
fn limits(places: &[Vec<KeptTile<'_>>]) -> SizeLimits {
    let wholes: usize = places.iter().map(|place| pictures(place)).sum();
    let alones: usize = places.iter().map(|place| layers(place)).sum();
    let limit = |bytes: usize, of: usize, most: usize, finest| SizeLimit {
        bytes: (bytes / of.max(1)).min(most),
        finest,
    };
    SizeLimits {
        whole: limit(WHOLE_BYTES, wholes, 72_000, 2.0),
        alone: limit(ALONE_BYTES, alones, 9_000, 6.0),
    }
}

fn more(places: usize) -> String {
    format!(
        "Tiles of {} more are kept in the results file, and not drawn here.",
        crate::numbers::counted(places, "place")
    )
}

fn of_place(
    kept: &[KeptTile<'_>],
    (limits, source): (SizeLimits, Option<&'static str>),
    colours: &mut Vec<String>,
) -> PlacePictures {
    let arm = |run: &Run| run.arm.clone().unwrap_or_default();
    let mut samples = Vec::new();
    for (at, (run, artifact)) in kept.iter().enumerate() {
        let drawn = kept[..at].iter().find(|(_, other)| other.bytes == artifact.bytes);
        let sample = match drawn {
            Some((drawn, _)) => DrawnSample::same(artifact, &arm(run), &arm(drawn)),
            None => DrawnSample::of(artifact, &arm(run), limits, colours),
        };
        samples.push(Block::Picture(sample.of_source(source).render()));
    }
    let heading = match kept {
        [(run, artifact), _, ..] => format!("{}, {}", run.workload, tile_name(&artifact.name)),
        _ => String::new(),
    };
    (heading, samples)
}
