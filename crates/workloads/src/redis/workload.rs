//! The workload as `lab` sees it.

use engine::Client;
use protocol::redis::Answer;
use record::Artifact;
use script::Streams;

use super::client::RedisClient;
use super::guard::probe;
use super::keys::Values;
use super::options::{Command, Options};
use super::prepare::fill;
use crate::error::WorkloadError;
use crate::hash::sha256_hex;
use crate::place::{Places, Site};
use crate::workload::{ClientWorkload, Clients, Guarded, Prepared, ScriptInfo, Workload};

/// Redis commands.
#[derive(Debug)]
pub struct Redis {
    options: Options,
}

impl Redis {
    /// A workload with these options.
    ///
    /// # Errors
    /// When they are out of range.
    pub fn open(options: &Options) -> Result<Self, WorkloadError> {
        options.validate()?;
        Ok(Self { options: options.clone() })
    }

    fn text(&self) -> String {
        let Options { command, value_bytes, keys } = self.options;
        format!("{} of {value_bytes} bytes over {keys} keys", command.name())
    }
}

impl Workload for Redis {
    fn scripts(&self) -> Vec<ScriptInfo> {
        let text_hash = sha256_hex(self.text().as_bytes());
        vec![ScriptInfo { name: self.options.command.name().to_owned(), text_hash, weight: 1, part: None }]
    }

    fn check(&mut self, site: &mut Site<'_>) -> Result<(), WorkloadError> {
        match site.redis()?.one(&[b"PING"])? {
            Answer::Error(problem) => Err(WorkloadError::Redis { doing: "PING".to_owned(), problem }),
            _ => Ok(()),
        }
    }

    fn prepare(&mut self, site: &mut Site<'_>, seed: u64) -> Result<Prepared, WorkloadError> {
        if self.options.command == Command::Get {
            fill(&self.options, &mut *site.redis()?, seed)?;
        }
        let json = serde_json::json!({
            "command": self.options.command.name(),
            "value_bytes": self.options.value_bytes,
            "keys": self.options.keys,
        });
        let json = json.to_string();
        Ok(Prepared { hash: sha256_hex(json.as_bytes()), json, summary: self.text() })
    }

    fn reset(&mut self, _site: &mut Site<'_>) -> Result<Vec<String>, WorkloadError> {
        Ok(Vec::new())
    }

    fn guard(&mut self, site: &mut Site<'_>, seed: u64) -> Result<Guarded, WorkloadError> {
        probe(&self.options, &mut *site.redis()?, seed)
    }

    fn artifacts(&mut self, _site: &mut Site<'_>) -> Result<Vec<Artifact>, WorkloadError> {
        Ok(Vec::new())
    }
}

impl ClientWorkload for Redis {
    fn clients(&self, places: &Places, wanted: Clients) -> Result<Vec<Box<dyn Client>>, WorkloadError> {
        let redis = places.redis()?;
        let clients = wanted.count.max(1);
        let mut streams = Streams::new(wanted.seed, clients + 1, 1, true).clients;
        let mut for_values = streams.pop().unwrap_or_else(|| script::Random::new(wanted.seed));
        let values = Values::new(self.options.value_bytes, &mut for_values);
        let members = streams.into_iter().enumerate();
        Ok(members
            .map(|(number, random)| {
                let client = RedisClient::new(redis, number, &self.options, values.clone(), random);
                Box::new(client) as Box<dyn Client>
            })
            .collect())
    }
}
