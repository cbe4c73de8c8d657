//! The part of a plan that identifies an experiment: from its file, and what is known about the machine and
//! about the files that it names.

use std::collections::BTreeMap;
use std::time::Duration;

use server::settings::{Machine, resolve_all, weakens};
use spec::plan::{
    Arm, Beside, Content, Facts, Named, PlannedComparison, PlannedLoad, PlannedMeasure, PlannedPreparation,
    PlannedWorkload, Scheme, TOPOLOGY,
};
use spec::{Class, Error};
use workloads::{Preparation, Spec};

use super::preparation::{planned_preparation, unknown};
use super::restarts::arms_need_restart;
use super::workload::level_name;
use crate::experiment::{Compare, DurationSpec, ExperimentFile, LoadKind};
use crate::factors::{SETTINGS, with_data, with_options};
use crate::setup::At;

/// The content of an experiment; `facts` are of the host, and of all files that it names.
///
/// # Errors
/// When a setting or an option has a wrong value.
pub(super) fn content(file: &ExperimentFile, facts: &Facts) -> Result<Content, Error> {
    let (memory_bytes, cores, cpus) = facts.host().ok_or_else(|| unknown("the machine"))?;
    let arms = arms(file, Machine { memory_bytes, cores })?;
    let scheme = match &file.compare {
        None => Scheme::Single,
        Some(compare) if compare.factor == SETTINGS && arms_need_restart(&arms) => Scheme::HalfRounds,
        Some(compare) if file.named.changes.contains_key(&compare.factor) => Scheme::HalfRounds,
        Some(_) if !file.named.by_hand.is_empty() => Scheme::Sets,
        // Replicas begin with a base backup.
        Some(compare) if TOPOLOGY.contains(&compare.factor.as_str()) => Scheme::HalfRounds,
        Some(_) => Scheme::Pairs,
    };
    let beside = file.beside.clone().unwrap_or_default();
    let factors = factors(file, facts);
    Ok(Content {
        seed: file.seed,
        target: file.target.clone(),
        prepare: planned_preparation(&file.prepare, facts)?,
        data: data(file, facts)?,
        probe: file.probe.clone(),
        workloads: workloads(file, facts)?,
        factors: factors.clone(),
        beside: Beside {
            workloads: beside.workloads().map(str::to_owned).collect(),
            clients: beside.levels("clients").iter().filter_map(|level| level.parse().ok()).collect(),
        },
        arms,
        named: named(file, facts, Machine { memory_bytes, cores })?,
        compare: file.compare.as_ref().map(|compare| PlannedComparison {
            factor: compare.factor.clone(),
            base: base_of(file, compare, &factors),
            margin: compare.margin,
            metric: compare.metric,
            looks: compare.looks,
        }),
        measure: measure(file),
        calibrate: file.calibrate.clone(),
        order: file.measure.order,
        scheme,
        cpus: cpus.cloned(),
    })
}

/// The levels of all factors. Levels set by hand come from the file and from the sets that were begun.
fn factors(file: &ExperimentFile, facts: &Facts) -> BTreeMap<String, Vec<String>> {
    let mut factors = file.factors.all().clone();
    for name in file.named.by_hand.keys() {
        let written = file.factors.levels(name).iter().map(String::as_str);
        // A single level comes from the command, so it need not be the base.
        let (first, then): (Vec<&str>, Vec<&str>) = match written.len() {
            1 => (facts.sets(), written.collect()),
            _ => (written.collect(), facts.sets()),
        };
        let mut levels: Vec<String> = Vec::new();
        for level in first.into_iter().chain(then) {
            if !levels.iter().any(|known| known == level) {
                levels.push(level.to_owned());
            }
        }
        factors.insert(name.clone(), levels);
    }
    factors
}

/// The base; of a factor that is set by hand its first level, if the file names none.
fn base_of(file: &ExperimentFile, compare: &Compare, factors: &BTreeMap<String, Vec<String>>) -> String {
    let first = factors.get(&compare.factor).and_then(|levels| levels.first());
    let is_open = !file.names_a_base();
    first.filter(|_| is_open).unwrap_or(&compare.base).clone()
}

fn measure(file: &ExperimentFile) -> PlannedMeasure {
    PlannedMeasure {
        load: match &file.load.kind {
            LoadKind::Closed => PlannedLoad::Closed,
            LoadKind::Rate => PlannedLoad::Rate,
            LoadKind::Users(users) => PlannedLoad::Users(users.clone()),
        },
        promise_s: file.load.promise.as_ref().map(Duration::as_secs_f64),
        bound: file.load.bound,
        driver: file.measure.driver,
        wait: file.measure.wait,
        warmup_s: file.measure.warmup.as_secs_f64(),
        duration_s: match file.measure.duration {
            DurationSpec::Fixed(duration) => duration.as_secs_f64(),
            DurationSpec::Sized { from, .. } => from.as_secs_f64(),
        },
        transactions: file.measure.transactions,
        counting: file.measure.counting,
        threads: file.measure.threads,
        slices: file.measure.slices,
        keep_sessions: file.measure.keep_sessions,
        search: file.load.search.clone(),
    }
}

/// The preparations of a file: its own, and one for each combination of levels of their options.
///
/// # Errors
/// When a level does not belong to its option.
pub(crate) fn preparations(file: &ExperimentFile) -> Result<Vec<(At, Preparation)>, Error> {
    let mut varied = file.factors.all().iter().filter(|(key, _)| key.starts_with("prepare."));
    let start = vec![(At::default(), file.prepare.clone())];
    let combinations = varied.try_fold(start, |cells: Vec<_>, (key, levels)| {
        let each = cells.iter().flat_map(|(at, jobs)| levels.iter().map(move |level| (at, jobs, level)));
        let with = |(at, jobs, level): (&At, &Preparation, &String)| {
            let mut at = at.clone();
            at.data.insert(key.trim_start_matches("prepare.").to_owned(), level.clone());
            Ok((at, with_data(jobs, key, level)?))
        };
        each.map(with).collect::<Result<Vec<_>, String>>()
    });
    let wrong = |why| Error::new(Class::BadInput, format!("{}: {why}", file.path.display()));
    let mut varied: Vec<_> =
        combinations.map_err(wrong)?.into_iter().filter(|(at, _)| *at != At::default()).collect();
    for prepared in varied.iter_mut().flat_map(|(_, jobs)| jobs.files_mut()) {
        *prepared.path = file.folder().join(&*prepared.path);
    }
    varied.insert(0, (At::default(), file.prepare.clone()));
    Ok(varied)
}

fn data(file: &ExperimentFile, facts: &Facts) -> Result<BTreeMap<String, PlannedPreparation>, Error> {
    let varied = preparations(file)?.into_iter().skip(1);
    varied.map(|(at, jobs)| Ok((at.to_string(), planned_preparation(&jobs, facts)?))).collect()
}

fn named(file: &ExperimentFile, facts: &Facts, machine: Machine) -> Result<Named, Error> {
    let mut named = file.named.clone();
    for (name, build) in &mut named.builds {
        build.settings = resolve_all(&build.settings, machine).map_err(|error| {
            let what = format!("{}: [version.{name}.settings] {error}", file.path.display());
            Error::new(Class::BadInput, what)
        })?;
        // What pgdyno builds is known by what it is built from, before it is there.
        if build.source.is_some() {
            continue;
        }
        let hash = facts.sha256(&build.bin).ok_or_else(|| unknown(&build.bin.display().to_string()))?;
        hash.clone_into(&mut build.hash);
    }
    Ok(named)
}

fn arms(file: &ExperimentFile, machine: Machine) -> Result<Vec<Arm>, Error> {
    if file.arms.is_empty() {
        return Ok(vec![Arm { name: None, settings: BTreeMap::new(), weakens: Vec::new() }]);
    }
    let arm = |arm: &crate::experiment::ArmSpec| {
        let settings = resolve_all(&arm.settings, machine).map_err(|error| {
            Error::new(Class::BadInput, format!("{}: [settings.{}] {error}", file.path.display(), arm.name))
        })?;
        Ok(Arm { name: Some(arm.name.clone()), weakens: weakens(&settings), settings })
    };
    file.arms.iter().map(arm).collect()
}

fn workloads(file: &ExperimentFile, facts: &Facts) -> Result<BTreeMap<String, PlannedWorkload>, Error> {
    let beside = file.beside.iter().flat_map(|beside| beside.workloads());
    let mut planned = BTreeMap::new();
    for name in file.factors.workloads().chain(beside) {
        let Some(workload) = file.workload(name) else { continue };
        planned.insert(name.to_owned(), planned_workload(file, facts, name, &workload.spec)?);
    }
    Ok(planned)
}

/// A workload with each level of its options that is varied: the level as `option = level`, and the options.
///
/// # Errors
/// When a level does not belong to its option.
pub(crate) fn levels_of(
    file: &ExperimentFile,
    name: &str,
    spec: &Spec,
) -> Result<Vec<(String, Spec)>, Error> {
    let varied = file.factors.all().iter().filter_map(|(key, levels)| {
        let option = key.strip_prefix(name)?.strip_prefix('.')?;
        let option = Some(option).filter(|option| spec.option_names().contains(option))?;
        Some(levels.iter().map(move |level| (option.to_owned(), level.to_owned())))
    });
    let changed = |(option, level): (String, String)| {
        let named = level_name(&option, &level);
        let changed = with_options(spec, &BTreeMap::from([(option, level)])).map_err(|why| {
            Error::new(Class::BadInput, format!("{}: {name}.{named}: {why}", file.path.display()))
        })?;
        Ok((named, changed))
    };
    varied.flatten().map(changed).collect()
}

fn planned_workload(
    file: &ExperimentFile,
    facts: &Facts,
    name: &str,
    spec: &Spec,
) -> Result<PlannedWorkload, Error> {
    let texts = |level: Option<&str>| {
        facts.texts(name, level).cloned().ok_or_else(|| unknown(&format!("the texts of {name}")))
    };
    let scripts = texts(None)?;
    let mut levels = BTreeMap::new();
    for (level, _) in levels_of(file, name, spec)? {
        let own = texts(Some(&level))?;
        if own != scripts {
            levels.insert(level, own);
        }
    }
    Ok(PlannedWorkload { spec: spec.options(), scripts, levels })
}
