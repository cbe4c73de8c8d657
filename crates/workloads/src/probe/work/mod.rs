//! The runner of figures: makes the data that an SQL file needs, sends its statements, and turns their shots
//! into a figure.

mod cpu;
mod pages;
mod texts;

use std::time::Duration;

use spec::Error;
use spec::figures::Unit;

use self::pages::Pages;
use super::check::ServerState;
use super::facts::HostFacts;
use super::figures::{Data, ProbeFigure, Values, fill};
use super::record::ProbedFigure;
use super::scratch::Scratch;
use super::shots::{CLOCK_US, ProbeMessage, ProbeSession, Shot, between, reason};
use super::together;
use crate::error;
use crate::jobs::Runtime;
use protocol::postgres::sql::SqlError;
use spec::plan::ProbeOptions;

/// Longest time for a figure: more shots add nothing.
const LONGEST: Duration = Duration::from_secs(15);
/// Shortest useful time.
const LEAST: Duration = Duration::from_millis(30);
/// Timeout of a statement, in addition to twice its time: the last shot may begin just before the end.
const BOUND: Duration = Duration::from_secs(10);

/// Common to all figures.
pub(super) struct ProbeWork<'a> {
    pub(super) runtime: &'a dyn Runtime,
    pub(super) session: ProbeSession,
    pub(super) server: &'a ServerState,
    pub(super) host: &'a HostFacts,
    pub(super) options: &'a ProbeOptions,
    pub(super) scratch: &'a Scratch,
    pub(super) started_us: u64,
    /// Number of backends for "all", once known.
    pub(super) backends: Option<u32>,
    /// Pages that were written, or why there are none.
    pub(super) pages: Option<Result<Pages, String>>,
}

/// How a figure is measured on this server.
#[derive(Debug, Default)]
struct ProbeSetup {
    values: Values,
    /// `None`: one backend.
    backends: Option<u32>,
    detail: String,
    /// Why its data are incomplete.
    cut: Option<String>,
}

impl ProbeWork<'_> {
    /// Measures figures of a part. They take turns if their statements are sent repeatedly, so that a
    /// disturbance affects all.
    ///
    /// # Errors
    /// The probe must end, or none of the figures is available.
    pub(super) fn measure(
        &mut self,
        part: &[ProbeFigure],
        one: Option<&ProbedFigure>,
    ) -> Result<Vec<ProbedFigure>, Error> {
        let [figure, ..] = part else { return Ok(Vec::new()) };
        let setup = match figure.data {
            Data::None if figure.all_backends => return Ok(vec![cpu::all(self, figure, one)?]),
            Data::None => Ok(ProbeSetup { detail: figure.detail.clone(), ..ProbeSetup::default() }),
            Data::Texts => texts::setup(self, figure),
            Data::CachedPages | Data::PagesBeyond => pages::setup(self, figure)?,
        };
        let setup = match setup {
            Ok(setup) => setup,
            Err(why) => {
                return Ok(part.iter().map(|figure| ProbedFigure::not_available(figure, &why)).collect());
            }
        };
        let Some(time) = self.time(part.iter().map(|figure| figure.share).sum()) else {
            return Ok(part.iter().map(|figure| self.too_late(figure)).collect());
        };
        if setup.backends.is_some() {
            let shots = self.shots_of_all(figure, &setup, time);
            return Ok(vec![self.found(figure, shots, &setup)?]);
        }
        let (start, shots) = self.shots_by_turns(part, &setup, time)?;
        let found =
            part.iter().zip(shots).map(|(figure, shots)| self.found(figure, Ok((start, shots)), &setup));
        found.collect()
    }

    /// Their start, µs since the probe's, and the shots of each figure.
    fn shots_by_turns(
        &mut self,
        figures: &[ProbeFigure],
        setup: &ProbeSetup,
        time: Duration,
    ) -> Result<(u64, Vec<Vec<Shot>>), Error> {
        for figure in figures.iter().filter(|figure| !figure.before.is_empty()) {
            let before = self.message(figure, figure.before, setup, time);
            self.session
                .ask(&before.statements, before.bound)
                .map_err(error::sql_error(before.doing.as_str()))?;
        }
        let messages: Vec<ProbeMessage> =
            figures.iter().map(|figure| self.message(figure, figure.statements, setup, time)).collect();
        let mut shots = vec![Vec::new(); figures.len()];
        let start = self.now_us();
        loop {
            let mut is_enough = false;
            for ((figure, message), shots) in figures.iter().zip(&messages).zip(&mut shots) {
                shots.extend(self.shots_of(figure, message, start)?);
                is_enough |= figure.most.is_none_or(|most| shots.len() >= most + figure.warm_up);
            }
            if is_enough || self.now_us() - start >= time.as_micros() as u64 {
                break;
            }
        }
        for (figure, shots) in figures.iter().zip(&mut shots) {
            shots.drain(..figure.warm_up.min(shots.len()));
        }
        Ok((start, shots))
    }

    fn shots_of(
        &mut self,
        figure: &ProbeFigure,
        message: &ProbeMessage,
        start: u64,
    ) -> Result<Vec<Shot>, Error> {
        let sent = self.now_us();
        let at = |now: u64| (now - start) as i64;
        if figure.client_clock {
            let sent = self.runtime.now_us();
            self.session
                .sql()
                .query(&message.statements)
                .map_err(error::sql_error(message.doing.as_str()))?;
            let us = (self.runtime.now_us() - sent) as f64;
            return Ok(vec![Shot { at_us: at(self.now_us()), us }]);
        }
        let clocks = self.session.clocks(message)?;
        let shots = clocks.iter().flat_map(|clocks| between(clocks));
        Ok(shots.map(|shot| Shot { at_us: at(sent) + shot.at_us, ..shot }).collect())
    }

    /// Their start, and shots per second of several backends at once.
    fn shots_of_all(
        &self,
        figure: &ProbeFigure,
        setup: &ProbeSetup,
        time: Duration,
    ) -> Result<(u64, Vec<Shot>), Error> {
        let (start, message) = (self.now_us(), self.message(figure, figure.statements, setup, time));
        let backends = setup.backends.unwrap_or(1);
        let ends = together::shoot(self.runtime, backends, &message, self.server.is_read_only())?;
        Ok((start, together::rates(&ends)))
    }

    fn message(
        &self,
        figure: &ProbeFigure,
        statements: &str,
        setup: &ProbeSetup,
        time: Duration,
    ) -> ProbeMessage {
        let mut values = setup.values.clone();
        values.extend([
            ("clock_us", CLOCK_US.to_owned()),
            ("time_ms", time.as_millis().to_string()),
            ("commits", self.scratch.table("commits")),
            ("pages", self.scratch.table("pages")),
        ]);
        ProbeMessage {
            doing: figure.part.clone(),
            statements: fill(statements, &values),
            gives: figure.gives.as_ref().map(|gives| fill(gives, &values)),
            bound: time * 2 + BOUND,
        }
    }

    /// The figure of these shots. It is not available if the server refused them; the probe continues.
    fn found(
        &self,
        figure: &ProbeFigure,
        shots: Result<(u64, Vec<Shot>), Error>,
        setup: &ProbeSetup,
    ) -> Result<ProbedFigure, Error> {
        let work =
            figure.work.as_ref().map_or(1.0, |work| fill(work, &setup.values).parse().expect("a number"));
        let value = |shot: f64| match (figure.row.unit, setup.backends) {
            (Unit::Microseconds, _) => shot / work,
            (_, None) => work / shot * 1e6,
            (_, Some(_)) => shot * work,
        };
        match shots {
            Ok((start, shots)) => {
                Ok(ProbedFigure::new(figure, (start, &shots), value, setup.detail.as_str())
                    .cut(setup.cut.clone()))
            }
            Err(error) if self.ends_probe(&error) => Err(error),
            Err(error) => Ok(ProbedFigure::not_available(figure, reason(&error))),
        }
    }

    /// µs since the probe began.
    pub(super) fn now_us(&self) -> u64 {
        self.runtime.now_us().saturating_sub(self.started_us)
    }

    /// A share of the whole time, at most what is left; `None` if that is too short.
    fn time(&self, share: f64) -> Option<Duration> {
        self.time_to_write(share).map(|time| time.min(LONGEST))
    }

    /// The same for work that takes longer than requested.
    fn time_to_write(&self, share: f64) -> Option<Duration> {
        let left = self.options.time.saturating_sub(Duration::from_micros(self.now_us()));
        Some(self.options.time.mul_f64(share).min(left)).filter(|time| *time >= LEAST)
    }

    /// Why a figure without time is not available.
    fn no_time(&self) -> String {
        format!("cut: no time left of {:?}", self.options.time)
    }

    /// A figure without time.
    fn too_late(&self, figure: &ProbeFigure) -> ProbedFigure {
        ProbedFigure::not_available(figure, self.no_time())
    }

    /// Whether an error ends the probe: the connection is lost, or the user stops.
    pub(super) fn ends_probe(&self, error: &Error) -> bool {
        let lost = error.cause::<SqlError>().is_some_and(|error| error.sqlstate.is_none());
        lost || self.runtime.stopped()
    }
}
