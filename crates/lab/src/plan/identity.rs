//! Which experiment a plan is.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Content, Plan, preparation, workload};

impl Plan {
    /// SHA-256 over everything but rounds, names, comments and credentials, 64 hex digits.
    #[must_use]
    pub fn hash(&self) -> String {
        self.content.hash()
    }
}

impl Content {
    pub(super) fn hash(&self) -> String {
        hash_of(&self.identity())
    }

    /// The content without what may differ between equal experiments: where files lie on this machine, and who uses
    /// the server.
    pub(super) fn identity(&self) -> Value {
        let mut value = serde_json::to_value(self).expect("plans are plain data");
        value["prepare"] = preparation::identity(&self.prepare);
        for (name, workload) in &self.workloads {
            value["workloads"][name] = workload::identity(workload);
        }
        for (levels, prepare) in &self.data {
            value["data"][levels] = preparation::identity(prepare);
        }
        value["target"] = self.target.identity();
        for (name, server) in &self.named.servers {
            value["servers"][name] = server.identity();
        }
        // Where a build lies is no part of what it is.
        for name in self.named.builds.keys() {
            value["builds"][name]["bin"] = Value::Null;
        }
        value
    }
}

fn hash_of(identity: &Value) -> String {
    // serde_json keeps the keys of objects sorted, so equal contents give equal texts.
    spec::hex(&Sha256::digest(identity.to_string()))
}
