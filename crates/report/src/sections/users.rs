//! What users did.

use crate::block::Block;
use crate::users::users_in_words;
use results::ReportData;

pub(super) fn blocks(data: &ReportData) -> Vec<Block> {
    users_in_words(data)
}
