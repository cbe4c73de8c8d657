//! From an experiment file to a plan.

use std::collections::BTreeMap;
use std::time::Duration;

use spec::Class;
use workloads::{Preparation, Spec};

use super::cost::sized;
use super::inputs::fingerprint;
use super::order::{derive, runs};
use super::preparation::planned_preparation;
use super::restarts::arms_need_restart;
use super::sides::wanted;
use super::slicing::sliced;
use super::workload::level_name;
use super::{
    Beside, Content, Facts, Plan, PlannedComparison, PlannedLoad, PlannedMeasure, PlannedPreparation,
    PlannedWorkload, Scheme, cost, generator, identity,
};
use crate::error::LabError;
use crate::experiment::{DurationSpec, ExperimentFile, LoadKind};
use crate::factors::{SETTINGS, with_data, with_options};
use crate::setup::{Arm, At};
use server::settings::{Machine, resolve_all, weakens};
use spec::plan::Named;

fn content(file: &ExperimentFile, machine: Machine) -> Result<Content, LabError> {
    let arms = arms(file, machine)?;
    let scheme = match &file.compare {
        None => Scheme::Single,
        Some(compare) if compare.factor == SETTINGS && arms_need_restart(&arms) => Scheme::HalfRounds,
        Some(compare) if file.named.changes.contains_key(&compare.factor) => Scheme::HalfRounds,
        Some(_) => Scheme::Pairs,
    };
    let beside = file.beside.clone().unwrap_or_default();
    Ok(Content {
        seed: file.seed,
        target: file.target.clone(),
        prepare: planned_preparation(&file.prepare)?,
        data: data(file)?,
        workloads: workloads(file)?,
        factors: file.factors.all().clone(),
        beside: Beside {
            workloads: beside.workloads().map(str::to_owned).collect(),
            clients: beside.levels("clients").iter().filter_map(|level| level.parse().ok()).collect(),
        },
        arms,
        named: named(file)?,
        compare: file.compare.as_ref().map(|compare| PlannedComparison {
            factor: compare.factor.clone(),
            base: compare.base.clone(),
            margin: compare.margin,
        }),
        measure: measure(file),
        order: file.measure.order,
        scheme,
    })
}

fn measure(file: &ExperimentFile) -> PlannedMeasure {
    PlannedMeasure {
        load: match file.load.kind {
            LoadKind::Closed => PlannedLoad::Closed,
            LoadKind::Rate => PlannedLoad::Rate,
            LoadKind::Users { think, ramp } => {
                PlannedLoad::Users { think_s: think.as_secs_f64(), ramp_s: ramp.as_secs_f64() }
            }
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
        threads: file.measure.threads,
        slices: file.measure.slices,
        search: file.load.search.clone(),
    }
}

/// The preparations of all combinations of levels of their options, with the content of their files.
fn data(file: &ExperimentFile) -> Result<BTreeMap<String, PlannedPreparation>, LabError> {
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
    let wrong = |why| LabError::failed(Class::BadInput, format!("{}: {why}", file.path.display()), "");
    let planned = combinations.map_err(wrong)?.into_iter().filter(|(at, _)| *at != At::default());
    let with_files = planned.map(|(at, mut jobs)| {
        for prepared in jobs.files_mut() {
            *prepared.path = file.folder().join(&*prepared.path);
        }
        Ok((at.to_string(), planned_preparation(&jobs)?))
    });
    with_files.collect()
}

fn named(file: &ExperimentFile) -> Result<Named, LabError> {
    let mut named = file.named.clone();
    for build in named.builds.values_mut() {
        build.hash = fingerprint(&build.bin.join("postgres"))?;
    }
    Ok(named)
}

fn arms(file: &ExperimentFile, machine: Machine) -> Result<Vec<Arm>, LabError> {
    if file.arms.is_empty() {
        return Ok(vec![Arm { name: None, settings: BTreeMap::new(), weakens: Vec::new() }]);
    }
    let arm = |arm: &crate::experiment::ArmSpec| {
        let settings = resolve_all(&arm.settings, machine).map_err(|error| {
            LabError::failed(
                Class::BadInput,
                format!("{}: [settings.{}] {error}", file.path.display(), arm.name),
                "",
            )
        })?;
        Ok(Arm { name: Some(arm.name.clone()), weakens: weakens(&settings), settings })
    };
    file.arms.iter().map(arm).collect()
}

fn workloads(file: &ExperimentFile) -> Result<BTreeMap<String, PlannedWorkload>, LabError> {
    let beside = file.beside.iter().flat_map(|beside| beside.workloads());
    let mut planned = BTreeMap::new();
    for name in file.factors.workloads().chain(beside) {
        let Some(workload) = file.workload(name) else { continue };
        planned.insert(name.to_owned(), planned_workload(file, name, &workload.spec)?);
    }
    Ok(planned)
}

fn facts(file: &ExperimentFile) -> Facts {
    let mut facts = Facts::default();
    for name in file.factors.workloads() {
        let opened = file.workload(name).and_then(|workload| workload.spec.open(file.folder()).ok());
        let Some(opened) = opened else { continue };
        facts.writes.extend(opened.writes().then(|| name.to_owned()));
        facts.jobs.extend(opened.job().map(|_| name.to_owned()));
        facts.reconnects.extend(opened.carried().reconnects.then(|| name.to_owned()));
    }
    facts
}

fn planned_workload(file: &ExperimentFile, name: &str, spec: &Spec) -> Result<PlannedWorkload, LabError> {
    let texts = |spec: &Spec| texts(file, name, spec);
    let scripts = texts(spec)?;
    let mut levels = BTreeMap::new();
    let varied = file.factors.all().iter().filter_map(|(key, levels)| {
        let option = key.strip_prefix(name)?.strip_prefix('.')?;
        let option = Some(option).filter(|option| spec.option_names().contains(option))?;
        Some(levels.iter().map(move |level| (option.to_owned(), level.to_owned())))
    });
    for (option, level) in varied.flatten() {
        let named = level_name(&option, &level);
        let changed = with_options(spec, &BTreeMap::from([(option, level)])).map_err(|why| {
            LabError::failed(Class::BadInput, format!("{}: {name}.{named}: {why}", file.path.display()), "")
        })?;
        let own = texts(&changed)?;
        if own != scripts {
            levels.insert(named, own);
        }
    }
    Ok(PlannedWorkload { spec: spec.options(), scripts, levels })
}

/// The texts of a workload, and the content of the files it reads: name to SHA-256.
fn texts(file: &ExperimentFile, name: &str, spec: &Spec) -> Result<BTreeMap<String, String>, LabError> {
    let opened = spec.open(file.folder()).map_err(|error| {
        LabError::failed(Class::BadInput, format!("{}: [workload.{name}] {error}", file.path.display()), "")
    })?;
    let mut texts: BTreeMap<String, String> =
        opened.scripts().into_iter().map(|script| (script.name, script.text_hash)).collect();
    for path in spec.data_files() {
        texts.insert(path.display().to_string(), fingerprint(&file.folder().join(path))?);
    }
    Ok(texts)
}

/// Expands an experiment for a machine, whose memory and cores values like `25% of memory` refer to. Scripts
/// and other files of the experiment are read for their content.
///
/// # Errors
/// When a file it names cannot be read, or a script does not parse.
pub fn expand(file: &ExperimentFile, machine: Machine) -> Result<Plan, LabError> {
    let wrong =
        |problem| LabError::failed(Class::BadInput, format!("{}: {problem}", file.path.display()), "");
    let mut content = content(file, machine)?;
    let rounds = file.measure.rounds;
    if let DurationSpec::Sized { budget, from, to } = file.measure.duration {
        let all = runs(&content, 0, rounds, None).map_err(wrong)?.len();
        let arms = content.arms.len().saturating_sub(1);
        let restarts = if cost::may_restart(&content) { rounds as usize * arms + 1 } else { 0 };
        content.measure.duration_s = sized(
            budget.as_secs_f64(),
            (content.measure.warmup_s, cost::around_run_s(&content)),
            all,
            restarts,
            from.as_secs_f64(),
            to.as_secs_f64(),
        );
    }
    let rounds = file.asked_rounds.unwrap_or(rounds);
    let facts = facts(file);
    let standing = wanted(&content, &facts);
    let slicing = sliced(&content, standing.as_ref(), facts);
    let seed = content.seed.unwrap_or_else(|| derive(0, &["seed", &identity::hash(&content)]));
    let plan = Plan {
        name: file.name.clone(),
        question: file.question.clone(),
        taste: file.taste.clone(),
        prices: file.prices.clone(),
        rounds,
        seed,
        repeat_disturbed: file.measure.repeat_disturbed,
        explain: file.measure.explain,
        runs: runs(&content, seed, rounds, standing.as_ref()).map_err(wrong)?,
        standing,
        slicing,
        not_run: Vec::new(),
        placement: None,
        generator: None,
        content,
    };
    Ok(generator::with_generator(plan))
}
