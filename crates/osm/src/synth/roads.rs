//! Roads between settlements: each is joined to those of the four cells around it, or to most of them. A road meets its
//! other half at a vertex on the side between the cells, which both draw from the same stream.

use super::grid::PATCHES;
use super::names;
use super::net::{Bends, Net, Vertex};
use super::piece::Piece;
use super::rng::{Draws, Layer};
use super::site::Site;
use crate::extract::Kind;

/// What a road is, and how often; every eighth is not there.
const CLASSES: [(u32, &str); 4] = [(14, "primary"), (30, "secondary"), (40, "tertiary"), (12, "")];

/// A road between two cells, as both see it.
struct Road {
    class: &'static str,
    reference: String,
    name: String,
    /// Where it passes the side between them: vertices along it.
    along: i32,
}

/// Draws the halves of roads that lie in a cell.
pub(super) fn draw(site: &Site, net: &mut Net, piece: &mut Piece) {
    let mut bus_route = Vec::new();
    for (x, y) in [(1, 0), (0, 1), (-1, 0), (0, -1)] {
        let Some(road) = road(site, x, y) else { continue };
        let start = match (x, y) {
            (1, _) => (PATCHES, road.along),
            (-1, _) => (0, road.along),
            (_, 1) => (road.along, PATCHES),
            _ => (road.along, 0),
        };
        let mut draws = Draws::at(site.seed, Layer::Road, site.cell.x * 4 + x, site.cell.y * 4 + y);
        let path = path(net, &mut draws, start, (-x, -y), site.settlement.hub);
        bus_route.extend(ways(site, net, piece, &mut draws, &path, &road));
    }
    if bus_route.len() > 1 && site.settlement.radius > 500.0 {
        let number = (site.cell.index() % 97 + 1).to_string();
        let members = bus_route.into_iter().map(|way| (Kind::Ways, way, "")).collect();
        piece.relation(members, &[("type", "route"), ("route", "bus"), ("ref", &number)]);
    }
}

/// The road to a neighbour, if there is one. Motorways run through the middles of states from west to east, trunk roads
/// from south to north.
fn road(site: &Site, x: i32, y: i32) -> Option<Road> {
    // A side is named by its western or southern cell.
    let (west, south) = (site.cell.x + x.min(0), site.cell.y + y.min(0));
    let mut shared = Draws::at(site.seed, Layer::Crossing, west * 2 + x.abs(), south);
    let drawn = shared.weighted(&CLASSES);
    let class = match x {
        0 if west.rem_euclid(9) == 0 => "trunk",
        -1 | 1 if south.rem_euclid(9) == 0 => "motorway",
        _ => drawn,
    };
    let letter = class.chars().next()?.to_ascii_uppercase();
    Some(Road {
        class,
        reference: format!("{letter}{}", 1 + shared.below(899)),
        name: names::street(&mut shared),
        // Odd: rivers and railways have even vertices.
        along: 5 + 2 * shared.below(PATCHES as u32 / 2 - 5) as i32,
    })
}

/// From the side of the cell inwards, then straight to the hub or to a road that is there before.
fn path(net: &Net, draws: &mut Draws, start: Vertex, inwards: Vertex, hub: Vertex) -> Vec<Vertex> {
    let mut path = vec![start];
    let mut at = (start.0 + inwards.0, start.1 + inwards.1);
    let mut crossed = Vec::new();
    path.push(at);
    while at != hub && !net.is_visited(at) {
        let (x, y) = (hub.0 - at.0, hub.1 - at.1);
        let mut step = (x.signum(), y.signum());
        let patch = (at.0 + step.0.min(0), at.1 + step.1.min(0));
        let is_free = !net.is_crossed(patch) && !crossed.contains(&patch);
        if x != 0 && y != 0 {
            if is_free && draws.chance(0.75) {
                crossed.push(patch);
            } else if x.abs() > y.abs() {
                step.1 = 0;
            } else {
                step.0 = 0;
            }
        }
        at = (at.0 + step.0, at.1 + step.1);
        path.push(at);
    }
    path
}

/// Cuts a road into ways, as others do where a limit, a bridge or a name changes. At some of the cuts one may not turn.
fn ways(
    site: &Site,
    net: &mut Net,
    piece: &mut Piece,
    draws: &mut Draws,
    path: &[Vertex],
    road: &Road,
) -> Vec<i64> {
    const LIMITS: [&str; 4] = ["50", "60", "80", "100"];
    let bends = Bends { scale: 3.0, most: 14.0, sway: 9.0 };
    let (mut ids, mut at) = (Vec::<i64>::new(), 0);
    while at + 1 < path.len() {
        let end = (at + 1 + draws.below(5) as usize).min(path.len() - 1);
        let limit = draws.pick(&LIMITS);
        let mut tags = vec![("highway", road.class), ("ref", &*road.reference), ("maxspeed", limit)];
        if road.class == "motorway" {
            tags.push(("oneway", "no"));
        } else {
            tags.push(("name", &*road.name));
        }
        let way = net.street(site, piece, draws, &path[at..=end], bends, &tags);
        if let Some(before) = ids.last().filter(|_| draws.chance(0.4)) {
            let via = piece.vertex(path[at]);
            let members =
                vec![(Kind::Ways, *before, "from"), (Kind::Nodes, via, "via"), (Kind::Ways, way, "to")];
            piece.relation(members, &[("type", "restriction"), ("restriction", "only_straight_on")]);
        }
        ids.push(way);
        at = end;
    }
    ids
}
