//! Settings that somebody changed: the values of all arms where they differ, then what all arms have in common.

use results::ReportData;

use crate::in_force::InForce;

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

/// One paragraph for the settings that differ, one for those that do not, and the number of others.
pub(super) fn lines(data: &ReportData) -> Vec<String> {
    let InForce { arms, different, changed } = InForce::of(data);
    if arms.is_empty() {
        return Vec::new();
    }
    let value = |arm: usize, name: &str| match arms[arm].1.get(name) {
        Some(own) if own.value.is_empty() => "''",
        Some(own) => own.value.as_str(),
        None => "not set",
    };
    // Versions have other defaults and other settings.
    let is_changed =
        |name: &str| arms.iter().any(|(_, set)| set.get(name).is_some_and(|own| own.source != "default"));
    let (set, defaults): (Vec<&str>, Vec<&str>) =
        different.iter().copied().filter(|name| !is_of_places(name)).partition(|name| is_changed(name));
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
    let of = match arms.len() {
        1 => "not at the default",
        2 => "both, not at the default",
        _ => "all, not at the default",
    };
    let common = (!common.is_empty()).then(|| format!("{of}: {}", common.join(", ")));
    let defaults = match defaults.len() {
        0 => None,
        1 => Some("1 other setting differs by its default".to_owned()),
        several => Some(format!("{several} other settings differ by their defaults")),
    };
    let rest: Vec<String> = common.into_iter().chain(defaults).collect();
    differing.into_iter().chain((!rest.is_empty()).then(|| rest.join("; "))).collect()
}

fn is_of_places(name: &str) -> bool {
    OF_PLACES.contains(&name) || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}
