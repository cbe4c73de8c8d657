//! Plain tables for the terminal and for other programs, from the sections' views; column names end with
//! units.

pub use crate::answers::answers;
pub use crate::costs::costs;
pub use crate::cross::cross;
pub use crate::decisions::decisions;
pub use crate::differences::{differences, table_in_words as differences_in_words};
pub use crate::explained::{plan_layers, plan_shares, plans};
pub use crate::figures::figures;
pub use crate::ladder::{ladder, ladders_in_words};
pub use crate::lag::lag;
pub use crate::phases::{phases, phases_in_words};
pub use crate::scaling::{scaling, scalings_in_words};
pub use crate::sections::aging::{aging, aging_in_words};
pub use crate::sections::crosstabs::crosstab;
pub use crate::sections::limit::{limits, none as no_limits};
pub use crate::sections::load::sizes;
pub use crate::sections::runs::runs;
pub use crate::sections::verdicts::{below, compared, compared_for_people, compared_in_words};
pub use crate::sections::workloads::{amounts, cells, jobs, jobs_in_words, scripts};
pub use crate::sections::worth::{settings, settings_in_words};
pub use crate::spread::{below_spread, repeats, spread, spread_in_words};
pub use crate::users::{users, users_in_words};
pub use crate::zooms::{
    MOST_OF_ARM, MOST_TILES, slowest_of_arms, slowest_tiles, tile, tiles, tiles_in_words,
};

use crate::compared::FROM_SLICES;
use results::ReportData;

/// Text below tables of runs, cells and scripts for people, if their percentiles are from slices.
#[must_use]
pub fn below_percentiles(data: &ReportData) -> Option<String> {
    let is_sliced = data.measured_runs().any(spec::Run::is_sliced);
    is_sliced.then(|| format!("sliced: {FROM_SLICES} They are not compared."))
}

/// Text below tables of tiles for people: if requests are views, and if some quads of slices do not count.
#[must_use]
pub fn below_tiles(data: &ReportData) -> Vec<String> {
    crate::zooms::caveats(data)
}
