//! Reads the runs of an experiment: a query for each table, whatever their number.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use rusqlite::Row;
use spec::users::SessionTimes;
use spec::{BACKENDS, Error, OfferedLoad, PRIVATE_BYTES, Promise, Run, RunKind, Setting, figures};
use stats::Histogram;

use super::{ExperimentId, Sqlite, Store, WHOLE_RUN, rows};

/// What is read of runs besides their own figures, counts, doubts, events, scripts, slices, parts and hosts. What is not read is
/// empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunParts {
    pub distributions: Distributions,
    pub series: bool,
    pub settings: bool,
    pub samples: Samples,
    /// Phases and sizes of relations.
    pub phases: bool,
    pub plans: bool,
    pub artifacts: bool,
    /// What tiles hold, and their times before the measured part.
    pub tile_samples: bool,
}

impl RunParts {
    /// Everything.
    pub const ALL: Self = Self {
        distributions: Distributions::All,
        series: true,
        settings: true,
        samples: Samples::All,
        phases: true,
        plans: true,
        artifacts: true,
        tile_samples: true,
    };
    /// None of these.
    pub const NONE: Self = Self {
        distributions: Distributions::None,
        series: false,
        settings: false,
        samples: Samples::None,
        phases: false,
        plans: false,
        artifacts: false,
        tile_samples: false,
    };
}

/// Which samples are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Samples {
    None,
    /// Memory of the server's backends: answers and pages are made of no others.
    OfBackends,
    All,
}

/// Which distributions are read. They take most of the time of reading runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distributions {
    None,
    /// Response times of scripts.
    Responses,
    /// What `needed_for_figures` says.
    OfFigures,
    /// What `needed_for_answer` says.
    OfAnswer,
    /// Response and service times of scripts, and times of sessions.
    All,
}

impl Distributions {
    /// What figures of cells are made of. Service times tell why a promise was broken, and speeds of tiles.
    fn needed_for_figures(runs: &[Run]) -> Self {
        let needs_all = |run: &Run| {
            run.is_paced()
                || Promise::of(run).is_some()
                || run.scripts.iter().any(|script| script.part.is_some())
        };
        if runs.iter().any(needs_all) { Self::All } else { Self::Responses }
    }

    /// What an answer in words and its tables show: percentiles of one cell, and no distribution of a grid of closed
    /// loads. Several scripts are compared by their service times.
    fn needed_for_answer(runs: &[Run]) -> Self {
        let clients = || runs.iter().filter(|run| run.kind == RunKind::Client);
        let needs_all = |run: &Run| {
            run.scripts.len() > 1 || run.arm.is_none() && !run.beside || run.tried_level().is_some()
        };
        match Self::needed_for_figures(runs) {
            Self::Responses if clients().any(needs_all) => Self::All,
            Self::Responses if has_compared_cells(clients()) => Self::None,
            needed => needed,
        }
    }

    /// What of the two that depend on the runs is meant.
    fn of(self, runs: &[Run]) -> Self {
        match self {
            Self::OfFigures => Self::needed_for_figures(runs),
            Self::OfAnswer => Self::needed_for_answer(runs),
            asked => asked,
        }
    }
}

/// Whether two cells or more have runs of several arms.
fn has_compared_cells<'r>(runs: impl Iterator<Item = &'r Run>) -> bool {
    let (mut arms, mut compared) = (BTreeMap::new(), BTreeSet::new());
    for run in runs.filter(|run| !run.beside) {
        let cell = (&run.workload, &run.factors);
        if *arms.entry(cell).or_insert(&run.arm) != &run.arm {
            compared.insert(cell);
        }
        if compared.len() > 1 {
            return true;
        }
    }
    false
}

/// Runs in order of execution, found by their numbers.
#[derive(Debug, Default)]
pub(super) struct StoredRuns {
    runs: Vec<Run>,
    positions: HashMap<i64, usize>,
}

impl Store {
    /// All runs of an experiment without the distributions of single seconds, in order of execution.
    ///
    /// # Errors
    /// When the file cannot be read, or is damaged.
    pub fn runs(&self, id: ExperimentId) -> Result<Vec<Run>, Error> {
        self.runs_with(id, RunParts::ALL)
    }

    /// The same with only these parts.
    ///
    /// # Errors
    /// As [`Store::runs`].
    pub fn runs_with(&self, id: ExperimentId, parts: RunParts) -> Result<Vec<Run>, Error> {
        // A running experiment may store runs between two queries. A transaction of the caller does as well.
        let is_alone = self.connection.is_autocommit();
        let snapshot = is_alone.then(|| self.connection.unchecked_transaction()).transpose();
        let snapshot = snapshot.map_err(|error| self.error(&error))?;
        let mut found = StoredRuns::default();
        let sets = if parts.settings { self.settings_of(id)? } else { HashMap::new() };
        self.each(
            "SELECT c.workload, c.factors, r.arm, r.round, r.kind, r.uuid, r.sequence, r.position_in_pair, r.beside,
                    r.invocation, r.started_at, r.load, r.offered_rate, r.clients, r.threads, r.driver, r.seed,
                    r.warmup_s, r.measured_s, r.validity, r.set_aside, r.run_id, r.settings_id
             FROM run r JOIN cell c USING (cell_id) WHERE r.experiment_id = ?1 ORDER BY r.sequence, r.run_id",
            id,
            |row| {
                let set: Option<i64> = row.get(22)?;
                let mut run = rows::run(row)?;
                run.settings = set.and_then(|set| sets.get(&set)).map(Arc::clone).unwrap_or_default();
                found.positions.insert(row.get(21)?, found.runs.len());
                found.runs.push(run);
                Ok(())
            },
        )?;
        self.fill(&mut found, id, parts)?;
        self.fill_parts(&mut found, id)?;
        self.fill_scripts(&mut found, id, parts)?;
        if parts.plans {
            self.fill_plans(&mut found, id)?;
        }
        if parts.tile_samples {
            self.fill_tile_samples(&mut found, id)?;
        }
        drop(snapshot);
        Ok(found.runs)
    }

    /// The sets of settings of an experiment, by number: many runs share one.
    fn settings_of(&self, id: ExperimentId) -> Result<HashMap<i64, Arc<[Setting]>>, Error> {
        let mut sets: HashMap<i64, Vec<Setting>> = HashMap::new();
        self.each(
            "SELECT s.name, s.value, s.source, i.is_initial, s.settings_id
             FROM setting s LEFT JOIN initial_setting i USING (settings_id, name)
             WHERE s.settings_id IN (SELECT settings_id FROM run WHERE experiment_id = ?1) ORDER BY s.settings_id, s.name",
            id,
            |row| {
                sets.entry(row.get(4)?).or_default().push(rows::setting(row)?);
                Ok(())
            },
        )?;
        Ok(sets.into_iter().map(|(set, settings)| (set, settings.into())).collect())
    }

    fn fill(&self, found: &mut StoredRuns, id: ExperimentId, parts: RunParts) -> Result<(), Error> {
        self.each(&of_runs("name, value", "run_count", "run_id"), id, |row| {
            if let Some(&at) = found.positions.get(&last(row)?) {
                found.runs[at].counts.set_named(figure_name(row)?, rows::unsigned(row, 1)?);
            }
            Ok(())
        })?;
        self.each(&of_runs("name, value", "run_figure", "run_id"), id, |row| {
            if let Some(&at) = found.positions.get(&last(row)?) {
                found.runs[at].figures.set_named(figure_name(row)?, row.get(1)?);
            }
            Ok(())
        })?;
        let doubts = of_runs("reason, detail", "run_doubt", "run_id, position");
        self.fill_with(found, id, &doubts, rows::doubt, |run, doubt| run.doubts.push(doubt))?;
        let events = of_runs("time_us, kind, detail", "event", "run_id, position");
        self.fill_with(found, id, &events, rows::read_event, |run, event| run.events.push(event))?;
        let slices = of_runs(
            "quad, start_us, length_us, drain_us, succeeded, at_work_us, steal_pct, is_void, server_cpu_us",
            "slice LEFT JOIN slice_cpu USING (run_id, position)",
            "run_id, position",
        );
        self.fill_with(found, id, &slices, rows::slice, |run, slice| run.slices.push(slice))?;
        if parts.phases {
            let phases =
                of_runs("name, item, start_us, duration_us, count, source", "phase", "run_id, position");
            self.fill_with(found, id, &phases, rows::phase, |run, phase| run.phases.push(phase))?;
            let relations = of_runs("name, kind, table_name, bytes, rows", "relation", "run_id, position");
            let put = |run: &mut Run, relation| run.relations.push(relation);
            self.fill_with(found, id, &relations, rows::relation, put)?;
        }
        if parts.artifacts {
            let artifacts = of_runs("name, media_type, caption, bytes", "artifact", "run_id, position");
            let put = |run: &mut Run, artifact| run.artifacts.push(artifact);
            self.fill_with(found, id, &artifacts, rows::artifact, put)?;
        }
        let table = match parts.samples {
            Samples::None => None,
            Samples::OfBackends => Some(format!(
                "(SELECT rowid AS position, * FROM sample WHERE source = '{BACKENDS}' AND name = '{PRIVATE_BYTES}')"
            )),
            Samples::All => Some("(SELECT rowid AS position, * FROM sample)".to_owned()),
        };
        if let Some(table) = table {
            let samples = of_runs("scope, source, name, time_us, value", &table, "position");
            self.fill_with(found, id, &samples, rows::sample, |run, sample| run.samples.push(sample))?;
        }
        Ok(())
    }

    fn fill_scripts(&self, found: &mut StoredRuns, id: ExperimentId, parts: RunParts) -> Result<(), Error> {
        let scripts = of_runs(
            "script_id, name, text_hash, weight, counts, layer, zoom, cached",
            "script",
            "run_id, position",
        );
        // By number: the run, and the position in it.
        let mut places: HashMap<i64, (usize, usize)> = HashMap::new();
        self.each(&scripts, id, |row| {
            let (number, script) = rows::script(row)?;
            if let Some(&at) = found.positions.get(&last(row)?) {
                places.insert(number, (at, found.runs[at].scripts.len()));
                found.runs[at].scripts.push(script);
            }
            Ok(())
        })?;
        if parts.series {
            let series = "SELECT t.start_us, t.length_us, t.ok, t.late, t.failed, t.skipped, s.script_id
                 FROM script s CROSS JOIN series t USING (script_id)
                 WHERE s.run_id IN (SELECT run_id FROM run WHERE experiment_id = ?1)
                 ORDER BY s.run_id, s.position, t.start_us";
            self.each(series, id, |row| {
                if let Some(&(at, position)) = places.get(&last(row)?) {
                    found.runs[at].series.push(rows::read_point(row, position as u32)?);
                }
                Ok(())
            })?;
        }
        self.fill_distributions(found, id, &places, parts.distributions.of(&found.runs))
    }

    fn fill_distributions(
        &self,
        found: &mut StoredRuns,
        id: ExperimentId,
        scripts: &HashMap<i64, (usize, usize)>,
        wanted: Distributions,
    ) -> Result<(), Error> {
        let kinds = match wanted {
            Distributions::None => return Ok(()),
            Distributions::Responses => "'response'",
            _ => "'response', 'service', 'session', 'session_response'",
        };
        let users = found.runs.iter_mut().filter(|run| run.load == OfferedLoad::Users);
        for run in users.filter(|run| !run.scripts.is_empty()) {
            run.sessions = Some(SessionTimes { duration: Histogram::new(), response: Histogram::new() });
        }
        let distributions = format!(
            "SELECT h.v2, h.sum_ns, h.sum_squares, h.min_ns, h.max_ns, h.kind, h.script_id
             FROM script s CROSS JOIN hist h USING (script_id)
             WHERE s.run_id IN (SELECT run_id FROM run WHERE experiment_id = ?1) AND h.start_us = {WHOLE_RUN}
                   AND h.kind IN ({kinds})"
        );
        self.each(&distributions, id, |row| {
            let Some(&(at, position)) = scripts.get(&last(row)?) else { return Ok(()) };
            let run = &mut found.runs[at];
            let kind: String = row.get(5)?;
            let place = match (kind.as_str(), &mut run.sessions) {
                ("response", _) => &mut run.scripts[position].response,
                ("service", _) => &mut run.scripts[position].service,
                // Sessions are of all scripts together, and stored with the first one.
                ("session", Some(sessions)) if position == 0 => &mut sessions.duration,
                ("session_response", Some(sessions)) if position == 0 => &mut sessions.response,
                _ => return Ok(()),
            };
            *place = rows::histogram(row)?;
            Ok(())
        })
    }

    /// Puts the rows of a query of [`of_runs`] into their runs.
    pub(super) fn fill_with<T>(
        &self,
        found: &mut StoredRuns,
        id: ExperimentId,
        query: &str,
        read: impl Fn(&Row<'_>) -> Sqlite<T>,
        put: impl Fn(&mut Run, T),
    ) -> Result<(), Error> {
        self.each(query, id, |row| {
            if let Some(&at) = found.positions.get(&last(row)?) {
                put(&mut found.runs[at], read(row)?);
            }
            Ok(())
        })
    }

    /// Passes each row of a query on an experiment, its only parameter.
    fn each(
        &self,
        query: &str,
        id: ExperimentId,
        mut take: impl FnMut(&Row<'_>) -> Sqlite<()>,
    ) -> Result<(), Error> {
        self.rows(query, [id.0], |row| take(row)).map(drop)
    }
}

/// The name of a figure, in the first column. A newer pgdyno may have others.
fn figure_name(row: &Row<'_>) -> Sqlite<Cow<'static, str>> {
    let name = row.get_ref(0)?.as_str()?;
    Ok(figures::row(name).map_or_else(|| Cow::Owned(name.to_owned()), |row| row.name.into()))
}

/// Rows of a table for all runs of an experiment; the number of the run is the last column.
pub(super) fn of_runs(columns: &str, table: &str, order: &str) -> String {
    format!(
        "SELECT {columns}, run_id FROM {table} WHERE run_id IN (SELECT run_id FROM run WHERE experiment_id = ?1)
         ORDER BY {order}"
    )
}

/// The last column: the number of what a row belongs to.
fn last(row: &Row<'_>) -> Sqlite<i64> {
    row.get(row.as_ref().column_count() - 1)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rusqlite::trace::{TraceEvent, TraceEventCodes};
    use spec::{StatementPlan, TileProbe, TileSample};

    use super::*;
    use crate::ReportData;
    use crate::data::Wanted;
    use crate::fixture::{experiment, finished, host, run, target};

    /// A run of each arm per round, with a row in each table.
    fn filled(rounds: u32) -> (tempfile::TempDir, Store, ExperimentId) {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::create_or_open(&folder.path().join("results.sqlite")).unwrap();
        let (id, _) = store.begin_experiment(&experiment(&["A", "B"]), &host(), &target(), false).unwrap();
        // Another experiment, whose rows have to stay out.
        let (other, _) = store.begin_experiment(&experiment(&["A", "B"]), &host(), &target(), true).unwrap();
        for round in 1..=rounds {
            for (experiment, arm) in [(id, "A"), (other, "A"), (id, "B")] {
                store.store(experiment, &[finished(whole(arm, round))]).unwrap();
            }
        }
        (folder, store, id)
    }

    fn whole(arm: &str, round: u32) -> Run {
        let mut run = run("reads", 4, Some(arm), round, 1000.0 + f64::from(round));
        run.plans = vec![StatementPlan { draw: round, ..StatementPlan::default() }];
        run.tile_samples = vec![TileSample {
            script: 0,
            tiles: 1,
            empty: 0,
            features_in: None,
            features_out: Some(2),
            vertices: None,
            bytes: 3,
        }];
        run.tile_probes =
            vec![TileProbe { script: 0, tiles: 1, mean_us: 2.0, z: 3, x: 4, y: 5, max_us: 6.0 }];
        run.load = OfferedLoad::Users;
        let mut duration = Histogram::new();
        duration.record(1_000_000 * u64::from(round));
        run.sessions = Some(SessionTimes { response: duration.clone(), duration });
        run
    }

    /// Statements that SQLite ran meanwhile.
    fn statements(store: &mut Store, what: impl Fn(&Store)) -> usize {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        let trace = move |_: TraceEvent<'_>| {
            counted.fetch_add(1, Ordering::Relaxed);
        };
        store.connection.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(trace)).unwrap();
        what(store);
        store.connection.trace_v2(TraceEventCodes::empty(), None::<fn(TraceEvent<'_>)>).unwrap();
        count.load(Ordering::Relaxed)
    }

    #[test]
    fn more_runs_are_not_more_statements() {
        let counts = [1, 20].map(|rounds| {
            let (_folder, mut store, id) = filled(rounds);
            statements(&mut store, |store| {
                let data = ReportData::load(store, id, Wanted::ALL).unwrap();
                assert_eq!(data.runs.len(), 2 * rounds as usize);
            })
        });
        assert_eq!(counts[0], counts[1]);
        assert!((20..40).contains(&counts[0]), "{counts:?}");
        let (_folder, mut store, id) = filled(1);
        let fewer = statements(&mut store, |store| drop(store.runs_with(id, RunParts::NONE).unwrap()));
        assert!(fewer < 13, "{fewer}");
    }

    /// As text, without identities, which are random.
    fn shown(runs: Vec<Run>) -> Vec<String> {
        runs.into_iter().map(|run| format!("{:?}", Run { uuid: String::new(), ..run })).collect()
    }

    #[test]
    fn rows_come_back_in_their_runs() {
        let (_folder, store, id) = filled(3);
        let wanted: Vec<Run> = (1..=3).flat_map(|round| ["A", "B"].map(|arm| whole(arm, round))).collect();
        let found = store.runs(id).unwrap();
        assert!(Arc::ptr_eq(&found[0].settings, &found[5].settings), "equal settings are in memory once");
        assert_eq!(shown(found), shown(wanted));
    }

    /// A run without a part.
    type Without = fn(&mut Run);

    #[test]
    fn what_is_not_wanted_is_empty_and_nothing_else() {
        let (_folder, store, id) = filled(2);
        let parts: [(RunParts, Without); 10] = [
            (RunParts { distributions: Distributions::Responses, ..RunParts::ALL }, |run| {
                run.sessions = Some(SessionTimes { duration: Histogram::new(), response: Histogram::new() });
                run.scripts.iter_mut().for_each(|own| own.service = Histogram::new());
            }),
            (RunParts { distributions: Distributions::None, ..RunParts::ALL }, |run| {
                run.sessions = None;
                let empty = || Histogram::new();
                run.scripts.iter_mut().for_each(|own| (own.response, own.service) = (empty(), empty()));
            }),
            (RunParts { series: false, ..RunParts::ALL }, |run| run.series.clear()),
            (RunParts { settings: false, ..RunParts::ALL }, |run| run.settings = Arc::default()),
            (RunParts { samples: Samples::None, ..RunParts::ALL }, |run| run.samples.clear()),
            (RunParts { samples: Samples::OfBackends, ..RunParts::ALL }, |run| {
                run.samples.retain(|own| own.source == BACKENDS && own.name == PRIVATE_BYTES);
            }),
            (RunParts { phases: false, ..RunParts::ALL }, |run| {
                run.phases.clear();
                run.relations.clear();
            }),
            (RunParts { plans: false, ..RunParts::ALL }, |run| run.plans.clear()),
            (RunParts { artifacts: false, ..RunParts::ALL }, |run| run.artifacts.clear()),
            (RunParts { tile_samples: false, ..RunParts::ALL }, |run| {
                run.tile_samples.clear();
                run.tile_probes.clear();
            }),
        ];
        let mut nothing = store.runs(id).unwrap();
        for (parts, without) in parts {
            let mut wanted = store.runs(id).unwrap();
            wanted.iter_mut().for_each(without);
            nothing.iter_mut().for_each(without);
            assert_eq!(shown(store.runs_with(id, parts).unwrap()), shown(wanted), "{parts:?}");
        }
        assert_eq!(shown(store.runs_with(id, RunParts::NONE).unwrap()), shown(nothing));
    }
}
