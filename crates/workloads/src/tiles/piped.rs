//! A list of tiles that comes through a pipe.

use std::io::BufRead;

use crate::trace;

/// Its name in messages.
pub(super) const STANDARD_INPUT: &str = "-";

/// Reads a list or a log to its end: the text for [`super::Picker::Tiles`], each tile once with its number of
/// requests, and remarks.
///
/// # Errors
/// In words, as for a file.
pub fn piped_list(reader: impl BufRead) -> Result<(String, Vec<String>), String> {
    let trace = trace::read_from(reader, STANDARD_INPUT).map_err(|error| error.to_string())?;
    Ok((trace.text, trace.remarks))
}
