//! Whether data of OpenStreetMap are shown: then their source must be named.

use results::ReportData;
use spec::{Run, RunEvent, RunKind};

use crate::tile;

/// Whether data of OpenStreetMap were loaded or requested. Loads of osm2pgsql are on record, synthetic extracts
/// need no attribution, and tiles record where their data come from; data of results of old versions are
/// recognised by names and tiles.
pub(crate) fn is_of_osm(data: &ReportData) -> bool {
    let (loads, others): (Vec<&Run>, Vec<&Run>) = data.runs.iter().partition(|run| is_of_osm2pgsql(run));
    let is_known = loads.iter().any(|load| !load.is_measured());
    if loads.iter().any(|load| !is_synthetic(load)) {
        return true;
    }
    let recorded =
        || data.runs.iter().flat_map(|run| &run.events).filter(|event| event.kind == RunEvent::MAP_SOURCE);
    if is_known {
        return false;
    }
    if recorded().next().is_some() {
        return recorded().any(|event| event.detail == RunEvent::OPEN_STREET_MAP);
    }
    let is_named_so = |run: &&Run| {
        let relations = run.relations.iter().map(|relation| &relation.table);
        let mut names = relations.chain(Some(&run.workload).filter(|_| run.kind == RunKind::Job));
        names.any(|name| name.contains("osm"))
    };
    has_pictures(data) || others.iter().any(is_named_so)
}

fn has_pictures(data: &ReportData) -> bool {
    let mut artifacts = data.runs.iter().flat_map(|run| &run.artifacts);
    artifacts.any(|artifact| artifact.media_type == tile::MEDIA_TYPE)
}

fn is_of_osm2pgsql(run: &Run) -> bool {
    let is_it = |event: &RunEvent| event.kind == "version" && event.detail.starts_with("osm2pgsql ");
    run.kind == RunKind::Job && (run.events.iter().any(is_it) || run.driver.starts_with("osm2pgsql"))
}

/// Whether the log of a load names a synthetic extract as pgdyno keeps it: `Reading file:
/// …/synthetic-1-seed-7-v1.osm.pbf`.
fn is_synthetic(load: &Run) -> bool {
    let logs = load.artifacts.iter().filter(|kept| kept.name.starts_with("log/"));
    let texts: Vec<_> = logs.map(|log| String::from_utf8_lossy(&log.bytes)).collect();
    let read =
        texts.iter().flat_map(|text| text.lines()).filter_map(|line| line.split_once("Reading file: "));
    let names: Vec<&str> = read.filter_map(|(_, path)| path.trim_end().rsplit('/').next()).collect();
    let is_made =
        |name: &&str| name.starts_with("synthetic-") && name.contains("-seed-") && name.ends_with(".osm.pbf");
    !names.is_empty() && names.iter().all(is_made)
}
