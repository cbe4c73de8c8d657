//! The identity of a plan.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use spec::plan::Content;

use super::{preparation, workload};

/// SHA-256 over everything except rounds, names, comments and credentials, 64 hex digits: the identity of the
/// experiment.
#[must_use]
pub fn hash(content: &Content) -> String {
    // serde_json sorts the keys of objects, so equal contents give equal texts.
    spec::hex(&Sha256::digest(identity(content).to_string()))
}

/// The content without what may differ between equal experiments: the paths of files, and the user of the
/// server.
pub(super) fn identity(content: &Content) -> Value {
    let mut content = Content { cpus: None, ..content.clone() };
    for prepare in content.data.values_mut().chain([&mut content.prepare]) {
        *prepare = preparation::portable(prepare);
    }
    for workload in content.workloads.values_mut() {
        *workload = workload::portable(workload);
    }
    for target in content.named.servers.values_mut().chain([&mut content.target]) {
        *target = target.identity();
    }
    // Levels that are set by hand can be added.
    if let Some(name) = content.named.by_hand.keys().next() {
        content.factors.remove(name);
        content.compare.iter_mut().for_each(|compare| compare.base.clear());
    }
    let mut value = serde_json::to_value(&content).expect("plans are plain data");
    // Probes of one server are of one experiment, whatever their limits were.
    if content.probe.is_some() {
        value["probe"] = Value::Object(Map::new());
    }
    // The folder of a build does not identify it.
    for name in content.named.builds.keys() {
        value["builds"][name]["bin"] = Value::Null;
        // The hash of a build from git covers what it is made from.
        if let Some(build) = value["builds"][name].as_object_mut() {
            build.remove("source");
        }
    }
    value
}
