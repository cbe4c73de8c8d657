//! The workload for `lab`.

use engine::Client;
use protocol::redis::RedisAnswer;
use script::Streams;
use spec::figures::{self, Figures};
use spec::{Artifact, Counts, Error};

use super::client::RedisClient;
use super::guard::probe;
use super::keys::Values;
use super::options::RedisOptions;
use super::{prepare, scripts};
use crate::error;
use crate::hash::sha256_hex;
use crate::place::{Places, Site};
use crate::workload::{ClientWorkload, Clients, Guarded, Prepared, ScriptInfo, Workload};

/// A workload of Redis commands.
#[derive(Debug)]
pub struct Redis {
    options: RedisOptions,
    /// Seed of the values written before runs.
    seed: u64,
}

impl Redis {
    /// A workload with these options.
    pub fn open(options: &RedisOptions) -> Result<Self, Error> {
        options.validate()?;
        Ok(Self { options: options.clone(), seed: 1 })
    }

    /// What was prepared; the first three keep the form of earlier builds, so that it is recognised.
    fn chosen(&self) -> serde_json::Value {
        let mut json = serde_json::json!({
            "command": self.options.command.name(),
            "value_bytes": self.options.value_bytes,
            "keys": self.options.keys,
        });
        let all = serde_json::to_value(&self.options).unwrap_or_default();
        if let (Some(json), serde_json::Value::Object(all)) = (json.as_object_mut(), all) {
            for (name, value) in all {
                json.entry(name).or_insert(value);
            }
        }
        json
    }
}

impl Workload for Redis {
    fn scripts(&self) -> Vec<ScriptInfo> {
        let (listed, words) = (scripts::listed(&self.options), self.options.words());
        let alone = listed.len() == 1;
        let info = |(name, weight): (String, u32)| {
            let text = if alone { words.clone() } else { format!("{name}: {words}") };
            ScriptInfo { name, text_hash: sha256_hex(text.as_bytes()), weight, part: None }
        };
        listed.into_iter().map(info).collect()
    }

    fn may_be_empty(&self) -> bool {
        // A script of misses is always empty; the share of hits shows whether nothing was found.
        self.options.may_miss()
    }

    fn asks_redis(&self) -> bool {
        true
    }

    fn figures(&self, counts: &[Counts]) -> Figures {
        let pipeline = self.options.pipeline;
        let per_tx = (pipeline > 1).then(|| (figures::COMMANDS_PER_TX, f64::from(pipeline)));
        let sum = |of: fn(&Counts) -> u64| counts.iter().map(of).sum::<u64>();
        let (asked, found) = (sum(|counts| counts.queries), sum(|counts| counts.rows));
        let hits = (self.options.may_miss() && asked > 0)
            .then(|| (figures::HIT_PCT, 100.0 * found as f64 / asked as f64));
        per_tx.into_iter().chain(hits).collect()
    }

    fn check(&mut self, site: &mut Site<'_>) -> Result<(), Error> {
        match site.redis()?.one(&[b"PING"]).map_err(error::redis)? {
            RedisAnswer::Error(problem) => Err(error::redis_answer("PING", problem)),
            _ => Ok(()),
        }
    }

    fn prepare(&mut self, site: &mut Site<'_>, seed: u64) -> Result<Prepared, Error> {
        self.seed = seed;
        prepare::begin(&self.options, site, seed)?;
        let json = self.chosen().to_string();
        Ok(Prepared { hash: sha256_hex(json.as_bytes()), json, summary: self.options.words(), rows: None })
    }

    fn reset(&mut self, site: &mut Site<'_>) -> Result<Vec<String>, Error> {
        prepare::again(&self.options, site, self.seed)?;
        Ok(Vec::new())
    }

    fn guard(&mut self, site: &mut Site<'_>, seed: u64) -> Result<Guarded, Error> {
        probe(&self.options, &mut *site.redis()?, seed)
    }

    fn artifacts(&mut self, _site: &mut Site<'_>) -> Result<Vec<Artifact>, Error> {
        Ok(Vec::new())
    }

    fn conclude(&mut self, site: &mut Site<'_>) -> Result<(), Error> {
        if self.options.memory.is_some() { prepare::restore_limits(site) } else { Ok(()) }
    }
}

impl ClientWorkload for Redis {
    fn clients(&self, places: &Places, wanted: Clients) -> Result<Vec<Box<dyn Client>>, Error> {
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
