//! The workload for `lab`: each run is one pass over all tiles.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use protocol::postgres::sql::quote_literal;
use serde::{Deserialize, Serialize};
use spec::{Artifact, Class, Error, TextKind};
use tile::Tile;

use super::super::fetch::{Fetch, FromDatabase, FromWeb, NotLookedAt};
use super::super::fetched::FetchedTile;
use super::super::layer::{Style, TileLayer};
use super::super::options::TilesOptions;
use super::super::parts::joined;
use super::super::pick::{Picked, bounds};
use super::super::via::Via;
use super::super::web::{Webs, of_layer};
use super::super::workload::Tiles;
use super::area::{Area, ZoomArea};
use super::kept::Kept;
use super::options::OnceOptions;
use crate::answers::Sampled;
use crate::error;
use crate::hash::sha256_hex;
use crate::http::Web;
use crate::jobs::Job;
use crate::place::Site;
use crate::workload::{GuardAgain, Guarded, JobWorkload, Prepared, RequestText, ScriptInfo, Workload};

/// Tiles of each zoom that are tried before the first run, and compared between arms.
const PROBES: u64 = 8;
/// Tiles at which the connection ended, before any came, after which a server is given up.
const SILENT: usize = 2;
/// Tiles of a list that are stored with an experiment; of a longer list its hash is.
const LISTED: u64 = 200_000;

/// A pass over all tiles of a pyramid, a box or a list.
#[derive(Debug)]
pub struct Once {
    /// Probes and compares a sample of the tiles, which is picked in it.
    tiles: Tiles,
    pub(super) folder: PathBuf,
    pub(super) files: Vec<PathBuf>,
    area: Option<Area>,
    web: Option<Web>,
    /// The definition of the function that makes the tiles.
    definition: String,
    /// Tiles at which the connection ended, with the error.
    ended_at: BTreeMap<Tile, String>,
    pub(super) is_of_osm: bool,
    /// What the run that ended kept, until that is stored.
    pub(super) kept: RefCell<Option<Kept>>,
}

/// What is stored of the choice of tiles.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Chosen {
    Area(Area),
    /// SHA-256 of a list that is too long to store.
    List(String),
}

impl Once {
    /// A workload with these options; reads queries and a list of tiles, relative to `folder`.
    ///
    /// # Errors
    /// When options are out of range, or a file cannot be read or is useless.
    pub fn open(options: &TilesOptions, folder: &Path) -> Result<Self, Error> {
        let files = options.files().into_iter().map(|path| folder.join(path)).collect();
        let tiles = Tiles::open(options, folder)?;
        let (area, web, definition, ended_at, is_of_osm, kept) = Default::default();
        Ok(Self { tiles, folder: folder.to_owned(), files, area, web, definition, ended_at, is_of_osm, kept })
    }

    pub(super) fn options(&self) -> &OnceOptions {
        self.tiles.options.once.as_deref().expect("a workload of this kind has these options")
    }

    pub(super) fn area(&self) -> Option<&Area> {
        self.area.as_ref()
    }

    pub(super) fn web(&self) -> Option<&Web> {
        self.web.as_ref()
    }

    pub(super) fn style(&self) -> Style {
        self.tiles.style
    }

    /// Its one layer, perhaps of several sources.
    pub(super) fn layer(&self) -> Result<&TileLayer, Error> {
        self.tiles.layers.first().ok_or_else(Self::not_prepared)
    }

    /// Names of its sources.
    pub(super) fn shown(&self) -> String {
        joined(&self.tiles.options)
    }

    /// What the tiles are and how they are made, as a hash.
    pub(super) fn identity(&self, area: &Area) -> Result<String, Error> {
        let area = area.hash();
        let made = match &self.web {
            Some(web) => web.url().to_string(),
            None => {
                let (layer, style) = (self.layer()?, self.style());
                let zooms = self.area.iter().flat_map(|area| &area.zooms);
                zooms.map(|zoom| layer.prepared(zoom.z(), style)).collect()
            }
        };
        Ok(sha256_hex(format!("{}\n{area}\n{made}\n{}", self.shown(), self.definition).as_bytes()))
    }

    fn choose(&self, site: &mut Site<'_>) -> Result<Area, Error> {
        if let Some(area) = self.list() {
            return Ok(area);
        }
        let options = &self.tiles.options;
        let layer = self.layer()?;
        if options.bounds.is_none() && layer.feature_tables.is_empty() {
            let what = format!(
                "{} does not say where its features are, so the box of its tiles is unknown",
                layer.shown
            );
            return Err(error::missing_error(
                what,
                "give the bounds, a table to pick tiles from, or a list of tiles",
            ));
        }
        let zooms = options.zooms.weighted().into_iter().map(|(z, _)| z);
        match bounds(site.sql()?, layer, options)? {
            Some(bounds) => Ok(Area::of_box(bounds, zooms)),
            None => Err(error::missing_error(
                format!("{} holds no feature, so there is no box around them", self.shown()),
                "load data first, or give bounds",
            )),
        }
    }

    /// All tiles of its list; `None` without one.
    fn list(&self) -> Option<Area> {
        let tiles = &self.tiles.trace.tiles;
        (!tiles.is_empty()).then(|| Area::of_list(tiles.iter().map(|(tile, _)| *tile)))
    }

    fn take(&mut self, area: Area) -> Prepared {
        let spread = |zoom: &ZoomArea| zoom.spread(PROBES);
        let picked = |layer: &TileLayer| Picked {
            table: layer.shown.clone(),
            zooms: area.zooms.iter().map(spread).collect(),
            ..Picked::default()
        };
        self.tiles.picked = self.tiles.layers.iter().map(|layer| (layer.clone(), picked(layer))).collect();
        let [low, high] = [area.zooms.first(), area.zooms.last()].map(|zoom| zoom.map_or(0, ZoomArea::z));
        let summary =
            format!("{} of {}, z{low}-z{high}, each once", spec::count(area.count(), "tile"), self.shown());
        let chosen = match area.is_pyramid || area.count() <= LISTED {
            true => Chosen::Area(area.clone()),
            false => Chosen::List(area.hash()),
        };
        let json = serde_json::to_string(&chosen).expect("plain data");
        self.area = Some(area);
        Prepared { hash: sha256_hex(json.as_bytes()), json, summary, rows: None }
    }

    /// Takes tiles that fail out of the sample: they are part of the result, and end nothing. A tile at which the
    /// connection ends is known at the next call.
    fn leave_out_failing(&mut self, site: &mut Site<'_>) -> Result<Option<String>, Error> {
        let (layer, time) = (self.layer()?.clone(), site.time);
        let webs: Webs = self.web.iter().map(|web| (layer.shown.clone(), web.clone())).collect();
        let mut from: Box<dyn Fetch + '_> = match &self.web {
            Some(web) => Box::new(FromWeb::new(&webs, web.control(site)?, Some(site.time))),
            None => {
                let time = Some(site.time);
                Box::new(FromDatabase { sql: site.sql()?, style: self.style(), time })
            }
        };
        let mut tiles: Vec<Tile> =
            self.tiles.picked.first().into_iter().flat_map(|(_, picked)| picked.tiles()).collect();
        // Low zooms may fail where higher ones do not, and most tiles are of the highest.
        tiles.sort_by_key(|tile| std::cmp::Reverse(tile.z));
        let mut failed: BTreeMap<Tile, String> = BTreeMap::new();
        for (number, tile) in tiles.iter().enumerate() {
            let fetched_tile = match self.ended_at.get(tile) {
                Some(known) => Err(known.clone()),
                None => match FetchedTile::fetch(&mut *from, &layer, *tile) {
                    // Lower zooms take longer still. The pass itself waits for each tile.
                    Err(error) if error.attached::<NotLookedAt>().is_some() && time.is_over() => break,
                    Err(error) if error.class() == Class::Unreachable => {
                        self.ended_at.insert(*tile, error.to_string());
                        // Where nothing came at all, the next tile would be waited for in vain, too.
                        let is_silent = failed.len() == number && self.ended_at.len() >= SILENT;
                        return Err(if is_silent { error } else { error.attach(GuardAgain) });
                    }
                    fetched_tile => fetched_tile
                        .and_then(|fetched_tile| fetched_tile.check(&*from, &layer))
                        .map_err(|error| error.to_string()),
                },
            };
            failed.extend(fetched_tile.err().map(|why| (*tile, why)));
            let is_last = number + 1 == tiles.len().min(PROBES as usize);
            if is_last && failed.len() == number + 1 {
                let what = format!(
                    "the {} that were tried all fail; the first: {}",
                    spec::count(failed.len() as u64, "tile"),
                    failed[&tiles[0]]
                );
                return Err(Error::new(Class::Guard, what));
            }
        }
        drop(from);
        let Some((first, why)) = failed.first_key_value() else { return Ok(None) };
        let tried = spec::count(tiles.len() as u64, "tried tile");
        let note =
            format!("{} of {tried} fail: {first} ({})", failed.len(), why.lines().next().unwrap_or_default());
        for (_, picked) in &mut self.tiles.picked {
            picked.zooms.iter_mut().for_each(|tiles| tiles.retain(|tile| !failed.contains_key(tile)));
            picked.zooms.retain(|tiles| !tiles.is_empty());
        }
        Ok(Some(note))
    }
}

impl Workload for Once {
    fn scripts(&self) -> Vec<ScriptInfo> {
        self.tiles.scripts()
    }

    fn texts(&self) -> Vec<RequestText> {
        let layers = self.tiles.layers.iter().filter(|_| self.web.is_none());
        let zooms = self.area.iter().flat_map(|area| &area.zooms);
        let statements = layers.flat_map(|layer| {
            zooms.clone().map(move |zoom| {
                (format!("{}, zoom {}", layer.shown, zoom.z()), layer.prepared(zoom.z(), self.style()))
            })
        });
        let query = |(name, text): (String, String)| RequestText {
            name,
            kind: TextKind::Query,
            text: text.into_bytes(),
        };
        self.tiles.texts().into_iter().chain(statements.map(query)).collect()
    }

    fn check(&mut self, site: &mut Site<'_>) -> Result<(), Error> {
        self.tiles.check(site)?;
        self.web = match &self.tiles.options.via {
            Via::Http(_) => {
                Some(of_layer(&self.tiles.options, self.layer()?, |_| Err(error::no_server("web")))?)
            }
            _ => None,
        };
        if self.web.is_none() {
            let signature = self.layer()?.function.clone();
            self.definition =
                signature.map_or(Ok(String::new()), |signature| definition(site, &signature))?;
        }
        self.web.as_mut().map_or(Ok(()), |web| web.check(site))
    }

    fn prepare(&mut self, site: &mut Site<'_>, _seed: u64) -> Result<Prepared, Error> {
        if self.tiles.layers.is_empty() {
            self.check(site)?;
        }
        let area = self.choose(site)?;
        Ok(self.take(area))
    }

    fn adopt(&mut self, chosen: &Prepared) -> Result<Prepared, Error> {
        let mistake = |problem: String| {
            let what = format!("the chosen tiles cannot be read: {problem}");
            error::missing_error(what, "this is a mistake of pgdyno")
        };
        let area = match serde_json::from_str(&chosen.json).map_err(|error| mistake(error.to_string()))? {
            Chosen::Area(area) => area,
            Chosen::List(hash) => {
                let own = self.list().filter(|area| area.hash() == hash);
                own.ok_or_else(|| mistake("the arms have other lists".to_owned()))?
            }
        };
        Ok(self.take(area))
    }

    fn reset(&mut self, _site: &mut Site<'_>) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }

    fn guard(&mut self, site: &mut Site<'_>, seed: u64) -> Result<Guarded, Error> {
        let failing = self.leave_out_failing(site)?;
        let mut guarded = self.tiles.guard(site, seed)?;
        self.is_of_osm = guarded.is_of_osm == Some(true);
        guarded.warnings.extend(failing);
        // A few tiles of a wide area may well be empty; the run shows it.
        guarded.warnings.extend(guarded.empty.take());
        Ok(guarded)
    }

    fn sample(&mut self, site: &mut Site<'_>, seed: u64) -> Result<Sampled, Error> {
        self.tiles.sample(site, seed)
    }

    fn artifacts(&mut self, _site: &mut Site<'_>) -> Result<Vec<Artifact>, Error> {
        Ok(Vec::new())
    }
}

impl JobWorkload for Once {
    fn job(&self) -> &dyn Job {
        self
    }
}

/// The definition of a function: tiles of another one must not be gone on with.
fn definition(site: &mut Site<'_>, signature: &str) -> Result<String, Error> {
    let query = format!("SELECT pg_catalog.pg_get_functiondef({}::regprocedure)", quote_literal(signature));
    let found = site.sql()?.scalar(&query);
    let found = found.map_err(error::sql_error(format!("reading the definition of {signature}")))?;
    Ok(found.unwrap_or_default())
}
