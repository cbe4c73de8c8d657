//! Facts below their label.

use super::ascii::ascii;
use super::{INDENT, WIDTH};
use crate::lines::wrapped;

/// Paragraphs, the first behind the label, the others indented; empty without any. Words that do not fit make a
/// longer line.
pub(super) fn labelled(label: &str, paragraphs: &[String]) -> String {
    let head = |at: usize| if at == 0 { format!("{label}: ") } else { INDENT.to_owned() };
    let each = paragraphs.iter().enumerate();
    each.map(|(at, paragraph)| wrapped(&ascii(&(head(at) + paragraph)), WIDTH)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stands_behind_its_label_and_below_it() {
        let long = "a word ".repeat(12);
        let found = labelled("Host", &[long, "second".to_owned()]);
        let lines: Vec<&str> = found.lines().collect();
        assert_eq!(lines.len(), 3, "{found}");
        assert!(
            lines[0].starts_with("Host: a word") && lines[1].starts_with("  ") && lines[2] == "  second",
            "{found}"
        );
        assert!(lines.iter().all(|line| line.len() <= WIDTH), "{found}");
        assert_eq!(labelled("Host", &[]), "");
    }
}
