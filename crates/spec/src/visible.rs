//! Makes text from outside (names, file names, server messages) safe to show. Control characters, line
//! separators and marks that change the direction of text become escapes: `\x1b` or `\u{202e}`, in JSON
//! `\u202e`.
//!
//! Letters of every script stay unchanged, including right-to-left scripts.

use std::borrow::Cow;
use std::fmt::Write;

/// Text for a single line: line breaks are escaped too.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, is_hostile)
}

/// Text with several lines, if none of our lines follow: line breaks and tabs stay.
#[must_use]
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c != '\n' && c != '\t' && is_hostile(c))
}

/// A whole document. CRLF line ends are allowed, as in CSV; other carriage returns are escaped.
#[must_use]
pub fn document(text: &str) -> Cow<'_, str> {
    if !text.contains('\r') {
        return lines(text);
    }
    let parts: Vec<_> = text.split("\r\n").map(lines).collect();
    Cow::Owned(parts.join("\r\n"))
}

/// A JSON document with the same value: these characters occur only in strings, where `\uXXXX` is equivalent.
#[must_use]
pub fn json(text: &str) -> Cow<'_, str> {
    let hostile = |c: char| c != '\n' && is_hostile(c);
    escaped_by(text, hostile, |c, out| {
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{unit:04x}");
        }
    })
}

/// Text with several lines between ours: every line after the first starts with a bar, so that none can pass
/// for one of ours.
#[must_use]
pub fn block(text: &str) -> Cow<'_, str> {
    let text = text.trim_end_matches('\n');
    if !text.contains('\n') {
        return line(text);
    }
    let lines: Vec<_> = text.split('\n').map(|part| lines(part.strip_suffix('\r').unwrap_or(part))).collect();
    Cow::Owned(lines.join("\n  | "))
}

/// Characters that change how surrounding text is shown: controls, line separators, direction marks and
/// overrides, and invisible tags.
#[must_use]
pub fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn escaped(text: &str, hostile: impl Fn(char) -> bool) -> Cow<'_, str> {
    escaped_by(text, hostile, escape)
}

fn escaped_by(
    text: &str,
    hostile: impl Fn(char) -> bool,
    escape: impl Fn(char, &mut String),
) -> Cow<'_, str> {
    if !text.contains(&hostile) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if hostile(c) { escape(c, &mut out) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// The escape of Rust and C.
fn escape(c: char, out: &mut String) {
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

    #[test]
    fn csv_keeps_the_ends_of_its_lines() {
        assert_eq!(document("a,b\r\nc\u{1b}\rx,d\r\n"), "a,b\r\nc\\x1b\\rx,d\r\n");
    }

    #[test]
    fn json_keeps_its_value() {
        assert_eq!(
            json("{\n  \"a\u{9b}\u{2067}\": \"\u{e0041}ż\"\n}\n"),
            "{\n  \"a\\u009b\\u2067\": \"\\udb40\\udc41ż\"\n}\n"
        );
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
