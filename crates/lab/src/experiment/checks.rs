//! Contradictions, found when the whole file is read.

use std::collections::BTreeMap;

use spec::Profile;
use spec::plan::change::Change;
use spec::plan::pooler::PoolerChoice;
use spec::plan::{PlannedUsers, TargetSpec};
use toml::de::DeValue;

use super::build::known;
use super::document::Document;
use super::model::{Compare, DurationSpec, ExperimentFile, LoadKind, NamedWorkload};
use super::problem::suggestion;
use crate::factors::{SETTINGS, STORAGE, factor, of_a_workload, ways};
use crate::words::count;
use server::settings::{Machine, always_needs_restart, needs_reload, resolve};
use workloads::Spec;

pub(super) fn check(document: &mut Document<'_>, file: &ExperimentFile) {
    names_of_workloads(document, file);
    every_workload_is_used(document, file);
    super::unused::every_description_is_used(document, file);
    arms_and_comparison(document, file);
    servers_are_there(document, file);
    memory_is_known(document, file);
    promise_can_be_broken(document, file);
    rates_have_their_time(document, file);
    arms_can_be(document, file);
    changes_can_be(document, file);
    connections_can_be(document, file);
    super::topology::topology_can_be(document, file);
    clients_fit(document, file);
    data_can_be(document, file);
    workloads_have_their_own(document, file);
    measured_loads_have_their_own_tables(document, file);
    runs_can_be_counted(document, file);
}

fn names_of_workloads(document: &mut Document<'_>, file: &ExperimentFile) {
    for beside in file.beside.iter().flat_map(|beside| beside.workloads()) {
        if file.factors.workloads().any(|name| name == beside) {
            let message = format!("workload {beside} is both in the grid and beside it");
            document.wrong_key(&["beside", "workload"], message, None);
        }
    }
}

fn every_workload_is_used(document: &mut Document<'_>, file: &ExperimentFile) {
    // Without a list all workloads are used; one with a mistake is then missing from the list, which is not a
    // second mistake.
    if !document.names(&["factors"]).iter().any(|key| key == "workload") {
        return;
    }
    // [full] may use more workloads than the rest of the file.
    let in_full = match document.value(&["full", "factors", "workload"]) {
        Some(DeValue::Array(list)) => list.iter().filter_map(|name| name.get_ref().as_str()).collect(),
        one => one.and_then(DeValue::as_str).into_iter().collect::<Vec<_>>(),
    };
    let beside = file.beside.iter().flat_map(|beside| beside.workloads());
    let used: Vec<String> =
        file.factors.workloads().chain(beside).chain(in_full).map(str::to_owned).collect();
    for name in document.names(&["workload"]).iter().filter(|name| !used.contains(name)) {
        let message = format!("workload {name} is described but never used");
        let hint = "name it in [factors] workload or in [beside] workload, or remove it";
        document.wrong_key(&["workload", name], message, Some(hint));
    }
}

fn one_of(document: &mut Document<'_>, key: &str, word: &str, known: &[&str]) {
    if !known.is_empty() && !known.contains(&word) {
        let message = format!("`compare.{key}` cannot be \"{word}\"");
        document.wrong(&["compare", key], message, suggestion(word, known).as_deref());
    }
}

fn arms_and_comparison(document: &mut Document<'_>, file: &ExperimentFile) {
    if file.compare.is_none() && !document.is_wrong(&["compare"]) && file.arms.len() > 1 {
        let hint = "add [compare] factor = \"settings\", base = \"…\"";
        document.wrong_key(
            &["settings"],
            "several arms, but nothing says which is the base".into(),
            Some(hint),
        );
    }
    if let Some(compare) = &file.compare {
        comparison(document, file, compare);
    }
    if file.by_hand().is_some() && file.load.search.is_some() {
        let message = "a limit cannot be searched at levels that are set by hand".to_owned();
        let hint = "measure at several rates instead: [factors] rate = [500, 1000, 2000]";
        document.wrong_key(&["load", "search"], message, Some(hint));
    }
}

/// Checks that what is compared exists, its base is one of the arms, and every workload of the grid can
/// distinguish the arms.
fn comparison(document: &mut Document<'_>, file: &ExperimentFile, compare: &Compare) {
    let key = compare.factor.as_str();
    let settings: Vec<&str> = file.arms.iter().map(|arm| arm.name.as_str()).collect();
    let levels: Vec<&str> = match key {
        SETTINGS => settings,
        _ => file.factors.levels(key).iter().map(String::as_str).collect(),
    };
    let known = known(&file.workloads, &file.named);
    if levels.is_empty() && key != SETTINGS && factor(key, &known).is_none() {
        let listed = file.factors.all().iter().filter(|(_, levels)| levels.len() > 1);
        let known: Vec<&str> = [SETTINGS].into_iter().chain(listed.map(|(key, _)| key.as_str())).collect();
        return one_of(document, "factor", key, &known);
    }
    let place: Vec<&str> = match key {
        SETTINGS => vec![SETTINGS],
        _ if file.named.changes.contains_key(key) => vec!["change", key],
        _ if file.by_hand() == Some(key) => vec!["by_hand", key],
        _ => ["factors"].into_iter().chain(key.split('.')).collect(),
    };
    if let Some(name) = file.by_hand().filter(|name| *name != key) {
        let message = format!("{name} is set by hand, so it is what is compared, not {key}");
        let hint = format!("write factor = \"{name}\" in [compare], or leave [compare] out");
        return document.wrong(&["compare", "factor"], message, Some(&hint));
    }
    // More levels can come later.
    if levels.len() < 2 && file.by_hand().is_none() {
        if !document.is_wrong(&place) {
            let message = "a comparison needs at least two arms".to_owned();
            if key == SETTINGS {
                let hint = "add tables [settings.NAME], one for each arm; the base may be empty";
                document.wrong_key(&["compare"], message, Some(hint));
            } else {
                let hint = "list its levels in [factors], such as clients = [1, 8]";
                document.wrong(&["compare", "factor"], message, Some(hint));
            }
        }
        return;
    }
    if !document.is_wrong(&["compare", "base"]) {
        one_of(document, "base", &compare.base, &levels);
    }
    let alike = |name: &&str| factor(key, &known).is_some_and(|factor| !factor.concerns(key, name, &known));
    if let Some(name) = file.factors.workloads().find(alike) {
        let message = format!("{key} does not change workload {name}: its arms would be the same");
        let hint = "leave it out of [factors] workload";
        document.wrong(&["compare", "factor"], message, Some(hint));
    }
}

fn servers_are_there(document: &mut Document<'_>, file: &ExperimentFile) {
    let (has_redis, hint) = match &file.target {
        TargetSpec::Managed { redis, .. } => (*redis, "write managed = { redis = true } in [target]"),
        TargetSpec::Url { redis, .. } => (redis.is_some(), "write redis = \"redis://host:6379\" in [target]"),
    };
    let asks = file.workloads.iter().find(|workload| workload.spec.needs_redis());
    if !has_redis
        && !document.is_wrong(&["target"])
        && let Some(workload) = asks
    {
        let message = format!("workload {} asks a Redis, and the target has none", workload.name);
        document.wrong_key(&["target"], message, Some(hint));
    }
    let servers: Vec<&str> = file.target.tile_servers().iter().map(|server| server.kind.name()).collect();
    for workload in &file.workloads {
        let Some(name) = workload.spec.needs_tile_server().filter(|name| !servers.contains(name)) else {
            continue;
        };
        let message = format!("workload {} goes through {name}, and the target has none", workload.name);
        let hint = format!("write tile_servers = [\"{name}\"] in [target]");
        document.wrong_key(&["target"], message, Some(&hint));
    }
    let theirs = matches!(file.target, TargetSpec::Url { .. });
    for workload in file.workloads.iter().filter(|_| theirs) {
        let Some(option) = workload.spec.needs_own_redis() else { continue };
        let message = format!("workload {} sets {option}, and this Redis is not pgdyno's own", workload.name);
        let hint = "use a managed target with redis = true, or leave it out";
        document.wrong_key(&["workload", &workload.name], message, Some(hint));
    }
}

fn memory_is_known(document: &mut Document<'_>, file: &ExperimentFile) {
    if file.targets().all(|spec| matches!(spec, TargetSpec::Managed { .. })) {
        return;
    }
    for arm in &file.arms {
        for (name, value) in arm.settings.iter().filter(|(_, value)| is_share(value)) {
            let message = format!("\"{value}\": the machine of a server given by URL is not known");
            let hint = "write the value itself, e.g. \"4GB\"";
            document.wrong_key(&["settings", &arm.name, name], message, Some(hint));
        }
    }
}

fn is_share(value: &str) -> bool {
    let on = |memory_bytes, cores| resolve(value, Machine { memory_bytes, cores });
    on(1 << 40, 1 << 10) != on(1 << 50, 1 << 20)
}

/// Checks that options of one workload are for a workload of the grid, are not compared, and offer one rate.
fn workloads_have_their_own(document: &mut Document<'_>, file: &ExperimentFile) {
    let known = known(&file.workloads, &file.named);
    let compared = file.compare.as_ref().map(|compare| compare.factor.as_str());
    for key in file.factors.all().keys() {
        let Some((workload, own)) = of_a_workload(key, &known) else { continue };
        let place = ["factors", workload, own];
        if compared == Some(own) || compared == Some("workload") {
            let message = format!("`{key}`: {own} of one workload alone, where arms are levels of {}", {
                compared.unwrap_or_default()
            });
            let hint = format!("list {own} in [factors], for all workloads");
            document.wrong_key(&place, message, Some(&hint));
        } else if file.load.search.is_some() && own != "clients" && own != "threads" {
            let message = format!("`{key}` and `load.search` cannot be combined");
            let hint = "a search chooses its rates, and has its own promise";
            document.wrong_key(&place, message, Some(hint));
        } else if !file.factors.workloads().any(|name| name == workload) {
            let message = format!("`{key}`: workload {workload} is not in the grid");
            document.wrong_key(&place, message, None);
        }
    }
    for workload in file.factors.workloads() {
        let has = |own: &str| {
            let levels = [format!("{workload}.{own}"), own.to_owned()];
            levels.into_iter().find(|key| !file.factors.levels(key).is_empty())
        };
        if let (Some(rate), Some(other)) = (has("rate"), has("rate_per_client")) {
            let place: Vec<&str> = ["factors"].into_iter().chain(other.split('.')).collect();
            let message = format!("workload {workload} has both `{rate}` and `{other}`");
            document.wrong_key(&place, message, Some("one of them says how much is offered"));
            return;
        }
    }
}

/// Only managed servers can exist in several copies with other data, storage or versions.
pub(super) fn data_can_be(document: &mut Document<'_>, file: &ExperimentFile) {
    let by_url =
        file.named.servers.values().chain([&file.target]).any(|spec| matches!(spec, TargetSpec::Url { .. }));
    let levels = file
        .factors
        .all()
        .keys()
        .filter(|key| ["version", STORAGE].contains(&key.as_str()) || key.starts_with("prepare."));
    for key in levels.filter(|_| by_url) {
        let place: Vec<&str> = ["factors"].into_iter().chain(key.split('.')).collect();
        let message = format!("`{key}` can only be varied on managed servers");
        let hint =
            "give two servers, each with its own, as [server.NAME] with url = \"…\", and compare \"server\"";
        document.wrong_key(&place, message, Some(hint));
    }
}

/// Changes can be undone, and are allowed on a server that pgdyno does not own.
fn changes_can_be(document: &mut Document<'_>, file: &ExperimentFile) {
    if !are_made_on_copies(file) {
        let levels =
            |(name, levels)| BTreeMap::iter(levels).map(move |(level, change)| (name, level, change));
        for (name, level, change) in file.named.changes.iter().flat_map(levels) {
            let place = ["change", name, level];
            if let (false, Err(error)) = (document.is_wrong(&place), server::change::validate(change, false))
            {
                document.wrong_key(&place, error.to_string(), None);
            }
        }
    }
    if !file.targets().any(|spec| matches!(spec, TargetSpec::Url { change_server: false, .. })) {
        return;
    }
    for (name, levels) in &file.named.changes {
        for (level, _) in levels.iter().filter(|(_, change)| change.do_.is_some()) {
            let message = format!("[change.{name}.{level}] changes a server that is not pgdyno's own");
            let hint = "write change_server = true into [target] to allow it";
            document.wrong_key(&["change", name, level], message, Some(hint));
        }
    }
}

/// Whether arms are changes on copies that are thrown away, if there is room for them: no undo is needed
/// there.
fn are_made_on_copies(file: &ExperimentFile) -> bool {
    let changes = &file.named.changes;
    let compared = file.compare.as_ref().is_some_and(|compare| changes.contains_key(&compare.factor));
    let ours = file.targets().all(|spec| matches!(spec, TargetSpec::Managed { .. }));
    // A search tries its arms on one server, one after the other.
    let searches = file.load.search.is_some();
    let command = |change: &Change| matches!(change.do_, Some(spec::plan::change::ChangeStep::Command(_)));
    compared
        && !searches
        && ours
        && changes.len() == 1
        && !changes.values().flat_map(BTreeMap::values).any(command)
}

/// The URL decides how clients reach a server given by URL.
fn connections_can_be(document: &mut Document<'_>, file: &ExperimentFile) {
    if !file.targets().any(|spec| matches!(spec, TargetSpec::Url { .. })) {
        return;
    }
    let own = |level: &&String| *level != "direct" && ways().any(|way| way == **level);
    if let Some(level) = file.factors.levels("connection").iter().find(own) {
        let message = format!("\"{level}\" is for managed servers: one given by URL is reached as that says");
        let hint = "\"direct\" and the names of poolers are available";
        document.wrong(&["factors", "connection"], message, Some(hint));
    }
}

/// Default of a server, in PostgreSQL since 8.0.
const MAX_CONNECTIONS: u64 = 100;
/// Connections not available to clients: three reserved for superusers, and pgdyno's own two.
const NOT_FOR_CLIENTS: u64 = 5;

/// Every client has its own connection to a managed server, unless it uses a pooler.
fn clients_fit(document: &mut Document<'_>, file: &ExperimentFile) {
    let asked = file.factors.workloads().filter_map(|name| file.workload(name));
    let asks = asked.into_iter().any(|workload| workload.spec.needs_postgres());
    if !asks || !file.targets().any(|spec| matches!(spec, TargetSpec::Managed { .. })) {
        return;
    }
    let ways = file.factors.levels("connection");
    let shares = |way: &String| matches!(file.named.poolers.get(way), Some(PoolerChoice::PgBouncer(_)));
    if !ways.is_empty() && ways.iter().all(shares) {
        return;
    }
    let known = known(&file.workloads, &file.named);
    let is_clients = |key: &str| of_a_workload(key, &known).map_or(key, |(_, own)| own) == "clients";
    let levels = file.factors.all().iter().filter(|(key, _)| is_clients(key));
    let most = |(key, levels): (&String, &Vec<String>)| {
        Some((levels.iter().filter_map(|level| level.parse::<u64>().ok()).max()?, key.clone()))
    };
    let Some((clients, key)) = levels.filter_map(most).max() else { return };
    let place: Vec<&str> = ["factors"].into_iter().chain(key.split('.')).collect();
    let needed = clients + NOT_FOR_CLIENTS;
    let too_few = |own: &u64| *own < needed;
    let what = format!("{} and pgdyno's own connections need {needed}", count(clients as usize, "client"));
    let mut all_set = !file.arms.is_empty();
    for arm in &file.arms {
        let Some(value) = arm.settings.get("max_connections") else {
            all_set = false;
            continue;
        };
        if let Some(own) = value.parse().ok().filter(too_few) {
            let message = format!("{what}, but max_connections is {own} here");
            document.wrong(&["settings", &arm.name, "max_connections"], message, None);
        }
    }
    if !all_set && too_few(&MAX_CONNECTIONS) {
        let message = format!("{what} connections, but a private server has {MAX_CONNECTIONS}");
        let hint = format!(
            "write max_connections = {needed} into each table [settings.NAME]; one is enough, it need not be compared"
        );
        document.wrong(&place, message, Some(&hint));
    }
}

/// Not possible on a server given by URL: two values of a setting that needs a restart, or a change of the
/// whole server. A single value may be in force already; only the server knows.
fn arms_can_be(document: &mut Document<'_>, file: &ExperimentFile) {
    let by_url = file.targets().filter_map(|spec| match spec {
        TargetSpec::Url { change_server, .. } => Some(*change_server),
        TargetSpec::Managed { .. } => None,
    });
    let Some(change_server) = by_url.min() else { return };
    for (index, arm) in file.arms.iter().enumerate() {
        for (name, value) in &arm.settings {
            let others = file.arms[..index].iter().filter_map(|other| other.settings.get(name));
            if !others.into_iter().any(|other| other != value) {
                continue;
            }
            let place = ["settings", &arm.name, name];
            if always_needs_restart(name) {
                let message =
                    format!("`{name}` needs a restart, which a server given by URL cannot be given");
                let hint = "use a managed target, or set it there by hand for all arms";
                document.wrong_key(&place, message, Some(hint));
            } else if needs_reload(name) && !change_server {
                let hint = "write change_server = true into [target] to allow it";
                document.wrong_key(
                    &place,
                    format!("`{name}` can only be set for the whole server"),
                    Some(hint),
                );
            }
        }
    }
}

/// A measured load replaces its tables for each run, and the preparation's tables must stay.
fn measured_loads_have_their_own_tables(document: &mut Document<'_>, file: &ExperimentFile) {
    for NamedWorkload { name, spec } in &file.workloads {
        let Spec::Osm(load) = spec else { continue };
        if file.prepare.osm.iter().any(|prepared| prepared.writes_where(load)) {
            let message =
                format!("workload {name} would write the tables {}_… that [prepare] makes", load.prefix);
            let hint = "give one of them another prefix: prefix = \"…\"";
            document.wrong_key(&["workload", name, "osm"], message, Some(hint));
        }
    }
}

const MOST_RUNS: u64 = 1_000_000;

fn runs_can_be_counted(document: &mut Document<'_>, file: &ExperimentFile) {
    let each = u64::from(file.measure.rounds).saturating_mul(file.arms.len().max(1) as u64);
    let runs = file.factors.count().saturating_mul(each);
    if runs > MOST_RUNS {
        let message = format!("the experiment has {runs} runs; at most {MOST_RUNS} can be");
        document.wrong_key(&["measure", "rounds"], message, Some("fewer rounds or levels"));
    }
}

fn promise_can_be_broken(document: &mut Document<'_>, file: &ExperimentFile) {
    if file.load.promise.is_some_and(|promise| promise.as_secs() >= 3600) {
        let key = if document.value(&["load", "promise"]).is_some() { "promise" } else { "limit" };
        document.wrong_key(&["load", key], "a promise of an hour or more is always kept".into(), None);
    }
}

/// A change of the rate that ends after the run would not be completed.
/// Arrivals of users that change over time must fit into a run.
fn arrivals_have_their_time(document: &mut Document<'_>, file: &ExperimentFile, seconds: f64) {
    let LoadKind::Users(PlannedUsers { sessions: Some(sessions), .. }) = &file.load.kind else { return };
    let needed = sessions.arrivals.lasts_s();
    if needed > seconds {
        let message = format!("\"{}\" takes {needed} s, and runs last {seconds} s", sessions.arrivals);
        let hint = "make [measure] duration at least as long";
        document.wrong(&["load", "users", "arrivals"], message, Some(hint));
    }
}

fn rates_have_their_time(document: &mut Document<'_>, file: &ExperimentFile) {
    let duration = match file.measure.duration {
        DurationSpec::Fixed(duration) | DurationSpec::Sized { from: duration, .. } => duration,
    };
    for shape in file.load.search.iter().flat_map(|search| &search.confirm) {
        let (needed, seconds) = (shape.lasts_s(), duration.as_secs_f64());
        if needed > seconds {
            let message = format!("has \"{shape}\", which takes {needed} s, and trials last {seconds} s");
            let hint = "make [measure] duration at least as long";
            document.wrong(&["load", "search", "confirm"], message, Some(hint));
        }
    }
    arrivals_have_their_time(document, file, duration.as_secs_f64());
    // Rates of a single workload are under its name.
    let keys = file.factors.all().keys().filter(|key| *key == "rate" || key.ends_with(".rate"));
    for (key, rate) in keys.flat_map(|key| file.factors.levels(key).iter().map(move |level| (key, level))) {
        let needed = rate.parse().map_or(0.0, |profile: Profile| profile.lasts_s());
        if needed > duration.as_secs_f64() {
            let message = match file.measure.transactions {
                Some(_) => {
                    format!("\"{rate}\" takes {needed} s, and runs end after a number of transactions")
                }
                None => format!("\"{rate}\" takes {needed} s, and runs last {} s", duration.as_secs_f64()),
            };
            let below: Vec<&str> = std::iter::once("factors").chain(key.split('.')).collect();
            let places = [&["load", "rate"][..], &below, &["factors", key]];
            let place = places.into_iter().find(|place| document.value(place).is_some());
            let hint = match file.measure.transactions {
                Some(_) => "a rate that changes needs [measure] duration in place of transactions",
                None => "make [measure] duration at least as long",
            };
            document.wrong_key(place.unwrap_or(&["factors"]), message, Some(hint));
        }
    }
}
