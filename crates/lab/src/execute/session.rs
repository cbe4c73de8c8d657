//! One invocation of an experiment: from open servers to closed ones.

use results::{Finished, Spool};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use record::{Doubt, Reason, Run, RunEvent, RunKey, Setting, Validity};
use results::{ExperimentId, Store};
use workloads::Crew;

use super::arms::check_arms;
use super::aside::{Aside, Cause, Waits};
use super::book::Book;
use super::crew::{self, Opened, changed_data};
use super::event::{LabEvent, Progress, Step, Tell};
use super::pace::Pace;
use super::shape::{engine_plan, experiment, finished, median};
use super::stage::Stage;
use super::{Options, Outcome, Series, changes, fill, measure, planned, prepare};
use crate::classify::advice;
use crate::collect::{probe_ms, settle};
use crate::error::{Class, LabError};
use crate::experiment::ExperimentFile;
use crate::plan::{Plan, PlannedRun};
use crate::validity::{Evidence, judge};
use target::Stop;
use target::host;

/// An experiment under way.
pub(super) struct Session<'a> {
    file: &'a ExperimentFile,
    plan: Plan,
    book: Book,
    stage: Stage,
    progress: &'a mut dyn Progress,
    stop: &'a Stop,
    workloads: BTreeMap<String, Opened>,
    /// The arm in force, once one is.
    arm: Option<Option<String>>,
    settings: Vec<Setting>,
    /// Idle probes so far, ms.
    probes: Vec<f64>,
    pace: Pace,
    stored: usize,
    aside: Aside,
    /// Why what waits does, in words, and what to do about the first of it.
    waiting: Vec<String>,
    /// Stored runs that are to be measured again.
    marked: BTreeSet<i64>,
    advice: &'static str,
    outcome: Counted,
}

/// A run that was done: as it is stored, and why it is invalid.
struct Judged {
    run: Run,
    seconds: Spool,
    cause: Option<Cause>,
}

#[derive(Default)]
struct Counted {
    done: usize,
    /// Of these, runs that are to be measured again.
    aside: usize,
    invalid: usize,
    suspect: usize,
}

impl<'a> Session<'a> {
    /// Opens servers and results.
    pub(super) fn open(
        file: &'a ExperimentFile,
        plan: Plan,
        store: Store,
        options: &Options,
        (known, stored): (Option<ExperimentId>, usize),
        mut progress: &'a mut dyn Progress,
        stop: &'a Stop,
    ) -> Result<Self, LabError> {
        progress.step(Step::Target, "make, start or reach the servers");
        let sets = plan.content.arms.iter().any(|arm| !arm.settings.is_empty());
        let stage = Stage::open_alone(&file.target, sets, options.pg_bin.clone(), progress, stop)?;
        progress.note(stage.target.redacted());
        progress.step(Step::Results, format!("{}", options.results.display()));
        let host = host::describe(stage.target.data_folder().as_deref());
        let target = stage.target.record(stage.versions())?;
        if let Some((last, changes)) = changes(&store, &plan) {
            progress.note(format!("another experiment than number {}: {}", last.0, changes.join("; ")));
        }
        let record = (experiment(file, &plan), host, target);
        let book = Book::open(store, &options.results, record, known, options.again)?;
        Ok(Self {
            pace: Pace::of(&plan),
            file,
            plan,
            book,
            stage,
            progress,
            stop,
            workloads: BTreeMap::new(),
            arm: None,
            settings: Vec::new(),
            probes: Vec::new(),
            stored,
            aside: Aside::default(),
            waiting: Vec::new(),
            marked: BTreeSet::new(),
            advice: "",
            outcome: Counted::default(),
        })
    }

    /// Prepares, guards, and does every run that is not stored.
    pub(super) fn carry_out(&mut self, stored: &[RunKey]) -> Result<Outcome, LabError> {
        let remaining: Vec<PlannedRun> = self.plan.remaining(stored).into_iter().cloned().collect();
        let result = self.all(&remaining).map_err(|error| self.stage.explain(error));
        if self.stop.soon() && (result.is_err() || self.outcome.done < remaining.len()) {
            return Err(LabError::Interrupted { kept: self.kept(), planned: self.plan.runs.len() });
        }
        result?;
        let experiment =
            self.book.id().ok_or_else(|| LabError::failed(Class::Internal, "no run was stored", ""))?;
        if !self.waiting.is_empty() {
            return Err(LabError::SetAside {
                experiment,
                what: std::mem::take(&mut self.waiting),
                advice: self.advice.to_owned(),
                kept: self.kept(),
                again: self.outcome.aside,
                planned: self.plan.runs.len(),
            });
        }
        Ok(Outcome {
            experiment,
            results: self.book.path().to_owned(),
            runs: self.plan.runs.len(),
            done_now: self.outcome.done,
            invalid: self.outcome.invalid,
            suspect: self.outcome.suspect,
        })
    }

    /// Runs that are stored and done.
    fn kept(&self) -> usize {
        self.stored + self.outcome.done - self.outcome.aside
    }

    fn all(&mut self, remaining: &[PlannedRun]) -> Result<(), LabError> {
        self.check_settings()?;
        self.prepare()?;
        self.guard(remaining)?;
        self.progress.event(LabEvent::Begin {
            planned: self.plan.runs.len(),
            stored: self.stored,
            left: self.left(remaining),
            results: self.book.path().to_owned(),
        });
        for (index, run) in remaining.iter().enumerate() {
            if self.stop.soon() {
                break;
            }
            if self.aside.waits(run) {
                continue;
            }
            let after: Vec<_> = remaining[index + 1..].iter().filter(|run| !self.aside.waits(run)).collect();
            let after: Vec<PlannedRun> = after.into_iter().cloned().collect();
            self.one(run, &after)?;
        }
        Ok(())
    }

    fn prepare(&mut self) -> Result<(), LabError> {
        let jobs =
            prepare(&mut self.stage, &self.plan.content.prepare, true, &mut *self.progress, self.stop)?;
        let stored = self.book.finished()?;
        for (sequence, job) in jobs.iter().enumerate() {
            // A job done in an earlier session of this experiment is in it already.
            let known = stored.iter().any(|key| key.round == 0 && key.workload == job.name);
            if !known || !job.reused {
                let run = job.record.to_run(&job.name, sequence as u32, 0, job.reused);
                self.book.keep(&mut [Finished { run, seconds: Spool::default() }])?;
            }
        }
        Ok(())
    }

    /// Whether the server can be brought to every arm: before anything is prepared, and not before the second arm.
    fn check_settings(&mut self) -> Result<(), LabError> {
        let (control, means) = self.stage.control_and_means()?;
        check_arms(self.file, &self.plan, control, means)
    }

    fn guard(&mut self, remaining: &[PlannedRun]) -> Result<(), LabError> {
        let mut names: Vec<String> = remaining.iter().map(|run| run.workload.clone()).collect();
        names.sort();
        names.dedup();
        self.workloads = crew::open(&mut self.stage, self.file, &self.plan, &names, &mut *self.progress)?;
        if self.stored == 0 {
            return Ok(());
        }
        // What an earlier session chose must still be what is chosen now; its choice is with its first run.
        for run in self.book.runs()? {
            let Some(opened) = self.workloads.get_mut(&run.workload) else { continue };
            let name = format!("prepared/{}", run.workload);
            if let Some(before) = run.artifacts.iter().find(|artifact| artifact.name == name) {
                if before.bytes != opened.prepared.json.as_bytes() {
                    return Err(changed_data(&run.workload));
                }
                opened.artifacts.clear();
            }
        }
        Ok(())
    }

    /// One run, from the arm's settings to the results file.
    fn one(&mut self, run: &PlannedRun, after: &[PlannedRun]) -> Result<(), LabError> {
        let number = run.sequence as usize + 1;
        let planned_runs = self.plan.runs.len();
        let content = &self.plan.content;
        self.progress.event(LabEvent::RunStarted {
            number,
            planned: planned_runs,
            what: run.words(),
            takes: Duration::from_secs_f64(content.warmup_s + content.duration_s),
            next: after.first().map(PlannedRun::words),
            left: self.left(after) + self.pace.left(1, 0),
        });
        self.switch_to(run)?;
        let start = Instant::now();
        let record = self.measure(run)?;
        let Some(Judged { run: record, seconds, cause }) = record else { return Ok(()) };
        self.progress.step(Step::Store, self.book.path().display().to_string());
        let mut block = [Finished { run: record, seconds }];
        let stored = self.book.keep(&mut block);
        let [Finished { run: record, .. }] = block;
        self.pace.ran(start.elapsed());
        self.count(&record);
        // Told even where it could not be stored: nobody shall have waited for nothing.
        self.progress.event(finished(&record, number, planned_runs, run.words(), self.left(after)));
        let stored_as = stored?;
        let advice = cause.as_ref().and_then(|cause| cause.code.as_deref()).map_or("", advice);
        match self.aside.judged(run, cause, stored_as) {
            Some(waits) => self.set_aside(&waits, &record, advice),
            None => Ok(()),
        }
    }

    /// What was invalid twice in a row waits, and those two runs are to be measured again.
    fn set_aside(&mut self, waits: &Waits, last: &Run, advice: &'static str) -> Result<(), LabError> {
        let why: Vec<_> =
            last.doubts.iter().map(|doubt| format!("{}: {}", doubt.reason.text(), doubt.detail)).collect();
        let why =
            format!("{}: two runs in a row are invalid for the same cause ({})", waits.what, why.join("; "));
        self.book.set_aside(&waits.runs, &why)?;
        let new = waits.runs.iter().filter(|run| self.marked.insert(**run)).count();
        self.outcome.aside += new;
        self.progress.warn(format!("{why}; its other runs are left for later"));
        if self.waiting.is_empty() {
            self.advice = advice;
        }
        self.waiting.push(why);
        Ok(())
    }

    /// Brings the server to the arm of a run, if another one is in force.
    fn switch_to(&mut self, run: &PlannedRun) -> Result<(), LabError> {
        let Some(arm) = self.plan.arm(run).cloned() else { return Ok(()) };
        if self.arm.as_ref() == Some(&arm.name) {
            return Ok(());
        }
        let name = arm.name.clone().unwrap_or_else(|| "the server's own settings".to_owned());
        self.progress.step(Step::Settings, name);
        let start = Instant::now();
        let first = self.arm.take().is_none();
        let applied = self.stage.apply(&arm.settings)?;
        for added in applied.added.iter().filter(|_| first) {
            self.progress.note(added.clone());
        }
        self.arm = Some(arm.name);
        self.settings = self.stage.recorded()?;
        self.pace.switched(start.elapsed());
        Ok(())
    }

    /// The run itself; `None` when it was given up because the user asked to stop at once.
    fn measure(&mut self, run: &PlannedRun) -> Result<Option<Judged>, LabError> {
        let mut record = planned(run, self.plan.content.load.name(), self.plan.content.warmup_s, 0);
        record.figures.extend(self.plan.content.limit_s.map(|limit| ("promise_ms".to_owned(), limit * 1e3)));
        self.reset(run, &mut record)?;
        let Some(opened) = self.workloads.get_mut(&run.workload) else { return Ok(None) };
        record.artifacts = std::mem::take(&mut opened.artifacts);
        record.figures.extend(opened.guarded.figures.clone());
        let event = |kind: &str, detail: String| RunEvent { time_us: 0, kind: kind.to_owned(), detail };
        record.events.push(event("prepared", opened.prepared.hash.clone()));
        if let Some(why) = opened.guarded.empty.clone() {
            record.validity = Validity::Invalid;
            record.doubts.push(Doubt { reason: Reason::EmptyResults, detail: why });
            // That is known from the guard, costs no time, and each run says it.
            return Ok(Some(Judged { run: record, seconds: Spool::default(), cause: None }));
        }
        let opened = &self.workloads[&run.workload];
        let plan = engine_plan(&self.plan, run, opened.scripts.len());
        let crew = Crew {
            clients: run.clients as usize,
            threads: run.threads as usize,
            seed: run.seed,
            statements: false,
        };
        let series = Series::of(plan.until, Some(self.book.path()))?;
        let workload = &*opened.workload;
        let mut taken =
            measure(&mut self.stage, workload, &plan, crew, series, &mut *self.progress, self.stop)?;
        if let Some(lost) = taken.lost.take() {
            return Err(lost);
        }
        if self.stop.at_once() || taken.measured.interrupted {
            return Ok(None);
        }
        let probe = record.figures.get("probe_ms").copied();
        let (validity, doubts) = judge(&Evidence {
            measured: &taken.measured,
            series: &taken.series,
            rate: run.rate,
            clients: run.clients,
            limit_s: self.plan.content.limit_s,
            changed: taken.changed.as_deref(),
            steal_pct: taken.figures.get("steal_pct").copied(),
            probe_ms: probe.zip(median(&self.probes)),
            scripts: &opened.scripts,
            may_be_empty: opened.workload.may_be_empty(),
        });
        (record.validity, record.doubts) = (validity, doubts);
        if taken.changed.is_some() {
            // The next run begins with its arm's settings set and read anew.
            self.arm = None;
            self.settings.clear();
        }
        let cause = Cause::of(&record, &taken.measured.aborts);
        let seconds = fill(&mut record, taken, &opened.scripts);
        self.probes.extend(probe);
        Ok(Some(Judged { run: record, seconds, cause }))
    }

    /// The state every run starts from, recorded with it.
    fn reset(&mut self, run: &PlannedRun, record: &mut Run) -> Result<(), LabError> {
        self.progress.step(Step::Reset, "the workload's own data, autovacuum, a checkpoint");
        if let Some(opened) = self.workloads.get_mut(&run.workload) {
            let remarks = self.stage.with_site(|site| opened.workload.reset(site))?;
            let event = |detail| RunEvent { time_us: 0, kind: "remark".to_owned(), detail };
            record.events.extend(remarks.into_iter().map(event));
        }
        let stop = self.stop;
        let control = self.stage.control()?;
        let settled = settle(control, &|| stop.at_once())?;
        if let Some(seconds) = settled.checkpoint_s {
            record.figures.insert("checkpoint_before_s".to_owned(), seconds);
        }
        record.figures.insert("autovacuum_wait_s".to_owned(), settled.autovacuum_s);
        if settled.autovacuum_at_work {
            let detail = "autovacuum was still at work when the run began".to_owned();
            record.events.push(RunEvent { time_us: 0, kind: "autovacuum".to_owned(), detail });
        }
        if let Some(probe) = probe_ms(control) {
            record.figures.insert("probe_ms".to_owned(), probe);
        }
        if self.settings.is_empty() {
            // Beside the grid no arm need be in force yet.
            self.settings = self.stage.recorded()?;
        }
        record.settings.clone_from(&self.settings);
        Ok(())
    }

    fn count(&mut self, record: &Run) {
        self.outcome.done += 1;
        match record.validity {
            Validity::Invalid => self.outcome.invalid += 1,
            Validity::Suspect => self.outcome.suspect += 1,
            Validity::Valid => {}
        }
    }

    fn left(&self, runs: &[PlannedRun]) -> Duration {
        let mut arm = self.arm.clone();
        let mut switches = 0;
        for run in runs.iter().filter(|run| !run.beside) {
            if arm.as_ref() != Some(&run.arm) {
                switches += 1;
                arm = Some(run.arm.clone());
            }
        }
        self.pace.left(runs.len(), switches)
    }

    /// Puts settings back and stops what was started.
    pub(super) fn close(mut self) -> Result<(), LabError> {
        self.progress.step(Step::Restore, "the server's own settings");
        let restored = self.stage.restore();
        self.progress.step(Step::Stop, "what was started");
        drop(self.stage);
        restored
    }
}
