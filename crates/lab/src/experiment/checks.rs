//! What cannot be true together, found when the whole file is read.

use super::model::{ExperimentFile, TargetSpec};
use super::problem::suggestion;
use super::reader::{Field, Section};
use crate::words::count;
use target::settings::{Machine, always_needs_restart, needs_reload, resolve};

/// Notes everything in `file` that contradicts something else in it.
pub(super) fn check(root: &Section<'_>, full: Option<&Section<'_>>, file: &ExperimentFile) {
    let fields = Fields { root, full };
    names_of_workloads(&fields, file);
    every_workload_is_used(&fields, file);
    arms_and_comparison(&fields, file);
    rounds_balance(&fields, file);
    servers_are_there(&fields, file);
    memory_is_known(&fields, file);
    limit_and_rate(&fields, file);
    arms_can_be(&fields, file);
    runs_can_be_counted(&fields, file);
}

/// Finds the field that a check speaks of: in `[full]` first.
struct Fields<'s, 'a> {
    root: &'s Section<'a>,
    full: Option<&'s Section<'a>>,
}

impl<'a> Fields<'_, 'a> {
    fn find(&self, section: &str, key: &str) -> Option<Field<'a>> {
        let over = self.full.and_then(|full| full.section(section)).and_then(|section| section.get(key));
        over.or_else(|| self.root.section(section)?.get(key))
    }

    /// Notes a problem at a field, or at the head of the file when it is not there.
    fn wrong(&self, field: Option<Field<'a>>, message: String, hint: Option<String>) {
        match field {
            Some(field) => field.source.problem(&field.key_span, message, hint),
            None => self.root.source.problem(&(0..0), message, hint),
        }
    }
}

fn names_of_workloads(fields: &Fields<'_, '_>, file: &ExperimentFile) {
    let known: Vec<&str> = defined(fields).iter().map(|name| name.0).collect::<Vec<_>>();
    for section in ["factors", "beside"] {
        let Some(field) = fields.find(section, "workload") else { continue };
        for element in field.elements() {
            let Some(name) = element.value.get_ref().as_str() else { continue };
            if !known.contains(&name) {
                element.wrong(format!("there is no [workload.{name}]"), suggestion(name, &known));
            }
        }
    }
    if let Some(beside) = &file.beside {
        for name in beside.workload.iter().filter(|name| file.factors.workload.contains(name)) {
            let message = format!("workload {name} is both in the grid and beside it");
            fields.wrong(fields.find("beside", "workload"), message, None);
        }
    }
}

/// Names of workloads in the file, also of those with mistakes, with where they stand.
fn defined<'a>(fields: &Fields<'_, 'a>) -> Vec<(&'a str, Field<'a>)> {
    let Some(section) = fields.root.section("workload") else { return Vec::new() };
    section.fields().into_iter().map(|field| (field.name(), field)).collect()
}

fn every_workload_is_used(fields: &Fields<'_, '_>, file: &ExperimentFile) {
    // Where none is named all are used; one with a mistake in it is then missing from the list, and no second mistake.
    if fields.root.section("factors").is_none_or(|factors| factors.get("workload").is_none()) {
        return;
    }
    // [full] may use more workloads than the rest of the file.
    let in_full = fields.root.section("full").and_then(|full| full.section("factors")?.get("workload"));
    let in_full: Vec<String> =
        in_full.map(|field| field.elements().iter().filter_map(Field::string).collect()).unwrap_or_default();
    let beside = file.beside.as_ref().map(|beside| beside.workload.as_slice()).unwrap_or_default();
    for (name, field) in defined(fields) {
        let used = |names: &[String]| names.iter().any(|used| used == name);
        if !used(&file.factors.workload) && !used(beside) && !used(&in_full) {
            fields.wrong(
                Some(field),
                format!("workload {name} is described but never used"),
                Some("name it in [factors] workload or in [beside] workload, or remove it".into()),
            );
        }
    }
}

fn arms_and_comparison(fields: &Fields<'_, '_>, file: &ExperimentFile) {
    let settings = fields.root.get("settings");
    if file.compare.is_none() && fields.root.get("compare").is_none() && file.arms.len() > 1 {
        let hint = "add [compare] factor = \"settings\", base = \"…\"";
        fields.wrong(
            settings.clone(),
            "several arms, but nothing says which is the base".into(),
            Some(hint.into()),
        );
    }
    if file.compare.is_some() && file.arms.len() < 2 {
        fields.wrong(
            fields.root.get("compare"),
            "a comparison needs at least two arms".into(),
            Some("add tables [settings.NAME], one for each arm; the base may be empty".into()),
        );
    }
    for (index, arm) in file.arms.iter().enumerate() {
        if let Some(twin) = file.arms[..index].iter().find(|other| other.settings == arm.settings) {
            let field = fields.root.section("settings").and_then(|settings| settings.get(&arm.name));
            fields.wrong(field, format!("arms {} and {} set the same", twin.name, arm.name), None);
        }
    }
}

fn rounds_balance(fields: &Fields<'_, '_>, file: &ExperimentFile) {
    let rounds = file.measure.rounds;
    if file.compare.is_some() && rounds % 2 == 1 {
        let better = if rounds == 1 { "2".to_owned() } else { format!("{} or {}", rounds - 1, rounds + 1) };
        fields.wrong(
            fields.find("measure", "rounds"),
            format!(
                "{} cannot be balanced: the base goes first in every other round",
                count(rounds as usize, "round")
            ),
            Some(format!("use {better}")),
        );
    }
}

fn servers_are_there(fields: &Fields<'_, '_>, file: &ExperimentFile) {
    let has_redis = match &file.target {
        TargetSpec::Managed { redis, .. } => *redis,
        TargetSpec::Url { redis, .. } => redis.is_some(),
    };
    let asks = file.workloads.iter().find(|workload| workload.spec.needs_redis());
    if let (false, Some(workload)) = (has_redis, asks) {
        let hint = match file.target {
            TargetSpec::Managed { .. } => "managed = { redis = true }",
            TargetSpec::Url { .. } => "redis = \"redis://host:6379\"",
        };
        fields.wrong(
            fields.root.get("target"),
            format!("workload {} asks a Redis, and the target has none", workload.name),
            Some(format!("write {hint} in [target]")),
        );
    }
}

fn memory_is_known(fields: &Fields<'_, '_>, file: &ExperimentFile) {
    if matches!(file.target, TargetSpec::Managed { .. }) {
        return;
    }
    for arm in &file.arms {
        for (name, value) in arm.settings.iter().filter(|(_, value)| is_share(value)) {
            let section = fields.root.section("settings").and_then(|settings| settings.section(&arm.name));
            fields.wrong(
                section.and_then(|section| section.get(name)),
                format!("\"{value}\": the machine of a server given by URL is not known"),
                Some("write the value itself, e.g. \"4GB\"".into()),
            );
        }
    }
}

/// Whether a value depends on the machine.
fn is_share(value: &str) -> bool {
    let on = |memory_bytes, cores| resolve(value, Machine { memory_bytes, cores });
    on(1 << 40, 1 << 10) != on(1 << 50, 1 << 20)
}

/// What no server given by URL can be brought to: two values of a setting that takes a restart, or a change of the
/// whole server. One value may be in force there already; that only the server knows.
fn arms_can_be(fields: &Fields<'_, '_>, file: &ExperimentFile) {
    let TargetSpec::Url { change_server, .. } = &file.target else { return };
    for (index, arm) in file.arms.iter().enumerate() {
        for (name, value) in &arm.settings {
            let others = file.arms[..index].iter().filter_map(|other| other.settings.get(name));
            if !others.into_iter().any(|other| other != value) {
                continue;
            }
            let section = fields.root.section("settings").and_then(|settings| settings.section(&arm.name));
            let field = section.and_then(|section| section.get(name));
            if always_needs_restart(name) {
                let message =
                    format!("`{name}` needs a restart, which a server given by URL cannot be given");
                let hint = "use a managed target, or set it there by hand for all arms";
                fields.wrong(field, message, Some(hint.into()));
            } else if needs_reload(name) && !change_server {
                let message = format!("`{name}` can only be set for the whole server");
                fields.wrong(
                    field,
                    message,
                    Some("write change_server = true into [target] to allow it".into()),
                );
            }
        }
    }
}

/// Most runs of an experiment.
const MOST_RUNS: u64 = 1_000_000;

fn runs_can_be_counted(fields: &Fields<'_, '_>, file: &ExperimentFile) {
    let factors = &file.factors;
    let levels = [factors.workload.len(), factors.clients.len(), factors.rate.len(), file.arms.len()];
    let runs = levels
        .iter()
        .map(|count| (*count).max(1) as u64)
        .fold(u64::from(file.measure.rounds), u64::saturating_mul);
    if runs > MOST_RUNS {
        let message = format!("the experiment has {runs} runs; at most {MOST_RUNS} can be");
        fields.wrong(fields.find("measure", "rounds"), message, Some("fewer rounds or levels".into()));
    }
}

fn limit_and_rate(fields: &Fields<'_, '_>, file: &ExperimentFile) {
    if let (Some(limit), Some(field)) = (file.load.limit, fields.find("load", "limit"))
        && limit.as_secs() >= 3600
    {
        fields.wrong(Some(field), "a limit of an hour or more limits nothing".into(), None);
    }
}
