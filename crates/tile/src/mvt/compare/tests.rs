//! Tiles against changed ones.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::super::encode::{EncodedFeature, encode};
use super::super::{AttributeValue, GeometryKind};
use super::*;

const MALTA: &[u8] = include_bytes!("../../../../report/tests/data/malta-14-8851-6439.mvt");

type Parts = Vec<Vec<(i32, i32)>>;

fn kinds() -> impl Strategy<Value = GeometryKind> {
    prop_oneof![Just(GeometryKind::Point), Just(GeometryKind::Line), Just(GeometryKind::Polygon)]
}

/// Features with a few corners around places that lie apart: eight pixels of 16 units from one to the next at least.
fn features() -> impl Strategy<Value = Vec<EncodedFeature>> {
    let corners = proptest::collection::vec((0..32, 0..32), 3..8);
    let feature = (kinds(), proptest::collection::vec(corners, 1..4), any::<u8>());
    proptest::collection::vec(feature, 2..20).prop_map(|features| {
        let placed = |(number, (kind, parts, tag)): (usize, (GeometryKind, Parts, u8))| {
            let place = |part: usize| (number as i32 * 160, part as i32 * 160);
            let parts = parts.into_iter().enumerate().map(|(number, part)| {
                let (east, south) = place(number);
                let points = part.into_iter().map(move |(x, y)| (x + east, y + south));
                if kind == GeometryKind::Point { points.take(1).collect() } else { points.collect() }
            });
            let tags = vec![("tag".to_owned(), AttributeValue::Whole(tag.into()))];
            EncodedFeature { id: Some(number as u64), tags, ..EncodedFeature::new(kind, parts.collect()) }
        };
        features.into_iter().enumerate().map(placed).collect()
    })
}

fn tile(features: &[EncodedFeature]) -> Vec<u8> {
    encode(&[("layer", 4096, features)])
}

fn moved(features: &[EncodedFeature], units: i32) -> Vec<EncodedFeature> {
    let part = |part: &Vec<(i32, i32)>| part.iter().map(|&(x, y)| (x + units, y)).collect();
    let feature = |made: &EncodedFeature| EncodedFeature {
        parts: made.parts.iter().map(part).collect(),
        ..made.clone()
    };
    features.iter().map(feature).collect()
}

fn tagged(made: &EncodedFeature, number: i128) -> EncodedFeature {
    EncodedFeature { tags: vec![("osm_id".to_owned(), AttributeValue::Whole(number))], ..made.clone() }
}

/// Features that lie close together, many in one place, and share ids and attributes or have none.
fn crowd() -> impl Strategy<Value = Vec<EncodedFeature>> {
    let points = proptest::collection::vec((0..60, 0..60), 3..5);
    let parts = proptest::collection::vec(points, 1..3);
    let id = proptest::option::of(0..8_u64);
    let feature = (kinds(), parts, id, proptest::option::of(0..4_i128));
    proptest::collection::vec(feature, 1..16).prop_map(|features| {
        let made = |(kind, parts, id, tag): (GeometryKind, Parts, Option<u64>, Option<i128>)| {
            let made = EncodedFeature { id, ..EncodedFeature::new(kind, parts) };
            tag.map_or(made.clone(), |tag| tagged(&made, tag))
        };
        features.into_iter().map(made).collect()
    })
}

fn adds_up(found: &Difference, own: &[EncodedFeature], base: &[EncodedFeature]) {
    assert_eq!((found.here, found.there), (own.len() as u64, base.len() as u64));
    let in_place = found.matched + found.by_parts_here;
    assert!(found.attributes_differ <= in_place, "{found:?}");
    let same = in_place - found.attributes_differ;
    assert_eq!(same + found.moved + found.attributes_differ + found.only_here, found.here, "{found:?}");
    assert_eq!(
        found.matched + found.by_parts_there + found.moved + found.only_there,
        found.there,
        "{found:?}"
    );
}

proptest! {
    #[test]
    fn a_tile_is_itself_in_any_order_and_with_other_ids(features in features(), by in 1..20_usize, turn in 0..8_usize) {
        let mut other = features.clone();
        other.rotate_left(by % features.len());
        for made in &mut other {
            made.id = None;
            made.parts.reverse();
            if made.kind == GeometryKind::Polygon {
                made.parts.iter_mut().for_each(|ring| {
                    let turn = turn % ring.len();
                    ring.rotate_left(turn);
                });
            }
        }
        let found = compare(&tile(&features), &tile(&other)).unwrap();
        prop_assert!(found.is_the_same_map() && !found.total.gave_up, "{found:?}");
        prop_assert_eq!((found.total.matched, found.total.attributes_differ), (features.len() as u64, 0));
        prop_assert!(found.total.farthest_px <= 1.0 / 256.0, "{found:?}");
    }

    #[test]
    fn half_a_pixel_is_no_difference_but_two_are(features in features()) {
        let points: Vec<EncodedFeature> = features.iter().map(|made| EncodedFeature { kind: GeometryKind::Point, ..made.clone() }).collect();
        let near = compare(&tile(&points), &tile(&moved(&points, 8))).unwrap();
        prop_assert!(near.is_the_same_map() && near.total.farthest_px <= 0.51, "{near:?}");
        let near = compare(&tile(&features), &tile(&moved(&features, 8))).unwrap();
        prop_assert!(near.is_the_same_map() && near.total.farthest_px <= 0.51, "{near:?}");
        let far = compare(&tile(&features[..1]), &tile(&moved(&features[..1], 32))).unwrap();
        prop_assert_eq!((far.total.moved, far.total.only_here, far.total.only_there), (1, 0, 0));
        prop_assert!(!far.is_the_same_map());
        let wide = compare_within(&tile(&features), &tile(&moved(&features, 32)), 3.0).unwrap();
        prop_assert!(wide.is_the_same_map());
    }

    #[test]
    fn what_is_missing_is_found(features in features(), at in 0..20_usize) {
        let mut fewer = features.clone();
        fewer.remove(at % features.len());
        let found = compare(&tile(&features), &tile(&fewer)).unwrap().total;
        prop_assert_eq!((found.only_here, found.only_there, found.matched), (1, 0, fewer.len() as u64));
        let found = compare(&tile(&fewer), &tile(&features)).unwrap().total;
        prop_assert_eq!((found.only_here, found.only_there), (0, 1));
    }

    #[test]
    fn multi_features_may_be_split(features in features()) {
        let single = |made: &EncodedFeature| -> Vec<EncodedFeature> {
            made.parts.iter().map(|part| EncodedFeature { parts: vec![part.clone()], ..made.clone() }).collect()
        };
        let split: Vec<EncodedFeature> = features.iter().flat_map(single).collect();
        let found = compare(&tile(&features), &tile(&split)).unwrap();
        prop_assert!(found.is_the_same_map(), "{found:?}");
        prop_assert_eq!(found.total.attributes_differ, 0);
        prop_assert_eq!(found.total.matched + found.total.by_parts_here, features.len() as u64);
    }

    #[test]
    fn features_of_either_side_add_up(own in crowd(), base in crowd(), tolerance in 0..3_u8) {
        let found = compare_within(&tile(&own), &tile(&base), tolerance.into()).unwrap().total;
        adds_up(&found, &own, &base);
        let turned = compare_within(&tile(&base), &tile(&own), tolerance.into()).unwrap().total;
        adds_up(&turned, &base, &own);
        let itself = compare(&tile(&own), &tile(&own)).unwrap().total;
        prop_assert_eq!((itself.matched, itself.attributes_differ), (own.len() as u64, 0));
        // However far, and whatever lies where it was: what has its own attributes is the same feature.
        let named: Vec<EncodedFeature> = own.iter().enumerate().map(|(number, made)| tagged(made, number as i128)).collect();
        let found = compare(&tile(&named), &tile(&moved(&named, 50))).unwrap().total;
        adds_up(&found, &named, &named);
        prop_assert_eq!((found.only_here, found.only_there, found.attributes_differ), (0, 0, 0));
        prop_assert_eq!(found.moved, named.len() as u64);
    }

    #[test]
    fn a_changed_tile_never_panics(at in 0..MALTA.len(), byte: u8) {
        let mut bytes = MALTA[..20_000].to_vec();
        bytes[at % 20_000] = byte;
        let _ = compare(&bytes, &bytes);
    }
}

#[test]
fn a_shift_of_half_a_pixel_is_half_a_pixel() {
    let square =
        [EncodedFeature::new(GeometryKind::Polygon, vec![vec![(0, 0), (800, 0), (800, 800), (0, 800)]])];
    let found = compare(&tile(&square), &tile(&moved(&square, 8))).unwrap().total;
    assert!((found.farthest_px - 0.5).abs() < 1.0 / 256.0 + 1e-9, "{found:?}");
}

#[test]
fn extents_and_names_may_differ_and_attributes_are_counted() {
    let made = |scale: i32, value: AttributeValue| EncodedFeature {
        tags: vec![("height".into(), value)],
        ..EncodedFeature::new(GeometryKind::Line, vec![vec![(0, 0), (16 * scale, 8 * scale)]])
    };
    let one = encode(&[("roads", 4096, &[made(8, AttributeValue::Whole(5))])]);
    let other = encode(&[("default", 512, &[made(1, AttributeValue::Real(5.0))])]);
    let found = compare(&one, &other).unwrap();
    assert_eq!((found.total.matched, found.total.attributes_differ, found.identical), (1, 0, false));
    assert_eq!(found.layers[0].there.as_deref(), Some("default"));
    assert_eq!(found.renamed().collect::<Vec<_>>(), [("roads", "default")]);
    let other = encode(&[("default", 512, &[made(1, AttributeValue::Real(5.5))])]);
    assert_eq!(compare(&one, &other).unwrap().total.attributes_differ, 1);
    // Of several layers the names tell.
    let two = encode(&[("roads", 512, &[made(1, AttributeValue::Whole(5))]), ("paths", 512, &[])]);
    let found = compare(&two, &other).unwrap();
    assert_eq!((found.layers.len(), found.renamed().count()), (3, 0));
    assert_eq!((found.total.only_here, found.total.only_there), (1, 1));
}

#[test]
fn kinds_are_kept_apart() {
    let ring = vec![vec![(0, 0), (99, 0), (99, 99), (0, 0)]];
    let found = compare(
        &tile(&[EncodedFeature::new(GeometryKind::Line, ring.clone())]),
        &tile(&[EncodedFeature::new(GeometryKind::Polygon, ring)]),
    )
    .unwrap();
    assert!(!found.is_the_same_map());
}

/// A street of houses each of which is moved to where its neighbour was.
fn street(houses: i32, by: i32, with_attributes: bool, with_ids: bool) -> Vec<EncodedFeature> {
    let house = |number: i32| {
        let west = (number + by) * 40;
        let made = EncodedFeature::new(
            GeometryKind::Polygon,
            vec![vec![(west, 0), (west + 30, 0), (west + 30, 30), (west, 30)]],
        );
        let made = if with_attributes { tagged(&made, number.into()) } else { made };
        EncodedFeature { id: with_ids.then_some(number as u64), ..made }
    };
    (0..houses).map(house).collect()
}

/// Nine of ten were reported as unmoved, with other attributes.
#[test]
fn a_moved_house_is_not_its_neighbour_with_other_attributes() {
    let compared =
        |own: &[EncodedFeature], base: &[EncodedFeature]| compare(&tile(own), &tile(base)).unwrap().total;
    for with_ids in [false, true] {
        let found = compared(&street(10, 1, true, with_ids), &street(10, 0, true, with_ids));
        assert_eq!((found.moved, found.attributes_differ, found.only_here, found.only_there), (10, 0, 0, 0));
    }
    // Where ids alone tell, the map is the same except for the ends of the street: one house is elsewhere.
    let found = compared(&street(10, 1, false, true), &street(10, 0, false, true));
    assert_eq!((found.matched, found.moved, found.only_here, found.only_there), (9, 1, 0, 0));
    // What only one side has is not drawn into it.
    let found = compared(&street(8, 1, true, false), &street(10, 0, true, false));
    assert_eq!((found.moved, found.attributes_differ, found.only_here, found.only_there), (8, 0, 0, 2));
}

#[test]
fn other_attributes_in_one_place_are_counted_with_ids_and_without() {
    for with_ids in [false, true] {
        let base = street(10, 0, true, with_ids);
        let other: Vec<EncodedFeature> =
            base.iter().zip(100..).map(|(made, tag)| tagged(made, tag)).collect();
        let found = compare(&tile(&other), &tile(&base)).unwrap().total;
        assert_eq!((found.matched, found.attributes_differ, found.moved), (10, 10, 0), "{found:?}");
        // Attributes that many share, given to others: none of them has moved.
        let class = |turn: i128| -> Vec<EncodedFeature> {
            base.iter().zip(turn..).map(|(made, number)| tagged(made, number % 2)).collect()
        };
        let found = compare(&tile(&class(0)), &tile(&class(1))).unwrap().total;
        assert_eq!((found.matched, found.attributes_differ, found.moved), (10, 10, 0), "{found:?}");
    }
}

/// Row numbers as ids: one row fewer, and all others have the id of another.
#[test]
fn ids_that_name_rows_tell_nothing() {
    let base = street(10, 0, true, true);
    let mut fewer = base[1..].to_vec();
    fewer.iter_mut().zip(0..).for_each(|(made, id)| made.id = Some(id));
    fewer[8] = tagged(&fewer[8], 77);
    let found = compare(&tile(&fewer), &tile(&base)).unwrap().total;
    assert_eq!((found.matched, found.attributes_differ), (9, 1), "{found:?}");
    assert_eq!((found.moved, found.only_here, found.only_there), (0, 0, 1), "{found:?}");
    assert_eq!(found.ids_differ, 9, "{found:?}");
}

/// Trees in rows of twelve, three in one place: their id is an attribute, and half of them have the same species.
fn trees(numbers: std::ops::Range<i128>, species: impl Fn(i128) -> i128) -> Vec<EncodedFeature> {
    let tree = |number: i128| {
        let place = (number / 3 % 12 * 20, number / 36 * 20);
        let made = EncodedFeature::new(GeometryKind::Point, vec![vec![(place.0 as i32, place.1 as i32)]]);
        let tags = [("tree_id", number), ("species", species(number))];
        let tags = tags.map(|(name, value)| (name.to_owned(), AttributeValue::Whole(value))).to_vec();
        EncodedFeature { tags, ..made }
    };
    numbers.map(tree).collect()
}

/// Regression: a feature that one side lacks was paired with one in its place, and both were other attributes.
#[test]
fn features_with_an_id_as_attribute_are_paired_by_it() {
    let base = trees(0..400, |number| number % 2);
    let own = trees(150..470, |number| if number % 10 == 0 { 7 } else { number % 2 });
    let found = compare(&tile(&own), &tile(&base)).unwrap().total;
    adds_up(&found, &own, &base);
    let counted = [found.only_here, found.only_there, found.attributes_differ, found.moved, found.ids_differ];
    assert_eq!(counted, [70, 150, 25, 0, 0], "{found:?}");
    // The same by the id of features, without the attribute.
    let by_id = |features: Vec<EncodedFeature>| -> Vec<EncodedFeature> {
        let with_id = |mut made: EncodedFeature| {
            let (_, value) = made.tags.remove(0);
            let AttributeValue::Whole(id) = value else { panic!("{value:?}") };
            EncodedFeature { id: Some(id as u64), ..made }
        };
        features.into_iter().map(with_id).collect()
    };
    let found = compare(&tile(&by_id(own)), &tile(&by_id(base))).unwrap().total;
    let counted = [found.only_here, found.only_there, found.attributes_differ, found.moved, found.ids_differ];
    assert_eq!(counted, [70, 150, 25, 0, 0], "{found:?}");
}

#[test]
fn a_feature_that_has_another_id_is_no_other_feature() {
    let base = street(20, 0, false, true);
    let mut own = base.clone();
    own[3].id = Some(900);
    own[4].id = None;
    let found = compare(&tile(&own), &tile(&base)).unwrap().total;
    assert_eq!(
        (found.matched, found.ids_differ, found.only_here, found.only_there),
        (20, 2, 0, 0),
        "{found:?}"
    );
}

/// A style finds a layer by its name.
#[test]
fn a_layer_with_another_name_is_paired_with_the_one_that_is_left() {
    let (roads, water) = (street(5, 0, true, false), street(3, 0, true, false));
    let own = encode(&[("roads", 4096, &roads), ("lakes", 4096, &water)]);
    let base = encode(&[("water", 4096, &water), ("roads", 4096, &roads)]);
    let found = compare(&own, &base).unwrap();
    assert!(found.is_the_same_map() && found.total.matched == 8, "{found:?}");
    assert_eq!(found.renamed().collect::<Vec<_>>(), [("lakes", "water")]);
}

/// A hole that is gone is another geometry of the same feature, not a feature that only one side has.
#[test]
fn a_part_that_is_missing_is_geometry_elsewhere() {
    let rings = vec![vec![(0, 0), (900, 0), (900, 900)], vec![(500, 200), (700, 200), (700, 400)]];
    let whole = tagged(&EncodedFeature::new(GeometryKind::Polygon, rings.clone()), 1);
    let filled = EncodedFeature { parts: rings[..1].to_vec(), ..whole.clone() };
    let found = compare(&tile(&[filled]), &tile(&[whole])).unwrap().total;
    assert_eq!((found.moved, found.by_parts_here, found.only_here, found.only_there), (1, 0, 0, 0));
}

/// All in one feature against each alone, of which one is not there.
#[test]
fn joined_features_are_found_though_one_is_missing() {
    let single = street(10, 0, false, false);
    let parts = single.iter().flat_map(|made| made.parts.clone()).collect();
    let joined = [EncodedFeature::new(GeometryKind::Polygon, parts)];
    let found = compare(&tile(&joined), &tile(&single)).unwrap().total;
    assert_eq!((found.by_parts_here, found.by_parts_there, found.moved), (1, 10, 0), "{found:?}");
    let found = compare(&tile(&joined), &tile(&single[1..])).unwrap().total;
    assert_eq!((found.by_parts_there, found.only_here, found.only_there), (9, 1, 0), "{found:?}");
}

#[test]
fn broken_tiles_are_reported_by_side() {
    let error = compare(MALTA, b"<html>").unwrap_err();
    assert_eq!(error.to_string(), "the base's tile: not a vector tile: this begins like HTML");
    assert!(matches!(compare(b"{}", MALTA), Err(Incomparable::Own(Broken::Other("JSON")))));
}

/// All of a large tile moved a little, so that nothing is the same; and one line of very many vertices, each farther off
/// than the one before.
#[test]
fn large_tiles_are_compared_soon() {
    let many: Vec<EncodedFeature> = (0..10_000)
        .map(|number: i32| {
            let (x, y) = (number % 100 * 40, number / 100 * 40);
            let ring = (0..20_i32).map(|corner| (x + corner * 2, y + (corner * 7) % 31)).collect();
            EncodedFeature::new(GeometryKind::Polygon, vec![ring])
        })
        .collect();
    let line = |stretch: i32| {
        let point = |number: i32| (number / 40 + number * stretch / 200_000, number % 40 * 100);
        vec![EncodedFeature::new(GeometryKind::Line, vec![(0..200_000).map(point).collect()])]
    };
    let named: Vec<EncodedFeature> =
        many.iter().zip(0..).map(|(made, number)| tagged(made, number)).collect();
    let cases = [
        (many.clone(), moved(&many, 5), 0),
        (line(0), line(14), 0),
        // Farther than a pixel, close to where the neighbour was.
        (named.clone(), moved(&named, 39), 10_000),
    ];
    for (one, other, elsewhere) in cases {
        let (one, other) = (tile(&one), tile(&other));
        let start = Instant::now();
        let found = compare(&one, &other).unwrap().total;
        let took = start.elapsed();
        assert_eq!((found.moved, found.only_here, found.only_there), (elsewhere, 0, 0), "{found:?}");
        assert!(!found.gave_up, "{found:?}");
        // Without optimisation and next to other tests; optimised both take 0.2 s, including making the
        // tiles.
        assert!(took < Duration::from_secs(20), "{took:?}");
    }
}

#[test]
fn the_bound_on_work_is_reported() {
    // Two thousand lines in one place, all alike in their edges and none alike inside.
    let hedge = |odd: i32| -> Vec<EncodedFeature> {
        (0..2000)
            .map(|number: i32| {
                let point = |step: i32| {
                    (step * 20, if step % 50 == 0 { 0 } else { (step * (number + 2) + odd) % 4000 })
                };
                EncodedFeature::new(
                    GeometryKind::Line,
                    vec![(0..200).map(point).chain([(4000, 0), (0, 4000)]).collect()],
                )
            })
            .collect()
    };
    let found = compare(&tile(&hedge(0)), &tile(&hedge(333))).unwrap().total;
    assert_eq!(found.here, found.matched + found.by_parts_here + found.only_here);
    assert!(found.gave_up && found.only_here > 0, "{found:?}");
}
