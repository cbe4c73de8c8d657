//! Geometries that a database takes without repair.

use std::collections::HashMap;

use osm::extract::{Object, ObjectKind};

use crate::Extract;
use crate::measure::{Map, Place, has_key, is_area, value};

fn map(scale: &str, seed: u64) -> Map {
    Map::new(Extract::new(scale, seed, 2).objects())
}

/// Whether two segments have a point in common.
fn meet((a, b): (Place, Place), (c, d): (Place, Place)) -> bool {
    let turn = |p: Place, q: Place, r: Place| (q.0 - p.0) * (r.1 - p.1) - (q.1 - p.1) * (r.0 - p.0);
    let (c_side, d_side) = (turn(a, b, c), turn(a, b, d));
    let (a_side, b_side) = (turn(c, d, a), turn(c, d, b));
    c_side * d_side <= 0.0 && a_side * b_side <= 0.0 && {
        // All on one line: only if they overlap there.
        let overlap = |p: f64, q: f64, r: f64, s: f64| p.min(q) <= r.max(s) && r.min(s) <= p.max(q);
        overlap(a.0, b.0, c.0, d.0) && overlap(a.1, b.1, c.1, d.1)
    }
}

/// Sides of rings, sorted from west to east.
fn sides(map: &Map, rings: &[&[i64]]) -> Vec<(usize, usize, (Place, Place))> {
    let mut sides: Vec<(usize, usize, (Place, Place))> = Vec::new();
    for (ring, nodes) in rings.iter().enumerate() {
        for (at, side) in nodes.windows(2).enumerate() {
            sides.push((ring, at, (map.nodes[&side[0]], map.nodes[&side[1]])));
        }
    }
    let west = |side: &(Place, Place)| side.0.0.min(side.1.0);
    sides.sort_by(|a, b| west(&a.2).total_cmp(&west(&b.2)));
    sides
}

/// Whether no two sides meet but neighbours in their ring.
fn is_simple(map: &Map, rings: &[&[i64]]) -> bool {
    let sides = sides(map, rings);
    for (at, (ring, number, side)) in sides.iter().enumerate() {
        let east = side.0.0.max(side.1.0);
        for (other_ring, other_number, other) in &sides[at + 1..] {
            if other.0.0.min(other.1.0) > east {
                break;
            }
            let last = rings[*ring].len() - 2;
            let apart = number.abs_diff(*other_number);
            let are_neighbours = ring == other_ring && (apart == 1 || apart == last);
            if !are_neighbours && meet(*side, *other) {
                return false;
            }
        }
    }
    true
}

#[test]
fn segments_that_meet_are_found() {
    let square = |x: f64, side: f64| [(x, x), (x + side, x), (x + side, x + side), (x, x + side)];
    let corners = [square(0.0, 10.0), square(2.0, 3.0), square(8.0, 5.0)].concat();
    let nodes = corners.iter().enumerate().map(|(id, place)| (id as i64, *place)).collect();
    let map = Map { nodes, ..Map::default() };
    let [outer, hole, outside] = [[0, 1, 2, 3, 0], [4, 5, 6, 7, 4], [8, 9, 10, 11, 8]];
    assert!(is_simple(&map, &[&outer]) && is_simple(&map, &[&outer, &hole]));
    assert!(!is_simple(&map, &[&outer, &outside]));
    assert!(!is_simple(&map, &[&[0, 2, 1, 3, 0]]));
}

#[test]
fn rings_are_simple_and_holes_lie_within() {
    for seed in [1, 2] {
        let map = map("0.2", seed);
        let (polygons, mut holes) = (map.polygons(), 0);
        assert!(polygons.len() > 2000);
        for polygon in &polygons {
            let mut rings = vec![polygon.outer.as_slice()];
            rings.extend(polygon.holes.iter().map(Vec::as_slice));
            assert!(is_simple(&map, &rings), "{:?}", polygon.outer);
            for hole in &polygon.holes {
                holes += 1;
                assert!(map.is_within(map.nodes[&hole[0]], &polygon.outer));
            }
        }
        assert!(holes > 50, "{holes}");
    }
}

/// Every node of a way and member of a relation is there, ways go somewhere with every step, and all is in the header's box.
#[test]
fn references_resolve_and_ways_are_lines() {
    let extract = Extract::new("0.3", 5, 2);
    let bbox = extract.made.bbox;
    let mut places = HashMap::new();
    let mut ways = std::collections::HashSet::new();
    for object in extract.objects() {
        match object {
            Object::Node(node) => {
                assert!(
                    (bbox.west..=bbox.east).contains(&node.lon)
                        && (bbox.south..=bbox.north).contains(&node.lat)
                );
                places.insert(node.id, (node.lon, node.lat));
            }
            Object::Way(way) => {
                assert!((2..=2000).contains(&way.nodes.len()), "{way:?}");
                for side in way.nodes.windows(2) {
                    assert_ne!(places[&side[0]], places[&side[1]], "{way:?}");
                }
                assert!(way.nodes.first() != way.nodes.last() || way.nodes.len() > 3, "{way:?}");
                ways.insert(way.id);
            }
            Object::Relation(relation) => {
                for member in &relation.members {
                    let is_there = match member.kind {
                        ObjectKind::Nodes => places.contains_key(&member.id),
                        ObjectKind::Ways => ways.contains(&member.id),
                        ObjectKind::Relations => false,
                    };
                    assert!(is_there, "{member:?} of {relation:?}");
                }
                assert!(!relation.members.is_empty());
            }
        }
    }
}

#[test]
fn boundaries_are_closed_and_hold_their_centres() {
    let map = map("0.7", 7);
    let mut levels = HashMap::new();
    for relation in &map.relations {
        if value(&relation.tags, "type") != Some("boundary") {
            continue;
        }
        let level = value(&relation.tags, "admin_level").unwrap();
        *levels.entry(level).or_insert(0) += 1;
        assert!(value(&relation.tags, "name").is_some());
        let areas = map.areas(relation);
        assert_eq!(areas.len(), 1, "{relation:?}");
        let centre = relation.members.iter().find(|member| member.role == "admin_centre").unwrap();
        assert!(map.is_within(map.nodes[&centre.id], &areas[0].outer), "{relation:?}");
    }
    // 88 municipalities: 9 counties and a state are whole.
    assert_eq!(levels, HashMap::from([("4", 1), ("6", 9), ("8", 88)]));
}

/// What queries of the workloads ask for.
#[test]
fn there_are_trees_beside_benches_and_all_layers() {
    let objects = Extract::new("0.7", 7, 2).objects();
    let tagged = |key: &str, wanted: &str| {
        let with = |object: &&Object| {
            value(object.tags(), key).is_some_and(|value| wanted.is_empty() || value == wanted)
        };
        objects.iter().filter(with).collect::<Vec<_>>()
    };
    let places = |objects: Vec<&Object>| -> Vec<Place> {
        let place = |object: &Object| match object {
            Object::Node(node) => Some((f64::from(node.lon) / 1e7, f64::from(node.lat) / 1e7)),
            _ => None,
        };
        objects.into_iter().filter_map(place).collect()
    };
    let (trees, benches) = (places(tagged("natural", "tree")), places(tagged("amenity", "bench")));
    let with_tree = |far: f64| {
        let has = |bench: &&Place| trees.iter().any(|tree| Map::distance(**bench, *tree) < far);
        benches.iter().filter(has).count()
    };
    assert!(benches.len() > 200 && trees.len() > 500, "{} benches, {} trees", benches.len(), trees.len());
    assert!(with_tree(20.0) * 2 > benches.len());
    // Ten units of web maps, at this latitude.
    assert!(with_tree(6.8) > 20, "{}", with_tree(6.8));
    for (key, wanted) in [
        ("highway", "motorway"),
        ("highway", "primary"),
        ("highway", "secondary"),
        ("highway", "residential"),
        ("highway", "service"),
        ("highway", "footway"),
        ("highway", "track"),
        ("natural", "water"),
        ("landuse", "forest"),
        ("landuse", "farmland"),
        ("landuse", "residential"),
        ("waterway", "river"),
        ("waterway", "stream"),
        ("railway", "rail"),
        ("railway", "station"),
        ("power", "line"),
        ("place", "city"),
        ("place", "town"),
        ("place", "village"),
        ("amenity", "parking"),
        ("shop", ""),
        ("tourism", "hotel"),
        ("route", "bus"),
        ("type", "restriction"),
        ("boundary", "administrative"),
        ("place", "islet"),
    ] {
        assert!(!tagged(key, wanted).is_empty(), "no {key}={wanted}");
    }
}

/// Streets meet in nodes: from the middle of the land nearly all roads can be reached.
#[test]
fn roads_are_a_network() {
    let map = map("0.5", 7);
    let roads: Vec<_> =
        map.ways.values().filter(|way| has_key(&way.tags, &["highway"]) && !is_area(way)).collect();
    let mut by_node: HashMap<i64, Vec<usize>> = HashMap::new();
    for (at, road) in roads.iter().enumerate() {
        road.nodes.iter().for_each(|node| by_node.entry(*node).or_default().push(at));
    }
    let mut part = vec![usize::MAX; roads.len()];
    let mut largest = 0;
    for start in 0..roads.len() {
        let (mut reached, mut size) = (vec![start], 0);
        while let Some(at) = reached.pop() {
            if part[at] == usize::MAX {
                part[at] = start;
                size += 1;
                reached.extend(roads[at].nodes.iter().flat_map(|node| &by_node[node]));
            }
        }
        largest = largest.max(size);
    }
    assert!(largest * 10 > roads.len() * 9, "{largest} of {} hang together", roads.len());
}
