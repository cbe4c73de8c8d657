//! Text of others (names, file names, what a server says) made safe to show: whatever would drive a terminal, forge a
//! line or turn the direction of what stands beside it is shown as an escape, `\x1b` or `\u{202e}`.
//!
//! Letters of every script stay as they are, also those written from right to left: what directs them without being
//! asked is part of the letters; what can be abused are the marks that override it.

use std::borrow::Cow;
use std::fmt::Write;

/// Text for a place of one line: line breaks are escaped too.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, is_hostile)
}

/// Text that may have lines of its own, in a place where nothing of ours stands below it: line breaks and tabs stay.
#[must_use]
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c != '\n' && c != '\t' && is_hostile(c))
}

/// Text with lines of its own among ours: every line behind the first starts with a bar, so that none can pass for one
/// of ours.
#[must_use]
pub fn block(text: &str) -> Cow<'_, str> {
    let text = text.trim_end_matches('\n');
    if !text.contains('\n') {
        return line(text);
    }
    let lines: Vec<_> = text.split('\n').map(|part| lines(part.strip_suffix('\r').unwrap_or(part))).collect();
    Cow::Owned(lines.join("\n  | "))
}

/// Characters that change how their surroundings are shown: controls, separators of lines, marks and overrides of
/// direction, and tags, which nobody sees.
pub(crate) fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn escaped(text: &str, hostile: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&hostile) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if hostile(c) { escape(c, &mut out) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// As Rust and C write it.
pub(crate) fn escape(c: char, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = match c {
        '\n' => out.write_str("\\n"),
        '\r' => out.write_str("\\r"),
        '\t' => out.write_str("\\t"),
        c if (c as u32) < 0x80 => write!(out, "\\x{:02x}", c as u32),
        c => write!(out, "\\u{{{:x}}}", c as u32),
    };
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_drives_a_terminal_or_forges_a_line_is_shown() {
        let cases = [
            ("plain", "plain"),
            ("a\u{1b}[2Jb\u{7}", "a\\x1b[2Jb\\x07"),
            ("a\u{202e}b\u{2066}c\u{200f}", "a\\u{202e}b\\u{2066}c\\u{200f}"),
            ("one\nerror: two\r\n", "one\\nerror: two\\r\\n"),
            ("c1\u{9b}31m", "c1\\u{9b}31m"),
            ("\u{2028}\u{feff}\u{e0041}", "\\u{2028}\\u{feff}\\u{e0041}"),
        ];
        for (text, wanted) in cases {
            assert_eq!(line(text), wanted);
        }
    }

    #[test]
    fn letters_of_every_script_stay() {
        for text in ["Ħal Qormi, Żebbuġ", "خريطة مالطا", "מלטה", "地図", "نمی\u{200c}خواهم", "👩\u{200d}🚒"]
        {
            assert_eq!(line(text), text);
        }
    }

    #[test]
    fn lines_of_a_block_cannot_pass_for_ours() {
        assert_eq!(
            block("ERROR:  a\nLINE 1: b\tc\n        ^\u{1b}\n"),
            "ERROR:  a\n  | LINE 1: b\tc\n  |         ^\\x1b"
        );
        assert_eq!(block("one\n"), "one");
        assert_eq!(lines("a\n\tb\u{7}\n"), "a\n\tb\\x07\n");
    }

    proptest! {
        #[test]
        fn nothing_hostile_is_left(text in "\\PC*|[\\x00-\\x9f]{0,20}|[\u{2000}-\u{206f}]{0,9}") {
            prop_assert!(!line(&text).contains(is_hostile));
            for (number, part) in block(&text).split('\n').enumerate() {
                prop_assert!(number == 0 || part.starts_with("  | "), "{:?}", part);
            }
        }
    }
}
