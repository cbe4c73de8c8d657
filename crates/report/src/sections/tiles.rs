//! Sample tiles as pictures.

use maud::{Markup, html};
use record::Artifact;
use serde::Serialize;

use super::View;
use crate::data::ReportData;
use crate::tile::{self, Sample};

/// Pictures at most: a page of many more would be slow to open.
const MOST: usize = 12;

#[derive(Debug, Serialize)]
pub(super) struct Tiles {
    samples: Vec<Sample>,
    more: usize,
}

/// Whether there is any sample tile.
pub(crate) fn any(data: &ReportData) -> bool {
    kept(data).next().is_some()
}

fn kept(data: &ReportData) -> impl Iterator<Item = &Artifact> {
    let artifacts = data.runs.iter().flat_map(|run| &run.artifacts);
    artifacts.filter(|artifact| artifact.media_type == tile::MEDIA_TYPE)
}

impl View for Tiles {
    fn of(data: &ReportData) -> Option<Self> {
        // Each place and content once.
        let mut samples: Vec<&Artifact> = Vec::new();
        for artifact in kept(data) {
            if !samples.iter().any(|other| other.name == artifact.name && other.bytes == artifact.bytes) {
                samples.push(artifact);
            }
        }
        (!samples.is_empty()).then(|| Self {
            samples: samples.iter().take(MOST).map(|artifact| Sample::of(artifact)).collect(),
            more: samples.len().saturating_sub(MOST),
        })
    }

    fn draw(&self) -> Markup {
        html! {
            p { "What the server sent, drawn from the stored bytes and simplified to what a screen can show." }
            div.tiles { @for sample in &self.samples { (sample) } }
            @if self.more > 0 { p { (self.more) " more are kept in the results file." } }
        }
    }
}
