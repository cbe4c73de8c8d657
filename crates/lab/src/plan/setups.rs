//! The setup of each run, from its cell and arm; and the servers and workloads of those setups.

use std::collections::{BTreeMap, BTreeSet};

use engine::{DriverChoice, LoadPart};
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
        factors: factors.into_iter().chain(rate).collect(),
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

/// The widest access that clients need to a managed server: it is started with that, to avoid a restart.
pub(crate) fn widest_way(plan: &Plan) -> NetworkAccess {
    let ways = plan.runs.iter().map(|run| match setup(plan, run).connection {
        ConnectionPath::Via(via) => via,
        _ => NetworkAccess::Socket,
    });
    ways.max().unwrap_or(NetworkAccess::Socket)
}

/// Connections of all clients of the largest of its runs; 0 with only jobs.
pub(crate) fn most_connections(plan: &Plan) -> u32 {
    let connections = |run| {
        let setup = setup(plan, run);
        let links = levels::spec_of(&plan.content, &setup).map_or(1, |spec| spec.links());
        setup.clients.saturating_mul(links)
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
    let mut runs: Vec<&PlannedRun> = plan.runs.iter().collect();
    runs.sort_by_key(|run| run.arm.as_ref() != base);
    let mut sites = Vec::new();
    for run in runs {
        // A sink is no server of the experiment.
        let Server::Target(at) = setup(plan, run).server else { continue };
        let at = at.template();
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
pub(crate) fn scripts(plan: &Plan, run: &PlannedRun) -> String {
    let setup = setup(plan, run);
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
    let setup = levels::setup(&plan.content, &run.factors, run.arm.as_deref())
        .expect("its levels were applied when it was planned");
    let threads = divide::threads(&setup, plan);
    // Runs outside the grid work with any settings.
    let arm = setup.arm.filter(|_| !run.beside);
    let none = || (!plan.content.named.changes.is_empty()).then(BTreeMap::new);
    let changes = setup.changes.or_else(none).filter(|_| !run.beside);
    let chosen = plan.placement().map(|chosen| chosen.placement.clone());
    let placement = chosen.unwrap_or(setup.placement);
    let part = plan
        .shared_part()
        .map_or(LoadPart::WHOLE, |part| LoadPart { number: part.number as usize - 1, of: part.of as usize });
    let setup = Setup { seed: run.seed, arm, changes, placement, part, threads, ..setup };
    let setup = match plan.generator() {
        Some(generator) => moved_by(generator, setup),
        None => setup,
    };
    on_its_copy(plan, run, setup)
}

/// The setup on the copy of the run's arm; runs outside the grid use the base's copy.
pub(super) fn on_its_copy(plan: &Plan, run: &PlannedRun, setup: Setup) -> Setup {
    let Some(copies) = plan.copies() else { return setup };
    let at = setup.at();
    if !matches!(levels::target(&plan.content, &at), TargetSpec::Managed { .. }) {
        return setup;
    }
    let arms = plan.content.arm_names();
    let arm = arms.iter().position(|arm| *arm == run.arm).unwrap_or(0) as u32;
    let at = At { copy: Some(copies.number(arm, run.round)), ..at };
    Setup { server: Server::Target(at), ..setup }
}

pub(crate) fn words_of(plan: &Plan, run: &PlannedRun) -> String {
    let words = run.words_with(if plan.content.measure.load.users().is_some() { "user" } else { "client" });
    match setup(plan, run).at().copy {
        Some(number) => format!("{words}, copy {number}"),
        None => words,
    }
}
