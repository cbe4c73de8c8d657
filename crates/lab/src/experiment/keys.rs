//! Every key an experiment file may have. The parser refuses what is not listed here, and a test keeps
//! `docs/experiment.md` complete.

/// Paths of all keys; `*` stands for a name the file chooses.
///
/// Keys inside a workload (`tiles = { … }`), `prepare.osm` and `prepare.pgbench` belong to the workloads and are
/// checked by their own readers.
pub const KEYS: &[&str] = &[
    "question",
    "seed",
    "taste",
    "target",
    "target.managed",
    "target.managed.name",
    "target.managed.version",
    "target.managed.extensions",
    "target.managed.redis",
    "target.url",
    "target.redis",
    "target.change_server",
    "prepare",
    "prepare.osm",
    "prepare.pgbench",
    "prepare.sql",
    "workload",
    "workload.*",
    "factors",
    "factors.workload",
    "factors.clients",
    "factors.rate",
    "beside",
    "beside.workload",
    "beside.clients",
    "compare",
    "compare.factor",
    "compare.base",
    "compare.margin",
    "settings",
    "settings.*",
    "load",
    "load.rate",
    "load.users",
    "load.users.think",
    "load.users.ramp",
    "load.limit",
    "measure",
    "measure.warmup",
    "measure.duration",
    "measure.duration.from",
    "measure.duration.to",
    "measure.budget",
    "measure.rounds",
    "measure.threads",
    "measure.order",
    "full",
    "full.factors",
    "full.factors.workload",
    "full.factors.clients",
    "full.factors.rate",
    "full.measure",
    "full.measure.warmup",
    "full.measure.duration",
    "full.measure.duration.from",
    "full.measure.duration.to",
    "full.measure.budget",
    "full.measure.rounds",
    "full.measure.threads",
    "full.measure.order",
];

/// Keys right below a path (the empty path is the root).
pub(super) fn below(path: &str) -> Vec<&'static str> {
    KEYS.iter()
        .filter_map(|key| match path {
            "" => Some(*key),
            _ => key.strip_prefix(path)?.strip_prefix('.'),
        })
        .filter(|rest| !rest.contains('.') && *rest != "*")
        .collect()
}

/// The path of a key of this name, which then is no name of a setting.
pub(super) fn elsewhere(name: &str) -> Option<&'static str> {
    KEYS.iter().copied().find(|key| key.rsplit('.').next() == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_right_below() {
        assert_eq!(below("target"), ["managed", "url", "redis", "change_server"]);
        assert_eq!(below("load.users"), ["think", "ramp"]);
        assert!(below("settings").is_empty());
        assert!(below("").contains(&"question") && !below("").contains(&"target.url"));
    }
}
