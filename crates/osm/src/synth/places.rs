//! Nodes of places: the settlement of a cell, and the quarters of a town.

use super::grid::PATCHES;
use super::names;
use super::piece::Piece;
use super::rng::{Draws, Layer};
use super::settlement::Rank;
use super::site::Site;

pub(super) fn draw(site: &Site, piece: &mut Piece) {
    let mut draws = Draws::at(site.seed, Layer::Place, site.cell.x, site.cell.y);
    let name = names::place(site.seed, site.cell.x, site.cell.y);
    let (kind, people_per_ha) = match site.settlement.rank {
        Rank::City => ("city", 45.0),
        Rank::Town => ("town", 30.0),
        Rank::Village => ("village", 15.0),
        Rank::Hamlet => ("hamlet", 5.0),
    };
    let hectares = site.settlement.radius * site.settlement.radius / 3200.0;
    let population = (hectares * people_per_ha * draws.between(0.7, 1.3)) as u32 + 12;
    let at = site.vertex(site.settlement.hub).moved(9.0, 11.0);
    piece.place_node(at, &[("place", kind), ("name", &name), ("population", &population.to_string())]);
    for j in (4..PATCHES).step_by(8) {
        for i in (4..PATCHES).step_by(8) {
            if site.level(i, j).density > 0.15 && site.settlement.rank >= Rank::Town {
                let stem = names::nature(&mut draws, "Quarter");
                piece.node(site.vertex((i, j)).moved(12.0, -8.0), &[("place", "suburb"), ("name", &stem)]);
            } else if draws.chance(0.06) {
                let stem = names::nature(&mut draws, "Farm");
                piece.node(
                    site.vertex((i, j)).moved(12.0, -8.0),
                    &[("place", "isolated_dwelling"), ("name", &stem)],
                );
            }
        }
    }
}
