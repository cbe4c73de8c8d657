//! Names that look like names, with letters that are not ASCII and marks that want escaping among them.

use super::rng::{Draws, Layer};

const STARTS: [&str; 24] = [
    "Al", "Ber", "Bru", "Cor", "Dor", "El", "Fal", "Grün", "Har", "Il", "Ker", "Lau", "Mar", "Neu", "Ober",
    "Pla", "Ros", "Sankt ", "Tor", "Unter", "Val", "Wal", "Zür", "Éta",
];
const MIDDLES: [&str; 12] = ["", "", "", "an", "be", "do", "en", "ing", "la", "mer", "ri", "ste"];
const ENDS: [&str; 20] = [
    "bach", "berg", "brück", "dorf", "feld", "fort", "hausen", "heim", "hof", "ingen", "kirch", "low",
    "mont", "mühle", "stadt", "ton", "val", "vik", "wald", "wil",
];
const STREETS: [&str; 8] = ["Street", "Road", "Lane", "Avenue", "Way", "Close", "Gasse", "Weg"];
const TREES: [&str; 10] =
    ["Acer", "Aesculus", "Betula", "Carpinus", "Fagus", "Platanus", "Prunus", "Quercus", "Tilia", "Ulmus"];
const SHOPS: [&str; 10] = [
    "Corner",
    "Golden Lion",
    "Joe's",
    "Old Mill",
    "Star",
    "La Fée",
    "Green",
    "Central",
    "Blue",
    "\"Zur Post\"",
];

/// A stem of three parts.
fn stem(draws: &mut Draws) -> String {
    [draws.pick(&STARTS), draws.pick(&MIDDLES), draws.pick(&ENDS)].concat()
}

/// Name of a settlement, and of its municipality.
pub(super) fn place(seed: u64, x: i32, y: i32) -> String {
    stem(&mut Draws::at(seed, Layer::Name, x, y))
}

/// Name of a street.
pub(super) fn street(draws: &mut Draws) -> String {
    let stem = stem(draws);
    [stem.as_str(), " ", draws.pick(&STREETS)].concat()
}

/// Name of a shop, an inn or the like.
pub(super) fn shop(draws: &mut Draws) -> String {
    if draws.chance(0.5) {
        return draws.pick(&SHOPS).to_owned();
    }
    let stem = stem(draws);
    [draws.pick(&SHOPS), " ", stem.as_str()].concat()
}

/// Name of a wood, a lake, a river.
pub(super) fn nature(draws: &mut Draws, what: &str) -> String {
    [&stem(draws), " ", what].concat()
}

/// Genus of a tree.
pub(super) fn genus(draws: &mut Draws) -> &'static str {
    draws.pick(&TREES)
}
