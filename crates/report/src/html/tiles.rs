//! Sample tiles as pictures.

use record::Artifact;

use crate::data::ReportData;
use crate::markup::Markup;
use crate::tile;

/// Pictures at most: a page of many more would be slow to open.
const MOST: usize = 12;

/// Whether there is any sample tile.
pub(super) fn any(data: &ReportData) -> bool {
    !samples(data).is_empty()
}

/// Tiles kept with the runs; each place and content once.
fn samples(data: &ReportData) -> Vec<&Artifact> {
    let mut samples: Vec<&Artifact> = Vec::new();
    for artifact in data.runs.iter().flat_map(|run| &run.artifacts) {
        let known = |other: &&Artifact| other.name == artifact.name && other.bytes == artifact.bytes;
        if artifact.media_type == tile::MEDIA_TYPE && !samples.iter().any(known) {
            samples.push(artifact);
        }
    }
    samples
}

pub(super) fn write(data: &ReportData, out: &mut Markup) {
    let samples = samples(data);
    if samples.is_empty() {
        return;
    }
    out.tag("p")
        .text("What the server sent, drawn from the stored bytes and simplified to what a screen can show.");
    out.tag("div").class("tiles").with(|out| {
        for sample in samples.iter().take(MOST) {
            tile::write(sample, out);
        }
    });
    if samples.len() > MOST {
        out.tag("p").text(format_args!("{} more are kept in the results file.", samples.len() - MOST));
    }
}
