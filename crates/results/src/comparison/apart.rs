//! Two experiments that were measured separately, as the arms of one comparison: cells of the same levels,
//! by name.

use std::collections::{BTreeMap, BTreeSet};

use spec::plan::{PlannedPreparation, Recorded};
use spec::{
    ArmRecord, ControlArm, ExperimentPart, ExperimentRecord, Host, MeasuredTarget, OrderScheme, Run,
    RunEvent, figures,
};

use super::hosts::{hosts_of, words};
use crate::import::builtin_name;

/// One of two compared experiments.
#[derive(Debug, Clone)]
pub struct MeasuredExperiment {
    /// Its label here: `12`, `before.sqlite`.
    pub label: String,
    pub experiment: ExperimentRecord,
    pub host: Host,
    pub target: MeasuredTarget,
    /// Its parts, each with the host that measured it.
    pub parts: Vec<(ExperimentPart, Host)>,
    pub runs: Vec<Run>,
}

/// Both as one experiment that is not interleaved.
#[derive(Debug)]
pub struct Apart {
    pub experiment: ExperimentRecord,
    pub runs: Vec<Run>,
    /// Other differences, and uncompared parts, a sentence each.
    pub notes: Vec<String>,
}

/// Why two experiments cannot be compared.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApartError {
    #[error("{label} ({name}) has no runs of clients to compare")]
    NoRuns { label: String, name: String },
    #[error("{base} and {new} have no cell in common: {why}")]
    NothingInCommon { base: String, new: String, why: String },
}

type Levels = BTreeMap<String, String>;

const FACTOR: &str = "experiment";

impl Apart {
    /// Makes `base` and `new` the arms of one experiment.
    ///
    /// # Errors
    /// When one has nothing to compare, or they have no cell in common.
    pub fn of(base: &MeasuredExperiment, new: &MeasuredExperiment) -> Result<Self, ApartError> {
        let mut sides = [side(base)?, side(new)?];
        let control = name_by_control(&mut sides, [base, new]);
        let mut notes = Vec::new();
        notes.extend(drop_lonely(&mut sides, [base, new]));
        let [of_base, of_new] = sides
            .each_ref()
            .map(|side| side.iter().map(|(levels, _)| levels.clone()).collect::<BTreeSet<_>>());
        let common: BTreeSet<&Levels> = of_base.intersection(&of_new).collect();
        if common.is_empty() {
            let why = difference([(&base.label, &of_base), (&new.label, &of_new)]);
            return Err(ApartError::NothingInCommon {
                base: base.label.clone(),
                new: new.label.clone(),
                why,
            });
        }
        for (label, cells) in [(&base.label, &of_base), (&new.label, &of_new)] {
            match cells.len() - common.len() {
                0 => {}
                1 => notes.push(format!("1 cell of {label} is not in the other, and left out")),
                n => notes.push(format!("{n} cells of {label} are not in the other, and left out")),
            }
        }
        let mut runs: Vec<Run> = Vec::new();
        for (side, of) in sides.iter().zip([base, new]) {
            let first = runs.len() as u32;
            for (levels, run) in side.iter().filter(|(levels, _)| common.contains(levels)) {
                runs.push(as_arm(run, levels, &of.label, first));
            }
        }
        notes.extend(settings_differ(base, new));
        let scripts = scripts_differ(&runs, base, new);
        for run in runs.iter_mut().filter(|run| run.arm.as_ref() == Some(&new.label)) {
            let remark = scripts.get(&run.workload).map(|detail| RunEvent {
                time_us: 0,
                kind: RunEvent::OTHER_ANSWERS.to_owned(),
                detail: detail.clone(),
            });
            run.events.extend(remark);
        }
        notes.extend(surroundings_differ(base, new, &runs));
        Ok(Self { experiment: experiment(base, new, control.as_ref()), runs, notes })
    }

    /// How their data were prepared differently, if they were.
    #[must_use]
    pub fn prepared_otherwise(base: &MeasuredExperiment, new: &MeasuredExperiment) -> Option<String> {
        let [was, is] = [base, new].map(|of| of.experiment.plan.preparations());
        let levels: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
        let of = |all: &BTreeMap<String, PlannedPreparation>, level: &str| {
            jobs_and_inputs(all.get(level).cloned().unwrap_or_default())
        };
        let differences = levels.into_iter().flat_map(|level| {
            let on = if level.is_empty() { String::new() } else { format!("{level}: ") };
            let different = preparation_differs(&of(&was, level), &of(&is, level));
            different.into_iter().map(move |words| format!("{on}{words}"))
        });
        let all: Vec<String> = differences.collect();
        (!all.is_empty()).then(|| format!("not prepared alike: {}", all.join("; ")))
    }
}

/// The jobs of a preparation with their options, and the SHA-256 of its files by name.
type JobsAndInputs = (BTreeMap<String, serde_json::Value>, BTreeMap<String, String>);

fn jobs_and_inputs(of: PlannedPreparation) -> JobsAndInputs {
    let mut jobs = BTreeMap::new();
    for (name, value) in of.jobs.iter().filter(|(_, value)| !value.is_null()) {
        let mut value = value.clone();
        // The path of a file does not matter; its content is among the inputs.
        value.as_object_mut().into_iter().for_each(|job| drop(job.remove("extract")));
        jobs.insert(name.to_owned(), value);
    }
    (jobs, of.inputs)
}

fn preparation_differs(was: &JobsAndInputs, is: &JobsAndInputs) -> Vec<String> {
    let mut found = Vec::new();
    let jobs: BTreeSet<&String> = was.0.keys().chain(is.0.keys()).collect();
    for name in jobs {
        match (was.0.get(name), is.0.get(name)) {
            (Some(was), Some(is)) if was != is => found.extend(options_differ(name, was, is)),
            (Some(_), Some(_)) => {}
            (Some(_), None) => found.push(format!("{name} only then")),
            (None, _) => found.push(format!("{name} only now")),
        }
    }
    let files: BTreeSet<&String> = was.1.keys().chain(is.1.keys()).collect();
    found.extend(files.into_iter().filter_map(|name| match (was.1.get(name), is.1.get(name)) {
        (Some(was), Some(is)) => (was != is).then(|| format!("another content of {name}")),
        (Some(_), None) => Some(format!("{name} only then")),
        (None, _) => Some(format!("{name} only now")),
    }));
    found
}

/// `pgbench scale 1 and 10`.
fn options_differ(job: &str, was: &serde_json::Value, is: &serde_json::Value) -> Vec<String> {
    let (Some(was), Some(is)) = (was.as_object(), is.as_object()) else {
        return vec![format!("{job} {was} and {is}")];
    };
    let names: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    let value = |of: &serde_json::Map<String, serde_json::Value>, name: &str| {
        of.get(name).map_or("none".to_owned(), ToString::to_string)
    };
    let differ = names.into_iter().filter(|name| was.get(*name) != is.get(*name));
    differ.map(|name| format!("{job} {name} {} and {}", value(was, name), value(is, name))).collect()
}

fn side(of: &MeasuredExperiment) -> Result<Vec<(Levels, &Run)>, ApartError> {
    let runs = of.runs.iter().filter(|run| run.is_measured() && !run.beside);
    let factor = of.experiment.compare_factor.as_deref();
    let with_levels = |run| (levels(run, factor), run);
    let all: Vec<(Levels, &Run)> = runs.map(with_levels).collect();
    match all.is_empty() {
        true => Err(ApartError::NoRuns { label: of.label.clone(), name: of.experiment.name.clone() }),
        false => Ok(all),
    }
}

/// The arm that is the control of both, if they share one and have others. If each has exactly one other
/// arm, these two get one name, so that they are compared with each other.
fn name_by_control(sides: &mut [Vec<(Levels, &Run)>; 2], of: [&MeasuredExperiment; 2]) -> Option<ControlArm> {
    let [base, new] = of.map(|of| &of.experiment);
    let factor = base.compare_factor.clone().filter(|factor| new.compare_factor.as_ref() == Some(factor))?;
    let measured = sides
        .each_ref()
        .map(|side| -> BTreeSet<String> { side.iter().filter_map(|(_, run)| run.arm.clone()).collect() });
    let is_in_both = |name: &String| measured.iter().all(|arms| arms.contains(name));
    let is_alike = |arm: &&ArmRecord| {
        let other = new.arms.iter().find(|other| other.name == arm.name);
        let is_same = |other: &ArmRecord| {
            other.settings == arm.settings && are_of_one_build(arm, other).unwrap_or(true)
        };
        is_in_both(&arm.name) && other.is_some_and(is_same)
    };
    let mut alike: Vec<&ArmRecord> = base.arms.iter().filter(is_alike).collect();
    let is_base = |arm: &&ArmRecord| [base, new].iter().all(|of| of.base.as_ref() == Some(&arm.name));
    alike.sort_by_key(|arm| !is_base(arm));
    let arm = *alike.first()?;
    let control = ControlArm { factor, arm: arm.name.clone(), is_base: is_base(&arm) };
    let lonely = |at: usize| -> Vec<&String> { measured[at].difference(&measured[1 - at]).collect() };
    let replaced = match (&lonely(0)[..], &lonely(1)[..]) {
        ([old], [now]) => Some([(*old).clone(), (*now).clone()]),
        _ => None,
    };
    if replaced.is_none() && measured[0].intersection(&measured[1]).count() < 2 {
        return None;
    }
    for (levels, run) in sides.iter_mut().flatten() {
        if let (Some(name), Some([old, now])) = (&run.arm, &replaced)
            && [old, now].contains(&name)
        {
            levels.insert(control.factor.clone(), format!("{old} → {now}"));
        }
    }
    Some(control)
}

/// Whether the servers of two arms are of one build; `None` if that is not known of one.
fn are_of_one_build(one: &ArmRecord, other: &ArmRecord) -> Option<bool> {
    let tree = |arm: &ArmRecord| arm.target.as_ref()?.build.as_ref()?.tree.clone();
    Some(tree(one)? == tree(other)?)
}

fn levels(run: &Run, factor: Option<&str>) -> Levels {
    let mut levels = run.factors.clone();
    // A single run has pgbench's descriptions, imports have the names of built-in scripts.
    let workload: Vec<String> = run.workload.split(", ").map(builtin_name).collect();
    levels.insert("workload".to_owned(), workload.join(", "));
    levels.entry("clients".to_owned()).or_insert_with(|| run.clients.to_string());
    if let Some(arm) = &run.arm {
        levels.insert(factor.unwrap_or("arm").to_owned(), arm.clone());
    }
    levels
}

/// Drops a factor that only one of them has, if it has a single level.
fn drop_lonely(sides: &mut [Vec<(Levels, &Run)>; 2], of: [&MeasuredExperiment; 2]) -> Vec<String> {
    let factors = |side: &[(Levels, &Run)]| -> BTreeMap<String, BTreeSet<String>> {
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (name, level) in side.iter().flat_map(|(levels, _)| levels) {
            found.entry(name.clone()).or_default().insert(level.clone());
        }
        found
    };
    let both = [factors(&sides[0]), factors(&sides[1])];
    let mut notes = Vec::new();
    for at in 0..2 {
        for (name, own) in both[at].iter().filter(|(name, _)| !both[1 - at].contains_key(*name)) {
            let [(Some(only), None)] = [(own.first(), own.iter().nth(1))] else { continue };
            sides[at].iter_mut().for_each(|(levels, _)| drop(levels.remove(name)));
            notes.push(format!("only {} names {name} ({only})", of[at].label));
        }
    }
    notes
}

fn difference(sides: [(&String, &BTreeSet<Levels>); 2]) -> String {
    let of = |cells: &BTreeSet<Levels>, name: &str| -> BTreeSet<String> {
        cells.iter().filter_map(|cell| cell.get(name)).cloned().collect()
    };
    let names: BTreeSet<&String> =
        sides.iter().flat_map(|(_, cells)| cells.iter().flat_map(|cell| cell.keys())).collect();
    let shown = |levels: &BTreeSet<String>| match levels.is_empty() {
        true => "none".to_owned(),
        false => levels.iter().cloned().collect::<Vec<_>>().join(", "),
    };
    let difference = |name: &&String| {
        let [one, other] = sides.map(|(_, cells)| of(cells, name));
        let words =
            || format!("{name}: {} has {}, {} has {}", sides[0].0, shown(&one), sides[1].0, shown(&other));
        one.is_disjoint(&other).then(words)
    };
    let all: Vec<String> = names.iter().filter_map(difference).collect();
    if all.is_empty() { "no combination of their levels is in both".to_owned() } else { all.join("; ") }
}

/// A run as part of an arm, in a cell of all its levels.
fn as_arm(run: &Run, levels: &Levels, label: &str, first: u32) -> Run {
    let mut run = run.clone();
    run.workload.clone_from(&levels["workload"]);
    run.factors.clone_from(levels);
    run.arm = Some(label.to_owned());
    run.sequence += first;
    // How arms were interleaved within an experiment does not matter for this comparison.
    let own = [RunEvent::UNCUT, RunEvent::SLICED, RunEvent::SLICED_ALL_THE_SAME];
    run.events.retain(|event| !own.contains(&event.kind.as_str()));
    run
}

fn experiment(
    base: &MeasuredExperiment,
    new: &MeasuredExperiment,
    control: Option<&ControlArm>,
) -> ExperimentRecord {
    let arm = |of: &MeasuredExperiment| ArmRecord {
        name: of.label.clone(),
        settings: BTreeMap::new(),
        unsafe_settings: Vec::new(),
        target: Some(of.target.clone()),
    };
    let question = [new, base].map(|of| match of.experiment.name == of.label {
        true => of.label.clone(),
        false => format!("{} ({})", of.label, of.experiment.name),
    });
    ExperimentRecord {
        hash: format!("{} {}", base.experiment.hash, new.experiment.hash),
        name: format!("{} against {}", new.label, base.label),
        question: question.join(" against "),
        file_text: String::new(),
        plan: Recorded::default(),
        control: control.cloned(),
        seed: base.experiment.seed,
        order_scheme: OrderScheme::Apart,
        rounds: base.experiment.rounds.max(new.experiment.rounds),
        compare_factor: Some(FACTOR.to_owned()),
        base: Some(base.label.clone()),
        arms: vec![arm(base), arm(new)],
        margin: base.experiment.margin,
        taste: base.experiment.taste.clone().or_else(|| new.experiment.taste.clone()),
        created_at: base.experiment.created_at.clone().max(new.experiment.created_at.clone()),
        parts: Vec::new(),
    }
}

fn settings_differ(base: &MeasuredExperiment, new: &MeasuredExperiment) -> Vec<String> {
    let mut notes = Vec::new();
    for arm in &base.experiment.arms {
        let Some(other) = new.experiment.arms.iter().find(|other| other.name == arm.name) else { continue };
        let names: BTreeSet<&String> = arm.settings.keys().chain(other.settings.keys()).collect();
        let value =
            |of: &ArmRecord, name: &String| of.settings.get(name).map_or("not set".to_owned(), Clone::clone);
        let changes: Vec<String> = names
            .into_iter()
            .filter(|name| arm.settings.get(*name) != other.settings.get(*name))
            .map(|name| format!("{name} {} and {}", value(arm, name), value(other, name)))
            .collect();
        if !changes.is_empty() {
            notes.push(format!("{} is not the same in both: {}", arm.name, changes.join(", ")));
        }
    }
    notes
}

fn scripts_differ(
    runs: &[Run],
    base: &MeasuredExperiment,
    new: &MeasuredExperiment,
) -> BTreeMap<String, String> {
    let texts = |label: &str| -> BTreeMap<&str, BTreeSet<(&str, &str, u32)>> {
        let mut found: BTreeMap<&str, BTreeSet<_>> = BTreeMap::new();
        for run in runs.iter().filter(|run| run.arm.as_deref() == Some(label)) {
            let scripts =
                run.scripts.iter().map(|own| (own.name.as_str(), own.text_hash.as_str(), own.weight));
            found.entry(&run.workload).or_default().extend(scripts);
        }
        found
    };
    let (old, now) = (texts(&base.label), texts(&new.label));
    let difference = |(workload, own): (&&str, &BTreeSet<(&str, &str, u32)>)| {
        let other = &old[workload];
        let hashes = |of: &BTreeSet<(&str, &str, u32)>| {
            of.iter().map(|(_, hash, _)| (*hash).to_owned()).collect::<BTreeSet<_>>()
        };
        let same =
            hashes(own) == hashes(other) || own.iter().chain(other).any(|(_, hash, _)| hash.is_empty());
        let weights = own.iter().map(|own| own.2).eq(other.iter().map(|own| own.2));
        let what = match (same, weights) {
            (true, true) => return None,
            (true, false) => "weighs its scripts otherwise",
            (false, _) => "has other scripts of that name",
        };
        Some(((*workload).to_owned(), format!("{workload}: {} {what} than {}", new.label, base.label)))
    };
    now.iter().filter_map(difference).collect()
}

/// Where, on what, and how long each was measured. The drivers of its runs, and whether their threads
/// polled before sleeping.
fn generators(of: &MeasuredExperiment, runs: &[Run]) -> String {
    let own = runs.iter().filter(|run| run.arm.as_ref() == Some(&of.label));
    let one = |run: &Run| {
        let spins = run.figures.get(figures::CLIENT_SPIN_US).is_some();
        format!("{}{}", run.driver, if spins { ", spinning" } else { "" })
    };
    own.map(one).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" and ")
}

fn surroundings_differ(base: &MeasuredExperiment, new: &MeasuredExperiment, runs: &[Run]) -> Vec<String> {
    let told = |what: &str, [one, other]: [String; 2]| {
        (one != other).then(|| format!("{what}: {} {one}, {} {other}", base.label, new.label))
    };
    let both = [base, new];
    let hosts = both.map(|of| hosts_of(&of.host, &of.parts, &of.runs));
    let [are, were] =
        hosts.each_ref().map(|hosts| hosts.iter().map(|host| host.machine()).collect::<BTreeSet<_>>());
    let machine = (are != were).then(|| {
        let [base_hosts, new_hosts] = hosts.each_ref().map(|hosts| words(hosts));
        format!("not the same machine: {} {base_hosts}, {} {new_hosts}", base.label, new.label)
    });
    let lengths = |of: &MeasuredExperiment| {
        let own = runs.iter().filter(|run| run.arm.as_ref() == Some(&of.label));
        own.map(|run| run.measured_s.round() as u64).max().unwrap_or(0)
    };
    let turns = |of: &MeasuredExperiment| {
        let own = || runs.iter().filter(|run| run.arm.as_ref() == Some(&of.label));
        let sliced = own().filter(|run| run.is_sliced()).count();
        match sliced {
            0 => "in whole runs".to_owned(),
            all if all == own().count() => "in slices".to_owned(),
            _ => "partly in slices".to_owned(),
        }
    };
    let differ = [
        machine,
        told("measured", both.map(turns)),
        told("server", both.map(|of| of.target.dsn_redacted.clone())),
        Apart::prepared_otherwise(base, new),
        told("PostgreSQL", both.map(|of| of.target.server_version.clone())),
        told("pgdyno", both.map(|of| of.target.versions.get("pgdyno").cloned().unwrap_or_default())),
        told("load generator", both.map(|of| generators(of, runs))),
        told("runs of", both.map(|of| format!("{} s", lengths(of)))),
        told("begun", both.map(|of| minute(&of.experiment.created_at))),
        told("margin", both.map(|of| format!("{} %", of.experiment.margin * 100.0))),
    ];
    differ.into_iter().flatten().collect()
}

fn minute(stored: &str) -> String {
    let minute: String = stored.chars().take(16).collect();
    format!("{} UTC", minute.replace('T', " "))
}

#[cfg(test)]
mod tests;
