//! The state of the cache before each run: empty, or filled, and with its limits.

use std::collections::BTreeMap;

use protocol::redis::{Limits, RedisAnswer, RedisConnection};
use spec::Error;

use super::super::atlas::{Atlas, Pick};
use super::super::fetch::Fetch;
use super::super::layer::TileLayer;
use super::super::options::TilesOptions;
use super::keys::Keys;
use crate::error;
use crate::place::Site;
use crate::redis::limits;

/// Bytes of commands sent before their answers are read.
const BATCH: usize = 256 * 1024;
/// Tiles for filling the cache are kept in memory up to this many bytes.
const MOST_KEPT: usize = 1 << 30;

/// Tiles with their bytes.
type Filled = Vec<(Pick, Vec<u8>)>;

/// Tiles that fill the cache, fetched once for each state of the data that arms make: those of one state
/// would be wrong answers in another.
#[derive(Debug, Default)]
pub(in crate::tiles) struct FilledCaches {
    filled: BTreeMap<String, Filled>,
}

impl FilledCaches {
    /// Sets the cache's state before a run: of this workload's tiles only those that fill it, as the database
    /// makes them in this `state`.
    pub(in crate::tiles) fn prepare(
        &mut self,
        options: &TilesOptions,
        state: &str,
        atlas: &Atlas,
        layers: &[&TileLayer],
        from: &mut dyn Fetch,
        control: &mut dyn RedisConnection,
    ) -> Result<(), Error> {
        let keys = Keys::new(atlas, options.cache_ttl_s);
        empty(atlas, &keys, control)?;
        let share = match options.cache_hit_pct {
            Some(share) => share / 100.0,
            None if options.cache_warm => 1.0,
            None => return Ok(()),
        };
        if !self.filled.contains_key(state) {
            let filled = chosen(atlas, layers, share, from)?;
            // Those of other states are fetched again where there is no room for all.
            if self.filled.values().chain([&filled]).map(length).sum::<usize>() > MOST_KEPT {
                self.filled.clear();
            }
            self.filled.insert(state.to_owned(), filled);
        }
        fill(&self.filled[state], &keys, control)
    }
}

fn length(filled: &Filled) -> usize {
    filled.iter().map(|(_, bytes)| bytes.len()).sum()
}

/// Sets the requested memory limits, or those of its start.
pub(in crate::tiles) fn set_limits(
    options: &TilesOptions,
    site: &Site<'_>,
    control: &mut dyn RedisConnection,
) -> Result<(), Error> {
    let Some(at_start) = site.limits_at_start() else {
        return match options.cache_memory {
            None => Ok(()),
            Some(_) => Err(error::missing_error(
                "tiles.cache_memory sets a limit of a Redis that pgdyno starts, and this one is not its own",
                "write managed = { redis = true } in [target], or leave it out",
            )),
        };
    };
    let wanted = match options.cache_memory {
        None => at_start.clone(),
        Some(memory) => {
            // Others' data would use a part of the memory.
            if let RedisAnswer::Error(problem) = control.one(&[b"FLUSHALL"]).map_err(error::redis)? {
                return Err(error::redis_answer("FLUSHALL", problem));
            }
            Limits { memory_bytes: memory.bytes(), policy: options.cache_eviction.name().to_owned() }
        }
    };
    limits::set(control, &wanted).map(drop)
}

/// After the last run: removes this workload's tiles.
pub(in crate::tiles) fn clear(
    atlas: &Atlas,
    ttl_s: Option<u32>,
    control: &mut dyn RedisConnection,
) -> Result<(), Error> {
    empty(atlas, &Keys::new(atlas, ttl_s), control)
}

/// After the last run: restores our Redis' initial limits.
pub(in crate::tiles) fn restore_limits(site: &Site<'_>) -> Result<(), Error> {
    match site.limits_at_start() {
        Some(at_start) => limits::set(&mut *site.redis()?, at_start).map(drop),
        None => Ok(()),
    }
}

fn empty(atlas: &Atlas, keys: &Keys, control: &mut dyn RedisConnection) -> Result<(), Error> {
    let (mut out, mut key, mut waiting) = (Vec::new(), Vec::new(), 0);
    for pick in distinct(atlas).into_values() {
        keys.write(pick, &mut key);
        protocol::redis::command(&mut out, &[b"UNLINK".as_slice(), &key]);
        waiting += 1;
        if out.len() >= BATCH {
            send(control, &mut out, &mut waiting, "emptying the cache")?;
        }
    }
    send(control, &mut out, &mut waiting, "emptying the cache")
}

/// Each tile once, in the order of its key.
fn distinct(atlas: &Atlas) -> BTreeMap<(u16, tile::Tile), &Pick> {
    atlas
        .groups()
        .flat_map(|(_, picks)| picks.items())
        .map(|pick| ((pick.statement, pick.tile), pick))
        .collect()
}

/// Tiles that receive this share of all requests, evenly over the list, with their bytes.
fn chosen(atlas: &Atlas, layers: &[&TileLayer], share: f64, from: &mut dyn Fetch) -> Result<Filled, Error> {
    let mut requests: BTreeMap<(u16, tile::Tile), (f64, &Pick)> = BTreeMap::new();
    for (weight, picks) in atlas.groups() {
        for (share, pick) in picks.shares() {
            let each = weight as f64 * share;
            requests.entry((pick.statement, pick.tile)).or_insert((0.0, pick)).0 += each;
        }
    }
    let (mut taken, mut seen, mut kept) = (0.0, 0.0, 0);
    let mut filled = Vec::new();
    for (weight, pick) in requests.into_values() {
        seen += weight;
        // The same share in each part of the list.
        if taken + weight / 2.0 > share * seen {
            continue;
        }
        taken += weight;
        let layer = layers.get(usize::from(pick.layer)).ok_or_else(|| error::no_server("PostgreSQL"))?;
        let bytes = from.tile(layer, pick.tile)?;
        kept += bytes.len();
        if kept > MOST_KEPT {
            return Err(error::missing_error(
                format!("the tiles to begin with take more than {}", spec::bytes(MOST_KEPT as u64)),
                "set tiles_per_zoom lower",
            ));
        }
        filled.push((*pick, bytes));
    }
    Ok(filled)
}

fn fill(filled: &[(Pick, Vec<u8>)], keys: &Keys, control: &mut dyn RedisConnection) -> Result<(), Error> {
    const DOING: &str = "putting tiles into the cache";
    let (mut out, mut key, mut waiting) = (Vec::new(), Vec::new(), 0);
    for (pick, bytes) in filled {
        keys.write(pick, &mut key);
        keys.set(&key, bytes, &mut out);
        waiting += 1;
        if out.len() >= BATCH {
            send(control, &mut out, &mut waiting, DOING)?;
        }
    }
    send(control, &mut out, &mut waiting, DOING)
}

fn send(
    control: &mut dyn RedisConnection,
    out: &mut Vec<u8>,
    waiting: &mut usize,
    doing: &str,
) -> Result<(), Error> {
    let answers = control.ask(out, *waiting).map_err(error::redis)?;
    out.clear();
    *waiting = 0;
    let refused = answers.into_iter().find_map(|answer| match answer {
        RedisAnswer::Error(problem) => Some(problem),
        _ => None,
    });
    match refused {
        None => Ok(()),
        Some(problem) if problem.starts_with("OOM") => Err(error::redis_full(
            format!("{doing}: {problem}"),
            "raise tiles.cache_memory, choose a policy that evicts (cache_eviction = \"allkeys-lru\"), or begin with an \
                   empty cache",
        )),
        Some(problem) => Err(error::redis_answer(doing, problem)),
    }
}
