//! The report as one self-contained page: no network, no script; light, dark, narrow and printed.

use maud::{Markup, PreEscaped, html};

use crate::block::Block;
use crate::sections::answer::{AnswerBlocks, AnswerPlace};
use crate::sections::{SECTIONS, Section, origin};
use crate::{tile, visible};
use results::ReportData;
use results::data::when;

pub(crate) const STYLE: &str = include_str!("style.css");

/// The whole page, complete from `<!doctype html>` on. Works for any experiment: without tiles, arms, or
/// with one run.
///
/// Markup is escaped where text enters; control and bidirectional characters are made visible here, once
/// for all of it.
#[must_use]
pub fn page(data: &ReportData) -> String {
    let answer = AnswerBlocks::of(data);
    let sections: Vec<(&Section, Vec<Block>)> = SECTIONS
        .iter()
        .map(|section| (section, (section.blocks)(data)))
        .filter(|(_, blocks)| !blocks.is_empty())
        .collect();
    let page = html! {
        (PreEscaped("<!doctype html>\n"))
        html lang="en" {
            head { (head(&answer)) }
            body { (body(data, &answer, &sections)) }
        }
        "\n"
    };
    visible::lines(&page.0).into_owned()
}

fn head(answer: &AnswerBlocks<'_>) -> Markup {
    // Second line of defence: the page may use only its own content.
    let policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'";
    html! {
        meta charset="utf-8";
        meta name="viewport" content="width=device-width, initial-scale=1";
        meta name="color-scheme" content="light dark";
        meta http-equiv="Content-Security-Policy" content=(policy);
        title { (answer.answer.question) " · pgdyno" }
        style { (PreEscaped(STYLE)) }
    }
}

fn body(data: &ReportData, answer: &AnswerBlocks<'_>, sections: &[(&Section, Vec<Block>)]) -> Markup {
    html! {
        header {
            p.kicker { (kicker(data)) }
            h1 { (answer.answer.question) }
            @for block in answer.blocks(AnswerPlace::Page) { (block) }
        }
        nav aria-label="On this page" {
            @for (section, _) in sections { a href=(format!("#{}", section.anchor)) { (section.heading) } }
        }
        main {
            @for (section, blocks) in sections {
                section id=(section.anchor) {
                    h2 { (section.heading) }
                    @for block in blocks { (block) }
                }
            }
        }
        footer {
            @if shows_map_data(data) {
                p { "Map data " (tile::ATTRIBUTION) ", ODbL 1.0." }
            }
            p {
                "Made by pgdyno from stored results. How each figure is made: docs/figures.md; words: docs/glossary.md."
            }
        }
    }
}

/// Whether data of OpenStreetMap was measured: then its source must be named.
pub(crate) fn shows_map_data(data: &ReportData) -> bool {
    origin::is_of_osm(data)
}

/// `demo · 2026-11-21 05:20 UTC · PostgreSQL 15.18`; with the versions of all arms if they have separate
/// servers.
pub(crate) fn kicker(data: &ReportData) -> String {
    let of_arms = data.experiment.arms.iter().filter_map(|arm| arm.target.as_ref());
    let mut versions: Vec<&str> = Vec::new();
    for target in std::iter::once(&data.target).chain(of_arms) {
        let version = target.server_version.split(' ').next().unwrap_or_default();
        if !version.is_empty() && !versions.contains(&version) {
            versions.push(version);
        }
    }
    let versions = versions.join(", ");
    let server = if versions.is_empty() { String::new() } else { format!("PostgreSQL {versions}") };
    let parts = [data.experiment.name.clone(), when(&data.experiment.created_at), server];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}
