//! Contradictions between replicas, poolers and what else a file asks for.

use spec::plan::TargetSpec;
use spec::plan::pooler::PoolerChoice;
use spec::plan::topology::{LoadTarget, Replication};

use super::document::Document;
use super::model::ExperimentFile;
use crate::factors::{REPLICAS, REPLICATION, STORAGE, with_options};

/// Settings that decide how commits wait for replicas.
const OF_REPLICATION: [&str; 2] = ["synchronous_commit", "synchronous_standby_names"];
/// Senders of a base backup: its data, and the WAL meanwhile.
const SENDERS_OF_BACKUP: u32 = 2;

pub(super) fn topology_can_be(document: &mut Document<'_>, file: &ExperimentFile) {
    if document.is_wrong(&["factors", REPLICAS]) || document.is_wrong(&["target"]) {
        return;
    }
    let most = most_replicas(file);
    scripts_find_their_servers(document, file, most);
    by_url(document, file);
    pgpool_is_before_ours(document, file);
    if most == 0 {
        unused_replication(document, file);
        return;
    }
    factors_can_be(document, file);
    settings_can_be(document, file, most);
}

/// The greatest number of replicas of a run.
fn most_replicas(file: &ExperimentFile) -> u32 {
    let levels = file.factors.levels(REPLICAS).iter().filter_map(|level| level.parse().ok());
    match levels.max() {
        Some(most) => most,
        None => file.targets().map(|target| target.topology().replicas).max().unwrap_or(0),
    }
}

/// Whether a run may have another replication than the default.
fn waits_for_replicas(file: &ExperimentFile) -> bool {
    let waits = |replication: Replication| replication != Replication::Async;
    match file.factors.levels(REPLICATION) {
        [] => file.targets().any(|target| waits(target.topology().replication)),
        levels => levels.iter().filter_map(|level| Replication::of_name(level)).any(waits),
    }
}

/// The servers that a workload's scripts name, with any level of its options.
fn load_targets(file: &ExperimentFile, name: &str) -> Vec<LoadTarget> {
    let Some(workload) = file.workload(name) else { return Vec::new() };
    let levels = file.factors.levels(&format!("{name}.target")).iter();
    let of_level =
        |level: &String| with_options(&workload.spec, &[("target".to_owned(), level.clone())].into()).ok();
    let varied = levels.filter_map(of_level).flat_map(|spec| spec.load_targets());
    workload.spec.load_targets().into_iter().chain(varied).collect()
}

fn scripts_find_their_servers(document: &mut Document<'_>, file: &ExperimentFile, most: u32) {
    let ways = file.factors.levels("connection");
    let pooled = |way: &String| file.named.poolers.contains_key(way);
    for name in document.names(&["workload"]) {
        let targets = load_targets(file, &name);
        let option = ["workload", &name, "pgbench", "target"];
        let place = if document.value(&option).is_some() { &option[..] } else { &option[..2] };
        if targets.contains(&LoadTarget::Replica) && most == 0 {
            let message = format!("workload {name} sends scripts to a replica, and the target has none");
            let hint = "write replicas = 1 in [target], or list replicas = [0, 1] in [factors]";
            document.wrong_key(place, message, Some(hint));
        }
        if targets.contains(&LoadTarget::Pooler) && (ways.is_empty() || !ways.iter().all(pooled)) {
            let message =
                format!("workload {name} sends scripts to the pooler, and there are runs without one");
            let hint = "describe it in [pooler.NAME], and write connection = \"NAME\" in [factors]";
            document.wrong_key(place, message, Some(hint));
        }
        let by_network = ways.iter().find(|way| ["tcp", "tls"].contains(&way.as_str()));
        if let Some(way) = by_network.filter(|_| targets.contains(&LoadTarget::Replica)) {
            let message =
                format!("workload {name} sends scripts to a replica, which is not reached by {way}");
            let hint = "pgdyno's own replicas are reached by their sockets: leave it out of connection";
            document.wrong(&["factors", "connection"], message, Some(hint));
        }
    }
}

/// Pgpool-II gets the sockets of its servers.
fn pgpool_is_before_ours(document: &mut Document<'_>, file: &ExperimentFile) {
    if file.targets().all(is_managed) {
        return;
    }
    let is_pgpool = |way: &&String| matches!(file.named.poolers.get(*way), Some(PoolerChoice::Pgpool(_)));
    if let Some(way) = file.factors.levels("connection").iter().find(is_pgpool) {
        let message = format!("{way} is a Pgpool-II, which pgdyno starts only in front of managed servers");
        let hint = "give a Pgpool-II of yours as a server: [server.NAME] url = \"postgres://…\"";
        document.wrong(&["factors", "connection"], message, Some(hint));
    }
}

/// A server given by URL names its replicas.
fn by_url(document: &mut Document<'_>, file: &ExperimentFile) {
    let known = file.targets().filter_map(|target| match target {
        TargetSpec::Url { replicas, .. } => Some(replicas.len()),
        TargetSpec::Managed { .. } => None,
    });
    let Some(known) = known.min() else { return };
    let too_many = |level: &&String| level.parse::<usize>().is_ok_and(|level| level > known);
    if let Some(level) = file.factors.levels(REPLICAS).iter().find(too_many) {
        let message = format!("{level} replicas are asked for, and a server given by URL names {known}");
        let hint = "name them in its table: replicas = [\"postgres://…\"]";
        document.wrong(&["factors", REPLICAS], message, Some(hint));
    }
    if !file.factors.levels(REPLICATION).is_empty() {
        let message = "`replication` can only be varied on managed servers".to_owned();
        let hint = "commits of a server given by URL wait as its own settings say";
        document.wrong_key(&["factors", REPLICATION], message, Some(hint));
    }
}

fn unused_replication(document: &mut Document<'_>, file: &ExperimentFile) {
    let levels = file.factors.levels(REPLICATION);
    let place: &[&str] = match levels {
        [] => &["target", "replication"],
        _ => &["factors", REPLICATION],
    };
    if document.value(place).is_some() {
        let message = "`replication` says what commits wait for, and the server has no replicas".to_owned();
        document.wrong_key(place, message, Some("add replicas = 1, or leave it out"));
    }
}

fn factors_can_be(document: &mut Document<'_>, file: &ExperimentFile) {
    for (key, why) in [
        (
            "cache",
            "a server is restarted for it, and a replica begins with a base backup, which reads all files",
        ),
        (STORAGE, "a replica has its files in pgdyno's home"),
    ] {
        if !file.factors.levels(key).is_empty() && file.targets().any(is_managed) {
            let message = format!("`{key}` and replicas cannot be combined: {why}");
            document.wrong_key(&["factors", key], message, Some("leave out one of them"));
        }
    }
}

fn is_managed(target: &TargetSpec) -> bool {
    matches!(target, TargetSpec::Managed { .. })
}

fn settings_can_be(document: &mut Document<'_>, file: &ExperimentFile, most: u32) {
    if !file.targets().any(is_managed) {
        return;
    }
    let needed = most - 1 + SENDERS_OF_BACKUP;
    for arm in &file.arms {
        for (name, value) in &arm.settings {
            let place = ["settings", &arm.name, name];
            let too_few = |value: &str| value.parse::<u32>().is_ok_and(|own| own < needed);
            let message = match name.as_str() {
                "wal_level" if value == "minimal" => {
                    "wal_level = minimal and replicas cannot be combined: its WAL does not hold what they need"
                        .to_owned()
                }
                "max_wal_senders" | "max_replication_slots" if too_few(value) => {
                    format!("{name} is {value}, and {most} of the replicas need {needed} while the last one is made")
                }
                "synchronous_standby_names" => {
                    "pgdyno sets synchronous_standby_names for its replicas: it is the factor `replication`".to_owned()
                }
                name if OF_REPLICATION.contains(&name) && waits_for_replicas(file) => {
                    format!("`replication` sets {name} of the whole server, which this would override")
                }
                _ => continue,
            };
            document.wrong_key(&place, message, Some("leave it out, or the replicas"));
        }
    }
}
