//! The tables of an experiment file as written. Every key is a field here; `docs/experiment.md` explains them.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use server::change::{Change, Step};
use server::pooler;
use spec::{Prices, Term};
use toml::Value;
use workloads::{Preparation, Spec, fields};

use super::model::{CellOrder, Slices, slices};
use super::storage;
use super::values::{List, Share, Time, Whole, share, time};
use crate::promise;
use crate::setup::{AskedDriver, Placement, Waiting};

/// 30 days, the longest part of a run, µs.
const LONGEST: u64 = 30 * A_DAY;
/// Shortest part of a run that counts, µs.
const SHORTEST: u64 = 1_000;
/// Longest pause of a user, and promise, µs.
const A_DAY: u64 = 24 * 3600 * 1_000_000;
const MAX_SEED: u64 = i64::MAX as u64;

type Pause = Time<0, A_DAY>;
type Promise = Time<1, A_DAY>;
pub(super) type Part = Time<SHORTEST, LONGEST>;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct File {
    pub(super) question: Option<String>,
    pub(super) taste: Option<String>,
    pub(super) seed: Option<Whole<0, MAX_SEED>>,
    pub(super) target: Option<Target>,
    pub(super) prepare: Preparation,
    pub(super) workload: BTreeMap<String, Spec>,
    pub(super) factors: BTreeMap<String, List>,
    pub(super) beside: Option<Beside>,
    pub(super) compare: Option<Compare>,
    pub(super) server: BTreeMap<String, Target>,
    pub(super) version: BTreeMap<String, Version>,
    pub(super) pooler: BTreeMap<String, pooler::Options>,
    pub(super) change: BTreeMap<String, BTreeMap<String, OwnChange>>,
    pub(super) placement: BTreeMap<String, Placement>,
    pub(super) storage: BTreeMap<String, storage::Written>,
    pub(super) settings: BTreeMap<String, BTreeMap<String, Value>>,
    pub(super) load: Load,
    pub(super) measure: Measure,
    pub(super) prices: Option<Prices>,
    pub(super) full: Option<Full>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Target {
    pub(super) managed: Option<Managed>,
    pub(super) url: Option<String>,
    pub(super) redis: Option<String>,
    pub(super) change_server: bool,
    pub(super) tile_servers: List,
}

/// A build of PostgreSQL.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Version {
    pub(super) bin: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Managed {
    pub(super) name: Option<String>,
    pub(super) version: Option<Value>,
    pub(super) extensions: List,
    pub(super) redis: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Beside {
    pub(super) workload: List,
    pub(super) clients: Option<List>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Compare {
    pub(super) factor: String,
    pub(super) base: Value,
    #[serde(default = "usual_margin", deserialize_with = "share")]
    pub(super) margin: f64,
    pub(super) take_apart: Option<String>,
}

fn usual_margin() -> f64 {
    0.03
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Load {
    pub(super) rate: Option<Value>,
    pub(super) users: Option<Users>,
    pub(super) promise: Option<Promise>,
    /// The former name of `promise`.
    pub(super) limit: Option<Promise>,
    pub(super) bound: Option<Share>,
    pub(super) search: Option<Search>,
}

/// What is to be found: the highest rate at which a promise holds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Search {
    pub(super) promise: Terms,
    pub(super) lowest: Option<Value>,
    pub(super) highest: Option<Value>,
    #[serde(default = "usual_width", deserialize_with = "share")]
    pub(super) width: f64,
    #[serde(default)]
    pub(super) grow_clients: bool,
    #[serde(default)]
    pub(super) confirm: Vec<String>,
}

fn usual_width() -> f64 {
    0.03
}

/// `"p99 < 20ms"`.
#[derive(Debug)]
pub(super) struct Terms(pub(super) Vec<Term>);

impl<'de> Deserialize<'de> for Terms {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        promise::parse(&String::deserialize(source)?).map(Self).map_err(de::Error::custom)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Users {
    pub(super) think: Pause,
    pub(super) ramp: Option<Pause>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Measure {
    pub(super) warmup: Option<Time<0, LONGEST>>,
    pub(super) duration: Option<Length>,
    pub(super) budget: Option<Part>,
    pub(super) rounds: Option<Whole<1, 10_000>>,
    pub(super) threads: Option<Whole<1, 1024>>,
    pub(super) order: Option<CellOrder>,
    pub(super) slices: Option<WrittenSlices>,
    pub(super) repeat_disturbed: Option<Whole<0, 2>>,
    pub(super) explain: Option<bool>,
    pub(super) driver: Option<AskedDriver>,
    pub(super) wait: Option<Waiting>,
}

/// `slices = true`, `false` or a length.
#[derive(Debug)]
pub(super) struct WrittenSlices(pub(super) Slices);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Bounds {
    pub(super) from: Part,
    pub(super) to: Part,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Full {
    pub(super) factors: BTreeMap<String, List>,
    pub(super) measure: Measure,
}

/// Tables with the keys that they may have, by their dotted paths; those of workloads and of jobs belong to
/// them.
pub(super) fn tables() -> Vec<(String, Vec<&'static str>)> {
    let varied = [
        ("factors", crate::factors::names()),
        ("measure", fields::<Measure>()),
        ("measure.duration", fields::<Bounds>()),
    ];
    let own = [
        ("", fields::<File>()),
        ("target", fields::<Target>()),
        ("target.managed", fields::<Managed>()),
        ("prepare", fields::<Preparation>()),
        ("beside", fields::<Beside>()),
        ("compare", fields::<Compare>()),
        ("server.NAME", fields::<Target>()),
        ("version.NAME", fields::<Version>()),
        ("pooler.NAME", fields::<pooler::Options>()),
        ("change.NAME.LEVEL", fields::<OwnChange>()),
        ("placement.NAME", fields::<Placement>()),
        ("storage.NAME", fields::<storage::Written>()),
        ("load", fields::<Load>()),
        ("load.users", fields::<Users>()),
        ("load.search", fields::<Search>()),
        ("full", fields::<Full>()),
    ];
    let in_full = varied.clone().map(|(table, keys)| (format!("full.{table}"), keys));
    own.into_iter().chain(varied).map(|(table, keys)| (table.to_owned(), keys)).chain(in_full).collect()
}

/// A level of a user's factor.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct OwnChange {
    #[serde(rename = "do")]
    do_: Option<OwnStep>,
    undo: Option<OwnStep>,
    check: Option<String>,
}

impl From<OwnChange> for Change {
    fn from(written: OwnChange) -> Self {
        let step = |step: Option<OwnStep>| step.map(|step| step.0);
        Self { do_: step(written.do_), undo: step(written.undo), check: written.check }
    }
}

/// `"DROP INDEX i"`, or `{ command = "…" }`.
#[derive(Debug)]
struct OwnStep(Step);

impl<'de> Deserialize<'de> for OwnStep {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = OwnStep;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text of SQL, or { command = \"…\" }")
            }

            fn visit_str<E: de::Error>(self, sql: &str) -> Result<OwnStep, E> {
                Ok(OwnStep(Step::Sql(sql.to_owned())))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<OwnStep, A::Error> {
                #[derive(Deserialize)]
                #[serde(deny_unknown_fields)]
                struct OfShell {
                    command: String,
                }
                let OfShell { command } = OfShell::deserialize(MapAccessDeserializer::new(map))?;
                Ok(OwnStep(Step::Command(command)))
            }
        }

        source.deserialize_any(Either)
    }
}

/// `"10s"`, or `{ from = "1s", to = "10s" }`.
#[derive(Debug)]
pub(super) enum Length {
    Fixed(Part),
    Bounds(Bounds),
}

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Length;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a length of time such as \"10s\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Length, E> {
                let fixed = time(&Value::from(text), SHORTEST, LONGEST).map_err(E::custom)?;
                Ok(Length::Fixed(Time(fixed)))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Length, A::Error> {
                Bounds::deserialize(MapAccessDeserializer::new(map)).map(Length::Bounds)
            }
        }

        source.deserialize_any(Either)
    }
}

impl<'de> Deserialize<'de> for WrittenSlices {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        slices(&Value::deserialize(source)?).map(Self).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys right below a path (the empty path is the root).
    fn below(path: &str) -> Vec<&'static str> {
        tables().into_iter().find(|(table, _)| table == path).map_or_else(Vec::new, |(_, keys)| keys)
    }

    #[test]
    fn keys_right_below() {
        assert_eq!(below("target"), ["managed", "url", "redis", "change_server", "tile_servers"]);
        assert_eq!(below("full.measure.duration"), ["from", "to"]);
        assert!(below("settings").is_empty());
        assert!(below("").contains(&"question") && !below("").contains(&"url"));
    }
}
