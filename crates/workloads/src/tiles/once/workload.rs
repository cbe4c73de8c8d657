//! The workload for `lab`: each run is one pass over all tiles.

use std::path::{Path, PathBuf};

use spec::{Artifact, Error, TextKind};
use tile::Tile;

use super::super::content::LayerBytes;
use super::super::fetch::{Fetch, FromDatabase, FromWeb};
use super::super::fetched::FetchedTile;
use super::super::layer::{Style, TileLayer, is_of_osm};
use super::super::options::TilesOptions;
use super::super::parts::joined;
use super::super::pick::bounds;
use super::super::via::Via;
use super::super::web::{Webs, of_layer};
use super::super::workload::Tiles;
use super::area::Area;
use super::options::OnceOptions;
use crate::error;
use crate::hash::sha256_hex;
use crate::http::Web;
use crate::jobs::Job;
use crate::place::Site;
use crate::workload::{Guarded, JobWorkload, Prepared, RequestText, ScriptInfo, Workload};

/// Tiles of the highest zoom that are tried before the first run.
const PROBES: u64 = 8;

/// A pass over all tiles of a pyramid, a box or a list.
#[derive(Debug)]
pub struct Once {
    tiles: Tiles,
    pub(super) folder: PathBuf,
    pub(super) files: Vec<PathBuf>,
    area: Option<Area>,
    web: Option<Web>,
    pub(super) is_of_osm: bool,
}

impl Once {
    /// A workload with these options; reads queries and a list of tiles, relative to `folder`.
    ///
    /// # Errors
    /// When options are out of range, or a file cannot be read or is useless.
    pub fn open(options: &TilesOptions, folder: &Path) -> Result<Self, Error> {
        let files = options.files().into_iter().map(|path| folder.join(path)).collect();
        let tiles = Tiles::open(options, folder)?;
        Ok(Self { tiles, folder: folder.to_owned(), files, area: None, web: None, is_of_osm: false })
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
        let area = serde_json::to_string(area).unwrap_or_default();
        let made = match &self.web {
            Some(web) => web.url().to_string(),
            None => {
                let (layer, style) = (self.layer()?, self.style());
                let zooms = self.area.iter().flat_map(|area| &area.zooms);
                zooms.map(|zoom| layer.prepared(zoom.z(), style)).collect()
            }
        };
        Ok(sha256_hex(format!("{}\n{area}\n{made}", self.shown()).as_bytes()))
    }

    fn choose(&self, site: &mut Site<'_>) -> Result<Area, Error> {
        let Tiles { options, trace, .. } = &self.tiles;
        if !trace.tiles.is_empty() {
            return Ok(Area::of_list(trace.tiles.iter().map(|(tile, _)| *tile)));
        }
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

    fn take(&mut self, area: Area) -> Prepared {
        let json = serde_json::json!({ "area": area }).to_string();
        let [low, high] =
            [area.zooms.first(), area.zooms.last()].map(|zoom| zoom.map_or(0, super::area::ZoomArea::z));
        let summary =
            format!("{} of {}, z{low}-z{high}, each once", spec::count(area.count(), "tile"), self.shown());
        self.area = Some(area);
        Prepared { hash: sha256_hex(json.as_bytes()), json, summary, rows: None }
    }

    /// Tries some tiles: a statement that always fails would fail for all of them.
    fn probe(&self, site: &mut Site<'_>) -> Result<Guarded, Error> {
        let layer = self.layer()?;
        let last = self.area().and_then(|area| area.zooms.last()).ok_or_else(Self::not_prepared)?;
        let tiles: Vec<Tile> = last.spread(PROBES);
        let mut guarded = Guarded::default();
        let mut bytes = LayerBytes::default();
        let webs: Webs = self.web.iter().map(|web| (layer.shown.clone(), web.clone())).collect();
        let mut from: Box<dyn Fetch + '_> = match &self.web {
            Some(web) => Box::new(FromWeb::new(&webs, web.control(site)?)),
            None => Box::new(FromDatabase { sql: site.sql()?, style: self.style() }),
        };
        let mut refused = None;
        for tile in &tiles {
            match FetchedTile::fetch(&mut *from, layer, *tile) {
                Ok(fetched_tile) => {
                    fetched_tile.check(&*from, layer)?;
                    bytes.add(&fetched_tile.bytes);
                    guarded.rows += u64::from(!fetched_tile.bytes.is_empty());
                    guarded.bytes += fetched_tile.bytes.len() as u64;
                }
                Err(error) => refused = Some(refused.unwrap_or(error)),
            }
        }
        if let Some(error) = refused.filter(|_| guarded.rows == 0) {
            return Err(error);
        }
        guarded.warnings = from.warnings()?;
        if self.web.is_none() {
            guarded.notes.extend(bytes.words(layer));
        }
        Ok(guarded)
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
        #[derive(serde::Deserialize)]
        struct Chosen {
            area: Area,
        }
        let Chosen { area } = serde_json::from_str(&chosen.json).map_err(|error| {
            error::missing_error(
                format!("the chosen tiles cannot be read: {error}"),
                "this is a mistake of pgdyno",
            )
        })?;
        Ok(self.take(area))
    }

    fn reset(&mut self, _site: &mut Site<'_>) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }

    fn guard(&mut self, site: &mut Site<'_>, _seed: u64) -> Result<Guarded, Error> {
        let mut guarded = self.probe(site)?;
        self.is_of_osm = is_of_osm(site.sql()?, &self.tiles.layers)?;
        guarded.is_of_osm = Some(self.is_of_osm);
        guarded.notes.extend(self.layer()?.remarks.clone());
        guarded.notes.extend(self.tiles.trace.remarks.clone());
        Ok(guarded)
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
