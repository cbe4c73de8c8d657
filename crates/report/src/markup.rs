//! A small writer for HTML and SVG in which forgetting to escape is not possible.
//!
//! Names of elements and attributes, and markup taken as it is, must be `&'static str`, that is, part of
//! the program. Whatever comes from outside can only enter through [`Markup::text`] and [`Tag::attr`],
//! which escape it.

use std::fmt::{Display, Write};

use crate::visible;

/// Escaped HTML or SVG.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Markup(String);

impl Markup {
    /// Nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Text alone.
    #[must_use]
    pub fn of(text: impl Display) -> Self {
        let mut markup = Self::new();
        markup.text(text);
        markup
    }

    /// Adds text, escaped.
    pub fn text(&mut self, text: impl Display) -> &mut Self {
        // Writing to a string cannot fail.
        let _ = write!(Escaper(&mut self.0), "{text}");
        self
    }

    /// Adds markup that is part of the program (a style sheet, an entity).
    pub fn literal(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Adds markup made elsewhere with this writer.
    pub fn append(&mut self, other: &Self) -> &mut Self {
        self.0.push_str(&other.0);
        self
    }

    /// Opens an element; it is written when the returned tag is ended.
    pub fn tag(&mut self, name: &'static str) -> Tag<'_> {
        self.0.push('<');
        self.0.push_str(name);
        Tag { out: self, name }
    }

    /// The markup written so far.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The markup as a string.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }
}

/// An element whose attributes are being written; end it with [`Tag::text`], [`Tag::with`] or [`Tag::empty`].
#[must_use = "an element must be ended with text, with or empty"]
pub struct Tag<'a> {
    out: &'a mut Markup,
    name: &'static str,
}

impl Tag<'_> {
    /// Adds an attribute, its value escaped.
    pub fn attr(self, name: &'static str, value: impl Display) -> Self {
        self.out.0.push(' ');
        self.out.0.push_str(name);
        self.out.0.push_str("=\"");
        self.out.text(value);
        self.out.0.push('"');
        self
    }

    /// Adds a class, unless empty.
    pub fn class(self, class: &'static str) -> Self {
        if class.is_empty() { self } else { self.attr("class", class) }
    }

    /// Ends the element with text in it.
    pub fn text(self, text: impl Display) {
        self.with(|out| {
            out.text(text);
        });
    }

    /// Ends the element with what `content` writes in it.
    pub fn with(self, content: impl FnOnce(&mut Markup)) {
        self.out.0.push('>');
        content(self.out);
        self.out.0.push_str("</");
        self.out.0.push_str(self.name);
        self.out.0.push('>');
    }

    /// Ends an element that has no content.
    pub fn empty(self) {
        self.out.0.push_str("/>");
    }
}

/// Escapes for text and for quoted attributes alike.
struct Escaper<'a>(&'a mut String);

impl Write for Escaper<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                '\n' | '\t' => self.0.push(c),
                c if visible::is_hostile(c) => visible::escape(c, self.0),
                c => self.0.push(c),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_and_attributes_are_escaped() {
        let mut out = Markup::new();
        out.tag("p").attr("title", "\"><script>").class("").with(|p| {
            p.text("a < b & 'c'").tag("br").empty();
        });
        assert_eq!(out.as_str(), "<p title=\"&quot;&gt;&lt;script&gt;\">a &lt; b &amp; &#39;c&#39;<br/></p>");
    }

    #[test]
    fn controls_and_direction_marks_are_escaped() {
        assert_eq!(Markup::of("a\u{1b}[2J\u{202e}b\0\nc").as_str(), "a\\x1b[2J\\u{202e}b\\x00\nc");
    }

    proptest! {
        #[test]
        fn no_text_opens_an_element(text in ".*") {
            let escaped = Markup::of(text).into_string();
            prop_assert!(!escaped.contains(['<', '>', '"', '\'']));
        }
    }
}
