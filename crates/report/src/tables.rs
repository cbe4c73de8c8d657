//! Plain tables for the terminal and for other programs, drawn from the sections' views; units stand last in the column
//! names.

pub use crate::differences::{differences, table_in_words as differences_in_words};
pub use crate::sections::crosstabs::crosstab;
pub use crate::sections::load::{phases, sizes};
pub use crate::sections::runs::runs;
pub use crate::sections::verdicts::{below, compared, compared_in_words};
pub use crate::sections::workloads::{cells, scripts};
