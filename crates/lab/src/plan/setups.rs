//! The setup of each run, from its cell and arm; and the servers and workloads of those setups.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use engine::DriverChoice;
use server::managed::NetworkAccess;
use spec::plan::{AskedDriver, Generator, Plan, PlannedRun, TargetSpec, Waiting};

use super::{calibration, cells, divide, levels, workload};
use crate::setup::{At, ConnectionPath, Server, Setup, driver_choice};

/// An unplanned run: the only cell of its experiment.
#[must_use]
pub fn single_run(setup: &Setup) -> PlannedRun {
    let (workload, clients) = (setup.workload.clone(), setup.clients.to_string());
    let rate = setup.load.profile().map(|rate| ("rate".to_owned(), rate.to_string()));
    let factors = [("workload".to_owned(), workload.clone()), ("clients".to_owned(), clients)];
    PlannedRun {
        sequence: 0,
        round: 1,
        workload,
        factors: Arc::new(factors.into_iter().chain(rate).collect()),
        arm: None,
        position_in_pair: 1,
        seed: setup.seed,
        clients: setup.clients,
        threads: setup.threads,
        rate: setup.rate(),
        beside: false,
    }
}

fn moved_by(generator: &Generator, setup: Setup) -> Setup {
    let driver = match generator.driver {
        AskedDriver::Auto => DriverChoice::Suits(generator.clients_per_thread as usize),
        asked => driver_choice(asked),
    };
    let waiting = if generator.spins { Waiting::Spin } else { Waiting::Sleep };
    Setup { driver, waiting, ..setup }
}

/// The setups of all runs of a plan without their load, seed and copy: runs that differ in nothing else share one.
/// A plan may have a hundred thousand runs.
pub(crate) struct Setups<'p> {
    plan: &'p Plan,
    known: HashMap<(bool, levels::Levels<'p>), Setup>,
    /// The last one, if the plan is a calibration: its runs are few, and each has its own setup.
    calibrated: Option<Setup>,
}

impl<'p> Setups<'p> {
    pub(crate) fn of(plan: &'p Plan) -> Self {
        Self { plan, known: HashMap::new(), calibrated: None }
    }

    /// The setup of a run of this plan. Its clients, threads, rate, promise, seed and copy are not set.
    pub(crate) fn without_load(&mut self, run: &'p PlannedRun) -> &Setup {
        let (plan, content, arm) = (self.plan, &self.plan.content, run.arm.as_deref());
        if let Some(asked) = &content.calibrate {
            return self.calibrated.insert(calibration::setup(plan, asked, run));
        }
        let levels = levels::apart_from_load(content, &run.factors, arm);
        self.known.entry((run.beside, levels)).or_insert_with(|| {
            let setup = levels::without_load(content, &run.factors, arm).expect(APPLIED);
            of_plan(plan, run, setup)
        })
    }

    /// Its server, not a copy; `None` for the sink.
    pub(crate) fn template(&mut self, run: &'p PlannedRun) -> Option<At> {
        match &self.without_load(run).server {
            Server::Target(at) => Some(at.template()),
            Server::Sink => None,
        }
    }
}

const APPLIED: &str = "its levels were applied when it was planned";

/// The widest access that clients need to a managed server: it is started with that, to avoid a restart.
pub(crate) fn widest_way(plan: &Plan) -> NetworkAccess {
    let mut setups = Setups::of(plan);
    let ways = plan.runs.iter().map(|run| match setups.without_load(run).connection {
        ConnectionPath::Via(via) => via,
        _ => NetworkAccess::Socket,
    });
    ways.max().unwrap_or(NetworkAccess::Socket)
}

/// Connections of all clients of the largest of its runs; 0 with only jobs.
pub(crate) fn most_connections(plan: &Plan) -> u32 {
    let (mut setups, mut links) = (Setups::of(plan), BTreeMap::new());
    let connections = |run| {
        let setup = setups.without_load(run);
        let links = *links
            .entry(setup.asked())
            .or_insert_with(|| levels::spec_of(&plan.content, setup).map_or(1, |spec| spec.links()));
        run.clients.saturating_mul(links)
    };
    plan.runs.iter().map(connections).max().unwrap_or(0)
}

/// The servers to open for its runs, the base arm's first. Without runs, the servers of its jobs.
pub(crate) fn sites(plan: &Plan) -> Vec<At> {
    if plan.content.has_only_jobs() {
        let at = |cell| levels::setup(&plan.content, &cell, None).map(|setup| setup.at().template());
        // Levels were read by their factors.
        return cells::of_servers(&plan.content).into_iter().filter_map(|cell| at(cell).ok()).collect();
    }
    let base = plan.content.compare.as_ref().map(|compare| &compare.base);
    let (of_base, others): (Vec<_>, Vec<_>) = plan.runs.iter().partition(|run| run.arm.as_ref() == base);
    let mut setups = Setups::of(plan);
    let mut sites = Vec::new();
    for run in of_base.into_iter().chain(others) {
        let Some(at) = setups.template(run) else { continue };
        if !sites.contains(&at) {
            sites.push(at);
        }
    }
    sites
}

/// Two arms that are equal in every cell: A against A.
#[must_use]
pub fn equal_arms(plan: &Plan) -> Option<[String; 2]> {
    // A setup does not show what a person sets.
    if plan.content.by_hand().is_some() {
        return None;
    }
    let arms: Vec<String> = plan.content.arm_names().into_iter().flatten().collect();
    let cells = cells::grid(&plan.content);
    let effect = |cell, arm: &String| levels::effect(&plan.content, cell, arm);
    // Most arms differ in the first cell already.
    let first: Vec<_> = arms.iter().map(|arm| Some(effect(cells.first()?, arm))).collect();
    let equal = |[one, other]: &[usize; 2]| {
        first[*one] == first[*other]
            && cells.iter().skip(1).all(|cell| effect(cell, &arms[*one]) == effect(cell, &arms[*other]))
    };
    let mut pairs = (0..arms.len()).flat_map(|at| (0..at).map(move |other| [other, at]));
    pairs.find(equal).map(|pair| pair.map(|at| arms[at].clone()))
}

/// The setup of the base arm's run of the same cell; `None` for runs of the base, and without a comparison.
#[must_use]
pub(crate) fn base_setup(plan: &Plan, run: &PlannedRun) -> Option<Setup> {
    let base = &plan.content.compare.as_ref()?.base;
    run.arm.as_ref().filter(|arm| *arm != base)?;
    Some(setup(plan, &PlannedRun { arm: Some(base.clone()), ..run.clone() }))
}

/// Hashes of a run's scripts, in order, each once.
pub(crate) fn scripts(plan: &Plan, setup: &Setup) -> String {
    let workload = plan.content.workloads.get(&setup.workload);
    let hashes: BTreeSet<&String> =
        workload.into_iter().flat_map(|of| workload::texts(of, &setup.options)).collect();
    hashes.into_iter().map(String::as_str).collect::<Vec<_>>().join(",")
}

/// The setup of a run of this plan.
#[must_use]
pub fn setup(plan: &Plan, run: &PlannedRun) -> Setup {
    if let Some(asked) = &plan.content.calibrate {
        return calibration::setup(plan, asked, run);
    }
    let setup = levels::setup(&plan.content, &run.factors, run.arm.as_deref()).expect(APPLIED);
    let (part, threads) = (divide::load_part(plan), divide::threads(&setup, plan));
    let setup = Setup { seed: run.seed, part, threads, ..of_plan(plan, run, setup) };
    on_its_copy(plan, run, setup)
}

/// Adds what the plan decided for all runs.
fn of_plan(plan: &Plan, run: &PlannedRun, setup: Setup) -> Setup {
    // Runs outside the grid work with any settings.
    let arm = setup.arm.filter(|_| !run.beside);
    let none = || (!plan.content.named.changes.is_empty()).then(BTreeMap::new);
    let changes = setup.changes.or_else(none).filter(|_| !run.beside);
    let chosen = plan.placement().map(|chosen| chosen.placement.clone());
    let placement = chosen.unwrap_or(setup.placement);
    let setup = Setup { arm, changes, placement, ..setup };
    match plan.generator() {
        Some(generator) => moved_by(generator, setup),
        None => setup,
    }
}

/// The setup on the copy of the run's arm; runs outside the grid use the base's copy.
fn on_its_copy(plan: &Plan, run: &PlannedRun, setup: Setup) -> Setup {
    match copy_of(plan, run, &setup) {
        None => setup,
        copy => Setup { server: Server::Target(At { copy, ..setup.at() }), ..setup },
    }
}

/// Number of the copy that a run of this setup is on; `None` if it is on the server itself.
pub(super) fn copy_of(plan: &Plan, run: &PlannedRun, setup: &Setup) -> Option<u32> {
    let copies = plan.copies()?;
    matches!(levels::target(&plan.content, &setup.at()), TargetSpec::Managed { .. }).then_some(())?;
    let arms = plan.content.arm_names();
    let arm = arms.iter().position(|arm| *arm == run.arm).unwrap_or(0) as u32;
    Some(copies.number(arm, run.round))
}

pub(crate) fn words_of(plan: &Plan, run: &PlannedRun) -> String {
    let words = run.words_with(if plan.content.measure.load.users().is_some() { "user" } else { "client" });
    match setup(plan, run).at().copy {
        Some(number) => format!("{words}, copy {number}"),
        None => words,
    }
}
