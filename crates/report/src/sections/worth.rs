//! What each setting is worth, where an arm is taken apart.

use crate::block::Block;
use crate::tables::settings_in_words;
use results::ReportData;

const HOW: &str = "Alone: the base with this one setting, against the base. Without it: all settings of the arm but this one, against the \
    arm; a loss is what the setting is worth beside the others.";

pub(super) fn blocks(data: &ReportData) -> Vec<Block> {
    let mut blocks = settings_in_words(data);
    blocks.extend((!blocks.is_empty()).then(|| Block::remark(HOW)));
    blocks
}
