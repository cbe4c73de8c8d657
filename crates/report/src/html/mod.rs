//! The report as one self-contained page: no network, no script; light, dark, narrow and printed.
//!
//! A file per section, in the order of the page. A section that has nothing to show writes nothing.

mod answer;
mod beside;
mod comparison;
mod crosstab;
mod load;
mod repeat;
mod runs;
mod setup;
mod tiles;
mod workloads;

use crate::data::ReportData;
use crate::markup::Markup;
use crate::{tile, words};

const STYLE: &str = include_str!("style.css");

/// A section: its anchor, its heading, and what writes it.
type Section = (&'static str, &'static str, fn(&ReportData, &mut Markup));

const SECTIONS: [Section; 9] = [
    ("verdicts", "Verdicts", comparison::write),
    ("workloads", "Workloads", workloads::write),
    ("crosstabs", "Crosstabs", crosstab::write),
    ("beside", "Beside the grid", beside::write),
    ("load", "Loading and sizes", load::write),
    ("tiles", "Sample tiles", tiles::write),
    ("setup", "What was run on what", setup::write),
    ("runs", "All runs", runs::write),
    ("repeat", "How to repeat", repeat::write),
];

/// The whole page, complete from `<!doctype html>` on. Works for any experiment: without tiles, arms, or with one run.
#[must_use]
pub fn page(data: &ReportData) -> String {
    let sections: Vec<(&Section, Markup)> = SECTIONS
        .iter()
        .map(|section| {
            let mut content = Markup::new();
            section.2(data, &mut content);
            (section, content)
        })
        .filter(|(_, content)| !content.as_str().is_empty())
        .collect();
    let mut out = Markup::new();
    out.literal("<!doctype html>\n");
    out.tag("html").attr("lang", "en").with(|out| {
        out.tag("head").with(|out| head(data, out));
        out.tag("body").with(|out| body(data, &sections, out));
    });
    out.literal("\n");
    out.into_string()
}

fn head(data: &ReportData, out: &mut Markup) {
    out.tag("meta").attr("charset", "utf-8").empty();
    out.tag("meta").attr("name", "viewport").attr("content", "width=device-width, initial-scale=1").empty();
    out.tag("meta").attr("name", "color-scheme").attr("content", "light dark").empty();
    // Even a mistake could not fetch anything: the page may use only what is in it.
    out.tag("meta")
        .attr("http-equiv", "Content-Security-Policy")
        .attr("content", "default-src 'none'; style-src 'unsafe-inline'")
        .empty();
    out.tag("title").text(format_args!("{} · pgdyno", words::question(data)));
    out.tag("style").with(|out| {
        out.literal(STYLE);
    });
}

fn body(data: &ReportData, sections: &[(&Section, Markup)], out: &mut Markup) {
    out.tag("header").with(|out| {
        out.tag("p").class("kicker").text(kicker(data));
        out.tag("h1").text(words::question(data));
        answer::write(data, out);
    });
    out.tag("nav").attr("aria-label", "On this page").with(|out| {
        for ((anchor, heading, _), _) in sections {
            out.tag("a").attr("href", format_args!("#{anchor}")).text(heading);
        }
    });
    out.tag("main").with(|out| {
        for ((anchor, heading, _), content) in sections {
            out.tag("section").attr("id", anchor).with(|out| {
                out.tag("h2").text(heading);
                out.append(content);
            });
        }
    });
    out.tag("footer").with(|out| {
        if tiles::any(data) || load::any(data) {
            out.tag("p").text(format_args!("Map data {}, ODbL 1.0.", tile::ATTRIBUTION));
        }
        out.tag("p").text(
            "Made by pgdyno from stored results. How each figure is made: docs/figures.md; words: docs/glossary.md.",
        );
    });
}

/// `demo · 2026-11-21 05:20 UTC · PostgreSQL 15.18`.
fn kicker(data: &ReportData) -> String {
    let version = data.target.server_version.split(' ').next().unwrap_or_default();
    let server = if version.is_empty() { String::new() } else { format!("PostgreSQL {version}") };
    let parts = [data.experiment.name.clone(), when(&data.experiment.created_at), server];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

/// An RFC 3339 time to the minute, in UTC; as it was stored where it is not one.
fn when(stored: &str) -> String {
    stored
        .parse::<jiff::Timestamp>()
        .map_or_else(|_| stored.to_owned(), |time| time.strftime("%Y-%m-%d %H:%M UTC").to_string())
}
