//! Options of a Redis workload.

use protocol::redis::Limits;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use spec::{Error, bytes, count};

use super::limits::{Eviction, Memory};
use super::sizes::{Sizes, ValueSizes};
use crate::error;
use crate::error::unknown_word;

/// Most bytes of values in one pipeline.
const PIPELINE_BYTES: u64 = 1 << 30;

/// `redis = { command = "set", value_bytes = 32000, keys = 10000 }`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RedisOptions {
    /// Commands to send.
    pub command: RedisCommand,
    /// Length of each value, bytes; `[1000, 64000]` draws lengths uniformly.
    #[serde(default)]
    #[schemars(with = "Sizes")]
    pub value_bytes: ValueSizes,
    /// Number of keys in use.
    #[serde(default = "default_keys")]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub keys: u64,
    /// With `mixed`: share of SETs, percent.
    #[serde(default = "default_set_pct", skip_serializing_if = "is_default_set_pct")]
    #[schemars(range(min = 1, max = 99), extend("default" = default_set_pct()))]
    pub set_pct: u32,
    /// Commands sent at once; their replies end the transaction.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    #[schemars(range(min = 1, max = 1000), extend("default" = one()))]
    pub pipeline: u32,
    /// How clients draw a key.
    #[serde(default, skip_serializing_if = "is_usual")]
    #[schemars(extend("default" = Distribution::default()))]
    pub key_distribution: Distribution,
    /// With `zipfian`: the parameter, as in pgbench's `random_zipfian`.
    #[serde(default = "default_zipf", skip_serializing_if = "is_default_zipf")]
    #[schemars(range(min = 1.001, max = 1000.0), extend("default" = default_zipf()))]
    pub zipf_parameter: f64,
    /// Time to live of a key after its SET, s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub ttl_s: Option<u32>,
    /// `maxmemory` of the private Redis: `"64MB"`. It is emptied and filled again before each run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub memory: Option<Memory>,
    /// What Redis does when `memory` is full: a policy such as `allkeys-lru`, or with `ttl_s` `volatile-lru`.
    #[serde(default, skip_serializing_if = "is_usual")]
    #[schemars(with = "String", extend("default" = Eviction::default()))]
    pub eviction: Eviction,
}

fn default_keys() -> u64 {
    10_000
}

fn default_set_pct() -> u32 {
    10
}

fn default_zipf() -> f64 {
    1.1
}

fn one() -> u32 {
    1
}

fn is_default_set_pct(value: &u32) -> bool {
    *value == default_set_pct()
}

fn is_default_zipf(value: &f64) -> bool {
    *value == default_zipf()
}

fn is_one(value: &u32) -> bool {
    *value == one()
}

fn is_usual<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A Redis command, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RedisCommand {
    /// Writes a value under a key.
    Set,
    /// Reads the value of a key; all keys are written before the run.
    Get,
    /// Both, at random.
    Mixed,
}

impl RedisCommand {
    /// The option's values.
    pub const NAMES: [&'static str; 3] = ["set", "get", "mixed"];

    /// The option's value.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Set => "SET",
            Self::Get => "GET",
            Self::Mixed => "GET and SET",
        }
    }
}

impl<'de> Deserialize<'de> for RedisCommand {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        match String::deserialize(source)?.to_ascii_lowercase().as_str() {
            "set" => Ok(Self::Set),
            "get" => Ok(Self::Get),
            "mixed" => Ok(Self::Mixed),
            other => Err(serde::de::Error::custom(unknown_word("command", other, &Self::NAMES))),
        }
    }
}

/// How keys are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// All keys with equal probability.
    #[default]
    Uniform,
    /// Few keys are hot.
    Zipfian,
    /// Always the same key.
    One,
}

impl Distribution {
    /// The option's values.
    pub const NAMES: [&'static str; 3] = ["uniform", "zipfian", "one"];
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        match String::deserialize(source)?.to_ascii_lowercase().as_str() {
            "uniform" => Ok(Self::Uniform),
            "zipfian" => Ok(Self::Zipfian),
            "one" => Ok(Self::One),
            other => Err(serde::de::Error::custom(unknown_word("distribution of keys", other, &Self::NAMES))),
        }
    }
}

impl RedisOptions {
    /// A command with the default options.
    #[must_use]
    pub fn new(command: RedisCommand) -> Self {
        Self {
            command,
            value_bytes: ValueSizes::default(),
            keys: default_keys(),
            set_pct: default_set_pct(),
            pipeline: one(),
            key_distribution: Distribution::default(),
            zipf_parameter: default_zipf(),
            ttl_s: None,
            memory: None,
            eviction: Eviction::default(),
        }
    }

    /// Checks that each option is within its range, and that they go together.
    pub fn validate(&self) -> Result<(), Error> {
        self.value_bytes.validate().map_err(|problem| error::option("redis.value_bytes", problem))?;
        within("redis.keys", self.keys, 1, 1_000_000_000)?;
        within("redis.set_pct", self.set_pct.into(), 1, 99)?;
        within("redis.pipeline", self.pipeline.into(), 1, 1000)?;
        within("redis.ttl_s", self.ttl_s.unwrap_or(1).into(), 1, i32::MAX as u64)?;
        if !(1.001..=1000.0).contains(&self.zipf_parameter) {
            let problem = format!("{} is not within 1.001..1000", self.zipf_parameter);
            return Err(error::option("redis.zipf_parameter", problem));
        }
        let at_once = u64::from(self.pipeline) * self.value_bytes.greatest();
        if self.pipeline > 1 && at_once > PIPELINE_BYTES {
            let problem =
                format!("{} commands at once of up to {} are more than 1 GB", self.pipeline, bytes(at_once));
            return Err(error::option("redis.pipeline", problem));
        }
        self.validate_limits()
    }

    fn validate_limits(&self) -> Result<(), Error> {
        let problem = match (self.eviction, self.memory, self.ttl_s) {
            (Eviction::NoEviction, ..) => return Ok(()),
            (_, None, _) => "nothing is evicted as long as memory has no limit; set redis.memory too",
            (policy, _, None) if policy.is_of_volatile() => {
                "only keys that expire are evicted by this policy; set redis.ttl_s, or take an allkeys- policy"
            }
            _ => return Ok(()),
        };
        Err(error::option("redis.eviction", format!("{}: {problem}", self.eviction.name())))
    }

    /// Whether a written key may be gone, so that a GET without a value is a miss and not a failure.
    #[must_use]
    pub fn may_miss(&self) -> bool {
        self.ttl_s.is_some() || self.eviction != Eviction::NoEviction
    }

    /// Whether its workload sets the state of Redis before each run.
    #[must_use]
    pub fn resets_before_each_run(&self) -> bool {
        self.ttl_s.is_some() || self.memory.is_some()
    }

    /// Whether keys are written before a run.
    pub(super) fn fills(&self) -> bool {
        self.command != RedisCommand::Set || self.memory.is_some()
    }

    pub(super) fn reads(&self) -> bool {
        self.command != RedisCommand::Set
    }

    pub(super) fn used_keys(&self) -> u64 {
        if self.key_distribution == Distribution::One { 1 } else { self.keys }
    }

    /// The limits it needs on a Redis that started with these.
    pub(super) fn limits(&self, at_start: &Limits) -> Limits {
        match self.memory {
            Some(memory) => Limits { memory_bytes: memory.bytes(), policy: self.eviction.name().to_owned() },
            None => at_start.clone(),
        }
    }

    /// In words, e.g. `GET of 32000 bytes over 10000 keys`.
    pub(super) fn words(&self) -> String {
        let Self { command, value_bytes, keys, set_pct, pipeline, .. } = self;
        let what = match command {
            RedisCommand::Mixed => format!("{} % GET and {set_pct} % SET", 100 - set_pct),
            one => one.name().to_owned(),
        };
        let keys = match self.key_distribution {
            Distribution::Uniform => format!("over {keys} keys"),
            Distribution::Zipfian => format!("over {keys} keys, zipfian {}", self.zipf_parameter),
            Distribution::One => "of one key".to_owned(),
        };
        let at_once = if *pipeline > 1 { format!(", {pipeline} at once") } else { String::new() };
        let lives = self.ttl_s.map(|s| format!(", each lives {}", count(s.into(), "second")));
        let memory = self.memory.map(|memory| format!(", in {memory} with {}", self.eviction.name()));
        format!(
            "{what} of {value_bytes} bytes {keys}{at_once}{}{}",
            lives.unwrap_or_default(),
            memory.unwrap_or_default()
        )
    }
}

fn within(key: &str, value: u64, least: u64, greatest: u64) -> Result<(), Error> {
    if (least..=greatest).contains(&value) {
        return Ok(());
    }
    Err(error::option(key, format!("{value} is not within {least}..{greatest}")))
}
