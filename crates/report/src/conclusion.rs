//! What a command says at its end: the answer in one sentence, its figures, what limits it, the reason, and what to
//! type next. Every command fills this, and it is printed here only.

use maud::html;

use crate::block::{Block, Paragraph};
use crate::format::{TableFormat, blocks, markdown_text};
use crate::lines::{TERMINAL, wrapped};
use crate::visible;

/// The short answer of a command. Details are elsewhere: below it with `-v`, and on the report's page.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conclusion {
    /// One sentence, with the names and values that the user gave.
    pub answer: String,
    /// Rows of cells, the name first; aligned when printed.
    pub figures: Vec<Vec<String>>,
    /// What a reader must know before believing the answer, a sentence each.
    pub but: Vec<String>,
    /// The most important reason.
    pub why: Option<String>,
    /// What was noticed while it was measured, a sentence each.
    pub notes: Vec<String>,
    /// The most useful one first.
    pub next: Vec<Step>,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    Advice(String),
    /// Can be typed unchanged.
    Command(String),
}

impl Conclusion {
    /// Only a sentence.
    #[must_use]
    pub fn new(answer: impl Into<String>) -> Self {
        Self { answer: answer.into(), ..Self::default() }
    }

    /// For a terminal of 80 columns; ends with a line break. Control characters in foreign text are escaped.
    #[must_use]
    pub fn text(&self) -> String {
        let figures = self.rows().into_iter().map(|row| format!("  {}\n", visible::line(&row)));
        let said =
            self.remarks().into_iter().map(|(label, text)| wrapped(&format!("  {label}: {text}"), TERMINAL));
        // A command is for copying, so it is not wrapped.
        let commands = self.commands().enumerate().map(|(at, command)| {
            let label = if at == 0 && self.has_only_commands() { "  next: " } else { "    " };
            format!("{label}{}\n", visible::line(command))
        });
        [wrapped(&self.answer, TERMINAL)].into_iter().chain(figures).chain(said).chain(commands).collect()
    }

    /// The same as Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let head = format!("**{}**\n\n", markdown_text(&visible::line(&self.answer)));
        let figures = Some(Block::List(self.rows())).filter(|_| !self.figures.is_empty());
        let rest: Vec<Block> = figures.into_iter().chain(self.remark_blocks()).collect();
        head + &blocks(&rest, TableFormat::Md)
    }

    /// For the head of a page; `class` has the colour of the verdict.
    pub(crate) fn on_page(&self, class: &'static str) -> Option<Block> {
        let lead = Block::Picture(html! { h1.lead { (self.answer) } });
        let figures = Block::Picture(html! {
            table.told { caption { "Figures" } @for row in &self.figures { tr {
                @for (at, cell) in row.iter().enumerate() {
                    @if at == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                }
            } } }
        });
        let figures = Some(figures).filter(|_| !self.figures.is_empty());
        Block::group(class, [lead].into_iter().chain(figures).chain(self.remark_blocks()))
    }

    fn rows(&self) -> Vec<String> {
        let width = |at: usize| {
            let cells =
                self.figures.iter().filter(|row| row.len() > at + 1).map(|row| row[at].chars().count());
            cells.max().unwrap_or(0)
        };
        let line = |row: &Vec<String>| {
            let cells = row.iter().enumerate().map(|(at, cell)| {
                let width = width(at);
                format!("{cell:width$}")
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        self.figures.iter().map(line).collect()
    }

    /// Each with its label.
    fn remarks(&self) -> Vec<(&'static str, String)> {
        let advice = self.next.iter().filter_map(|step| match step {
            Step::Advice(text) => Some(("next", text)),
            Step::Command(_) => None,
        });
        let but = self.but.iter().map(|text| ("but", text));
        let notes = self.notes.iter().map(|text| ("note", text));
        let all = but.chain(self.why.iter().map(|text| ("why", text))).chain(notes).chain(advice);
        all.map(|(label, text)| (label, format!("{}.", text.trim_end_matches('.')))).collect()
    }

    fn commands(&self) -> impl Iterator<Item = &String> {
        self.next.iter().filter_map(|step| match step {
            Step::Command(command) => Some(command),
            Step::Advice(_) => None,
        })
    }

    fn has_only_commands(&self) -> bool {
        self.commands().count() == self.next.len()
    }

    fn remark_blocks(&self) -> impl Iterator<Item = Block> {
        let said = |(label, text): (&str, String)| {
            Paragraph::new("remark").strong(format!("{label}: ")).plain(text).into()
        };
        let commands: Vec<&str> = self.commands().map(String::as_str).collect();
        let commands = (!commands.is_empty()).then(|| Block::Code(commands.join("\n")));
        self.remarks().into_iter().map(said).chain(commands)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told() -> Conclusion {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        Conclusion {
            answer:
                "keyset is faster than offset: 69 times the throughput (95 % interval [61, 79], 12 rounds)."
                    .into(),
            figures: vec![
                row(["offset", "136 tps", "p99 75.8 ms"]),
                row(["keyset", "9,430 tps", "p99 4.78 ms"]),
            ],
            but: vec!["24 of 24 runs are suspect".into()],
            why: Some("fewer blocks are read".into()),
            notes: Vec::new(),
            next: vec![Step::Advice("a quieter host".into()), Step::Command("pgdyno report -e a".into())],
        }
    }

    #[test]
    fn it_is_read_from_the_answer_to_the_next_step() {
        insta::assert_snapshot!(told().text());
        insta::assert_snapshot!("markdown", told().markdown());
    }

    /// A command must stay on one line, for copying.
    #[test]
    fn a_command_is_not_wrapped() {
        let long = format!("pgdyno report -e {}", "x".repeat(90));
        let next = [
            vec![Step::Command(long.clone())],
            vec![Step::Advice("wait".into()), Step::Command(long.clone())],
        ];
        for next in next {
            let text = Conclusion { next, ..Conclusion::new("It is so.") }.text();
            assert!(text.lines().any(|line| line.trim_start_matches("next:").contains(&long)), "{text}");
        }
    }

    #[test]
    fn foreign_text_controls_no_terminal() {
        let figures = vec![vec!["\u{1b}[2J".to_owned()]];
        let text = Conclusion { figures, ..Conclusion::new("\u{1b}[31m is faster") }.text();
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}
