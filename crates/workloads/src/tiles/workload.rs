//! The workload for `lab`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use engine::Client;
use protocol::redis::RedisAnswer;
use script::Streams;
use spec::figures::{self, Figures};
use spec::{Artifact, Counts, Error, MapPart, TextKind, TileSample};
use tile::Tile;

use super::atlas::{Atlas, zooms_in};
use super::cache::{self, CachedClient, Keys, Shared, restore_limits, set_limits};
use super::client::TileClient;
use super::explain::explain;
use super::fetch::{Fetch, FromDatabase, FromWeb};
use super::fetched::FetchedTile;
use super::guard::{CountedLayer, cheapest_first, not_looked, probe};
use super::layer::{QueryFile, Style, TileLayer, is_of_osm, layers};
use super::options::{TilesOptions, Variant};
use super::parts::{called, joined, parts};
use super::pick::{Picked, pick};
use super::picker::Picker;
use super::piped::STANDARD_INPUT;
use super::reference;
use super::samples::samples;
use super::source::LayerSource;
use super::via::Via;
use super::web::{Webs, of_layers, requests};
use crate::answers::{SAMPLE, Sampled, ScriptAnswers, TransactionAnswer};
use crate::error;
use crate::hash::sha256_hex;
use crate::link::PgLink;
use crate::place::{Places, Site};
use crate::plans::SamplePlans;
use crate::trace::{self, Trace};
use crate::workload::{
    ClientWorkload, Clients, EMPTY_SCRIPT, EMPTY_WEB, Guarded, LoadNeeds, Prepared, RequestText, ScriptInfo,
    TileItem, Workload,
};

/// Bytes of an arm's tiles after which no further ones are compared: all of them are in memory, and comparing takes time.
const MOST_KEPT: usize = 16 << 20;

/// A workload of map tiles.
#[derive(Debug)]
pub struct Tiles {
    pub(super) options: TilesOptions,
    pub(super) style: Style,
    pub(super) trace: Arc<Trace>,
    /// Queries among the sources, in order.
    queries: Vec<QueryFile>,
    /// Separately counted parts.
    parts: Vec<MapPart>,
    /// Found by `check`.
    pub(super) layers: Vec<TileLayer>,
    /// Picked by `prepare`, one per layer.
    pub(super) picked: Vec<(TileLayer, Picked)>,
    cache: cache::FilledCaches,
    /// Whether the guard found a layer and zoom without contents, next to others that have some.
    has_empty_part: bool,
    /// Web servers by URL: their hosts are looked up once, where the wait can be ended.
    webs: Webs,
}

impl Tiles {
    /// A workload with these options; reads queries and a list of tiles, relative to `folder`.
    ///
    /// # Errors
    /// When options are out of range, or a file cannot be read or is useless.
    pub fn open(options: &TilesOptions, folder: &Path) -> Result<Self, Error> {
        options.validate()?;
        let most = if options.once.is_some() { trace::MOST_ONCE } else { trace::MOST };
        let trace = match &options.picker {
            Picker::Trace(path) => trace::read(&folder.join(path), most)?,
            Picker::Tiles(text) => Arc::new(
                trace::read_from(text.as_bytes(), STANDARD_INPUT, most)
                    .map_err(|error| error::option("tiles.picker.tiles", error))?,
            ),
            Picker::Data | Picker::Uniform | Picker::Sessions(_) => Arc::default(),
        };
        let queries = options.sources().into_iter().filter_map(|source| match source {
            LayerSource::Query(path) => Some(QueryFile::read(&folder.join(path))),
            LayerSource::Table(_) | LayerSource::Function(_) => None,
        });
        let queries = queries.collect::<Result<_, _>>()?;
        let style = Style { variant: options.variant, min_pixels: options.min_pixels };
        let parts = parts(options, &trace);
        let (layers, picked, cache, has_empty_part, webs) = Default::default();
        Ok(Self {
            options: options.clone(),
            style,
            trace,
            queries,
            parts,
            layers,
            picked,
            cache,
            has_empty_part,
            webs,
        })
    }

    fn atlas(&self) -> Atlas {
        let weights: BTreeMap<u8, f64> = self.options.zooms.weighted().into_iter().collect();
        Atlas::of(&self.picked, &self.parts, &weights, self.style)
    }

    /// Each layer at each zoom, with different tiles of its list.
    fn probes(&self) -> Vec<CountedLayer<'_>> {
        let mut probes = Vec::new();
        let joined = joined(&self.options);
        let is_session = matches!(self.options.picker, Picker::Sessions(_));
        for (layer, picked) in &self.picked {
            let counted_as = if is_session { &joined } else { &layer.shown };
            let script = |zoom| {
                let found = self.parts.iter().position(|part| part.layer == *counted_as && part.zoom == zoom);
                found.unwrap_or_default() as u32
            };
            if layer.is_historic() {
                // The same tile, since each box is drawn again.
                let tiles = vec![Tile { z: 0, x: 0, y: 0 }; SAMPLE as usize];
                probes.push(CountedLayer { script: script(None), layer, tiles });
                continue;
            }
            let spread = picked.spread(SAMPLE as usize);
            for z in zooms_in(&spread) {
                let tiles = spread.iter().filter(|tile| tile.z == z).copied().collect();
                probes.push(CountedLayer { script: script(Some(z)), layer, tiles });
            }
        }
        probes
    }

    /// The web servers of its layers; none where they come from the database.
    fn webs(&mut self, site: &Site<'_>) -> Result<Webs, Error> {
        if self.options.via.is_sql() {
            return Ok(Webs::new());
        }
        if !self.webs.is_empty() {
            return Ok(self.webs.clone());
        }
        let mut webs = of_layers(&self.options, &self.picked, |name| site.tile_server(name).cloned())?;
        webs.values_mut().try_for_each(|web| web.check(site))?;
        // The target's servers may have another address in the next run.
        if self.options.via.tile_server().is_none() {
            self.webs.clone_from(&webs);
        }
        Ok(webs)
    }

    fn fetch<'s>(&self, site: &'s mut Site<'_>, webs: &'s Webs) -> Result<Box<dyn Fetch + 's>, Error> {
        match webs.values().next() {
            None => {
                let time = Some(site.time);
                Ok(Box::new(FromDatabase { sql: site.sql()?, style: self.style, time }))
            }
            Some(web) => Ok(Box::new(FromWeb::new(webs, web.control(site)?, Some(site.time)))),
        }
    }

    fn not_prepared() -> Error {
        error::missing_error("no tiles are picked yet", "prepare the workload first")
    }

    fn is_picked(&self) -> Result<(), Error> {
        if self.picked.is_empty() { Err(Self::not_prepared()) } else { Ok(()) }
    }
}

impl Workload for Tiles {
    fn scripts(&self) -> Vec<ScriptInfo> {
        let TilesOptions { zooms, variant, min_pixels, .. } = &self.options;
        let queries: String = self.queries.iter().map(|query| query.text.as_str()).collect();
        // A trace and sessions contain zooms in their own frequencies.
        let drawn = matches!(self.options.picker, Picker::Data | Picker::Uniform);
        let script = |part: &MapPart| {
            let text = format!("{} {zooms:?} {variant:?} {min_pixels} {queries}", called(part));
            ScriptInfo {
                name: called(part),
                text_hash: sha256_hex(text.as_bytes()),
                weight: part.zoom.filter(|_| drawn).map_or(1, |zoom| zooms.weight_of(zoom)),
                part: Some(part.clone()),
            }
        };
        self.parts.iter().map(script).collect()
    }

    /// The query of each layer and zoom, the files, and the list of tiles, if any.
    fn texts(&self) -> Vec<RequestText> {
        let mut texts = Vec::new();
        if let Picker::Trace(path) = &self.options.picker {
            let text = self.trace.text.clone().into_bytes();
            texts.push(RequestText { name: path.display().to_string(), kind: TextKind::File, text });
        }
        let sources = self.options.sources();
        let files = sources.iter().filter(|source| matches!(source, LayerSource::Query(_)));
        texts.extend(files.zip(&self.queries).map(|(source, query)| RequestText {
            name: source.shown(),
            kind: TextKind::Query,
            text: query.text.clone().into_bytes(),
        }));
        for (layer, picked) in &self.picked {
            let tiles: BTreeSet<Tile> = picked.tiles().collect();
            let zooms = if layer.is_historic() { BTreeSet::from([0]) } else { zooms_in(&tiles) };
            texts.extend(zooms.into_iter().map(|z| RequestText {
                name: match layer.is_historic() {
                    true => format!("{}, random boxes", layer.shown),
                    false => format!("{}, zoom {z}", layer.shown),
                },
                kind: TextKind::Query,
                text: layer.prepared(z, self.style).into_bytes(),
            }));
        }
        texts
    }

    fn carried(&self) -> LoadNeeds {
        LoadNeeds { prepared: true, ..LoadNeeds::default() }
    }

    /// A cache may have had all tiles or none, and a zoom may have nothing to show; `guard` checks that not
    /// everything is empty.
    fn may_be_empty(&self) -> bool {
        self.options.may_be_empty
            || self.options.picker.is_list()
            || self.has_empty_part
            || self.options.via == Via::Redis
    }

    fn asks_redis(&self) -> bool {
        self.options.via == Via::Redis
    }

    fn advice_on_empty(&self) -> &'static str {
        if self.options.via.is_sql() { EMPTY_SCRIPT } else { EMPTY_WEB }
    }

    fn asks_web(&self) -> bool {
        matches!(self.options.via, Via::Http(_))
    }

    fn figures(&self, counts: &[Counts]) -> Figures {
        let of = |cached| {
            let parts = self.parts.iter().zip(counts).filter(move |(part, _)| part.cached == Some(cached));
            parts.map(|(_, counts)| counts.processed()).sum::<u64>() as f64
        };
        let (hits, misses) = (of(true), of(false));
        let asked = hits + misses;
        (asked > 0.0).then(|| (figures::HIT_PCT, 100.0 * hits / asked)).into_iter().collect()
    }

    fn check(&mut self, site: &mut Site<'_>) -> Result<(), Error> {
        if self.options.via == Via::Redis
            && let RedisAnswer::Error(problem) = site.redis()?.one(&[b"PING"]).map_err(error::redis)?
        {
            return Err(error::redis_answer("PING", problem));
        }
        self.layers = layers(site.sql()?, &self.options, &self.queries)?;
        Ok(())
    }

    fn prepare(&mut self, site: &mut Site<'_>, seed: u64) -> Result<Prepared, Error> {
        if self.layers.is_empty() {
            self.check(site)?;
        }
        let sql = site.sql()?;
        self.picked.clear();
        for layer in &self.layers {
            let picked = match self.picked.first() {
                // A view requests all layers of its first one.
                Some((_, first)) if !first.sessions.is_empty() => {
                    Picked { table: layer.shown.clone(), ..first.clone() }
                }
                _ => pick(sql, layer, &self.options, &self.trace, seed)?,
            };
            self.picked.push((layer.clone(), picked));
        }
        let picked: Vec<&Picked> = self.picked.iter().map(|(_, picked)| picked).collect();
        let json = serde_json::json!({ "seed": seed, "layers": picked }).to_string();
        Ok(Prepared { hash: sha256_hex(json.as_bytes()), json, summary: self.summary(&picked), rows: None })
    }

    fn adopt(&mut self, chosen: &Prepared) -> Result<Prepared, Error> {
        #[derive(serde::Deserialize)]
        struct Chosen {
            layers: Vec<Picked>,
        }
        // Both are from this process, so that no user's input can make them differ.
        let misfit = |problem: String| {
            error::missing_error(
                format!("the tiles that the base chose cannot be taken: {problem}"),
                "this is a mistake of pgdyno",
            )
        };
        let Chosen { layers } =
            serde_json::from_str(&chosen.json).map_err(|error| misfit(error.to_string()))?;
        // In the order in which layers are compared later.
        let names: Vec<&str> = layers.iter().map(|picked| picked.table.as_str()).collect();
        let own: Vec<&str> = self.layers.iter().map(|layer| layer.shown.as_str()).collect();
        let same = spec::same_layers(&names, &own);
        let picked = self.layers.iter().enumerate().map(|(at, layer)| match same.get(&at) {
            Some(of_base) => Ok((layer.clone(), layers[*of_base].clone())),
            None => Err(misfit(format!("none are for {}", layer.shown))),
        });
        self.picked = picked.collect::<Result<_, _>>()?;
        Ok(chosen.clone())
    }

    /// Sets the state of the cache, if there is one.
    fn reset(&mut self, site: &mut Site<'_>) -> Result<Vec<String>, Error> {
        if self.options.via == Via::Redis {
            let mut control = site.redis()?;
            set_limits(&self.options, site, &mut *control)?;
            let (atlas, mut cache) = (self.atlas(), std::mem::take(&mut self.cache));
            let layers: Vec<&TileLayer> = self.picked.iter().map(|(layer, _)| layer).collect();
            let state = site.state.clone();
            let mut from = FromDatabase { sql: site.sql()?, style: self.style, time: None };
            let prepared = cache.prepare(&self.options, &state, &atlas, &layers, &mut from, &mut *control);
            self.cache = cache;
            prepared?;
        }
        Ok(Vec::new())
    }

    fn conclude(&mut self, site: &mut Site<'_>) -> Result<(), Error> {
        if self.options.via == Via::Redis && !self.picked.is_empty() {
            cache::clear(&self.atlas(), self.options.cache_ttl_s, &mut *site.redis()?)?;
        }
        if self.options.cache_memory.is_some() { restore_limits(site) } else { Ok(()) }
    }

    fn sample(&mut self, site: &mut Site<'_>, _seed: u64) -> Result<Sampled, Error> {
        if self.picked.iter().any(|(layer, _)| layer.is_historic()) {
            return Ok(Sampled::NotTaken("the query draws other boxes each time".to_owned()));
        }
        let (webs, time) = (self.webs(site)?, site.time);
        let mut from = self.fetch(site, &webs)?;
        let mut parts: Vec<(usize, CountedLayer<'_>)> = self.probes().into_iter().enumerate().collect();
        cheapest_first(&mut parts, |(_, part)| part.zoom());
        let (mut answers, mut kept_bytes) = (BTreeMap::new(), 0);
        for at in 0..parts.len() {
            let (place, part) = &parts[at];
            let share = time.share(parts.len() - at);
            let (mut of_part, mut last) = (Vec::new(), Duration::ZERO);
            for tile in &part.tiles {
                // Tiles of both arms are in memory until they are compared.
                if kept_bytes > MOST_KEPT || !share.allows(last) && !of_part.is_empty() {
                    break;
                }
                let Some(tile) = FetchedTile::within_time(&mut *from, part.layer, *tile)? else { break };
                last = tile.took;
                kept_bytes += tile.bytes.len();
                of_part.push(TransactionAnswer::of_tile(tile.tile, tile.bytes));
            }
            answers.insert(*place, of_part);
        }
        let is_left_out = |(place, _): &&(usize, CountedLayer<'_>)| answers[place].is_empty();
        let left_out: Vec<&CountedLayer<'_>> =
            parts.iter().filter(is_left_out).map(|(_, part)| part).collect();
        not_looked(&left_out, time);
        parts.sort_by_key(|(place, _)| *place);
        let mut sampled: Vec<ScriptAnswers> = Vec::new();
        for (place, CountedLayer { layer, .. }) in &parts {
            let answers = answers.remove(place).unwrap_or_default();
            // All zooms of a layer are reported together.
            match sampled.last_mut().filter(|last| last.script == layer.shown) {
                Some(last) => last.answers.extend(answers),
                None => sampled.push(ScriptAnswers { script: layer.shown.clone(), answers }),
            }
        }
        Ok(Sampled::Answers(sampled))
    }

    fn guard(&mut self, site: &mut Site<'_>, _seed: u64) -> Result<Guarded, Error> {
        self.is_picked()?;
        let webs = self.webs(site)?;
        let all: BTreeMap<&str, Vec<Tile>> = self
            .picked
            .iter()
            .map(|(layer, picked)| (layer.shown.as_str(), picked.tiles().collect()))
            .collect();
        let (style, parts) = (self.style, self.probes());
        let time = site.time;
        let probed = probe(&mut *self.fetch(site, &webs)?, &parts, &all, time)?;
        let sql = site.sql()?;
        let mut guarded = probed.explained(sql, Some(style).filter(|_| self.options.via.is_sql()))?;
        if guarded.empty.is_none() {
            guarded.empty = reference::in_degrees(sql, &self.picked)?;
        }
        self.has_empty_part = guarded.samples.iter().any(|sample| sample.empty == sample.tiles);
        if self.options.via == Via::Redis {
            // Of both hits and misses; only misses are made.
            let made = guarded.samples.clone().into_iter();
            guarded.samples.extend(made.map(|sample| TileSample { script: sample.script + 1, ..sample }));
            guarded.probes.iter_mut().for_each(|probe| probe.script += 1);
        }
        if self.options.may_be_empty {
            guarded.notes.extend(guarded.empty.take());
        }
        guarded.is_of_osm = Some(is_of_osm(site.sql()?, &self.layers)?);
        guarded.notes.extend(self.layers.iter().flat_map(|layer| layer.remarks.clone()));
        guarded.notes.extend(self.trace.remarks.clone());
        Ok(guarded)
    }

    fn explain(
        &mut self,
        site: &mut Site<'_>,
        _seed: u64,
        slowest: &[TileItem],
    ) -> Result<SamplePlans, Error> {
        self.is_picked()?;
        if !self.options.via.is_sql() {
            let way = self.options.via.words();
            return Ok(SamplePlans::not(format!("the database is queried behind {way}")));
        }
        let named = self.probes().into_iter().map(|part| {
            // The database was not asked for cached tiles.
            let behind = u32::from(self.options.via == Via::Redis);
            let script = self.parts.get((part.script + behind) as usize).map(called).unwrap_or_default();
            (CountedLayer { script: part.script + behind, ..part }, script)
        });
        let time = site.time;
        explain(site.sql()?, &named.collect::<Vec<_>>(), slowest, self.style, time)
    }

    fn artifacts(&mut self, site: &mut Site<'_>) -> Result<Vec<Artifact>, Error> {
        let webs = self.webs(site)?;
        let time = site.time;
        samples(&mut *self.fetch(site, &webs)?, &self.picked, time)
    }
}

impl Tiles {
    /// `400 tiles of planet_osm_polygon, z12-z16`.
    fn summary(&self, picked: &[&Picked]) -> String {
        let names: Vec<String> = self.layers.iter().map(|layer| layer.shown.clone()).collect();
        let names = names.join(", ");
        let count = picked.iter().map(|picked| picked.tiles().count() as u64).sum();
        let requests = picked.iter().map(|picked| picked.count()).sum();
        let tiles = spec::count(count, "tile");
        match &self.options.picker {
            _ if self.options.variant == Variant::Historic => {
                format!("random boxes of {names}, drawn by the query itself")
            }
            Picker::Trace(_) | Picker::Tiles(_) if requests > count => {
                format!("{} for {tiles} of {names}, from a trace", spec::count(requests, "request"))
            }
            Picker::Trace(_) | Picker::Tiles(_) => format!("{tiles} of {names}, from a trace"),
            Picker::Sessions(_) => {
                let sessions = picked.first().map_or(0, |picked| picked.sessions.len() as u64);
                format!("{tiles} of {names}, {} in {}", self.options.zooms, spec::count(sessions, "session"))
            }
            Picker::Data | Picker::Uniform => format!("{tiles} of {names}, {}", self.options.zooms),
        }
    }
}

impl ClientWorkload for Tiles {
    fn items(&self) -> Vec<TileItem> {
        self.atlas().items
    }

    fn clients(&self, places: &Places, wanted: Clients) -> Result<Vec<Box<dyn Client>>, Error> {
        self.is_picked()?;
        let atlas = Arc::new(self.atlas());
        let links = self.options.links();
        if !self.options.via.is_sql() {
            let webs = match self.webs.is_empty() {
                true => of_layers(&self.options, &self.picked, |name| places.tile_server(name).cloned())?,
                false => self.webs.clone(),
            };
            let requests = requests(&atlas, &self.picked, &webs);
            let first = webs.values().next().ok_or_else(|| error::no_server("web"))?;
            return first.clients(&requests, links, wanted);
        }
        let connect = &places.postgres()?.place;
        let streams = Streams::new(wanted.seed, wanted.count.max(1), 1, true);
        let members = streams.clients.into_iter().enumerate();
        if self.options.via == Via::Redis {
            let keys = Keys::new(&atlas, self.options.cache_ttl_s);
            let stores = self.options.cache_hit_pct.is_none();
            let redis = places.redis()?.clone();
            let shared = Arc::new(Shared { atlas, keys, redis, stores });
            return Ok(members
                .map(|(number, random)| {
                    let database = PgLink::new(connect, 1);
                    let client = CachedClient::new(Arc::clone(&shared), number, database, random);
                    Box::new(client) as Box<dyn Client>
                })
                .collect());
        }
        Ok(members
            .map(|(number, random)| {
                let links = (0..links).map(|link| PgLink::new(connect, link));
                Box::new(TileClient::new(Arc::clone(&atlas), number, links, random)) as Box<dyn Client>
            })
            .collect())
    }
}
