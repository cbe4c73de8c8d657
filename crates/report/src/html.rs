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
    let mut sections: Vec<(&Section, Vec<Block>)> =
        SECTIONS.iter().map(|section| (section, (section.blocks)(data))).collect();
    let first = first_screen(&mut sections);
    sections.retain(|(_, blocks)| !blocks.is_empty());
    let page = html! {
        (PreEscaped("<!doctype html>\n"))
        html lang="en" {
            head { (head(&answer)) }
            body { (body(data, &answer, &first, &sections)) }
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

/// The chart next to the answer, taken out of its section, and a copy of the first picture if maps are measured.
fn first_screen(sections: &mut [(&Section, Vec<Block>)]) -> Vec<Block> {
    let chart = sections.iter_mut().find_map(|(_, blocks)| take_chart(blocks));
    let tiles = sections.iter().filter(|(section, _)| section.anchor == "tiles");
    let picture = tiles.flat_map(|(_, blocks)| blocks).find_map(first_picture);
    chart.into_iter().chain(picture).collect()
}

/// Takes the first chart out, also from a group.
fn take_chart(blocks: &mut Vec<Block>) -> Option<Block> {
    if let Some(at) = blocks.iter().position(|block| matches!(block, Block::Chart(_))) {
        return Some(blocks.remove(at));
    }
    blocks.iter_mut().find_map(|block| match block {
        Block::Group { blocks, .. } | Block::Details { blocks, .. } => take_chart(blocks),
        _ => None,
    })
}

fn first_picture(block: &Block) -> Option<Block> {
    match block {
        Block::Picture(markup) => Some(Block::Picture(markup.clone())),
        Block::Group { blocks, .. } => blocks.iter().find_map(first_picture),
        _ => None,
    }
}

fn body(
    data: &ReportData,
    answer: &AnswerBlocks<'_>,
    first: &[Block],
    sections: &[(&Section, Vec<Block>)],
) -> Markup {
    html! {
        header {
            p.kicker { (kicker(data)) " · " (answer.answer.question) }
            div.first {
                @if let Some(told) = answer.conclusion().on_page(answer.box_class()) { (told) }
                @for block in first { (block) }
            }
        }
        main {
            h2 id="details" { "Details" }
            nav aria-label="On this page" {
                @for (section, _) in sections { a href=(format!("#{}", section.anchor)) { (section.heading) } }
            }
            section id="answer" {
                @for block in answer.blocks(AnswerPlace::Page) { (block) }
            }
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
                "Made by pgdyno from stored results. How each figure is made: docs/reference/figures.md; words: docs/reference/glossary.md."
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
