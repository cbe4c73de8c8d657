//! What a zoom and a cell are called in sentences.

use results::comparison::zooms::{Which, ZoomComparison};

use super::{ZoomsOfCell, zoom};
use results::data::cell_text;

/// `, map, 4 clients`, if there are several cells.
pub(super) fn of_several(cells: &[ZoomsOfCell], of: &ZoomsOfCell) -> String {
    if cells.len() > 1 { format!(", {}", cell_text(&of.cell)) } else { String::new() }
}

/// Whether it is of this arm, hits and misses together.
pub(super) fn is_of(change: &ZoomComparison, arm: &str) -> bool {
    change.arm == arm && change.place.which == Which::All
}

/// `z12`, with its layer if the cell has several.
pub(super) fn named(of: &ZoomsOfCell, change: &ZoomComparison) -> String {
    match of.layers().len() {
        1 => zoom(change.place),
        _ => format!("{} of {}", zoom(change.place), change.layers()),
    }
}
