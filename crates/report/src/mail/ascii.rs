//! Text for mail programs and archives that know only ASCII.

use std::fmt::Write;

/// Signs that pgdyno prints, and common ones of names.
const SIGNS: [(char, &str); 22] = [
    ('→', "->"),
    ('…', "..."),
    ('–', "-"),
    ('—', "-"),
    ('−', "-"),
    ('‘', "'"),
    ('’', "'"),
    ('“', "\""),
    ('”', "\""),
    ('×', "x"),
    ('÷', "/"),
    ('±', "+-"),
    ('≤', "<="),
    ('≥', ">="),
    ('≈', "~"),
    ('²', "2"),
    ('³', "3"),
    ('µ', "u"),
    ('μ', "u"),
    ('·', "-"),
    ('\u{a0}', " "),
    ('\u{202f}', " "),
];

/// The same text in ASCII: known signs by their usual replacement, others as `\u{e9}`.
pub(super) fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match SIGNS.iter().find(|(sign, _)| *sign == c) {
            Some((_, written)) => out.push_str(written),
            None if c.is_ascii() => out.push(c),
            // Writing to a string cannot fail.
            None => drop(write!(out, "\\u{{{:x}}}", c as u32)),
        }
    }
    out
}

/// A word of a shell with the same bytes, in ASCII: `$'caf\303\251'` (POSIX.1-2024, 2.2.4).
pub(super) fn word(quoted: &str, word: &str) -> String {
    if quoted.is_ascii() {
        return quoted.to_owned();
    }
    let mut out = String::from("$'");
    for byte in word.bytes() {
        match byte {
            b'\\' => out.push_str("\\\\"),
            b' '..=b'~' if byte != b'\'' => out.push(char::from(byte)),
            byte => drop(write!(out, "\\{byte:03o}")),
        }
    }
    out + "'"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_becomes_ascii() {
        for (text, wanted) in [
            ("work_mem 4MB → 64MB", "work_mem 4MB -> 64MB"),
            ("I² = 94 %, 12 µs, 3 × 2", "I2 = 94 %, 12 us, 3 x 2"),
            ("größe", "gr\\u{f6}\\u{df}e"),
            ("plain", "plain"),
        ] {
            assert_eq!(ascii(text), wanted);
        }
    }

    #[test]
    fn a_word_of_a_command_keeps_its_bytes() {
        assert_eq!(word("'a b'", "a b"), "'a b'");
        assert_eq!(word("'café'", "café"), r"$'caf\303\251'");
        assert_eq!(word("'it'\\''s ö\\'", "it's ö\\"), r"$'it\047s \303\266\\'");
    }
}
