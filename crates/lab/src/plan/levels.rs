//! Applies levels of factors: gives the setup of a run, its server, its preparation, and the workload.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use engine::Until;
use server::settings::weakens;
use spec::plan::topology::Topology;
use spec::plan::{Arm, AskedCounting, Content, Placement, PlannedLoad, PlannedPreparation, TargetSpec};
use spec::{Class, Error};
use workloads::Spec;

use super::cells::{self, Cell};
use super::workload;
use crate::factors::{self, LevelNames, OF_LOAD, REPLICAS, REPLICATION, STORAGE, factor, with_options};
use crate::setup::{At, Cache, ConnectionPath, Counting, Load, Server, Setup, driver_choice};
use crate::target_spec::{on_storage, with_data, with_version};

/// The setups of many cells and arms. Runs that differ only in their load have the rest in common, which is made once:
/// a plan may have a hundred thousand runs.
pub(crate) struct CellSetups<'c> {
    content: &'c Content,
    known: HashMap<Levels<'c>, Setup>,
}

/// The levels of a cell and arm that decide more than the load.
pub(crate) type Levels<'c> = Vec<(&'c str, &'c str)>;

fn all_levels<'c>(
    content: &'c Content,
    cell: &'c Cell,
    arm: Option<&'c str>,
) -> impl Iterator<Item = (&'c str, &'c str)> {
    let levels = cell.iter().map(|(key, level)| (key.as_str(), level.as_str()));
    levels.chain(arm.map(|arm| (content.compared(), arm)))
}

fn is_of_load(key: &str) -> bool {
    OF_LOAD.contains(&key)
}

/// The levels of a cell and arm, without the load.
pub(crate) fn apart_from_load<'c>(content: &'c Content, cell: &'c Cell, arm: Option<&'c str>) -> Levels<'c> {
    all_levels(content, cell, arm).filter(|(key, _)| !is_of_load(key)).collect()
}

impl<'c> CellSetups<'c> {
    pub(crate) fn of(content: &'c Content) -> Self {
        Self { content, known: HashMap::new() }
    }

    /// The setup of a run of these levels and this arm; the plan adds the seed.
    ///
    /// # Errors
    /// As text, when a level does not belong to its factor.
    pub(crate) fn setup(&mut self, cell: &'c Cell, arm: Option<&'c str>) -> Result<Setup, String> {
        let common = match self.known.entry(apart_from_load(self.content, cell, arm)) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(without_load(self.content, cell, arm)?),
        };
        with_load(self.content, common.clone(), all_levels(self.content, cell, arm))
    }
}

/// The setup of one run of these levels and this arm; the plan adds the seed.
///
/// # Errors
/// As [`CellSetups::setup`].
pub(crate) fn setup(content: &Content, cell: &Cell, arm: Option<&str>) -> Result<Setup, String> {
    with_load(content, without_load(content, cell, arm)?, all_levels(content, cell, arm))
}

/// What all runs of these levels have in common whatever their load: their clients, threads, rate and promise are not
/// set.
///
/// # Errors
/// As text, when a level does not belong to its factor.
pub(crate) fn without_load(content: &Content, cell: &Cell, arm: Option<&str>) -> Result<Setup, String> {
    let only = <&[Arm; 1]>::try_from(&content.arms[..]).map(|[only]| only.clone());
    let mut setup = Setup {
        server: Server::Target(At::default()),
        connection: ConnectionPath::Direct,
        topology: Topology::default(),
        changes: None,
        cache: Cache::AsLeft,
        arm: only.ok(),
        workload: String::new(),
        options: BTreeMap::new(),
        load: match &content.measure.load {
            PlannedLoad::Users(users) => Load::Users(users.clone()),
            PlannedLoad::Closed | PlannedLoad::Rate => Load::Closed,
        },
        clients: 1,
        threads: content.measure.threads,
        promise: content.measure.promise_s.map(Duration::from_secs_f64),
        warmup: Duration::from_secs_f64(content.measure.warmup_s),
        until: match (content.measure.transactions, sessions_each(content)) {
            (_, Some(number)) => Until::PerUser(number),
            (Some(number), None) => Until::PerClient(number),
            (None, None) => {
                Until::Elapsed(Duration::from_secs_f64(content.measure.duration_s).as_nanos() as u64)
            }
        },
        statements: false,
        transactions: false,
        driver: driver_choice(content.measure.driver),
        waiting: content.measure.wait,
        placement: Placement::default(),
        seed: 0,
        sought: content.measure.search.clone(),
        part: engine::LoadPart::WHOLE,
        counting: match content.measure.counting {
            AskedCounting::Pgdyno => Counting::EXPERIMENT,
            AskedCounting::Pgbench => Counting::BENCH,
        },
    };
    let known = cells::known_in(content, cell, arm);
    let mut levels = apart_from_load(content, cell, arm);
    levels.sort_by_key(|(key, _)| factors::position(key, &known));
    let varies = |key: &str| levels.iter().any(|(varied, _)| *varied == key);
    let [replicas, replication] = [REPLICAS, REPLICATION].map(varies);
    for (key, level) in levels {
        apply(key, level, &mut setup, &known)?;
    }
    add_settings_of_build(content, &mut setup);
    let given = target(content, &setup.at()).topology();
    setup.topology = Topology::new(
        if replicas { setup.topology.replicas } else { given.replicas },
        if replication { setup.topology.replication } else { given.replication },
    );
    let spec = known.workloads.get(setup.workload.as_str());
    let is_job = spec.is_some_and(|spec| spec.is_job());
    if is_job {
        (setup.load, setup.sought) = (Load::Job, None);
    }
    let begins_cold = |spec: &Spec| with_options(spec, &setup.options).is_ok_and(|spec| spec.begins_cold());
    if is_job || spec.is_some_and(|spec| begins_cold(spec)) {
        setup.warmup = Duration::ZERO;
    }
    Ok(setup)
}

fn apply(key: &str, level: &str, setup: &mut Setup, known: &LevelNames<'_>) -> Result<(), String> {
    let factor = factor(key, known).ok_or_else(|| format!("unknown factor {key:?}"))?;
    factor.apply(key, level, setup, known)
}

/// Adds the levels of the load.
fn with_load<'c>(
    content: &Content,
    mut setup: Setup,
    levels: impl Iterator<Item = (&'c str, &'c str)>,
) -> Result<Setup, String> {
    if setup.load == Load::Job {
        return Ok(Setup { clients: 0, threads: 0, promise: None, ..setup });
    }
    let mut levels: Vec<_> = levels.filter(|(key, _)| is_of_load(key)).collect();
    levels.sort_by_key(|(key, _)| OF_LOAD.iter().position(|own| own == key));
    for (key, level) in levels {
        // No level of the load is a name.
        apply(key, level, &mut setup, &LevelNames::default())?;
    }
    setup.threads = setup.threads.min(setup.clients).max(1);
    if let Some(asked) = &content.measure.search {
        setup.promise = (asked.are_users() || setup.load.profile().is_some()).then(|| asked.longest());
    }
    Ok(setup)
}

/// Servers of a build have its settings, unless the arm sets them.
fn add_settings_of_build(content: &Content, setup: &mut Setup) {
    let Some(build) = setup.at().version.and_then(|level| content.named.builds.get(&level)) else { return };
    if build.settings.is_empty() {
        return;
    }
    let arm =
        setup.arm.get_or_insert_with(|| Arm { name: None, settings: BTreeMap::new(), weakens: Vec::new() });
    let own = std::mem::take(&mut arm.settings);
    arm.settings = build.settings.clone().into_iter().chain(own).collect();
    arm.weakens = weakens(&arm.settings);
}

/// Sessions of each user, in place of a duration.
fn sessions_each(content: &Content) -> Option<u64> {
    content.measure.load.users()?.sessions.as_ref()?.sessions
}

#[must_use]
pub(crate) fn target(content: &Content, at: &At) -> TargetSpec {
    let server =
        at.server.as_ref().and_then(|name| content.named.servers.get(name)).unwrap_or(&content.target);
    let server = match &at.version {
        Some(level) => with_version(server, level, content.named.builds.get(level)),
        None => server.clone(),
    };
    let on = at.storage.as_ref().and_then(|level| Some((level, content.named.storages.get(level)?)));
    let server = on.map_or_else(|| server.clone(), |(level, on)| on_storage(&server, level, on));
    at.data.iter().fold(server, |server, (key, level)| with_data(&server, key, level))
}

#[must_use]
pub(crate) fn preparation<'c>(content: &'c Content, at: &At) -> &'c PlannedPreparation {
    let data = At { data: at.data.clone(), ..At::default() };
    content.data.get(&data.to_string()).unwrap_or(&content.prepare)
}

/// The effect of an arm in a cell, without names.
pub(super) fn effect(content: &Content, cell: &Cell, arm: &str) -> Result<(Setup, Option<String>), String> {
    let mut setup = setup(content, cell, Some(arm))?;
    let asked =
        content.workloads.get(&setup.workload).map(|planned| workload::effect(planned, &setup.options));
    setup.arm.iter_mut().for_each(|arm| arm.name = None);
    // The name of a storage does not matter.
    if let Server::Target(At { storage: Some(level), .. }) = &mut setup.server
        && let Some(storage) = content.named.storages.get(level)
    {
        *level = format!("{storage:?}");
    }
    // The name of a build does not matter either.
    if let Server::Target(At { version: Some(level), .. }) = &mut setup.server
        && let Some(build) = content.named.builds.get(level)
    {
        *level = [std::slice::from_ref(&build.hash), &build.initdb].concat().join(" ");
    }
    for own in setup.changes.iter_mut().flat_map(BTreeMap::values_mut) {
        // A check has no effect.
        (own.level, own.change.check) = Default::default();
    }
    (setup.workload, setup.options) = Default::default();
    Ok((setup, asked))
}

/// The workload of a setup, with its changed options.
///
/// # Errors
/// When the plan does not have it.
pub(crate) fn spec_of(content: &Content, setup: &Setup) -> Result<Spec, Error> {
    let planned = content.workloads.get(&setup.workload).ok_or_else(|| "is not there".to_owned());
    planned
        .and_then(|planned| with_options(&Spec::of(&planned.spec)?, &setup.options))
        .map_err(|why| Error::new(Class::Internal, format!("workload {}: {why}", setup.asked())))
}

/// Whether its only storage is a new filesystem, which pgdyno removes.
pub(crate) fn is_on_made_storage(content: &Content) -> bool {
    let level = content.factors.get(STORAGE).and_then(|levels| levels.first());
    match target(content, &At { storage: level.cloned(), ..At::default() }) {
        TargetSpec::Managed { storage, .. } => storage.is_some_and(|storage| storage.is_made()),
        TargetSpec::Url { .. } => false,
    }
}
