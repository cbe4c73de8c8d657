//! Plain tables for the terminal and for other programs; units stand last in the column names.

mod cells;
mod comparison;
mod crosstab;
mod phases;
mod runs;
mod sizes;

pub(crate) use cells::CellFigures;
pub use cells::cells;
pub use comparison::{compared, compared_in_words};
pub use crosstab::crosstab;
pub(crate) use crosstab::{Show, of_grid};
pub use phases::phases;
pub use runs::runs;
pub(crate) use runs::{doubts, validity};
pub(crate) use sizes::relations;
pub use sizes::sizes;

use results::Value;
use results::comparison::Cell;

/// A real number, or nothing where it is not one.
fn real(value: Option<f64>) -> Value {
    value.filter(|number| number.is_finite()).into()
}

/// All factors of a cell but the workload: `clients 4, zoom 14`.
fn levels(cell: &Cell) -> Value {
    let levels: Vec<String> =
        cell.factors.iter().map(|(name, level)| format!("{name} {}", level.0)).collect();
    levels.join(", ").into()
}
