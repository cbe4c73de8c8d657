//! The blocks of an answer as lines of a terminal: indented, and wrapped between words.

use crate::block::Block;
use crate::visible;

const WIDTH: usize = 80;

/// Paragraphs are indented, lists and code further. A command stays on one line, for copying. Control
/// characters are escaped, so that foreign text cannot control a terminal or forge a line.
pub(super) fn lines(blocks: &[Block]) -> String {
    blocks.iter().map(line).collect()
}

fn line(block: &Block) -> String {
    match block {
        Block::Paragraph(paragraph) => wrapped(&format!("  {}", paragraph.words())),
        Block::List(items) => items.iter().map(|item| wrapped(&format!("    {item}"))).collect(),
        Block::Code(text) => format!("    {}\n", visible::line(text)),
        Block::Group { blocks, .. } => lines(blocks),
        Block::Heading(_) | Block::Table(_) | Block::Chart(_) | Block::Picture(_) | Block::Details { .. } => {
            String::new()
        }
    }
}

/// The words of a line; a number and its percent sign are one.
fn words(line: &str) -> impl Iterator<Item = String> {
    let mut words = line.split_whitespace().peekable();
    std::iter::from_fn(move || {
        let mut word = words.next()?.to_owned();
        while let Some(sign) = words.next_if(|next| next.starts_with('%')) {
            word = format!("{word} {sign}");
        }
        Some(word)
    })
}

/// Continuation lines are indented further.
pub(super) fn wrapped(line: &str) -> String {
    let line = visible::line(line);
    let indent = line.len() - line.trim_start().len();
    let mut out = " ".repeat(indent);
    let mut width = indent;
    for (position, word) in words(&line).enumerate() {
        let length = word.chars().count();
        if position > 0 && width + 1 + length > WIDTH {
            out.push('\n');
            out.push_str(&" ".repeat(indent + 2));
            width = indent + 2;
        } else if position > 0 {
            out.push(' ');
            width += 1;
        }
        out.push_str(&word);
        width += length;
    }
    out.push('\n');
    out
}
