//! A list of tiles that comes through a pipe.

use std::io::BufRead;

use crate::trace;

/// Its name in messages.
pub(super) const STANDARD_INPUT: &str = "-";

/// Reads a list or a log to its end: the text for [`super::Picker::Tiles`], each tile once with its number of
/// requests, and remarks. Without `whole` a list of very many tiles is thinned.
///
/// # Errors
/// In words, as for a file.
pub fn piped_list(reader: impl BufRead, whole: bool) -> Result<(String, Vec<String>), String> {
    let most = if whole { trace::MOST_ONCE } else { trace::MOST };
    let trace = trace::read_from(reader, STANDARD_INPUT, most)?;
    Ok((trace.text, trace.remarks))
}
