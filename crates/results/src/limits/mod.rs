//! The limit of each cell and arm, from the stored trials.

mod broke;
mod confirm;
mod findings;
mod generator;
mod peak;
mod peaks;
mod range;
mod search;
mod slowest;
mod tried;

use std::collections::BTreeSet;

use spec::{AskedLimit, ExperimentRecord, Run, RunKey, RunKind};
use stats::{LimitClass, LimitEnded};

pub use self::broke::{Broke, BrokenTerm, Cause, Waited};
pub use self::confirm::{Confirmed, Shaped};
pub use self::findings::{Findings, TriedRate};
pub use self::generator::GeneratorLimit;
pub use self::peak::{FarPeak, WhyFar};
pub use self::search::{ArmLimit, CellLimit, LimitNext, LimitState};
pub use self::slowest::SlowestScript;
use crate::cells::CellFigures;
use crate::comparison::Cell;

/// The limits that an experiment searches for.
#[derive(Debug, Clone)]
pub struct Limits<'r> {
    pub asked: AskedLimit,
    /// Change that counts as none, as a share; if arms are compared.
    pub margin: f64,
    /// Share of the registered people who are active at a time, if the experiment assumes one.
    pub active_share: Option<f64>,
    /// Whether users come and go, so that the number at a time is the mean of active ones.
    pub come_and_go: bool,
    /// In the order of their start.
    pub cells: Vec<FoundLimit<'r>>,
}

/// The result of the search for the limit of a cell.
#[derive(Debug, Clone)]
pub struct FoundLimit<'r> {
    /// Without the rate, and without the clients if these grow.
    pub cell: Cell,
    pub limit: CellLimit<'r>,
}

/// The limit of an arm over the base's.
#[derive(Debug, Clone, PartialEq)]
pub struct Ratio {
    pub arm: String,
    /// Of the middles between the bounds.
    pub ratio: f64,
    /// Its bounds: lower bound over the base's upper one, and the reverse.
    pub lowest: f64,
    pub highest: f64,
}

/// The meaning of a ratio of limits, by its bounds and a margin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RatioVerdict {
    Same,
    Higher,
    Lower,
    Inconclusive,
}

/// The outcome of all searches of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchOutcome {
    /// Each limit was found, or the promise holds within all bounds.
    Found,
    Never,
    /// Somewhere it is not known: irregular, ended by the load generator, or doubted.
    Undecided,
    Invalid,
}

impl<'r> Limits<'r> {
    /// The limits of an experiment from its runs in order of execution; `None` if it searches for none.
    #[must_use]
    pub fn of(experiment: &ExperimentRecord, runs: &'r [Run]) -> Option<Self> {
        let asked = asked(experiment)?;
        let trials = runs.iter().filter(|run| run.kind == RunKind::Client && !run.beside);
        let trials: Vec<&Run> = trials.filter(|run| run.set_aside.is_none()).collect();
        let mut cells: Vec<(Cell, Vec<&Run>)> = Vec::new();
        for run in trials {
            let cell = searched(&asked, Cell::of(run));
            match cells.iter_mut().find(|(known, _)| *known == cell) {
                Some((_, own)) => own.push(run),
                None => cells.push((cell, vec![run])),
            }
        }
        let arms: Vec<Option<String>> = match &experiment.arms[..] {
            [] | [_] => vec![cells.iter().flat_map(|(_, runs)| runs).find_map(|run| run.arm.clone())],
            several => {
                let mut names: Vec<String> = several.iter().map(|arm| arm.name.clone()).collect();
                names.sort_by_key(|name| Some(name) != experiment.base.as_ref());
                names.into_iter().map(Some).collect()
            }
        };
        let found = |(cell, runs): (Cell, Vec<&'r Run>)| {
            let clients = runs.first().map_or(1, |run| run.clients);
            // The server's connection limit is no longer known; the search ended with these clients.
            let most = runs.iter().map(|run| run.clients).max();
            let of = |most| CellLimit::of(&asked, &arms, (clients, most), &runs);
            let open = Some(of(None)).filter(|limit| asked.are_users() && limit.next == LimitNext::Ended);
            FoundLimit { cell, limit: open.unwrap_or_else(|| of(most)) }
        };
        let cells = cells.into_iter().map(found).collect();
        let plan = experiment.plan.plan();
        let users = plan.and_then(|plan| plan.content.measure.load.users());
        let sessions = users.and_then(|users| users.sessions.as_ref());
        Some(Self {
            margin: experiment.margin,
            active_share: users.and_then(|users| users.active_share),
            come_and_go: sessions.is_some_and(|sessions| !sessions.arrivals.are_always_there()),
            cells,
            asked,
        })
    }

    /// The trials that count, of all searches.
    #[must_use]
    pub fn counted_trials(&self) -> BTreeSet<RunKey> {
        let arms = self.cells.iter().flat_map(|cell| &cell.limit.arms);
        let trials = arms
            .flat_map(|arm| arm.trials.iter().chain(arm.confirmed.iter().flat_map(|shape| &shape.trials)));
        trials.map(|run| run.key()).collect()
    }

    /// The outcome of all; the gravest counts.
    #[must_use]
    pub fn outcome(&self) -> SearchOutcome {
        let each = self.cells.iter().flat_map(|found| found.outcome(&self.asked));
        let gravest = |outcome: &SearchOutcome| match outcome {
            SearchOutcome::Found => 0,
            SearchOutcome::Never => 1,
            SearchOutcome::Undecided => 2,
            SearchOutcome::Invalid => 3,
        };
        let all: Vec<SearchOutcome> = each.collect();
        if all.iter().all(|outcome| *outcome == SearchOutcome::Invalid) {
            return SearchOutcome::Invalid;
        }
        all.into_iter().max_by_key(|outcome| gravest(outcome).min(2)).map_or(
            SearchOutcome::Invalid,
            |worst| match worst {
                SearchOutcome::Invalid => SearchOutcome::Undecided,
                other => other,
            },
        )
    }
}

impl FoundLimit<'_> {
    /// The outcomes of its searches. An arm that was not tried although the base keeps the promise has no
    /// outcome for a change.
    fn outcome(&self, asked: &AskedLimit) -> Vec<SearchOutcome> {
        if self.far_peak(asked).is_some_and(|far| far.why == WhyFar::Unknown) {
            return vec![SearchOutcome::Undecided];
        }
        let each: Vec<SearchOutcome> = self.limit.arms.iter().filter_map(|arm| outcome(asked, arm)).collect();
        let not_tried = self.limit.arms.iter().any(|arm| arm.state == LimitState::NotTried);
        match each[..] {
            [SearchOutcome::Found] if not_tried => vec![SearchOutcome::Undecided],
            _ => each,
        }
    }

    /// Each arm's limit over the base's, if both have bounds.
    #[must_use]
    pub fn ratios(&self, asked: &AskedLimit) -> Vec<Ratio> {
        let Some((base, others)) = self.limit.arms.split_first() else { return Vec::new() };
        let ratio = |arm: &ArmLimit<'_>| {
            let ((lower, upper), (base_lower, base_upper)) = (arm.bounds(asked)?, base.bounds(asked)?);
            Some(Ratio {
                arm: arm.arm.clone()?,
                ratio: ((lower * upper) / (base_lower * base_upper)).sqrt(),
                lowest: lower / base_upper,
                highest: upper / base_lower,
            })
        };
        others.iter().filter_map(ratio).collect()
    }

    /// Figures of an arm's runs at a rate, among those of the grid: the same in every output.
    #[must_use]
    pub fn figures_at<'a>(
        &self,
        asked: &AskedLimit,
        grid: &'a [CellFigures],
        arm: Option<&str>,
        rate: f64,
    ) -> Option<&'a CellFigures> {
        grid.iter().find(|figures| {
            let level = if asked.are_users() { Some(f64::from(figures.clients)) } else { figures.rate };
            level == Some(rate)
                && figures.changing_rate.is_none()
                && figures.arm.as_deref() == arm
                && searched(asked, figures.cell.clone()) == self.cell
        })
    }

    /// The fastest run at full speed, if it did far more than the limit of the base, with the explanation.
    #[must_use]
    pub fn far_peak(&self, asked: &AskedLimit) -> Option<FarPeak> {
        let (_, upper) = self.limit.arms.first()?.bounds(asked)?;
        FarPeak::of(asked, self.limit.peak_run?, upper)
    }
}

impl Ratio {
    /// The verdict if changes up to this margin (a share) count as none.
    #[must_use]
    pub fn verdict(&self, margin: f64) -> RatioVerdict {
        // The bounds alone are as wide as both searches' widths: a verdict of "same" within less needs a
        // smaller width.
        if self.lowest > 1.0 - margin && self.highest < 1.0 + margin {
            RatioVerdict::Same
        } else if self.lowest > 1.0 {
            RatioVerdict::Higher
        } else if self.highest < 1.0 {
            RatioVerdict::Lower
        } else {
            RatioVerdict::Inconclusive
        }
    }
}

fn outcome(asked: &AskedLimit, arm: &ArmLimit<'_>) -> Option<SearchOutcome> {
    Some(match arm.state {
        LimitState::NotTried => return None,
        _ if arm.trials.is_empty() => SearchOutcome::Invalid,
        LimitState::Ended(_) if arm.is_irregular() || arm.generator(asked).is_some() => {
            SearchOutcome::Undecided
        }
        LimitState::Ended(LimitEnded { lower: None, .. })
            if arm.one_decides(asked) || arm.has_too_few_below(asked) =>
        {
            SearchOutcome::Undecided
        }
        LimitState::Ended(LimitEnded { lower: None, upper: Some(upper), .. })
            if Broke::at(asked, arm, upper).is_some_and(|broke| broke.cause.is_the_machine()) =>
        {
            SearchOutcome::Undecided
        }
        LimitState::Ended(LimitEnded { lower: None, .. }) => SearchOutcome::Never,
        LimitState::Ended(_) if arm.confirmed.iter().any(|shape| shape.class == LimitClass::Undecided) => {
            SearchOutcome::Undecided
        }
        LimitState::Ended(_) => SearchOutcome::Found,
        LimitState::Searching | LimitState::GivenUp => SearchOutcome::Undecided,
    })
}

fn asked(experiment: &ExperimentRecord) -> Option<AskedLimit> {
    experiment.plan.plan()?.content.measure.search.clone()
}

/// The cell of a search: without what the search itself varies.
fn searched(asked: &AskedLimit, mut cell: Cell) -> Cell {
    cell.factors.retain(|factor, _| !asked.varies(factor));
    cell
}
