//! Which experiment a plan is.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Content, preparation, workload};

fn hash_of(identity: &Value) -> String {
    // serde_json keeps the keys of objects sorted, so equal contents give equal texts.
    spec::hex(&Sha256::digest(identity.to_string()))
}

/// SHA-256 over everything but rounds, names, comments and credentials, 64 hex digits: which experiment it is.
#[must_use]
pub fn hash(content: &Content) -> String {
    hash_of(&identity(content))
}

/// The content without what may differ between equal experiments: where files lie on this machine, and who uses
/// the server.
pub(super) fn identity(content: &Content) -> Value {
    let mut value = serde_json::to_value(content).expect("plans are plain data");
    value["prepare"] = preparation::identity(&content.prepare);
    for (name, workload) in &content.workloads {
        value["workloads"][name] = workload::identity(workload);
    }
    for (levels, prepare) in &content.data {
        value["data"][levels] = preparation::identity(prepare);
    }
    value["target"] = content.target.identity();
    for (name, server) in &content.named.servers {
        value["servers"][name] = server.identity();
    }
    // Where a build lies is no part of what it is.
    for name in content.named.builds.keys() {
        value["builds"][name]["bin"] = Value::Null;
    }
    value
}
