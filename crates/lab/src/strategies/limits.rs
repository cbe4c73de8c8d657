//! The limit of each cell: a run at full speed gives the start of the search, then trials follow.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use results::limits::{CellLimit, LimitNext};
use spec::plan::{Plan, PlannedRun};
use spec::{AskedLimit, Profile, Reason, Run, figures};

use super::{Aside, Course, Next, PastRun, RunBlock, Strategy};
use crate::plan::cells::label;
use crate::plan::{order, setups};

/// The searches of a plan, cell after cell. Its runs are the fastest of each cell and arm.
pub(crate) struct Limits<'a> {
    plan: &'a Plan,
    asked: &'a AskedLimit,
    /// Most clients that the server accepts, if it matters.
    most_clients: Option<u32>,
}

impl<'a> Limits<'a> {
    pub(crate) fn new(plan: &'a Plan, asked: &'a AskedLimit) -> Self {
        let most_clients = plan.decisions.clients.as_ref().and_then(|decision| *decision.value());
        Self { plan, asked, most_clients }
    }

    /// The cells that are not suspended, each as the full-speed runs of its arms, base first.
    fn cells(&self, done: &[PastRun]) -> Vec<Vec<&'a PlannedRun>> {
        let aside = Aside::of(done);
        let mut cells: Vec<Vec<&PlannedRun>> = Vec::new();
        for run in self.plan.runs.iter().filter(|run| !run.beside) {
            if aside.holds_any(&run.workload, |factors| self.is_cell(run, factors)) {
                continue;
            }
            match cells.iter_mut().find(|cell| cell[0].factors == run.factors) {
                Some(cell) => cell.push(run),
                None => cells.push(vec![run]),
            }
        }
        for cell in &mut cells {
            cell.sort_by_key(|run| self.plan.content.arm_names().iter().position(|arm| *arm == run.arm));
        }
        cells
    }

    fn at<'r>(&self, cell: &[&PlannedRun], done: &'r [PastRun]) -> CellLimit<'r> {
        let own = |run: &&'r Run| self.is_of(cell[0], run);
        let runs: Vec<&Run> = done.iter().map(|done| &done.run).filter(own).collect();
        let arms: Vec<Option<String>> = cell.iter().map(|run| run.arm.clone()).collect();
        CellLimit::of(self.asked, &arms, (cell[0].clients, self.most_clients), &runs)
    }

    /// Whether a run belongs to a cell, whatever its arm, its rate and, if these grow, its clients.
    fn is_of(&self, cell: &PlannedRun, run: &Run) -> bool {
        self.is_cell(cell, &run.factors) && run.round > 0
    }

    fn is_cell(&self, cell: &PlannedRun, factors: &BTreeMap<String, String>) -> bool {
        let own = |key: &&String| !self.asked.varies(key);
        let levels = factors.iter().filter(|(key, _)| own(key));
        levels.eq(cell.factors.iter().filter(|(key, _)| own(key)))
    }

    /// The runs of the next block of a cell, and a text about them; none when it ended.
    fn next_of(
        &self,
        cell: &[&PlannedRun],
        at: &CellLimit<'_>,
        sequence: usize,
    ) -> (Vec<PlannedRun>, String) {
        let of = |arm: &Option<String>| cell.iter().find(|run| run.arm == *arm).copied().unwrap_or(cell[0]);
        match &at.next {
            LimitNext::Peak { clients, round } => {
                (vec![self.run(cell[0], None, *clients, *round, sequence)], "as fast as they can".to_owned())
            }
            LimitNext::Trial { rate, clients, round, arms, between } => {
                // Users are clients.
                let (profile, clients) = match self.asked.are_users() {
                    true => (None, rate.round() as u32),
                    false => (Some(Profile::Constant(*rate)), *clients),
                };
                let runs =
                    arms.iter().zip(sequence..).zip(1..).map(|((arm, sequence), position)| PlannedRun {
                        position_in_pair: position,
                        ..self.run(of(arm), profile.as_ref(), clients, *round, sequence)
                    });
                (runs.collect(), self.between_words(*between))
            }
            LimitNext::Confirm { shaped, clients, round, arm } => {
                let run = self.run(of(arm), Some(&shaped.offered), *clients, *round, sequence);
                (vec![run], format!("{} of the limit", shaped.shares))
            }
            LimitNext::Ended => (Vec::new(), String::new()),
        }
    }

    /// `lookup, 8 clients, 2676/s, trial 3: the limit is below 2754/s`.
    fn words(&self, run: &PlannedRun, told: &str) -> String {
        let words = setups::words_of(self.plan, run);
        let round = format!(", round {}", run.round);
        let named = words.strip_suffix(&round).unwrap_or(&words);
        match run.rate {
            Some(_) => format!("{named}, trial {}: {told}", run.round),
            None if self.asked.are_users() => format!("{named}, trial {}: {told}", run.round),
            None => format!("{named}: {told}"),
        }
    }

    fn between_words(&self, [lower, upper]: [Option<f64>; 2]) -> String {
        let of = |level: f64| self.asked.level_words(level);
        match (lower, upper) {
            (Some(lower), Some(upper)) => format!("the limit is between {} and {}", of(lower), of(upper)),
            (Some(lower), None) => format!("the limit is above {}", of(lower)),
            (None, Some(upper)) => format!("the limit is below {}", of(upper)),
            (None, None) => "the limit is not bounded yet".to_owned(),
        }
    }

    fn run(
        &self,
        cell: &PlannedRun,
        rate: Option<&Profile>,
        clients: u32,
        round: u32,
        sequence: usize,
    ) -> PlannedRun {
        let mut factors = (*cell.factors).clone();
        factors.extend(rate.map(|rate| ("rate".to_owned(), rate.to_string())));
        if self.asked.varies("clients") {
            factors.insert("clients".to_owned(), clients.to_string());
        }
        let seed = order::seed_of(self.plan.seed(), round, &label(&factors));
        let factors = Arc::new(factors);
        let threads = cell.threads.max(1).min(clients);
        let rate = rate.map(|rate| rate.mean(self.plan.content.measure.duration_s));
        PlannedRun { sequence: sequence as u32, round, factors, rate, clients, threads, seed, ..cell.clone() }
    }
}

impl Strategy for Limits<'_> {
    fn next(&self, done: &[PastRun]) -> Option<RunBlock> {
        let measure = &self.plan.content.measure;
        let takes = Duration::from_secs_f64(measure.warmup_s + measure.duration_s);
        self.cells(done).iter().find_map(|cell| {
            let at = self.at(cell, done);
            let (runs, told) = self.next_of(cell, &at, done.len());
            let next = |(run, number): (PlannedRun, usize)| Next {
                setup: setups::setup(self.plan, &run),
                what: self.words(&run, &told),
                number,
                takes,
                more_clients: !self.asked.are_users() && run.rate.is_none() && run.clients > cell[0].clients,
                run,
            };
            let runs: Vec<Next> = runs.into_iter().zip(done.len() + 1..).map(next).collect();
            (!runs.is_empty()).then(|| RunBlock::of(runs))
        })
    }
}

impl Course for Limits<'_> {
    fn planned(&self, done: &[PastRun]) -> usize {
        done.len() + self.left(done).len()
    }

    /// Finished runs count already; a search that takes more trials than usual ends as soon as it probably
    /// does.
    fn usual(&self, done: &[PastRun]) -> [usize; 2] {
        let cells = self.cells(done);
        let of = |end: usize| cells.iter().map(|cell| self.at(cell, &[]).usual[end]).sum::<usize>();
        let planned = self.planned(done);
        let at_least = planned.min(of(0).max(done.len()));
        [at_least, planned.max(of(1))]
    }

    /// The probable number: the next block exactly, then placeholder runs of each arm.
    fn left(&self, done: &[PastRun]) -> Vec<PlannedRun> {
        let mut left = Vec::new();
        for cell in self.cells(done) {
            let at = self.at(&cell, done);
            let (runs, _) = self.next_of(&cell, &at, done.len() + left.len());
            if runs.is_empty() {
                continue;
            }
            let more = at.left.saturating_sub(runs.len()).max(cell.len() - 1);
            let stand_in = |(run, sequence): (&&PlannedRun, usize)| PlannedRun {
                sequence: sequence as u32,
                ..(*run).clone()
            };
            let first = done.len() + left.len() + runs.len();
            left.extend(runs);
            left.extend(cell.iter().cycle().take(more).zip(first..).map(stand_in));
        }
        left
    }

    /// A bad trial is a result, and so are a peak with failures and a trial without an arrival; only a run
    /// that cannot count indicates a mistake.
    fn may_set_aside(&self, run: &Run) -> bool {
        let counts =
            [figures::PEAK_PER_S, figures::PROMISE_KEPT].iter().any(|of| run.figures.get(*of).is_some());
        let nothing_came = run.offered_rate.is_some()
            && run.count(figures::DUE) == 0
            && run.doubts.iter().all(|doubt| doubt.reason == Reason::TooShort);
        !counts && !nothing_came
    }
}
