//! The job: zoom by zoom, from the lowest to the highest.

use std::path::Path;

use spec::figures::{self, Counters};
use spec::{Artifact, Class, Error, MapPart, Phase, PhaseSource, ScriptRecord};

use super::area::Area;
use super::fetcher::{Fetcher, TileOrigin};
use super::kept::{Folders, Kept};
use super::mbtiles::MbtilesFacts;
use super::progress::{Progress, ZoomProgress};
use super::words;
use super::workload::Once;
use super::zoom::{Wanted, ZoomEnd, ZoomWork};
use crate::error;
use crate::jobs::{Inputs, Job, JobErrors, JobReport, JobSite, StoppedJob};

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
        let folders = Folders { own: &self.folder, kept: site.kept };
        let new = Progress::new(self.identity(area)?, area);
        let (mut kept, mut progress) = Kept::open(self.options(), folders, new, area)?;
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
            true => kept.complete(&self.facts(area))?,
            false => None,
        };
        let is_over = progress.done() == area.count() && progress.count_failed() == 0;
        let ended = Ended { progress: &progress, area, goes_on: self.goes_on() };
        let report = ended.report(&self.shown(), written);
        *self.kept.borrow_mut() = Some(kept).filter(|_| is_over);
        Ok(report)
    }

    /// Until here an interruption, or a result that cannot be stored, costs nothing.
    fn stored(&self) -> Result<(), Error> {
        self.kept.borrow_mut().take().map_or(Ok(()), Kept::forget)
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
        let origin = match self.web() {
            Some(web) => TileOrigin::Web { web, http },
            None => TileOrigin::Database { layer: self.layer()?, style: self.style() },
        };
        let left = area.count().saturating_sub(progress.done()) + progress.count_failed();
        let count = u64::from(options.connections).min(left);
        let mut fetchers: Vec<Fetcher<'_>> = (0..count).map(|_| Fetcher::new(origin, runtime)).collect();
        // Logins are not part of the tiles' time.
        for (number, fetcher) in fetchers.iter_mut().enumerate() {
            fetcher.connect().map_err(|error| too_many(error, number, count))?;
        }
        let limit_us = options.at_most_s.map(|seconds| (seconds * 1e6) as u64);
        let until_us = limit_us.map_or(u64::MAX, |limit| runtime.now_us().saturating_add(limit));
        let mut said = runtime.now_us();
        let mut doing = |zoom: u8, progress: &Progress| {
            let now = runtime.now_us();
            if now.saturating_sub(said) >= SAID_EVERY_US {
                said = now;
                let rest = words::rest(progress, area).map(|rest| format!("; {rest}")).unwrap_or_default();
                (site.doing)(format!("z{zoom}: {}{rest}", words::done(progress, area)));
            }
        };
        for (zoom, of_zoom) in area.zooms.iter().enumerate() {
            let z = of_zoom.z();
            let again = progress.failed_of(z);
            let is_left = progress.zooms[zoom].is_left(of_zoom);
            let wanted = [(!again.is_empty(), Wanted::Again(&again)), (is_left, Wanted::Left(of_zoom))];
            for (_, wanted) in wanted.into_iter().filter(|(is_wanted, _)| *is_wanted) {
                let work = ZoomWork { zoom, wanted, runtime, until_us };
                let end =
                    work.carry_out(&mut fetchers, progress, kept, &mut |progress| doing(z, progress))?;
                if !matches!(end, ZoomEnd::Done) {
                    return Ok(end);
                }
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
        Error::stopped().in_words(what).with_hint(self.how_to_go_on()).attach(StoppedJob)
    }

    fn lost(&self, error: &Error, progress: &Progress, area: &Area) -> Error {
        let what = format!("{error}; {}", words::done(progress, area));
        Error::new(error.class(), what).with_hint(format!("see to the server; {}", self.how_to_go_on()))
    }

    fn how_to_go_on(&self) -> &'static str {
        match self.goes_on() {
            true => "the same command goes on with the other tiles",
            false => "the same command begins again",
        }
    }

    fn goes_on(&self) -> bool {
        let options = self.options();
        options.mbtiles.is_some() || options.resume
    }

    pub(super) fn not_prepared() -> Error {
        error::missing_error("no tiles are chosen yet", "prepare the workload first")
    }
}

/// The error of a connection that could not be opened in addition to this number of others.
fn too_many(error: Error, open: usize, asked_for: u64) -> Error {
    if open == 0 {
        return error;
    }
    let what = format!(
        "{open} of {} are open, and the next was refused: {error}",
        spec::count(asked_for, "connection")
    );
    Error::new(Class::Refused, what).with_hint(format!("-c {open}, or let the server accept more"))
}

/// A job that ended by itself.
struct Ended<'a> {
    progress: &'a Progress,
    area: &'a Area,
    /// Whether the same command asks for what is left, and for failed tiles again.
    goes_on: bool,
}

impl Ended<'_> {
    fn report(&self, layer: &str, written: Option<String>) -> JobReport {
        let Self { progress, area, goes_on } = self;
        let left = words::rest(progress, area);
        let further = words::beyond(progress, area).filter(|_| left.is_none());
        let again = if *goes_on { "; the same command asks for them again" } else { "" };
        let failed = words::failed(progress).map(|failed| format!("{layer}: {failed}{again}"));
        // One of several passes: tables show what all of them took.
        let alone = [words::slowest(progress), further];
        let alone = alone.into_iter().filter(|_| *goes_on);
        let done = words::done(progress, area);
        let done = match left {
            Some(left) => Some(format!("{done}; {left}")),
            None => words::over(progress).map(|_| done),
        };
        let remarks = [done, failed, written];
        let remarks = remarks.into_iter().chain(alone);
        let filled: u64 = progress.zooms.iter().map(|zoom| zoom.tiles - zoom.empty).sum();
        JobReport {
            phases: self.phases(),
            elapsed_us: progress.elapsed_us(),
            scripts: progress.zooms.iter().map(|zoom| record(layer, zoom)).collect(),
            remarks: remarks.flatten().collect(),
            artifacts: self.artifacts(),
            is_empty: filled == 0,
            errors: self.errors(),
            ..JobReport::default()
        }
    }

    fn errors(&self) -> Option<JobErrors> {
        let (failed, of) = (self.progress.count_failed(), self.progress.done());
        let what = format!("{failed} of {} failed", spec::count(of, "tile"));
        (failed > 0).then(|| JobErrors { share: failed as f64 / of as f64, what })
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
