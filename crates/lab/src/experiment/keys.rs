//! The keys of each table of an experiment file.

use spec::experiment::{
    Beside, Bounds, Calibrate, ChangeTable, Compare, Experiment, Full, LoadShape, Managed, Measure,
    PoolerTable, ProbeTable, Search, StorageTable, TargetChoice, Users, Version,
};
use spec::plan::Placement;
use workloads::{Preparation, fields};

/// Keys of each table, by dotted path; tables of workloads and jobs check theirs.
pub(super) fn keys_of_tables() -> Vec<(String, Vec<&'static str>)> {
    let varied = [
        ("factors", crate::factors::names()),
        ("measure", fields::<Measure>()),
        ("measure.duration", fields::<Bounds>()),
    ];
    let own = [
        ("", fields::<Experiment>()),
        ("target", fields::<TargetChoice>()),
        ("target.managed", fields::<Managed>()),
        ("prepare", fields::<Preparation>()),
        ("probe", fields::<ProbeTable>()),
        ("beside", fields::<Beside>()),
        ("compare", fields::<Compare>()),
        ("server.NAME", fields::<TargetChoice>()),
        ("version.NAME", fields::<Version>()),
        ("pooler.NAME", fields::<PoolerTable>()),
        ("change.NAME.LEVEL", fields::<ChangeTable>()),
        ("placement.NAME", fields::<Placement>()),
        ("storage.NAME", fields::<StorageTable>()),
        ("load", fields::<LoadShape>()),
        ("load.users", fields::<Users>()),
        ("load.search", fields::<Search>()),
        ("calibrate", fields::<Calibrate>()),
        ("full", fields::<Full>()),
    ];
    let in_full = varied.clone().map(|(table, keys)| (format!("full.{table}"), keys));
    own.into_iter().chain(varied).map(|(table, keys)| (table.to_owned(), keys)).chain(in_full).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys directly below a path (the empty path is the root).
    fn below(path: &str) -> Vec<&'static str> {
        keys_of_tables().into_iter().find(|(table, _)| table == path).map_or_else(Vec::new, |(_, keys)| keys)
    }

    #[test]
    fn keys_right_below() {
        assert_eq!(
            below("target"),
            ["managed", "url", "redis", "change_server", "tile_servers", "replicas", "replication"]
        );
        assert_eq!(below("full.measure.duration"), ["from", "to"]);
        assert!(below("settings").is_empty());
        assert!(below("").contains(&"question") && !below("").contains(&"url"));
    }
}
