//! The parts of a probe: a file each, in the order they are done.

mod commit;
mod cpu;
mod index;
mod memory;
mod reads;
mod round_trip;

use std::time::Duration;

use super::check::{Server, Writes};
use super::facts::Host;
use super::figures::{self as list, Figure};
use super::options::Options;
use super::record::Found;
use super::scratch::Scratch;
use super::shots::{Query, Session, Shot, between, reason};
use crate::error::WorkloadError;
use crate::jobs::Runtime;

/// Longest time for a part: more shots tell no more.
const LONGEST: Duration = Duration::from_secs(15);
/// Least time in which anything can be seen.
const LEAST: Duration = Duration::from_millis(30);

/// A part of a probe.
pub(super) struct Part {
    /// What is being done, in words.
    pub(super) doing: &'static str,
    pub(super) figures: &'static [&'static Figure],
    pub(super) needs: Needs,
    pub(super) measure: fn(&mut Work<'_>) -> Result<Vec<Found>, WorkloadError>,
}

/// What a part must be allowed to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    Nothing,
    Temporary,
    Schema,
}

/// All parts. Pages come last: their way to the disk would disturb the others.
pub(super) const PARTS: &[Part] = &[
    Part {
        doing: "round trips",
        figures: &[list::ROUND_TRIP, list::SELECT_1],
        needs: Needs::Nothing,
        measure: round_trip::measure,
    },
    Part {
        doing: "CPU, of one backend and of all",
        figures: &[list::CPU_ONE, list::CPU_ALL],
        needs: Needs::Nothing,
        measure: cpu::measure,
    },
    Part {
        doing: "memory, of one backend and of all",
        figures: &[list::MEMORY_ONE, list::MEMORY_ALL],
        needs: Needs::Nothing,
        measure: memory::measure,
    },
    Part {
        doing: "commits",
        figures: &[list::COMMIT, list::COMMIT_ASYNC],
        needs: Needs::Schema,
        measure: commit::measure,
    },
    Part { doing: "index builds", figures: &[list::INDEX], needs: Needs::Temporary, measure: index::measure },
    Part {
        doing: "reading pages (scratch data are written first)",
        figures: &[list::READ_CACHED, list::READ_BEYOND, list::RANDOM_CACHED, list::RANDOM_BEYOND],
        needs: Needs::Schema,
        measure: reads::measure,
    },
];

impl Part {
    /// Why it must not be done on this server.
    pub(super) fn forbidden(&self, server: &Server) -> Option<String> {
        match (self.needs, &server.writes) {
            (Needs::Nothing, _) | (_, Writes::All) | (Needs::Temporary, Writes::Temporary(_)) => None,
            (_, Writes::Temporary(why) | Writes::Nothing(why)) => Some(format!("it writes, and {why}")),
        }
    }

    /// The same said of each of its figures.
    pub(super) fn not_available(&self, why: &str) -> Vec<Found> {
        self.figures.iter().map(|figure| Found::not_available(figure, why)).collect()
    }
}

/// What parts work with.
pub(super) struct Work<'a> {
    pub(super) runtime: &'a dyn Runtime,
    pub(super) session: Session,
    pub(super) server: &'a Server,
    pub(super) host: &'a Host,
    pub(super) options: &'a Options,
    pub(super) scratch: &'a Scratch,
    pub(super) started_us: u64,
    /// How many backends "all" are, once it is known.
    pub(super) backends: Option<u32>,
}

impl Work<'_> {
    /// µs since the probe began.
    pub(super) fn now_us(&self) -> u64 {
        self.runtime.now_us().saturating_sub(self.started_us)
    }

    /// A share of all the time there is, as far as it is left; nothing where too little is.
    pub(super) fn time(&self, share: f64) -> Option<Duration> {
        self.time_to_write(share).map(|time| time.min(LONGEST))
    }

    /// The same for what takes longer, the more of it is asked for.
    pub(super) fn time_to_write(&self, share: f64) -> Option<Duration> {
        let left = self.options.time.saturating_sub(Duration::from_micros(self.now_us()));
        Some(self.options.time.mul_f64(share).min(left)).filter(|time| *time >= LEAST)
    }

    /// The same for a figure, which is not available where no time is left.
    pub(super) fn time_for(&self, figure: &Figure, share: f64) -> Result<Duration, Box<Found>> {
        self.time(share).ok_or_else(|| Box::new(self.too_late(figure)))
    }

    /// A figure for which no time is left.
    pub(super) fn too_late(&self, figure: &Figure) -> Found {
        Found::not_available(figure, format!("cut: no time left of {:?}", self.options.time))
    }

    /// Takes shots of a query over the probe's own connection.
    pub(super) fn shoot(
        &mut self,
        figure: &Figure,
        query: &Query<'_>,
        value: impl Fn(f64) -> f64,
        detail: impl Into<String>,
    ) -> Result<Found, WorkloadError> {
        let start = self.now_us();
        let ends = self.session.shots(query);
        self.found(figure, ends.map(|ends| (start, between(&ends))), value, detail)
    }

    /// What came of shots; a figure that the server does not give is not available, and the others are measured all the same.
    pub(super) fn found(
        &self,
        figure: &Figure,
        shots: Result<(u64, Vec<Shot>), WorkloadError>,
        value: impl Fn(f64) -> f64,
        detail: impl Into<String>,
    ) -> Result<Found, WorkloadError> {
        match shots {
            Ok((start, shots)) => Ok(Found::new(figure, (start, &shots), value, detail)),
            Err(error) if self.is_the_end(&error) => Err(error),
            Err(error) => Ok(Found::not_available(figure, reason(&error))),
        }
    }

    /// Whether an error ends the probe: the connection is lost, or the user stops.
    pub(super) fn is_the_end(&self, error: &WorkloadError) -> bool {
        let lost = matches!(error, WorkloadError::Sql { error, .. } if error.sqlstate.is_none());
        lost || self.runtime.stopped()
    }
}
