//! Settings that somebody changed: the values of all arms where they differ, then what all arms have in common. Values
//! that a plain `initdb` gives are no change.

use results::ReportData;

use crate::in_force::{InForce, NOT_STORED};

/// Where a server is, how it writes values, and what is known without them: nothing that changes its speed.
const OF_PLACES: [&str; 27] = [
    "DateStyle",
    "IntervalStyle",
    "TimeZone",
    "application_name",
    "client_encoding",
    "cluster_name",
    "config_file",
    "data_directory",
    "default_text_search_config",
    "dynamic_shared_memory_type",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "in_hot_standby",
    "listen_addresses",
    "log_timezone",
    "port",
    "server_version",
    "server_version_num",
    "ssl_library",
    "ssl_ca_file",
    "ssl_cert_file",
    "ssl_key_file",
    "transaction_deferrable",
    "transaction_isolation",
    "transaction_read_only",
    "krb_server_keyfile",
];
const BEGINNINGS: [&str; 4] = ["lc_", "unix_socket_", "shared_memory_size", "stats_temp_"];

/// One paragraph for the settings that differ, one for the others.
pub(super) fn lines(data: &ReportData) -> Vec<String> {
    let in_force = InForce::of(data);
    let InForce { arms, different, changed, is_known } = &in_force;
    if arms.is_empty() {
        return Vec::new();
    }
    let value = |arm: usize, name: &str| match arms[arm].1.get(name) {
        Some(own) if own.value.is_empty() => "''",
        Some(own) => own.value.as_str(),
        None => "not set",
    };
    // Versions have other defaults and other settings.
    let different = different.iter().copied().filter(|name| !is_of_places(name));
    let (set, defaults): (Vec<&str>, Vec<&str>) = different.partition(|name| in_force.is_changed(name));
    let differing: Vec<String> = set
        .iter()
        .map(|name| {
            let each: Vec<&str> = (0..arms.len()).map(|arm| value(arm, name)).collect();
            format!("{name} {}", each.join(" → "))
        })
        .collect();
    let names: Vec<&str> = arms.iter().map(|(arm, _)| arm.unwrap_or("all")).collect();
    let differing =
        (!differing.is_empty()).then(|| format!("{}: {}", names.join(" → "), differing.join(", ")));
    let common = changed.iter().filter(|name| !is_of_places(name));
    let common: Vec<String> = common.map(|name| format!("{name} = {}", value(0, name))).collect();
    let (others, others_are_changed) = match differing {
        Some(_) => ("the others", "others somebody changed"),
        None => ("all", "somebody changed"),
    };
    let common = match (*is_known, common.is_empty()) {
        (false, _) => format!("which {others_are_changed} is {NOT_STORED}"),
        (true, true) => format!("{others} at the default"),
        (true, false) => format!("{others} at the default, except {}", common.join(", ")),
    };
    let defaults = match defaults.len() {
        0 => None,
        1 => Some("1 differs by its default".to_owned()),
        several => Some(format!("{several} differ by their defaults")),
    };
    let rest: Vec<String> = [common].into_iter().chain(defaults).collect();
    differing.into_iter().chain([rest.join("; ")]).collect()
}

fn is_of_places(name: &str) -> bool {
    OF_PLACES.contains(&name) || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}
