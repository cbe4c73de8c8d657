//! A chart as a separate file, e.g. for a mail: with title, caption, origin and, if map data was measured,
//! its attribution. Always on white.

mod picture;
mod style;

use maud::{Markup, PreEscaped, html};

pub use picture::{Picture, PictureError};

use crate::block;
use crate::chart::{Chart, Drawing, FONT, coordinate, text_width, wrapped};
use crate::sections::SECTIONS;
use crate::{html, tile, visible};
use results::ReportData;

/// Margin, in the drawing's units.
const EDGE: f64 = 22.0;
const TITLE: f64 = 17.0;
const LEADING: f64 = 1.35;

/// A chart as a separate file.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartFile {
    pub name: String,
    pub title: String,
    pub svg: String,
}

/// All charts of an experiment's report, in its order.
#[must_use]
pub fn charts(data: &ReportData) -> Vec<ChartFile> {
    let mut found: Vec<ChartFile> = Vec::new();
    for chart in SECTIONS.iter().flat_map(|section| block::charts((section.blocks)(data))) {
        let Some(drawing) = chart.draw(chart.width()) else { continue };
        let plain = name_of(chart.title());
        let taken = |name: &str| found.iter().any(|other| other.name == name);
        let numbered = (2..).map(|number| format!("{plain}-{number}"));
        let name =
            std::iter::once(plain.clone()).chain(numbered).find(|name| !taken(name)).unwrap_or_default();
        let svg = svg(data, chart.as_ref(), drawing);
        found.push(ChartFile { name, title: chart.title().to_owned(), svg });
    }
    found
}

/// `polygons: slowest 1 % over clients` is `polygons-slowest-1-over-clients`.
fn name_of(title: &str) -> String {
    let plain = title.to_lowercase();
    let words = plain.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

struct Lines {
    markup: Vec<Markup>,
    bottom: f64,
}

impl Lines {
    fn add(&mut self, class: &'static str, size: f64, width: f64, text: &str) {
        for line in in_words(text, width * FONT / size) {
            self.bottom += size * LEADING;
            let baseline = coordinate(self.bottom - size * (LEADING - 1.0));
            self.markup.push(html! { text class=(class) x=(coordinate(EDGE)) y=(baseline) { (line) } });
        }
    }
}

/// Text broken into lines of at most `width`.
fn in_words(text: &str, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let longer = lines.last().map(|line| format!("{line} {word}"));
        match (lines.last_mut(), longer.filter(|longer| text_width(longer) <= width)) {
            (Some(last), Some(longer)) => *last = longer,
            _ => lines.extend(wrapped(word, width)),
        }
    }
    lines
}

/// A chart of no single experiment; `None` if it has no data.
pub(crate) fn alone(chart: &dyn Chart) -> Option<ChartFile> {
    let drawing = chart.draw(chart.width())?;
    let source = format!("pgdyno {}", env!("CARGO_PKG_VERSION"));
    let svg = framed(chart, drawing, "", &[source]);
    Some(ChartFile { name: name_of(chart.title()), title: chart.title().to_owned(), svg })
}

fn svg(data: &ReportData, chart: &dyn Chart, drawing: Drawing) -> String {
    let source = format!("{} · pgdyno {}", html::kicker(data), env!("CARGO_PKG_VERSION"));
    let map = html::shows_map_data(data).then(|| format!("Map data {}, ODbL 1.0", tile::ATTRIBUTION));
    framed(
        chart,
        drawing,
        &data.experiment.question,
        &[Some(source), map].into_iter().flatten().collect::<Vec<_>>(),
    )
}

/// A drawing with its title, the question, its caption and the sources.
fn framed(chart: &dyn Chart, drawing: Drawing, question: &str, sources: &[String]) -> String {
    let width = chart.width();
    let mut words = Lines { markup: Vec::new(), bottom: EDGE * 0.7 };
    words.add("title", TITLE, width, chart.title());
    if !question.is_empty() {
        words.add("", FONT, width, question);
    }
    let top = words.bottom + 14.0;
    words.bottom = top + drawing.height + 2.0;
    words.add("", FONT, width, &chart.caption());
    words.bottom += 6.0;
    for source in sources {
        words.add("source", FONT, width, source);
    }
    let (whole, height) = (coordinate(width + 2.0 * EDGE), coordinate(words.bottom + EDGE * 0.7));
    let page = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {whole} {height}")) width=(whole) height=(height)
            role="img" {
            title { (chart.title()) }
            desc { (chart.caption()) }
            style { (PreEscaped(style::on_white())) }
            rect width=(whole) height=(height) fill="#fff" {}
            @for line in &words.markup { (line) }
            g transform=(format!("translate({} {})", coordinate(EDGE), coordinate(top))) { (drawing.markup) }
        }
        "\n"
    };
    visible::lines(&page.0).into_owned()
}
