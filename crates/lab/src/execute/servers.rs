//! The servers of an experiment: open and prepared, with copies if arms have separate servers.

use std::collections::{BTreeMap, BTreeSet};

use protocol::postgres::sql::Sql;
use results::Store;
use server::Stop;
use server::child::Watchdog;
use server::home::Home;
use server::managed::{self, Cluster};
use server::storage::overcommitted;
use sha2::{Digest, Sha256};
use spec::plan::change::Change;
use spec::plan::{ArmPlacement, Copies, Decision, Fact, Plan, PlannedRun, TargetSpec};
use spec::{Class, Error};

use super::arms::check_arms;
use super::failed_arms::FailedArms;
use super::programs::check_programs;
use super::room::{NOTHING_YET, Room, at_rest, copies_fit};
use super::shared::{Opened, share};
use super::{ExecutionOptions, Invocation, changes, other_name, stands_alone};
use crate::error::{interrupted, of_sql, stopped};
use crate::experiment::ExperimentFile;
use crate::jobs::{PreparedJob, prepare, probe};
use crate::plan::setups::{self, Setups};
use crate::plan::{availability, calibration, identity, levels, turns, words};
use crate::runner::{ExperimentStep, Progress, ProgressExt, Stage, Surroundings, check_undone};
use crate::setup::{At, Setup};

pub(super) struct PreparedServers {
    pub(super) begun: Invocation,
    pub(super) stages: Vec<(At, Stage)>,
    /// Copied servers: stopped, and reserved.
    pub(super) templates: Vec<(At, Stage)>,
    pub(super) jobs: Vec<(At, Vec<PreparedJob>)>,
    pub(super) surroundings: Surroundings,
    pub(super) targets: BTreeMap<At, spec::MeasuredTarget>,
    pub(super) storages: BTreeMap<At, String>,
}

impl PreparedServers {
    pub(super) fn open(
        file: &ExperimentFile,
        mut begun: Invocation,
        options: &ExecutionOptions,
        mut progress: &mut dyn Progress,
        stop: &Stop,
    ) -> Result<Self, Error> {
        progress.step(ExperimentStep::Target, "make, start or reach the servers");
        let (mut stages, failed) = opened(file, &begun.plan, options, progress, stop)?;
        begun.learn_all(file, failed)?;
        let shared = stages.iter().any(|(_, stage)| stage.is_shared());
        let targets = targets(&mut stages)?;
        let mut begun = begun.with_versions(file, options, &targets)?;
        begun.learn(file, Fact::Servers { shared })?;
        let plan = &begun.plan;
        if stages.is_empty() && plan.content.calibrate.is_none() {
            return Err(nothing_to_run());
        }
        let stands_on = |(at, stage): &(At, Stage)| Some((at.clone(), stage.target.storage_label()?));
        let storages = stages.iter().filter_map(stands_on).collect();
        if let Some(said) = Home::locate().ok().as_ref().and_then(overcommitted) {
            progress.warn(said);
        }
        if let Some(placed) = turns::placement_words(plan) {
            progress.note(placed);
        }
        // A further round is not checked here again, and all of them have one name.
        if options.further_round.is_none() {
            progress.step(ExperimentStep::Results, format!("{}", options.results.display()));
            let store = &mut Store::create_or_open(&options.results)?;
            store.check_writable()?;
            // An experiment that goes on is known by its content, so its name does not matter.
            let other = changes(store, plan).filter(|_| begun.known.is_none() && !begun.again);
            if let Some((last, changes)) = other {
                progress.note(format!("another experiment than number {}: {}", last.0, few(&changes)));
            }
            if let Some(changed) = &begun.changed_build {
                progress.note(format!(
                    "PostgreSQL is not what this experiment began with, so it begins again: {changed}"
                ));
            }
            if let Some(name) = other_name(store, &begun)? {
                progress.note(format!(
                    "the same experiment as {name}: it goes on, under that name and with that question"
                ));
            }
        }
        let (kept, planned) = (begun.done.len(), plan.runs.len());
        let (jobs, failed) = match prepared(file, plan, &mut stages, progress, stop) {
            Ok(prepared) => prepared,
            Err(_) if stop.soon() && options.further_round.is_some() => return Err(stopped()),
            Err(_) if stop.soon() => {
                return Err(interrupted(kept, planned, begun.again));
            }
            Err(error) => {
                return Err(stages.iter_mut().fold(error, |error, (_, stage)| stage.explain(error)));
            }
        };
        begun.learn_all(file, failed)?;
        begun = begun.with_data(file, options, &targets, &mut stages)?;
        begun.learn(file, Fact::Servers { shared })?;
        if !stands_alone(&begun.plan, options) {
            for (at, job) in jobs.iter().flat_map(|(at, jobs)| jobs.iter().map(move |job| (at, job))) {
                begun.check_data(at, job)?;
            }
        }
        // After the preparation, which may have made the extensions whose versions are stored.
        let surroundings = match stages.first_mut() {
            Some((_, first)) => Surroundings::of(first)?,
            None => Surroundings::without_server(),
        };
        let mut servers =
            Self { begun, stages, templates: Vec::new(), jobs, surroundings, targets, storages };
        servers.place_arms(file, progress)?;
        check_programs(&servers.begun.plan, &mut servers.stages)?;
        servers.ask_for_clients(file)?;
        super::users::fit(&servers.begun.plan, &mut servers.stages)?;
        servers.try_placements(file)?;
        Ok(servers)
    }

    fn place_arms(&mut self, file: &ExperimentFile, mut progress: &mut dyn Progress) -> Result<(), Error> {
        let Some(copies) = self.begun.plan.copies().cloned() else { return Ok(()) };
        let fact = match self.check_room(&copies)? {
            Ok(why) => Fact::Copies { fit: true, why },
            Err(why) if self.begun.known.is_some() => return Err(began_on_copies(&why)),
            Err(why) => Fact::Copies { fit: false, why },
        };
        self.begun.learn(file, fact)?;
        can_do_without(file, &self.begun.plan)?;
        progress.note(words::arm_placement_words(&self.begun.plan));
        match self.begun.plan.copies().cloned() {
            Some(copies) => self.copy(&copies, progress),
            None => Ok(()),
        }
    }

    /// How many further clients the servers accept, for a search without a limit of clients.
    fn ask_for_clients(&mut self, file: &ExperimentFile) -> Result<(), Error> {
        if !self.begun.plan.decisions.clients.as_ref().is_some_and(Decision::is_open) {
            return Ok(());
        }
        let mut most = None;
        for (_, stage) in &mut self.stages {
            let row = stage.control()?.rows(super::users::LET_IN).map_err(of_sql)?;
            let let_in = row.iter().flatten().flatten().find_map(|text| text.parse::<u32>().ok());
            most = most.into_iter().chain(let_in).min();
        }
        self.begun.learn(file, Fact::Clients { most })
    }

    /// Which placements of a calibration the server can have.
    fn try_placements(&mut self, file: &ExperimentFile) -> Result<(), Error> {
        let plan = &self.begun.plan;
        if plan.content.calibrate.is_none() {
            return Ok(());
        }
        let runs = calibration::of_part(plan, calibration::PLACED);
        let each: BTreeMap<String, Setup> = runs
            .into_iter()
            .map(|run| (availability::of_cell(plan, run), setups::setup(plan, run)))
            .collect();
        for (_, stage) in &self.stages {
            for (what, setup) in &each {
                let what = what.clone();
                let fact = match stage.place(&setup.placement) {
                    Ok(_) => Fact::Found { what, from_round: 1 },
                    Err(error) => Fact::Missing { what, why: error.to_string() },
                };
                self.begun.learn(file, fact)?;
            }
        }
        Ok(())
    }

    /// What the copies need; as an inner error, why there cannot be any.
    fn check_room(&mut self, copies: &Copies) -> Result<Result<String, String>, Error> {
        let mut takes = BTreeMap::new();
        let mut names = Vec::new();
        for (at, stage) in &mut self.stages {
            let TargetSpec::Managed { name, .. } = levels::target(&self.begun.plan.content, at) else {
                continue;
            };
            if let Some(why) = stage.not_to_be_copied()? {
                return Ok(Err(format!("managed server {name:?} cannot be copied: {why}")));
            }
            takes.insert(at.clone(), stage.takes()?);
            names.push(name);
        }
        Ok(copies_fit(&self.begun.plan, copies, &takes, &Room::here(&names)))
    }

    fn copy(&mut self, copies: &Copies, progress: &mut dyn Progress) -> Result<(), Error> {
        let plan = &self.begun.plan;
        for (at, mut stage) in std::mem::take(&mut self.stages) {
            if !matches!(levels::target(&plan.content, &at), TargetSpec::Managed { .. }) {
                self.stages.push((at, stage));
                continue;
            }
            let made_for =
                format!("{} {} {}", identity::hash(&plan.content), plan.seed(), stage.data_made()?);
            let made_for = spec::hex(&Sha256::digest(made_for));
            let for_good = plan.content.named.changes.contains_key(plan.content.compared());
            let made =
                stage.copied(1..=copies.each, (&made_for, for_good), setups::widest_way(plan), progress)?;
            let place = |(number, copy)| (At { copy: Some(number), ..at.clone() }, copy);
            self.stages.extend(made.into_iter().map(place));
            self.templates.push((at, stage));
        }
        Ok(())
    }
}

/// Whether copies of the present data would fit: if not, or if data are still to be prepared, that decides
/// nothing in favour of copies. `None` if it does not matter.
pub(super) fn look_for_room(plan: &Plan) -> Option<Fact> {
    let open = plan.decisions.arm_placement.as_ref().filter(|arm_placement| arm_placement.is_open());
    let copies = open?.value().copies()?;
    let mut takes = BTreeMap::new();
    let (mut names, mut all_there) = (Vec::new(), true);
    for at in setups::sites(plan) {
        let spec = levels::target(&plan.content, &at);
        let TargetSpec::Managed { name, .. } = &spec else { continue };
        let found = at_rest(&spec);
        all_there &= found.is_some();
        takes.insert(at, found.unwrap_or(NOTHING_YET));
        names.push(name.clone());
    }
    match copies_fit(plan, copies, &takes, &Room::here(&names)) {
        Ok(figures) => all_there.then_some(Fact::CopiesSoFar { figures }),
        Err(why) => Some(Fact::Copies { fit: false, why }),
    }
}

/// Removes copies left behind when pgdyno was killed after the last run of an experiment.
pub(super) fn remove_left(plan: &Plan) -> Result<(), Error> {
    let (home, stop) = (Home::locate()?, Stop::new());
    let Ok(watchdog) = Watchdog::current() else { return Ok(()) };
    for at in setups::sites(plan) {
        let TargetSpec::Managed { name, .. } = levels::target(&plan.content, &at) else { continue };
        if managed::sizes_of(&home, &format!("{name}.1")).is_some() {
            let template = Cluster::open(&home, &name, &watchdog, &stop)?;
            template.destroy_copies(&|_| true)?;
        }
    }
    Ok(())
}

type Stages = Vec<(At, Stage)>;

/// Opens the servers of a plan, without the servers of arms that fail.
fn opened(
    file: &ExperimentFile,
    plan: &Plan,
    options: &ExecutionOptions,
    mut progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<(Stages, Vec<Fact>), Error> {
    let sets = plan.content.arms.iter().any(|arm| !arm.settings.is_empty());
    let sets = sets || plan.content.named.builds.values().any(|build| !build.settings.is_empty());
    let sets = sets || !plan.content.named.changes.is_empty();
    let mut stages = Vec::new();
    let mut failed = FailedArms::new(plan);
    for at in setups::sites(plan) {
        let access = file.access(levels::target(&plan.content, &at));
        let programs = (options.pg_bin.clone(), setups::widest_way(plan));
        let opened = Stage::open(&access, programs, progress, stop).and_then(|stage| {
            check_undone(&stage)?;
            Ok(stage)
        });
        let mut stage = match opened {
            Ok(stage) => stage,
            Err(error) => {
                failed.leave_out(|run| is_at(plan, run, &at), of_level(&at, error), progress)?;
                continue;
            }
        };
        if let Some(source) =
            at.version.as_ref().and_then(|level| plan.content.named.builds.get(level)?.source.as_ref())
        {
            stage.target.built_from(&source.commit);
        }
        stage.expect_connections(setups::most_connections(plan));
        stage.makes_changes(file.folder());
        progress.note(stage.target.redacted());
        if let Some(pooled) = stage.pooled_words(&at) {
            progress.warn(pooled);
        }
        let mut one = Opened { at: &at, spec: &access.spec, stage: &mut stage };
        for (other, opened) in &mut stages {
            let spec = levels::target(&plan.content, other);
            let mut other = Opened { at: other, spec: &spec, stage: opened };
            if let Some(shared) = share(&mut other, &mut one, sets, file.allows_same())? {
                progress.warn(shared);
            }
        }
        stages.push((at, stage));
    }
    for (at, stage) in &mut stages {
        stage.reserve(sets, progress).map_err(|error| of_level(at, error))?;
    }
    Ok((stages, failed.into_facts()))
}

/// Whether a run is on this server or on a copy of it.
fn is_at(plan: &Plan, run: &PlannedRun, at: &At) -> bool {
    setups::setup(plan, run).at().template() == *at
}

/// The server of the base, if all of its runs are on one.
fn base_site(plan: &Plan) -> Option<At> {
    let base = &plan.content.compare.as_ref()?.base;
    let own = plan.runs.iter().filter(|run| run.arm.as_ref() == Some(base));
    let mut setups = Setups::of(plan);
    let sites: BTreeSet<At> = own.filter_map(|run| setups.template(run)).collect();
    let mut sites = sites.into_iter();
    sites.next().filter(|_| sites.next().is_none())
}

/// Most differences that are told.
const TOLD: usize = 6;

fn few(changes: &[String]) -> String {
    let more = changes.len().saturating_sub(TOLD);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("{}{more}", changes[..changes.len().min(TOLD)].join("; "))
}

/// The name of the level may be visible only in the server's folder.
fn of_level(at: &At, error: Error) -> Error {
    if *at == At::default() || error.is_stopped() {
        return error;
    }
    let what = format!("{at}: {error}");
    error.in_words(what)
}

type Jobs = Vec<(At, Vec<PreparedJob>)>;

/// Checks the arms and prepares the data on each server; without the servers of arms that fail.
fn prepared(
    file: &ExperimentFile,
    plan: &Plan,
    stages: &mut Stages,
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<(Jobs, Vec<Fact>), Error> {
    let mut failed = FailedArms::new(plan);
    let sets_none = plan.content.arms.iter().all(|arm| arm.settings.is_empty());
    for (at, stage) in &mut *stages {
        let build = at.version.as_ref().and_then(|level| plan.content.named.builds.get(level));
        if sets_none && build.is_none_or(|build| build.settings.is_empty()) {
            continue;
        }
        // Before the preparation, and not before the second arm.
        let (control, means) = stage.control_and_means()?;
        check_arms(file, plan, (at, control, means), &mut failed, progress)?;
    }
    // A server whose runs are all left out is not prepared.
    stages.retain(|(at, _)| {
        let mut own = plan.runs.iter().filter(|run| is_at(plan, run, at)).peekable();
        own.peek().is_none() || own.any(|run| failed.has(run))
    });
    // The base comes first: what fails after it is the arm's.
    let base = base_site(plan);
    stages.sort_by_key(|(at, _)| Some(at) != base.as_ref());
    let mut jobs = Vec::with_capacity(stages.len());
    while let Some((at, stage)) = stages.get_mut(jobs.len()) {
        let at = at.clone();
        match done_on(plan, (&at, stage), progress, stop) {
            Ok(done) => jobs.push((at, done)),
            Err(error) if stop.soon() => return Err(error),
            Err(error) => {
                let error = stage.explain(error);
                let base_passed = base.as_ref().is_some_and(|base| *base != at) && !jobs.is_empty();
                failed.leave_out_after(|run| is_at(plan, run, &at), base_passed, error, progress)?;
                stages.remove(jobs.len());
            }
        }
    }
    Ok((jobs, failed.into_facts()))
}

fn done_on(
    plan: &Plan,
    (at, stage): (&At, &mut Stage),
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<Vec<PreparedJob>, Error> {
    let content = &plan.content;
    let probed = content.probe.as_ref().map(|options| probe(stage, options, progress, stop));
    let mut done: Vec<PreparedJob> = probed.transpose()?.into_iter().collect();
    // Where nothing is measured, it is the jobs that are asked about.
    let reuse = !content.has_only_jobs();
    done.extend(prepare(stage, levels::preparation(content, at), reuse, progress, stop)?);
    Ok(done)
}

/// A change that cannot be undone is allowed only on a server that is thrown away.
///
/// # Errors
/// When arms do not run on copies, and a change has no undo.
pub(super) fn can_do_without(file: &ExperimentFile, plan: &Plan) -> Result<(), Error> {
    let arm_placement =
        plan.decisions.arm_placement.as_ref().filter(|it| *it.value() == ArmPlacement::AsTheyAre);
    let Some(why) = arm_placement.map(Decision::why) else { return Ok(()) };
    let name = plan.content.compared();
    let without = plan.content.named.changes.get(name).into_iter().flatten();
    let lacks = |change: &Change| server::change::validate(change, false).is_err();
    let Some((level, _)) = without.into_iter().find(|(_, change)| lacks(change)) else {
        return Ok(());
    };
    let head = format!("[change.{name}.{level}]");
    let line = file.text.lines().position(|line| line.trim_start().starts_with(&head));
    let line = line.map(|line| format!("{}:", line + 1)).unwrap_or_default();
    let what = format!(
        "{}:{line} {head} has no undo, and arms cannot use separate copies: {why}",
        file.path.display()
    );
    Err(Error::new(Class::BadInput, what)
        .with_hint("give it an undo without a password, so that one server will do for all arms"))
}

fn began_on_copies(why: &str) -> Error {
    let what = format!(
        "this experiment was begun with its arms side by side on copies, and that cannot be now: {why}"
    );
    Error::new(Class::Missing, what)
        .with_hint("make room and run the same command again, or start again with --again")
}

fn nothing_to_run() -> Error {
    Error::new(Class::Missing, "no part of it can be run here").with_hint("see above why")
}

fn targets(stages: &mut [(At, Stage)]) -> Result<BTreeMap<At, spec::MeasuredTarget>, Error> {
    stages.iter_mut().map(|(at, stage)| Ok((at.clone(), stage.described()?))).collect()
}
