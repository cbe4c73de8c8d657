//! Costs, if the experiment has a price list.

use crate::block::Block;
use crate::costs::on_page;
use results::ReportData;

pub(super) fn blocks(data: &ReportData) -> Vec<Block> {
    on_page(data).map(Block::from).into_iter().collect()
}
