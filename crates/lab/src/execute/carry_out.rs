//! One invocation of an experiment: from open servers to closed ones.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::{Duration, Instant};

use results::Finished;
use server::{Stop, StopPhase, host};
use spec::plan::{Fact, Facts, Needed, Plan, PlannedRun, Recorded};
use spec::{Class, Doubt, Error, Run, RunEvent, RunKey, Validity, advice_on_sqlstate, figures};

use super::calibration::{self, UnstoredRuns};
use super::guard::{Guard, Remarks};
use super::suspended::{RunCounts, SuspendedRuns, suspended};
use super::{DoneJob, Invocation, Outcome, UnstoredJobs, placed};
use workloads::jobs::StoppedJob;

use crate::calibrate;
use crate::concurrent;
use crate::error::{interrupted, interrupted_calibration};
use crate::experiment::{ExperimentFile, without_credentials};
use crate::few;
use crate::jobs::{self, PreparedJob};
use crate::lateness::judge_by_host;
use crate::measure::{Keep, Turns};
use crate::plan::{identity, resolve, setups, turns};
use crate::runner::{
    CrashedRun, ExperimentStep, LabEvent, MeasuredRun, Pace, Progress, ProgressExt, Results, RunSteps,
    Runner, SharedLoad, Stage, Turn,
};
use crate::setup::{At, Setup};
use crate::strategies::again::Repeated;
use crate::strategies::{self, Aside, Cause, Course, Next, PastRun, RunBlock};
use crate::validity::{JobEvidence, Machine, judge_job};

/// A run, the cause of its failure, and the event that reports it, if one does.
type Taken = (Finished, Option<Cause>, Option<LabEvent>);

pub(super) struct Execution<'a> {
    pub(super) file: &'a ExperimentFile,
    /// Without the arms that failed their checks.
    pub(super) plan: Rc<Plan>,
    facts: Facts,
    /// Runs of earlier invocations that were excluded because the machine disturbed them.
    superseded: &'a [RunKey],
    pub(super) runner: Runner<'a>,
    pub(super) results: Results,
    pace: Pace,
    done: Vec<PastRun>,
    /// Number of `done` runs from earlier invocations.
    before: usize,
    /// The current round; 0 before the first.
    round: u32,
    /// The copy that runs while the others are stopped.
    alone: Option<At>,
    marked: BTreeSet<i64>,
    /// Why disturbed blocks were measured again, by their runs at that time.
    again_because: BTreeMap<RunKey, String>,
    /// Excluded runs of this invocation.
    repeated: usize,
    /// Whether the limit of repetitions was reported.
    said_enough: bool,
    remarks: Remarks,
    few: BTreeSet<String>,
    began: Instant,
    /// Time until the first run, before that is stored.
    setup: Option<Duration>,
    again: bool,
    /// The jobs that were done now, if there are only jobs.
    jobs: Vec<DoneJob>,
    /// Runs that are stored with the next ones.
    pending: Vec<Finished>,
    /// While there are some, the first interrupt lets the others finish: a part would not be stored.
    measuring: Option<StopPhase>,
    /// Why runs of a calibration are no longer stored: they are reported nevertheless.
    not_stored: Option<Error>,
    /// Reasons of suspended runs, as text, and advice for the first.
    waiting: Vec<String>,
    advice: &'static str,
}

impl<'a> Execution<'a> {
    pub(super) fn begin(
        file: &'a ExperimentFile,
        begun: &'a Invocation,
        stages: Vec<(At, Stage)>,
        results: Results,
        progress: &'a mut dyn Progress,
        stop: &'a Stop,
        began: Instant,
    ) -> Self {
        let plan = &begun.plan;
        let done: Vec<PastRun> = begun.done.clone();
        let mut runner = Runner::new(stages, progress, stop);
        if let Some(part) = plan.shared_part() {
            runner.share(SharedLoad { part, plan: identity::hash(&plan.content), patience: begun.patience });
        }
        Self {
            pace: Pace::of(plan),
            runner,
            before: done.len(),
            file,
            plan: Rc::new(plan.clone()),
            facts: begun.facts.clone(),
            superseded: &begun.superseded,
            results,
            done,
            round: 0,
            alone: None,
            marked: BTreeSet::new(),
            again_because: BTreeMap::new(),
            repeated: 0,
            said_enough: false,
            remarks: Remarks::new(),
            few: BTreeSet::new(),
            began,
            setup: None,
            again: begun.again,
            jobs: Vec::new(),
            pending: Vec::new(),
            measuring: None,
            not_stored: None,
            waiting: Vec::new(),
            advice: "",
        }
    }

    /// Stores the jobs; existing data of an earlier invocation are in the experiment already.
    pub(super) fn keep_jobs(&mut self, jobs: &[(At, Vec<PreparedJob>)]) -> Result<(), Error> {
        // The tables of a calibration say nothing about the load generator.
        if self.calibrates() {
            return Ok(());
        }
        let known = self.results.finished();
        let stored: Vec<&RunKey> = known.iter().flatten().filter(|key| key.round == 0).collect();
        let (mut done, mut servers) = (Vec::new(), Vec::new());
        for (at, job) in jobs.iter().flat_map(|(at, jobs)| jobs.iter().map(move |job| (at, job))) {
            let name = match at.to_string() {
                only if only.is_empty() => job.name.clone(),
                at => format!("{} on {at}", job.name),
            };
            if job.reused && stored.iter().any(|key| key.workload == name) {
                continue;
            }
            let mut finished = job.record.to_run(&name, (stored.len() + done.len()) as u32, job.reused);
            if self.plan.content.has_only_jobs() {
                let stage = self.runner.stage(at)?;
                judge(&mut finished.run, stage);
                servers.push(stage.target.redacted());
            }
            done.push(finished);
        }
        if done.is_empty() {
            return known.map(drop);
        }
        let kept = known.and_then(|_| self.results.keep(&mut done));
        // Where runs follow, no server is named.
        let done = done.into_iter().zip(servers);
        self.jobs = done.map(|(finished, server)| DoneJob { server, run: finished.run }).collect();
        kept.map(drop).map_err(|error| error.attach(UnstoredJobs(self.jobs.clone())))
    }

    pub(super) fn carry_out(&mut self) -> Result<Outcome, Error> {
        let ready = self.get_ready();
        let plan = Rc::clone(&self.plan);
        let course = strategies::of(&plan, self.superseded);
        let result = ready.and_then(|()| self.all(&*course));
        let result = result.map_err(|error| self.runner.explain(placed(self.file, error)));
        self.measuring = None;
        if self.runner.stop().soon() && (result.is_err() || !course.left(&self.done).is_empty()) {
            let planned = course.planned(&self.done);
            return Err(match result {
                // A job that goes on where it stopped knows more than the number of runs.
                Err(error) if error.attached::<StoppedJob>().is_some() => error,
                _ if self.calibrates() => interrupted_calibration(course.measured(self.kept()), planned),
                _ => self.with_search(interrupted(self.kept(), planned, self.again)),
            });
        }
        result?;
        if self.calibrates() {
            let remarks = calibrate::keep(&self.plan, &self.done, host::cores());
            remarks.into_iter().for_each(|remark| self.runner.progress.warn(remark));
        }
        if let Some(error) = self.not_stored.take() {
            let runs = self.done.iter().map(|done| done.run.clone()).collect();
            return Err(UnstoredRuns { plan: Plan::clone(&self.plan), runs }.into_error(&error));
        }
        let experiment = self.results.id().ok_or_else(|| Error::new(Class::Internal, "no run was stored"))?;
        if !self.waiting.is_empty() {
            let planned = course.planned(&self.done);
            let counts = RunCounts { kept: self.kept(), again: self.marked.len(), planned };
            return Err(suspended(experiment, &self.waiting, self.advice, counts));
        }
        let again = course.again(&self.done);
        let now = (self.before..self.done.len()).filter(|place| !again.is_former(*place));
        let now: Vec<&Run> = now.map(|place| &self.done[place].run).collect();
        let count = |validity| now.iter().filter(|run| run.validity == validity).count();
        Ok(Outcome {
            experiment,
            results: self.results.path().to_owned(),
            runs: course.planned(&self.done),
            done_now: now.len(),
            repeated: self.repeated,
            invalid: count(Validity::Invalid),
            suspect: count(Validity::Suspect),
            jobs: std::mem::take(&mut self.jobs),
        })
    }

    fn kept(&self) -> usize {
        self.done.len() - self.pending.len() - self.marked.len() - self.repeated
    }

    fn calibrates(&self) -> bool {
        self.plan.content.calibrate.is_some()
    }

    /// Parts of a load that stopped at different runs go on at the first run that not all of them have.
    fn agree_with_parts(&mut self) -> Result<(), Error> {
        if self.plan.shared_part().is_none() {
            return Ok(());
        }
        let left = strategies::of(&self.plan, self.superseded).left(&self.done);
        let Some(next) = left.first() else { return Ok(()) };
        let first = self.runner.agree(&setups::setup(&self.plan, next), next.sequence)?;
        if first < next.sequence {
            let why = "another part of the load lacks this run";
            let runs = self.results.supersede_from(first, why)?;
            let runs = spec::count(runs as u64, "run");
            self.runner.progress.warn(format!("{runs} of this part: {why}, so all parts measure it again"));
            let later = self.plan.runs.iter().filter(|run| run.sequence >= first);
            let later: BTreeSet<RunKey> = later.map(PlannedRun::key).collect();
            self.done.retain(|done| !later.contains(&done.run.key()));
            self.before = self.done.len();
        }
        Ok(())
    }

    /// Opens and checks the workloads of the remaining runs.
    fn get_ready(&mut self) -> Result<(), Error> {
        self.agree_with_parts()?;
        if self.calibrates() {
            return calibration::get_ready(&mut self.runner, &self.plan);
        }
        let left = strategies::of(&self.plan, self.superseded).left(&self.done);
        if left.is_empty() {
            return Ok(());
        }
        let mut guard = Guard::new(&self.plan, self.file.folder(), &mut self.runner, &self.results);
        guard.look(&left)?;
        let Guard { remarks, texts, failed, .. } = guard;
        let failed = failed.into_facts();
        self.remarks = remarks;
        self.results.add_texts(texts);
        self.leave_out(failed)?;
        let left = strategies::of(&self.plan, self.superseded).left(&self.done);
        self.learn_from_earlier(&left)?;
        // The rates of a search are not known yet.
        let searches = self.plan.content.measure.search.is_some();
        if searches || left.iter().any(|run| run.rate.is_some()) {
            judge_by_host(&mut self.runner, self.plan.seed());
        }
        Ok(())
    }

    /// From now on the plan is without these parts, and stays so.
    fn leave_out(&mut self, failed: Vec<Fact>) -> Result<(), Error> {
        if !self.plan.decisions.left_out.needs().any(|needed| needed == Needed::Checks) {
            return Ok(());
        }
        let learnt: Vec<Fact> = failed.into_iter().chain([Fact::Checked]).collect();
        learnt.iter().for_each(|fact| self.facts.learn(fact.clone()));
        self.plan = Rc::new(resolve(self.file, &self.facts)?);
        self.results.learn(learnt, recorded(&self.plan));
        Ok(())
    }

    fn all(&mut self, course: &dyn Course) -> Result<(), Error> {
        let is_known = course.left(&self.done).iter().all(|run| self.pace.knows(run));
        let planned = course.planned(&self.done);
        let left = if is_known { self.left(course, &[]) } else { Duration::ZERO };
        // The number of trials of a search is not known beforehand.
        let [least, most] = course.usual(&self.done).map(|runs| runs.saturating_sub(self.before) as f64);
        let by_run = left.as_secs_f64() / (planned - self.before).max(1) as f64;
        let [left, at_most] = match least < most {
            true => [least, most].map(|runs| Duration::from_secs_f64(by_run * runs)),
            false => [left; 2],
        };
        self.runner.progress.event(LabEvent::Begin {
            planned,
            stored: self.before,
            left,
            left_at_most: (left < at_most).then_some(at_most),
            results: self.results.path().to_owned(),
        });
        self.setup = Some(self.began.elapsed());
        while let Some(block) = course.next(&self.done) {
            let is_stopped = self.pending.is_empty() && self.runner.stop().soon();
            if is_stopped || !self.block(course, &block)? {
                break;
            }
        }
        Ok(())
    }

    fn learn_from_earlier(&mut self, left: &[PlannedRun]) -> Result<(), Error> {
        let jobs: BTreeMap<&String, &PlannedRun> =
            left.iter().filter(|run| run.is_job()).map(|run| (&run.workload, run)).collect();
        for (workload, run) in jobs {
            let ready = self.runner.ready(&setups::setup(&self.plan, run).asked());
            let bytes = ready.and_then(|ready| Some(jobs::input_bytes(ready.workload.job()?)));
            if let Some(seconds) = self.results.usual_job_s(bytes.unwrap_or_default())? {
                self.pace.learn(workload, seconds);
            }
        }
        Ok(())
    }

    /// Measures the runs of a block and stores them together; false when interrupted.
    fn block(&mut self, course: &dyn Course, block: &RunBlock) -> Result<bool, Error> {
        let start = Instant::now();
        self.arrange_copies(&block.runs[0].run, &block.runs[0].setup)?;
        if self.plan.content.varies_storage() {
            self.pace.switched(start.elapsed());
        }
        let turns = turns::turns(&self.plan, &block.runs[0].run).filter(|_| block.runs.len() > 1);
        let in_turn = turns.is_some();
        let taken = match turns {
            Some(how) => self.in_turn(course, block, &how)?,
            None => self.one_after_the_other(course, block)?,
        };
        let Some(taken) = taken else { return Ok(false) };
        let (mut runs, mut causes, mut lines) = (Vec::new(), Vec::new(), Vec::new());
        for (finished, cause, line) in taken {
            runs.push(self.kept_run(&finished.run));
            self.pending.push(finished);
            causes.push(cause);
            lines.extend(line);
        }
        let stored = if block.with_next { Ok(vec![0; runs.len()]) } else { self.store(runs.len()) };
        // A run that is reported is stored. If it cannot be, it is reported too, so that no result is lost.
        lines.into_iter().for_each(|line| self.runner.progress.event(line));
        let numbers = stored.map_err(|error| {
            let runs = match runs.len() {
                1 => "the last run above is".to_owned(),
                several => format!("the last {several} runs above are"),
            };
            let text = format!("{error}; {runs} not stored");
            error.in_words(text)
        })?;
        if !block.with_next {
            for next in &block.runs {
                self.runner.stored(&next.setup)?;
            }
        }
        let waits = Aside::of(&self.done).waits.len();
        let repeated = course.again(&self.done).repeated.len();
        for (position, ((run, cause), number)) in runs.into_iter().zip(causes).zip(numbers).enumerate() {
            let cause = cause.filter(|_| course.may_set_aside(&run));
            self.done.push(PastRun { run, cause, number, in_turn: in_turn && position > 0 });
        }
        if let Some(words) = course.trial_words(&self.done) {
            self.runner.progress.step(ExperimentStep::Measure, words);
        }
        if block.with_next {
            let stop = self.runner.stop();
            self.measuring.get_or_insert_with(|| stop.measuring());
        } else {
            self.measuring = None;
        }
        self.set_aside(waits)?;
        self.measure_again(course, repeated)?;
        Ok(true)
    }

    /// Stores all pending runs together, and returns the numbers of the last of them.
    fn store(&mut self, last: usize) -> Result<Vec<i64>, Error> {
        let mut pending = std::mem::take(&mut self.pending);
        if self.not_stored.is_some() {
            return Ok(vec![0; last]);
        }
        self.runner.progress.step(ExperimentStep::Store, self.results.path().display().to_string());
        match self.results.keep(&mut pending) {
            Ok(numbers) => Ok(numbers[numbers.len() - last..].to_vec()),
            Err(error) if self.calibrates() => {
                self.not_stored = Some(error);
                Ok(vec![0; last])
            }
            Err(error) => Err(error),
        }
    }

    /// What a strategy needs of a run.
    fn kept_run(&self, run: &Run) -> Run {
        // The results of a calibration are computed from them, also if they cannot be stored.
        if self.calibrates() { run.clone() } else { light(run.clone()) }
    }

    /// Runs of a block one after the other; `None` when interrupted.
    fn one_after_the_other(
        &mut self,
        course: &dyn Course,
        block: &RunBlock,
    ) -> Result<Option<Vec<Taken>>, Error> {
        let stop = self.runner.stop();
        let mut all = Vec::with_capacity(block.runs.len());
        // Once one is measured, the first interrupt lets all of them finish: a part would not be stored.
        let mut begun = None;
        for (position, next) in block.runs.iter().enumerate() {
            if !block.goes_on {
                self.tell_started(course, block, position);
            }
            let start = Instant::now();
            // The servers are placed for the first run.
            let moves = position > 0 && self.plan.content.varies_storage();
            if moves {
                self.arrange_copies(&next.run, &next.setup)?;
            }
            if self.runner.switch_to(&next.setup)? || moves {
                self.pace.switched(start.elapsed());
            }
            let start = Instant::now();
            let keep = Keep::Distributions(self.results.path());
            let explain = self.plan.explains(&next.run).then(|| self.plan.check_time());
            let steps = if self.calibrates() { RunSteps::NONE } else { RunSteps::FULL };
            let steps = RunSteps { more_clients: next.more_clients, explain, ..steps };
            let done = self.runner.run(&next.run, &next.setup, steps, keep).map(|done| vec![done]);
            let mut done = self.with_crashes(std::slice::from_ref(next), done)?;
            let Some(done) = done.pop() else { return Ok(None) };
            let Some(taken) = self.take(course, &block.runs[..=position], done, start.elapsed())? else {
                return Ok(None);
            };
            all.push(taken);
            begun.get_or_insert_with(|| stop.measuring());
        }
        Ok(Some(all))
    }

    /// All runs of a block in turns; `None` when interrupted.
    fn in_turn(
        &mut self,
        course: &dyn Course,
        block: &RunBlock,
        how: &Turns,
    ) -> Result<Option<Vec<Taken>>, Error> {
        self.tell_started(course, block, 0);
        let start = Instant::now();
        let keep = Keep::Distributions(self.results.path());
        let turns = block.runs.iter().map(|Next { run, setup, .. }| Turn {
            run,
            setup,
            explain: self.plan.explains(run).then(|| self.plan.check_time()),
        });
        let turns: Vec<_> = turns.collect();
        let measured = self.runner.run_in_turn(&turns, how, keep);
        let (measured, lengths) = match measured {
            Ok((done, lengths)) => (Ok(done), lengths),
            Err(error) => (Err(error), None),
        };
        let done = self.with_crashes(&block.runs, measured)?;
        if let Some(lengths) = lengths {
            let runs = done.iter().map(|done| done.finished.run.uuid.clone()).collect();
            self.results.add_facts(vec![Fact::Transactions { runs, lengths }]);
        }
        let each = start.elapsed() / done.len() as u32;
        let mut all = Vec::with_capacity(done.len());
        for (position, done) in done.into_iter().enumerate() {
            let Some(taken) = self.take(course, &block.runs[..=position], done, each)? else {
                return Ok(None);
            };
            all.push(taken);
        }
        Ok(Some(all))
    }

    /// A crash of a server is a result of its arm. A search and a calibration end with it: they need each run.
    fn with_crashes(
        &mut self,
        runs: &[Next],
        measured: Result<Vec<MeasuredRun>, Error>,
    ) -> Result<Vec<MeasuredRun>, Error> {
        if self.calibrates() || self.plan.content.measure.search.is_some() {
            return measured;
        }
        let runs: Vec<_> = runs.iter().map(|Next { run, setup, .. }| CrashedRun { run, setup }).collect();
        self.runner.with_crashes(&runs, measured)
    }

    /// Measures the last of these runs of a block; `None` when interrupted.
    fn take(
        &mut self,
        course: &dyn Course,
        over: &[Next],
        mut done: MeasuredRun,
        took: Duration,
    ) -> Result<Option<Taken>, Error> {
        let Some(next) = over.last() else { return Ok(None) };
        // Another invocation would need this time before its first run.
        let setup = self.setup.take().map(|setup| (figures::SETUP_S, setup.as_secs_f64()));
        done.finished.run.figures.extend(setup);
        let arm = next.run.arm.clone().unwrap_or_default();
        let remarks = self.remarks.get(&(next.setup.asked(), arm));
        done.finished.run.events.extend(remarks.into_iter().flatten().cloned());
        let turns = turns::turns_event(&self.plan, &self.facts, &next.run);
        let turns = turns.map(|(kind, detail)| RunEvent { time_us: 0, kind: kind.to_owned(), detail });
        done.finished.run.events.extend(turns);
        let why = self.again_because.get(&next.run.key()).cloned();
        done.finished.run.events.extend(why.map(|detail| RunEvent {
            time_us: 0,
            kind: RunEvent::AGAIN.to_owned(),
            detail,
        }));
        if let Some(lost) = done.lost {
            return Err(lost);
        }
        if self.runner.stop().at_once() || done.measured.interrupted {
            return Ok(None);
        }
        self.pace.ran(&next.run, took);
        self.tell_few(&done.finished.run);
        let left = self.left(course, over);
        let planned = course.planned(&self.done);
        let line = course
            .reported(&self.done, &done.finished.run)
            .map(|run| LabEvent::finished(&run, next.number, planned, next.what.clone(), left));
        Ok(Some((done.finished, done.cause, line)))
    }

    /// Reports the first run of a workload with too few transactions: the others will not have more.
    fn tell_few(&mut self, run: &Run) {
        let content = &self.plan.content;
        // A search tries other rates.
        let compares = content.compare.is_some() && content.measure.search.is_none();
        // A calibration chooses the lengths of its runs.
        let few = few::seen(run, compares).filter(|_| !self.calibrates());
        if let Some(few) = few.filter(|_| self.few.insert(run.workload.clone())) {
            self.runner.progress.warn(few);
        }
    }

    /// Restarts copies each round; all run, unless a run needs to be alone. With several storages this holds
    /// for each run.
    fn arrange_copies(&mut self, run: &PlannedRun, setup: &Setup) -> Result<(), Error> {
        if self.plan.content.varies_storage() {
            return self.runner.start_alone(&setup.at());
        }
        if self.plan.copies().is_none() {
            return Ok(());
        }
        if self.round != run.round {
            if self.round == 0 || !self.plan.content.keeps_sessions() {
                self.runner.mark_restart();
            }
            (self.round, self.alone) = (run.round, None);
            self.runner.wake_all()?;
        }
        let alone = self.plan.runs_alone(run).then(|| setup.at());
        if self.alone == alone {
            return Ok(());
        }
        self.alone.clone_from(&alone);
        match alone {
            Some(at) => self.runner.leave_alone(&at),
            None => self.runner.wake_all(),
        }
    }

    fn tell_started(&mut self, course: &dyn Course, block: &RunBlock, position: usize) {
        let Next { run, what, number, takes, .. } = &block.runs[position];
        let takes = if run.is_job() { Duration::from_secs_f64(self.pace.takes_s(run)) } else { *takes };
        let after = course.left(&self.done);
        let next = after.iter().skip(position + 1).map(|run| setups::words_of(&self.plan, run)).next();
        let left = self.left(course, &block.runs[..position]);
        self.runner.progress.event(LabEvent::RunStarted {
            number: *number,
            planned: course.planned(&self.done),
            what: what.clone(),
            takes,
            next,
            left,
        });
    }

    /// Suspends what was invalid twice in a row and marks those two runs to be measured again; `before` was
    /// suspended already.
    fn set_aside(&mut self, before: usize) -> Result<(), Error> {
        for waits in &Aside::of(&self.done).waits[before..] {
            let last = self.done.iter().find(|done| done.number == waits.seen);
            let doubts = last.iter().flat_map(|done| &done.run.doubts);
            let why: Vec<_> = doubts.map(Doubt::to_string).collect();
            let why = format!(
                "{}: two runs in a row are invalid for the same cause ({})",
                waits.what,
                why.join("; ")
            );
            self.results.set_aside(&waits.runs, &why)?;
            self.marked.extend(&waits.runs);
            self.runner.progress.warn(format!("{why}; its other runs are left for later"));
            if self.waiting.is_empty() {
                let code = last.and_then(|done| done.cause.as_ref()?.code.as_deref());
                self.advice = code.map_or("", |code| advice_on_sqlstate(code, &why));
            }
            self.waiting.push(why);
        }
        Ok(())
    }

    /// Measures disturbed runs again and excludes them; `before` was decided already.
    fn measure_again(&mut self, course: &dyn Course, before: usize) -> Result<(), Error> {
        let again = course.again(&self.done);
        for Repeated { runs, why } in &again.repeated[before..] {
            self.results.supersede(runs, why)?;
            self.repeated += runs.len();
            let former = self.done.iter().filter(|done| runs.contains(&done.number));
            self.again_because.extend(former.map(|done| (done.run.key(), why.clone())));
            self.runner.progress.warn(why.clone());
        }
        if again.beyond > 0 && !self.said_enough {
            self.said_enough = true;
            let enough = "a quarter of the planned runs was measured again because the machine disturbed them: what it disturbs \
                          from now on stays as it is, suspect; a quieter machine answers sooner, and longer runs are disturbed less";
            self.runner.progress.warn(enough);
        }
        Ok(())
    }

    /// Lets the caller print what the trials of an unfinished search showed.
    fn with_search(&self, error: Error) -> Error {
        let has_trials = self.done.iter().any(|done| done.run.tried_level().is_some());
        match self.results.id().filter(|_| has_trials) {
            Some(experiment) => error.attach(SuspendedRuns { experiment }),
            None => error,
        }
    }

    fn left(&self, course: &dyn Course, over: &[Next]) -> Duration {
        if let Some(left) = course.time_left(self.done.len() + over.len()) {
            return left;
        }
        let over: BTreeSet<u32> = over.iter().map(|next| next.run.sequence).collect();
        let left = course.left(&self.done);
        let left: Vec<_> = left.into_iter().filter(|run| !over.contains(&run.sequence)).collect();
        if self.plan.copies().is_some() {
            let starts = self.plan.starts(&left.iter().collect::<Vec<_>>());
            return self.pace.left(left.iter(), starts);
        }
        if self.plan.content.varies_storage() {
            return self.pace.left(left.iter(), left.len());
        }
        let mut switches = 0;
        let mut state = None;
        for run in left.iter().filter(|run| !run.beside) {
            let next = Some(self.plan.content.state_of(run));
            switches += usize::from(state != next);
            state = next;
        }
        self.pace.left(left.iter(), switches)
    }

    /// Restores settings and stops what was started; copies are kept if the experiment `goes_on` later.
    pub(super) fn close(mut self, goes_on: bool) -> Result<(), Error> {
        let file = self.file;
        let removed = if goes_on { Ok(()) } else { self.runner.remove_copies() };
        self.runner.close().and(removed).map_err(|error| placed(file, error))
    }
}

/// A job that is not one run of several: nothing but the machine can make it doubtful.
fn judge(run: &mut Run, stage: &mut Stage) {
    let machine = Machine::of_job(&run.figures);
    (run.validity, run.doubts) = judge_job(&JobEvidence { machine, ..JobEvidence::default() });
    concurrent::mark(run, stage.others_measuring());
}

/// A run without the data that only the file keeps.
pub(super) fn light(mut run: Run) -> Run {
    (run.settings, run.scripts, run.series) = Default::default();
    (run.samples, run.artifacts, run.events) = Default::default();
    run
}

/// The stored form of a plan.
fn recorded(plan: &Plan) -> Recorded {
    without_credentials(plan)
}

/// The record of the experiment; `file_text` is empty without a file.
pub(crate) fn record_of(
    file_text: String,
    plan: &Plan,
    arms: Vec<spec::ArmRecord>,
) -> spec::ExperimentRecord {
    let compare = plan.content.compare.as_ref();
    spec::ExperimentRecord {
        hash: identity::hash(&plan.content),
        name: plan.name.clone(),
        question: plan.question.clone(),
        file_text,
        plan: recorded(plan),
        seed: plan.seed(),
        order_scheme: plan.scheme().into(),
        rounds: plan.rounds,
        compare_factor: compare.map(|compare| compare.factor.clone()),
        base: compare.map(|compare| compare.base.clone()),
        arms,
        margin: compare.map_or(0.03, |compare| compare.margin),
        taste: plan.taste.clone(),
        created_at: jiff::Timestamp::now().to_string(),
        control: None,
        parts: plan.part.into_iter().collect(),
    }
}
