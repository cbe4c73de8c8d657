//! Texts as parts of URLs.

use std::fmt::Write;

/// Everything but letters, digits and `-._` as `%XX`: such a text means itself in a URL, in YAML and in a shell.
pub(super) fn percent_encoded(text: &[u8]) -> String {
    text.iter().fold(String::with_capacity(text.len()), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._".contains(byte) {
            out.push(char::from(*byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}
