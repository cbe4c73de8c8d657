//! The job: zoom by zoom, from the lowest to the highest.

use std::path::Path;

use spec::figures::{self, Counters};
use spec::{Artifact, Error, MapPart, Phase, PhaseSource, ScriptRecord};

use super::area::Area;
use super::fetcher::TileOrigin;
use super::kept::Kept;
use super::mbtiles::MbtilesFacts;
use super::progress::{Progress, ZoomProgress};
use super::words;
use super::workload::Once;
use super::zoom::{ZoomEnd, ZoomWork};
use crate::error;
use crate::jobs::{Inputs, Job, JobReport, JobSite};

/// Time between two lines of progress.
const SAID_EVERY_US: u64 = 5_000_000;

const ATTRIBUTION: &str = "© OpenStreetMap contributors";

impl Job for Once {
    fn name(&self) -> String {
        "tiles once".to_owned()
    }

    fn what(&self) -> String {
        let (area, layer) = (self.area().map_or(0, Area::count), self.shown());
        format!("{} of {layer}, each once", spec::count(area, "tile"))
    }

    fn files(&self) -> Vec<(String, &Path)> {
        self.files.iter().map(|path| (path.display().to_string(), path.as_path())).collect()
    }

    /// It makes no data.
    fn made_from(&self, _inputs: &Inputs) -> Vec<String> {
        Vec::new()
    }

    fn run(&self, site: &mut JobSite<'_>) -> Result<JobReport, Error> {
        let area = self.area().ok_or_else(Self::not_prepared)?;
        let options = self.options();
        let (mut kept, mut progress) =
            Kept::open(options, &self.folder, Progress::new(self.identity(area)?, area))?;
        if progress.done() > 0 {
            (site.remark)(format!("goes on: {}", words::done(&progress, area)));
        }
        let end = self.zooms(site, area, &mut progress, &mut kept)?;
        match end {
            ZoomEnd::Lost(error) => return Err(self.lost(&error, &progress, area)),
            ZoomEnd::Early if site.runtime.stopped() => return Err(self.stopped(site, &progress, area)),
            ZoomEnd::Early | ZoomEnd::Done => {}
        }
        let written = match progress.done() == area.count() {
            true => kept.finish(&self.facts(area))?,
            false => None,
        };
        let ended = Ended { progress: &progress, area };
        Ok(ended.report(&self.shown(), written))
    }
}

impl Once {
    fn zooms(
        &self,
        site: &mut JobSite<'_>,
        area: &Area,
        progress: &mut Progress,
        kept: &mut Kept,
    ) -> Result<ZoomEnd, Error> {
        let options = self.options();
        let (runtime, http) = (site.runtime, site.http);
        let limit_us = options.at_most_s.map(|seconds| (seconds * 1e6) as u64);
        let until_us = limit_us.map_or(u64::MAX, |limit| runtime.now_us().saturating_add(limit));
        let origin = match self.web() {
            Some(web) => TileOrigin::Web { web, http },
            None => TileOrigin::Database { layer: self.layer()?, style: self.style() },
        };
        let mut said = runtime.now_us();
        for (zoom, of_zoom) in area.zooms.iter().enumerate() {
            if progress.zooms[zoom].done() == of_zoom.count() {
                continue;
            }
            let work =
                ZoomWork { area: of_zoom, zoom, origin, connections: options.connections, runtime, until_us };
            let mut doing = |progress: &Progress| {
                let now = runtime.now_us();
                if now.saturating_sub(said) >= SAID_EVERY_US {
                    said = now;
                    let rest =
                        words::rest(progress, area).map(|rest| format!("; {rest}")).unwrap_or_default();
                    (site.doing)(format!("z{}: {}{rest}", of_zoom.z(), words::done(progress, area)));
                }
            };
            match work.carry_out(progress, kept, &mut doing)? {
                ZoomEnd::Done => {}
                early => return Ok(early),
            }
        }
        Ok(ZoomEnd::Done)
    }

    fn facts(&self, area: &Area) -> MbtilesFacts {
        let zooms = [area.zooms.first(), area.zooms.last()].map(|zoom| zoom.map_or(0, |zoom| zoom.z()));
        MbtilesFacts {
            name: self.shown(),
            zooms,
            bounds: area.bounds_degrees(),
            attribution: self.is_of_osm.then_some(ATTRIBUTION),
        }
    }

    /// What was done, and what to do to go on.
    fn stopped(&self, site: &mut JobSite<'_>, progress: &Progress, area: &Area) -> Error {
        words::by_zoom(progress)
            .into_iter()
            .chain(words::failed(progress))
            .for_each(|line| (site.remark)(line));
        let rest = words::rest(progress, area).map(|rest| format!("; {rest}")).unwrap_or_default();
        let what = format!("stopped: {}{rest}", words::done(progress, area));
        Error::stopped().in_words(what).with_hint(self.how_to_go_on())
    }

    fn lost(&self, error: &Error, progress: &Progress, area: &Area) -> Error {
        let what = format!("{error}; {}", words::done(progress, area));
        Error::new(error.class(), what).with_hint(format!("see to the server; {}", self.how_to_go_on()))
    }

    fn how_to_go_on(&self) -> &'static str {
        let options = self.options();
        match options.mbtiles.is_some() || options.progress.is_some() {
            true => "the same command goes on with the other tiles",
            false => "the same command begins again",
        }
    }

    pub(super) fn not_prepared() -> Error {
        error::missing_error("no tiles are chosen yet", "prepare the workload first")
    }
}

/// A job that ended by itself.
struct Ended<'a> {
    progress: &'a Progress,
    area: &'a Area,
}

impl Ended<'_> {
    fn report(&self, layer: &str, written: Option<String>) -> JobReport {
        let Self { progress, area, .. } = self;
        let left = words::rest(progress, area);
        let further = words::beyond(progress, area).filter(|_| left.is_none());
        let remarks = [
            left.map(|left| format!("{}; {left}", words::done(progress, area))),
            words::failed(progress),
            written,
            words::slowest(progress),
            further,
            // One remark: the order of several is not kept.
            Some(words::by_zoom(progress).join("; ")),
        ];
        let filled: u64 = progress.zooms.iter().map(|zoom| zoom.tiles - zoom.empty).sum();
        JobReport {
            phases: self.phases(),
            elapsed_us: progress.elapsed_us(),
            scripts: progress.zooms.iter().map(|zoom| record(layer, zoom)).collect(),
            remarks: remarks.into_iter().flatten().collect(),
            artifacts: self.artifacts(),
            is_empty: filled == 0,
            ..JobReport::default()
        }
    }

    /// Zooms follow each other, also after an interruption.
    fn phases(&self) -> Vec<Phase> {
        let mut start_us = 0;
        let begun = self.progress.zooms.iter().filter(|zoom| zoom.done() > 0);
        let phase = |zoom: &ZoomProgress| {
            let phase = Phase {
                name: format!("z{}", zoom.z),
                item: String::new(),
                start_us,
                duration_us: zoom.elapsed_us,
                count: Some(zoom.done()),
                source: PhaseSource::Stamped,
            };
            start_us += zoom.elapsed_us;
            phase
        };
        begun.map(phase).collect()
    }

    fn artifacts(&self) -> Vec<Artifact> {
        let list = words::failed_list(self.progress);
        let failed = self.progress.count_failed();
        let artifact = (failed > 0).then(|| Artifact {
            name: "failed tiles".to_owned(),
            media_type: "text/plain".to_owned(),
            caption: format!("{} that failed, with the reasons", spec::count(failed, "tile")),
            bytes: list.into_bytes(),
        });
        artifact.into_iter().collect()
    }
}

/// The figures of a zoom, as those of a script.
fn record(layer: &str, zoom: &ZoomProgress) -> ScriptRecord {
    let mut counts = Counters::default();
    for (figure, count) in [
        (figures::DUE, zoom.done()),
        (figures::OK, zoom.tiles),
        (figures::FAILED, zoom.failed),
        (figures::QUERIES, zoom.tiles),
        (figures::ROWS, zoom.tiles - zoom.empty),
        (figures::BYTES, zoom.bytes),
    ] {
        counts.set(figure, count);
    }
    let name = format!("{layer}, z{}", zoom.z);
    ScriptRecord {
        text_hash: crate::hash::sha256_hex(name.as_bytes()),
        name,
        weight: 1,
        part: Some(MapPart { layer: layer.to_owned(), zoom: Some(zoom.z), cached: None }),
        counts,
        response: zoom.service.clone(),
        service: zoom.service.clone(),
    }
}
