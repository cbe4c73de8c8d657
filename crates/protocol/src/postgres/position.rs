//! Shows the position of an error in a query as libpq does: the line, and a caret below it.

use unicode_width::UnicodeWidthChar;

/// Widest part of a line that is shown, in screen columns.
const SHOWN_WIDTH: usize = 60;
/// Columns kept right of the position when a line is cut.
const RIGHT_MARGIN: usize = 10;

/// `LINE n: text` and the caret line, each ended by a newline; empty when `at` (characters from 1) is beyond
/// the query.
pub(super) fn excerpt(query: &str, at: u32) -> String {
    let chars: Vec<char> = query.chars().collect();
    let Some(place) = (at as usize).checked_sub(1).filter(|&place| place <= chars.len()) else {
        return String::new();
    };
    let (number, start) = line_start(&chars[..place]);
    let length = chars[place..].iter().position(|c| matches!(c, '\r' | '\n')).unwrap_or(chars.len() - place);
    let cut = Cut::new(&chars, start, place, place + length);

    let mut text = format!("LINE {number}: {}", cut.left_mark());
    let indent = text.chars().count() + width(&chars[cut.start..place]);
    text.extend(chars[cut.start..cut.end].iter().map(|&c| if c == '\t' { ' ' } else { c }));
    text.push_str(cut.right_mark());
    text.push('\n');
    text.extend(std::iter::repeat_n(' ', indent));
    text.push_str("^\n");
    text
}

/// Number of the line after `before` (from 1) and its start index. `\r\n` is one line end.
fn line_start(before: &[char]) -> (usize, usize) {
    let mut number = 1;
    let mut start = 0;
    for (index, c) in before.iter().enumerate() {
        let second_half = *c == '\n' && index > 0 && before[index - 1] == '\r';
        if matches!(c, '\r' | '\n') {
            number += usize::from(!second_half);
            start = index + 1;
        }
    }
    (number, start)
}

struct Cut {
    start: usize,
    end: usize,
    left: bool,
    right: bool,
}

impl Cut {
    fn new(chars: &[char], start: usize, place: usize, end: usize) -> Cut {
        let mut cut = Cut { start, end, left: false, right: false };
        let before = width(&chars[start..place]);
        let mut after = width(&chars[place..end]);
        let mut excess = (before + after).saturating_sub(SHOWN_WIDTH);
        if excess == 0 {
            return cut;
        }
        let near_start = before + RIGHT_MARGIN <= SHOWN_WIDTH;
        while excess > 0 && (near_start || after > RIGHT_MARGIN) {
            cut.end -= 1;
            let dropped = columns(chars[cut.end]);
            after -= dropped;
            excess = excess.saturating_sub(dropped);
            cut.right = true;
        }
        while excess > 0 {
            excess = excess.saturating_sub(columns(chars[cut.start]));
            cut.start += 1;
            cut.left = true;
        }
        cut
    }

    fn left_mark(&self) -> &'static str {
        if self.left { "..." } else { "" }
    }

    fn right_mark(&self) -> &'static str {
        if self.right { "..." } else { "" }
    }
}

/// Screen columns of a text.
fn width(chars: &[char]) -> usize {
    chars.iter().map(|&c| columns(c)).sum()
}

/// Screen columns of a character; a tab is shown as one blank.
fn columns(c: char) -> usize {
    if c == '\t' { 1 } else { c.width().unwrap_or(0) }
}
