//! Texts as parts of URLs.

use std::fmt::Write;

/// Everything but letters, digits and `-._` as `%XX`: such a text means itself in a URL, in YAML and in a shell.
#[must_use]
pub fn percent_encoded(text: &[u8]) -> String {
    text.iter().fold(String::with_capacity(text.len()), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._".contains(byte) {
            out.push(char::from(*byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_something_in_a_url_is_encoded() {
        let encoded = percent_encoded("a-b_c.9/ %é\n".as_bytes());
        assert_eq!(encoded, "a-b_c.9%2F%20%25%C3%A9%0A");
    }
}
