//! How far replicas are behind their primary: `pg_stat_replication`, once a step of the series.
//!
//! The primary's `…_lag` columns stay as they were when nothing is written, and are NULL later. So a column counts
//! only if WAL was written since the last look. WAL that a replica has not reached has waited at least since the first
//! look at which it was written; without any, the lag is 0.

use engine::EngineResult;
use protocol::postgres::Place;
use protocol::postgres::sql::{Sql, SqlError};
use server::control::Control;
use server::replica::{FollowerKey, Position, Positions, STEPS};
use spec::figures::{self, Figure, Figures};
use spec::{REPLICA, Sample, Scope};

use super::Collector;

const BYTES: [[Figure; 2]; 3] = [
    [figures::WRITE_LAG_MAX_BYTES, figures::WRITE_LAG_END_BYTES],
    [figures::FLUSH_LAG_MAX_BYTES, figures::FLUSH_LAG_END_BYTES],
    [figures::REPLAY_LAG_MAX_BYTES, figures::REPLAY_LAG_END_BYTES],
];
const TIME: [[Figure; 2]; 3] = [
    [figures::WRITE_LAG_MAX_MS, figures::WRITE_LAG_END_MS],
    [figures::FLUSH_LAG_MAX_MS, figures::FLUSH_LAG_END_MS],
    [figures::REPLAY_LAG_MAX_MS, figures::REPLAY_LAG_END_MS],
];
/// Index of the replay in [`STEPS`].
const REPLAY: usize = 2;
/// Timeout of a connection to a replica after the load.
const BOUND: std::time::Duration = std::time::Duration::from_secs(5);
/// A shorter rest at the end of a run gets no samples, µs.
const SHORTEST_US: i64 = 100_000;
/// A replica that is less behind than this keeps up, bytes: one WAL segment.
const KEEPS_UP: f64 = (16 << 20) as f64;
/// What a replica shows is as good as present when it is not older, ms.
const FRESH_MS: f64 = 1000.0;
/// Fewest looks that show a trend.
const LOOKS: usize = 6;
/// Growth from one third of a run to the next that is not chance.
const GROWTH: f64 = 1.2;

/// The replicas of a run.
pub struct ReplicationLook<'a> {
    /// A separate connection to the primary.
    pub sql: &'a mut dyn Sql,
    /// Its process there.
    pub pid: Option<u32>,
    /// How the primary lists each, or why that is not known.
    pub keys: Vec<Result<FollowerKey, String>>,
    pub places: Vec<Place>,
    pub seen: &'a mut Replication,
}

/// What was seen of the replicas of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Replication {
    /// In order, by number from 1.
    pub replicas: Vec<ReplicaSeen>,
    /// Why lag is not known, by replica or of all.
    pub not_available: Vec<String>,
}

/// What was seen of one replica.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReplicaSeen {
    /// Looks at which its primary did not list it, of `looks`.
    pub missed: usize,
    pub looks: usize,
    /// Its primary did not list it when the load had ended.
    pub gone: bool,
    /// It is not in recovery any more.
    pub promoted: bool,
    /// It does not answer any more.
    pub silent: Option<String>,
    /// Lag of the replay at each look, bytes.
    pub behind: Vec<f64>,
    /// The last known lag of the replay in time, ms.
    pub late_ms: f64,
    /// Why it does not follow, according to its log.
    pub complaint: Option<String>,
}

impl ReplicaSeen {
    /// Whether it did not follow at some time.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.missed > 0 || self.gone || self.silent.is_some()
    }

    /// The lag at the end, bytes, if it grew until then.
    #[must_use]
    pub fn falls_behind(&self) -> Option<f64> {
        let (count, last) = (self.behind.len(), *self.behind.last()?);
        let most = self.behind.iter().copied().fold(0.0, f64::max);
        let keeps_up = last < KEEPS_UP && self.late_ms < FRESH_MS;
        if count < LOOKS || keeps_up || last < 0.8 * most {
            return None;
        }
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        let third = count / 3;
        let parts =
            [&self.behind[..third], &self.behind[third..count - third], &self.behind[count - third..]];
        let [first, middle, end] = parts.map(mean);
        (middle > first * GROWTH && end > middle * GROWTH).then_some(last)
    }
}

pub(super) struct ReplicationLag<'a> {
    look: ReplicationLook<'a>,
    /// The primary's WAL at each look: µs and bytes.
    history: Vec<(i64, u64)>,
    /// The greatest lags of all looks.
    worst: Figures,
    /// The lags of the last look.
    end: Figures,
}

impl<'a> ReplicationLag<'a> {
    pub(super) fn new(look: ReplicationLook<'a>) -> Self {
        look.seen.replicas = vec![ReplicaSeen::default(); look.keys.len()];
        Self { look, history: Vec::new(), worst: Figures::default(), end: Figures::default() }
    }

    /// Looks once. A look after the last one of the load, `aside`, shows only who is still there.
    fn look(&mut self, time_us: i64, samples: &mut Vec<Sample>, aside: bool) -> Result<(), SqlError> {
        let positions = Positions::look(self.look.sql)?;
        let moved = self.history.last().is_none_or(|(_, written)| positions.written > *written);
        if !aside {
            self.history.push((time_us, positions.written));
            self.end = Figures::default();
        }
        for (index, key) in self.look.keys.iter().enumerate() {
            let Ok(key) = key else { continue };
            let seen = &mut self.look.seen.replicas[index];
            let standby = positions.standbys.iter().find(|standby| standby.key == *key);
            seen.looks += 1;
            seen.missed += usize::from(standby.is_none());
            seen.gone = standby.is_none();
            let Some(standby) = standby.filter(|_| !aside) else { continue };
            let lags = lags(standby, &self.history, moved);
            seen.behind.push(lags[REPLAY].0);
            seen.late_ms = lags[REPLAY].1.unwrap_or(seen.late_ms);
            for (step, (bytes, ms)) in lags.into_iter().enumerate() {
                let mut add = |of: [Figure; 2], unit: &str, value: f64| {
                    raise(&mut self.worst, of[0], value);
                    raise(&mut self.end, of[1], value);
                    samples.push(Sample {
                        scope: Scope::Run,
                        source: format!("{REPLICA} {}", index + 1),
                        name: format!("{}_lag_{unit}", STEPS[step]),
                        time_us,
                        value,
                    });
                };
                add(BYTES[step], "bytes", bytes);
                ms.into_iter().for_each(|ms| add(TIME[step], "ms", ms));
            }
        }
        Ok(())
    }
}

fn raise(figures: &mut Figures, of: Figure, value: f64) {
    let greatest = figures.get(of).map_or(value, |known| known.max(value));
    figures.set(of, greatest);
}

/// Lag of each step: bytes, and ms where it is known. `moved` if WAL was written since the last look.
fn lags(standby: &Position, history: &[(i64, u64)], moved: bool) -> [(f64, Option<f64>); 3] {
    let (now_us, written) = history.last().copied().unwrap_or_default();
    let lag = |step: usize| {
        let reached = standby.reached[step];
        let bytes = written.saturating_sub(reached);
        let reported = standby.reported_ms[step].filter(|_| moved);
        let first = history.iter().find(|(_, written)| *written > reached).map_or(now_us, |(time, _)| *time);
        let waited = (now_us - first) as f64 / 1e3;
        let ms = match (bytes, reported) {
            (0, reported) => Some(reported.unwrap_or(0.0)),
            (_, Some(reported)) => Some(reported.max(waited)),
            // It was written since the last look.
            (_, None) => Some(waited).filter(|waited| *waited > 0.0),
        };
        (bytes as f64, ms)
    };
    [0, 1, 2].map(lag)
}

impl Collector for ReplicationLag<'_> {
    fn name(&self) -> &'static str {
        "replication"
    }

    fn begin(&mut self) -> Result<(), SqlError> {
        let Self { look: ReplicationLook { keys, seen, .. }, .. } = self;
        for (number, key) in (1..).zip(keys) {
            if let Err(why) = key {
                seen.not_available.push(format!("lag of replica {number} is not available: {why}"));
            }
        }
        self.look(0, &mut Vec::new(), false)
    }

    fn tick(&mut self, time_us: i64, samples: &mut Vec<Sample>) {
        // The end of the run reports a primary that does not answer.
        let _ = self.look(time_us, samples, false);
    }

    fn end(&mut self, measured: &EngineResult, samples: &mut Vec<Sample>) -> Result<Figures, SqlError> {
        let time_us = (measured.elapsed / 1000) as i64;
        let last = self.history.last().map_or(0, |(time, _)| *time);
        let looked = self.look(time_us, samples, last > 0 && time_us - last < SHORTEST_US);
        for (seen, place) in self.look.seen.replicas.iter_mut().zip(&self.look.places) {
            match Control::open(place, Some(BOUND)) {
                Ok(mut control) => {
                    let recovers = control.scalar("SELECT pg_catalog.pg_is_in_recovery()")?;
                    seen.promoted = recovers.as_deref() == Some("f");
                }
                Err(error) => seen.silent = Some(error.to_string()),
            }
        }
        // After an outage our connection may be closed like the clients'.
        if measured.outages.is_empty() {
            looked?;
        }
        let mut figures = std::mem::take(&mut self.worst);
        figures.append(std::mem::take(&mut self.end));
        Ok(figures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standby(reached: [u64; 3], reported_ms: [Option<f64>; 3]) -> Position {
        let key = FollowerKey { name: "r".into(), client: String::new() };
        Position { key, reached, reported_ms }
    }

    #[test]
    fn a_reported_time_counts_only_while_wal_is_written() {
        let old = [Some(2.0), Some(3.0), Some(9.0)];
        // Idle, and caught up: the columns stay as they were.
        let idle = lags(&standby([100; 3], old), &[(0, 100), (1_000_000, 100)], false);
        assert_eq!(idle, [(0.0, Some(0.0)); 3]);
        let busy = lags(&standby([100, 100, 90], old), &[(0, 50), (1_000_000, 100)], true);
        assert_eq!(busy, [(0.0, Some(2.0)), (0.0, Some(3.0)), (10.0, Some(9.0))]);
        // It stands still, whatever it reported last.
        let history = [(0, 50), (1_000_000, 100), (2_000_000, 150), (5_000_000, 150)];
        let stuck = lags(&standby([150, 150, 60], old), &history, false);
        assert_eq!(stuck[2], (90.0, Some(4000.0)));
        let unknown = lags(&standby([100, 100, 40], [None; 3]), &[(0, 40), (1_000_000, 100)], true);
        assert_eq!(unknown[2], (60.0, None));
    }

    #[test]
    fn only_a_lag_that_grows_until_the_end_is_one_that_falls_behind() {
        let seen = |behind: &[f64]| ReplicaSeen {
            behind: behind.iter().map(|segments| segments * KEEPS_UP).collect(),
            ..ReplicaSeen::default()
        };
        for (behind, wanted) in [
            (&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0][..], true),
            (&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 0.1], false),
            (&[3.0, 3.1, 2.9, 3.0, 3.1, 3.0, 3.0], false),
            (&[0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07], false),
            (&[0.0, 2.0, 4.0], false),
        ] {
            assert_eq!(seen(behind).falls_behind().is_some(), wanted, "{behind:?}");
        }
        // Few bytes, that have waited for long.
        let paused = ReplicaSeen { late_ms: 5000.0, ..seen(&[0.0, 0.0, 0.0, 0.01, 0.02, 0.03, 0.04]) };
        assert!(paused.falls_behind().is_some());
    }
}
