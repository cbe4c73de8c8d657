//! What runs need that may not be available on a machine, and the runs that are left out for it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use spec::plan::{Availability, Decision, Facts, Needed, NotRun, Plan, PlannedRun, Scheme};
use spec::{Class, Error};

use super::calibration;
use super::setups::Setups;
use crate::setup::{Server, Setup};

/// The server of a calibration, which may not be available.
pub(crate) const CALIBRATED: &str = "the server";

/// The server of a run of this setup, as text.
pub(crate) fn of_server(plan: &Plan, setup: &Setup) -> String {
    match &setup.server {
        Server::Sink => "the sink".to_owned(),
        Server::Target(_) if plan.content.calibrate.is_some() => CALIBRATED.to_owned(),
        Server::Target(at) => at.template().to_string(),
    }
}

/// The levels of a run, without its clients, as text.
pub(crate) fn of_cell(plan: &Plan, run: &PlannedRun) -> String {
    if plan.content.calibrate.is_some() {
        return calibration::needs_words(run);
    }
    let arm = run.arm.iter().map(|arm| format!("{} {arm}", plan.content.compared()));
    let cell = run.factors.iter().filter(|(key, _)| *key != "clients");
    let levels = cell.map(|(key, level)| format!("{key} {level}"));
    levels.chain(arm).collect::<Vec<_>>().join(", ")
}

/// The arm of a run, as text; `None` if nothing is compared.
pub(crate) fn of_arm(plan: &Plan, run: &PlannedRun) -> Option<String> {
    Some(format!("{} {}", plan.content.compared(), run.arm.as_ref()?))
}

/// Whether something is left to compare without one of the arms, or without one of its cells.
pub(crate) fn may_lack_an_arm(plan: &Plan) -> bool {
    // Levels that are set by hand are measured one after the other, so no other arm is available.
    if plan.content.compare.is_none() || plan.content.scheme == Scheme::Sets {
        return false;
    }
    let of_grid = || plan.runs.iter().filter(|run| !run.beside);
    let arms: HashSet<_> = of_grid().map(|run| &run.arm).collect();
    if arms.len() > 2 {
        return true;
    }
    let mut cells = HashSet::new();
    of_grid().any(|run| cells.insert(of_cell(plan, run)) && cells.len() > arms.len())
}

/// What the facts say about what one run needs.
struct Requirements<'f> {
    /// What failed its checks: the arm, or that in its cell.
    failed: Option<NotRun>,
    /// Of the server and of the levels.
    of: [Requirement<'f>; 2],
}

struct Requirement<'f> {
    what: String,
    known: Availability<'f>,
}

impl<'f> Requirements<'f> {
    /// `may_fail`: whether arms that fail their checks are left out.
    fn of(
        plan: &Plan,
        setup: &Setup,
        run: &PlannedRun,
        (facts, may_fail): (&BTreeMap<&str, Availability<'f>>, bool),
    ) -> Self {
        let of = |what: &str| facts.get(what).copied().unwrap_or_default();
        let failed = |what: String| Some(NotRun { why: of(&what).failed?.to_owned(), what });
        let of_cell = of_cell(plan, run);
        let is_failed = may_fail.then(|| of_arm(plan, run).into_iter().chain([of_cell.clone()]));
        Self {
            failed: is_failed.into_iter().flatten().find_map(failed),
            of: [of_server(plan, setup), of_cell].map(|what| Requirement { known: of(&what), what }),
        }
    }

    /// Whether nothing was missing when this round was measured.
    fn is_early(&self, round: u32) -> bool {
        self.of.iter().all(|Requirement { known, .. }| {
            known.missing.is_none() && known.found_from.is_none_or(|from| from <= round)
        })
    }

    fn is_found(&self) -> bool {
        self.of.iter().all(|own| own.known.found_from.is_some())
    }

    fn is_missing(&self) -> bool {
        self.of.iter().any(|own| own.known.missing.is_some())
    }

    /// Why the run is left out. `is_begun`: whether its block was measured when a later arm was not available.
    fn not_run(self, round: u32, is_begun: impl Fn() -> bool) -> Option<NotRun> {
        let not_run = |Requirement { what, known }: Requirement<'_>| {
            if let Some(why) = known.missing {
                return Some(NotRun { what, why: why.to_owned() });
            }
            let from = known.found_from.filter(|from| round < *from && is_begun())?;
            let why = format!("rounds before {from} were measured when it was not available");
            Some(NotRun { what, why })
        };
        self.failed.or_else(|| self.of.into_iter().find_map(not_run))
    }
}

/// Leaves out the runs that are not possible, until what they need is found.
pub(super) fn leave_out(plan: &mut Plan, facts: &Facts) {
    let may_fail = may_lack_an_arm(plan);
    let (planned, known, mut setups) = (&*plan, facts.availability(), Setups::of(plan));
    let mut of = |run| Requirements::of(planned, setups.without_load(run), run, (&known, may_fail));
    // A calibration never goes on, so what is missing stays missing.
    let calibrates = plan.content.calibrate.is_some();
    let (mut is_known, mut is_whole) = (true, true);
    for run in &plan.runs {
        let needed = of(run);
        is_known &= needed.is_found() || calibrates && needed.is_missing();
        is_whole &= needed.is_early(run.round) && needed.failed.is_none();
    }
    let found: Vec<Option<NotRun>> = match is_whole {
        true => Vec::new(),
        false => {
            let block = |run: &PlannedRun| (run.round, Arc::clone(&run.factors));
            let early = plan.runs.iter().filter(|run| of(*run).is_early(run.round));
            let begun: HashSet<_> = early.map(block).collect();
            let not_run = |run| of(run).not_run(run.round, || begun.contains(&block(run)));
            plan.runs.iter().map(not_run).collect()
        }
    };
    let unique: BTreeSet<NotRun> = found.iter().flatten().cloned().collect();
    let is_open = may_fail && !facts.are_checked();
    plan.decisions.left_out = match is_known {
        true if is_open => {
            Decision::open(unique.into_iter().collect(), "arms that fail their checks", [Needed::Checks])
        }
        true if unique.is_empty() => Decision::decided(Vec::new(), "all of it can be run here"),
        true if calibrates => {
            Decision::decided(unique.into_iter().collect(), "a calibration measures what this host has")
        }
        true => Decision::decided(unique.into_iter().collect(), "a pair is of one time"),
        false => Decision::open(
            unique.into_iter().collect(),
            "what is not available, until it is",
            [Some(Needed::Programs), is_open.then_some(Needed::Checks)].into_iter().flatten(),
        ),
    };
    if found.iter().all(Option::is_none) {
        return;
    }
    let mut kept = found.iter().map(Option::is_none);
    plan.keep(|_| kept.next().unwrap_or(true));
    if plan.content.compare.is_some() && plan.content.scheme != Scheme::Sets {
        // A base run without another arm to compare with is useless.
        let cell = |run: &PlannedRun| (run.round, Arc::clone(&run.factors));
        let mut arms: BTreeMap<_, usize> = BTreeMap::new();
        plan.runs.iter().for_each(|run| *arms.entry(cell(run)).or_default() += 1);
        plan.keep(|run| run.beside || arms[&cell(run)] > 1);
    }
}

/// Checks that runs are left.
///
/// # Errors
/// [`Class::Missing`] if no run is left or, for a comparison, nothing to compare.
pub fn check_left(plan: &Plan) -> Result<(), Error> {
    if plan.not_run().is_empty() {
        return Ok(());
    }
    nothing_left(plan).map_or(Ok(()), |what| {
        let why = plan.not_run().iter().map(|NotRun { what, why }| format!("not run: {what}: {why}"));
        let told: Vec<String> = std::iter::once(what.to_owned()).chain(why).collect();
        Err(Error::new(Class::Missing, told.join("\n")))
    })
}

fn nothing_left(plan: &Plan) -> Option<&'static str> {
    let arms: BTreeSet<&String> = plan.runs.iter().filter_map(|run| run.arm.as_ref()).collect();
    match &plan.content.compare {
        _ if plan.runs.is_empty() => Some("no part of this experiment can be run here"),
        Some(compare) if !arms.contains(&compare.base) => Some("the base arm cannot be run here"),
        Some(_) if arms.len() < 2 => Some("there is only one arm that can be run here"),
        _ => None,
    }
}
