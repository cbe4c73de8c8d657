//! Blocks as lines of text: indented, and wrapped between words.

use crate::block::Block;
use crate::visible;

/// Width of a terminal, characters.
pub(crate) const TERMINAL: usize = 80;

/// Paragraphs are indented, lists and code further. A command stays on one line, for copying. Control
/// characters are escaped, so that foreign text cannot control a terminal or forge a line.
pub(crate) fn lines(blocks: &[Block], width: usize) -> String {
    blocks.iter().map(|block| line(block, width)).collect()
}

fn line(block: &Block, width: usize) -> String {
    match block {
        Block::Paragraph(paragraph) => wrapped(&format!("  {}", paragraph.words()), width),
        Block::List(items) => items.iter().map(|item| wrapped(&format!("    {item}"), width)).collect(),
        Block::Code(text) => format!("    {}\n", visible::line(text)),
        Block::Group { blocks, .. } => lines(blocks, width),
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
pub(crate) fn wrapped(line: &str, most: usize) -> String {
    let line = visible::line(line);
    let indent = line.len() - line.trim_start().len();
    let mut out = " ".repeat(indent);
    let mut width = indent;
    for (position, word) in words(&line).enumerate() {
        let length = word.chars().count();
        if position > 0 && width + 1 + length > most {
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
