//! Which experiment a plan is.

use std::path::PathBuf;

use serde_json::Value;
use sha2::{Digest, Sha256};

use workloads::Preparation;
use workloads::jobs::Job;

use super::inputs::fingerprint;
use super::{Content, Plan, PlannedPreparation};
use crate::error::LabError;

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
        value["prepare"] = self.prepare.identity();
        for (name, workload) in &self.workloads {
            value["workloads"][name] = workload.identity();
        }
        for (levels, prepare) in &self.data {
            value["data"][levels] = prepare.identity();
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

impl PlannedPreparation {
    /// The preparation with the content of its files, read now.
    pub(crate) fn of(jobs: Preparation) -> Result<Self, LabError> {
        let files: Vec<(String, PathBuf)> = jobs.jobs().iter().flat_map(|job| files(&**job)).collect();
        let inputs = files.into_iter().map(|(name, path)| Ok((name, fingerprint(&path)?)));
        let inputs = inputs.collect::<Result<_, LabError>>()?;
        Ok(Self { jobs, inputs })
    }

    /// The preparation without the places of its files.
    pub(crate) fn identity(&self) -> Value {
        let portable = Self { jobs: self.jobs.portable(), inputs: self.inputs.clone() };
        serde_json::to_value(portable).expect("plans are plain data")
    }
}

fn files(job: &dyn Job) -> Vec<(String, PathBuf)> {
    job.files().into_iter().map(|(name, path)| (name, path.to_owned())).collect()
}
