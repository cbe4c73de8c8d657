//! What a section shows, as a list of blocks. Writers know blocks, not sections.

use maud::Markup;
use results::Table;

use crate::chart::Chart;

/// A part of a section, a command's output or an answer.
pub enum Block {
    Heading(String),
    Paragraph(Paragraph),
    List(Vec<String>),
    Table(Table),
    Chart(Box<dyn Chart>),
    /// Drawn already; pages only.
    Picture(Markup),
    Code(String),
    /// Folded on a page, unless open.
    Details {
        summary: String,
        open: bool,
        blocks: Vec<Block>,
    },
    Group {
        class: &'static str,
        blocks: Vec<Block>,
    },
}

/// A paragraph, or a line of a terminal.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Paragraph {
    class: &'static str,
    spans: Vec<Span>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Span {
    Plain(String),
    Strong(String),
    /// Strong, and in the colour of a warning.
    Warning(String),
    Code(String),
}

impl Block {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Paragraph::new("").plain(text).into()
    }

    /// A less prominent paragraph below its subject.
    pub fn remark(text: impl Into<String>) -> Self {
        Paragraph::new("remark").plain(text).into()
    }

    pub(crate) fn notice(text: impl Into<String>) -> Self {
        Paragraph::new("notice").plain(text).into()
    }

    /// Folded on a page; `None` if empty.
    pub(crate) fn details(summary: impl Into<String>, blocks: Vec<Self>) -> Option<Self> {
        (!blocks.is_empty()).then(|| Self::Details { summary: summary.into(), open: false, blocks })
    }

    /// Next to each other on a page; `None` if empty.
    pub(crate) fn group(class: &'static str, blocks: impl IntoIterator<Item = Self>) -> Option<Self> {
        let blocks: Vec<Self> = blocks.into_iter().collect();
        (!blocks.is_empty()).then_some(Self::Group { class, blocks })
    }
}

pub(crate) fn charts(blocks: Vec<Block>) -> Vec<Box<dyn Chart>> {
    let of = |block| match block {
        Block::Chart(chart) => vec![chart],
        Block::Details { blocks, .. } | Block::Group { blocks, .. } => charts(blocks),
        _ => Vec::new(),
    };
    blocks.into_iter().flat_map(of).collect()
}

impl Paragraph {
    pub(crate) fn new(class: &'static str) -> Self {
        Self { class, spans: Vec::new() }
    }

    pub(crate) fn plain(self, text: impl Into<String>) -> Self {
        self.with(Span::Plain(text.into()))
    }

    pub(crate) fn strong(self, text: impl Into<String>) -> Self {
        self.with(Span::Strong(text.into()))
    }

    pub(crate) fn warning(self, text: impl Into<String>) -> Self {
        self.with(Span::Warning(text.into()))
    }

    pub(crate) fn code(self, text: impl Into<String>) -> Self {
        self.with(Span::Code(text.into()))
    }

    fn with(mut self, span: Span) -> Self {
        self.spans.push(span);
        self
    }

    /// The text without markup.
    #[must_use]
    pub fn words(&self) -> String {
        let text = |span: &Span| match span {
            Span::Plain(text) | Span::Strong(text) | Span::Warning(text) | Span::Code(text) => text.clone(),
        };
        self.spans.iter().map(text).collect()
    }

    pub(crate) fn class(&self) -> &'static str {
        self.class
    }

    pub(crate) fn spans(&self) -> &[Span] {
        &self.spans
    }
}

impl From<Paragraph> for Block {
    fn from(paragraph: Paragraph) -> Self {
        Self::Paragraph(paragraph)
    }
}

impl From<Table> for Block {
    fn from(table: Table) -> Self {
        Self::Table(table)
    }
}

impl<C: Chart + 'static> From<C> for Block {
    fn from(chart: C) -> Self {
        Self::Chart(Box::new(chart))
    }
}
