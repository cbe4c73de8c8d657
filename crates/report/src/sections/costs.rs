//! Costs, if the experiment has a price list.

use crate::block::Block;
use crate::costs::Costs;
use results::ReportData;

pub(super) fn blocks(data: &ReportData) -> Vec<Block> {
    Costs::of(data).map(|costs| costs.sheet().into()).into_iter().collect()
}
