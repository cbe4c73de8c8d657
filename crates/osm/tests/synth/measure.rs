//! Figures of an extract as osm2pgsql's default style sees it: which objects are points, lines and polygons, how many
//! vertices they have, and how they lie in the tiles of a web map.

use std::collections::{HashMap, HashSet};

use osm::extract::{Object, ObjectKind, Relation, Way};

/// Keys of osm2pgsql 1.8's default.style that make a node a point.
const POINT_KEYS: [&str; 64] = [
    "access",
    "addr:housename",
    "addr:housenumber",
    "addr:interpolation",
    "admin_level",
    "aerialway",
    "aeroway",
    "amenity",
    "area",
    "barrier",
    "bicycle",
    "brand",
    "bridge",
    "boundary",
    "building",
    "capital",
    "construction",
    "covered",
    "culvert",
    "cutting",
    "denomination",
    "disused",
    "ele",
    "embankment",
    "foot",
    "generator:source",
    "harbour",
    "highway",
    "historic",
    "horse",
    "intermittent",
    "junction",
    "landuse",
    "layer",
    "leisure",
    "lock",
    "man_made",
    "military",
    "motorcar",
    "name",
    "natural",
    "office",
    "oneway",
    "operator",
    "place",
    "population",
    "power",
    "power_source",
    "public_transport",
    "railway",
    "ref",
    "religion",
    "route",
    "service",
    "shop",
    "sport",
    "surface",
    "toll",
    "tourism",
    "tower:type",
    "tunnel",
    "water",
    "waterway",
    "wetland",
];
/// Keys that make a closed way a polygon.
const POLYGON_KEYS: [&str; 27] = [
    "abandoned:aeroway",
    "abandoned:amenity",
    "abandoned:building",
    "abandoned:landuse",
    "abandoned:power",
    "aeroway",
    "amenity",
    "area",
    "area:highway",
    "building",
    "harbour",
    "historic",
    "landuse",
    "leisure",
    "man_made",
    "military",
    "natural",
    "office",
    "place",
    "power",
    "public_transport",
    "shop",
    "sport",
    "tourism",
    "water",
    "waterway",
    "wetland",
];
const METRES_PER_DEGREE: f64 = 111_319.49;

/// Longitude and latitude in degrees.
pub type Place = (f64, f64);

/// An area with its holes; each ring's last node is its first.
pub struct Polygon {
    pub outer: Vec<i64>,
    pub holes: Vec<Vec<i64>>,
    pub is_building: bool,
}

/// An extract, ready to be asked.
#[derive(Default)]
pub struct Map {
    pub nodes: HashMap<i64, Place>,
    pub ways: HashMap<i64, Way>,
    pub relations: Vec<Relation>,
    pub points: Vec<Place>,
}

pub fn has_key(tags: &[(String, String)], keys: &[&str]) -> bool {
    tags.iter().any(|(key, _)| keys.contains(&key.as_str()))
}

pub fn value<'a>(tags: &'a [(String, String)], key: &str) -> Option<&'a str> {
    tags.iter().find(|(other, _)| other == key).map(|(_, value)| value.as_str())
}

impl Map {
    pub fn new(objects: impl IntoIterator<Item = Object>) -> Self {
        let mut map = Self::default();
        objects.into_iter().for_each(|object| map.push(object));
        map
    }

    pub fn push(&mut self, object: Object) {
        match object {
            Object::Node(node) => {
                let place = (f64::from(node.lon) / 1e7, f64::from(node.lat) / 1e7);
                if has_key(&node.tags, &POINT_KEYS) || has_key(&node.tags, &["width", "wood", "z_order"]) {
                    self.points.push(place);
                }
                self.nodes.insert(node.id, place);
            }
            Object::Way(way) => drop(self.ways.insert(way.id, way)),
            Object::Relation(relation) => self.relations.push(relation),
        }
    }

    /// Closed ways that are areas by their tags, and areas of relations.
    pub fn polygons(&self) -> Vec<Polygon> {
        let of_ways = self.ways.values().filter(|way| is_area(way)).map(|way| Polygon {
            outer: way.nodes.clone(),
            holes: Vec::new(),
            is_building: has_key(&way.tags, &["building"]),
        });
        let mut polygons: Vec<Polygon> = of_ways.collect();
        self.relations.iter().for_each(|relation| polygons.extend(self.areas(relation)));
        polygons
    }

    /// The polygons of a relation: a row each, where it has several outer rings.
    pub fn areas(&self, relation: &Relation) -> Vec<Polygon> {
        let kind = value(&relation.tags, "type");
        if !matches!(kind, Some("multipolygon" | "boundary")) || relation.tags.len() < 2 {
            return Vec::new();
        }
        let is_building = has_key(&relation.tags, &["building"]);
        let mut polygons: Vec<Polygon> = self
            .rings(relation, |role| role != "inner")
            .into_iter()
            .map(|outer| Polygon { outer, holes: Vec::new(), is_building })
            .collect();
        for hole in self.rings(relation, |role| role == "inner") {
            let within =
                polygons.iter_mut().find(|polygon| self.is_within(self.nodes[&hole[0]], &polygon.outer));
            if let Some(polygon) = within {
                polygon.holes.push(hole);
            }
        }
        polygons
    }

    /// Closed rings of a relation's ways of some roles, put together by their ends.
    pub fn rings(&self, relation: &Relation, wanted: impl Fn(&str) -> bool) -> Vec<Vec<i64>> {
        let members =
            relation.members.iter().filter(|member| member.kind == ObjectKind::Ways && wanted(&member.role));
        let mut ways: Vec<Vec<i64>> = members
            .filter_map(|member| self.ways.get(&member.id))
            .filter(|way| way.nodes.len() > 1 && way.nodes.iter().all(|node| self.nodes.contains_key(node)))
            .map(|way| way.nodes.clone())
            .collect();
        let mut rings = Vec::new();
        while let Some(mut ring) = ways.pop() {
            while ring.first() != ring.last() {
                let end = ring.last().copied();
                let Some(next) =
                    ways.iter().position(|way| way.first().copied() == end || way.last().copied() == end)
                else {
                    break;
                };
                let mut next = ways.swap_remove(next);
                if next.first().copied() != end {
                    next.reverse();
                }
                ring.extend(&next[1..]);
            }
            if ring.first() == ring.last() && ring.len() > 3 {
                rings.push(ring);
            }
        }
        rings
    }

    /// Whether a place is within a ring.
    pub fn is_within(&self, (x, y): Place, ring: &[i64]) -> bool {
        let mut is_within = false;
        for side in ring.windows(2) {
            let ((ax, ay), (bx, by)) = (self.nodes[&side[0]], self.nodes[&side[1]]);
            if (ay > y) != (by > y) && x < ax + (bx - ax) * (y - ay) / (by - ay) {
                is_within = !is_within;
            }
        }
        is_within
    }

    /// Metres, on the plane that touches the land there.
    fn area(&self, ring: &[i64]) -> f64 {
        let (origin_x, origin_y) = self.nodes[&ring[0]];
        let sides = ring.windows(2).map(|side| {
            let [a, b] = [self.nodes[&side[0]], self.nodes[&side[1]]];
            (a.0 - origin_x) * (b.1 - origin_y) - (b.0 - origin_x) * (a.1 - origin_y)
        });
        (sides.sum::<f64>() / 2.0).abs() * METRES_PER_DEGREE * METRES_PER_DEGREE * origin_y.to_radians().cos()
    }

    /// Metres from one place to another, nearby.
    pub fn distance(a: Place, b: Place) -> f64 {
        let (x, y) = ((a.0 - b.0) * a.1.to_radians().cos(), a.1 - b.1);
        x.hypot(y) * METRES_PER_DEGREE
    }

    /// Figures by name.
    pub fn figures(&self) -> Vec<(String, f64)> {
        let mut figures = Vec::new();
        let mut add = |name: &str, value: f64| figures.push((name.to_owned(), value));
        let roads = self.ways.values().filter(|way| has_key(&way.tags, &["highway"]) && !is_area(way));
        let roads: Vec<&Way> = roads.filter(|way| way.nodes.len() > 1).collect();
        let ends = roads
            .iter()
            .flat_map(|way| way.nodes.windows(2))
            .filter_map(|side| Some(Self::distance(*self.nodes.get(&side[0])?, *self.nodes.get(&side[1])?)));
        add("highway km", ends.sum::<f64>() / 1000.0);
        vertices("highway", roads.iter().map(|way| way.nodes.len()).collect(), &mut add);
        let polygons = self.polygons();
        let (buildings, others): (Vec<&Polygon>, Vec<&Polygon>) =
            polygons.iter().partition(|polygon| polygon.is_building);
        vertices("building", buildings.iter().map(|polygon| polygon.vertices()).collect(), &mut add);
        let mut areas: Vec<f64> = buildings.iter().map(|polygon| self.polygon_area(polygon)).collect();
        areas.sort_by(f64::total_cmp);
        add("building median m2", areas[areas.len() / 2]);
        vertices("other polygon", others.iter().map(|polygon| polygon.vertices()).collect(), &mut add);
        add("points", self.points.len() as f64);
        let middles: Vec<Place> = polygons.iter().map(|polygon| self.middle(&polygon.outer)).collect();
        for (name, places) in [("polygons", &middles), ("points", &self.points)] {
            let mut counts = HashMap::new();
            places.iter().for_each(|place| *counts.entry(tile(*place, 14)).or_insert(0_usize) += 1);
            let counts = sorted(counts.into_values().collect());
            for (label, share) in [("p10", 0.1), ("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)] {
                add(&format!("{name} per z14 tile {label}"), quantile(&counts, share));
            }
        }
        add("z14 tiles with polygons", tiles(&middles, 14));
        for zoom in [8, 10, 12, 14, 16, 18] {
            add(&format!("z{zoom} tiles with points"), tiles(&self.points, zoom));
        }
        figures
    }

    fn polygon_area(&self, polygon: &Polygon) -> f64 {
        self.area(&polygon.outer) - polygon.holes.iter().map(|hole| self.area(hole)).sum::<f64>()
    }

    /// About its centroid: the middle of its bounding box.
    fn middle(&self, ring: &[i64]) -> Place {
        let start = (f64::MAX, f64::MAX, f64::MIN, f64::MIN);
        let (west, south, east, north) = ring.iter().fold(start, |bbox, node| {
            let (x, y) = self.nodes[node];
            (bbox.0.min(x), bbox.1.min(y), bbox.2.max(x), bbox.3.max(y))
        });
        ((west + east) / 2.0, (south + north) / 2.0)
    }
}

impl Polygon {
    fn vertices(&self) -> usize {
        self.outer.len() + self.holes.iter().map(Vec::len).sum::<usize>()
    }
}

/// Whether a way is an area to osm2pgsql.
pub fn is_area(way: &Way) -> bool {
    let is_closed = way.nodes.len() > 3 && way.nodes.first() == way.nodes.last();
    let is_meant = match value(&way.tags, "area") {
        Some("yes" | "1" | "true") => true,
        Some("no" | "0" | "false") => false,
        _ => has_key(&way.tags, &POLYGON_KEYS),
    };
    is_closed && is_meant
}

fn vertices(name: &str, counts: Vec<usize>, add: &mut dyn FnMut(&str, f64)) {
    let counts = sorted(counts);
    add(&format!("{name} count"), counts.len() as f64);
    add(&format!("{name} vertices mean"), counts.iter().sum::<usize>() as f64 / counts.len() as f64);
    for (label, share) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)] {
        add(&format!("{name} vertices {label}"), quantile(&counts, share));
    }
}

fn sorted(mut counts: Vec<usize>) -> Vec<usize> {
    counts.sort_unstable();
    counts
}

/// As PostgreSQL's percentile_disc.
fn quantile(sorted: &[usize], share: f64) -> f64 {
    sorted[((share * sorted.len() as f64).ceil() as usize).max(1) - 1] as f64
}

fn tile((lon, lat): Place, zoom: u32) -> (u32, u32) {
    let across = f64::from(1 << zoom);
    let latitude = lat.to_radians();
    let y = (1.0 - (latitude.tan() + 1.0 / latitude.cos()).ln() / std::f64::consts::PI) / 2.0;
    (((lon + 180.0) / 360.0 * across) as u32, (y * across) as u32)
}

fn tiles(places: &[Place], zoom: u32) -> f64 {
    places.iter().map(|place| tile(*place, zoom)).collect::<HashSet<_>>().len() as f64
}
