//! Options of a tile workload.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::once::OnceOptions;
use super::picker::{Picker, PickerForm};
use super::source::LayerSource;
use super::via::{Via, ViaForm};
use super::zooms::{Zooms, ZoomsForm};
use crate::error::unknown_word;
use crate::jobs::file_name;
use crate::redis::{Eviction, Memory};

/// `tiles = { table = "planet_osm_polygon", zooms = [12, 16], picker = "data" }`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TilesOptions {
    /// Table or view with a geometry column. Required: one of `table`, `tables`, `function`, `query` and `layers`.
    pub table: Option<String>,
    /// Several tables; each is a layer with its own figures.
    pub tables: Vec<String>,
    /// A function `f(z integer, x integer, y integer)`, with an optional `json` argument, that returns tiles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// An SQL file that returns a tile, or rows with a geometry. Placeholders: `:z`, `:x`, `:y`, `:envelope`, `:xmin`
    /// to `:ymax`, or those of tegola, Mapnik and carto (`!BBOX!`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<PathBuf>,
    /// Several layers, each a table, `function()` or `file.sql`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<String>,
    /// Put all layers into one tile, made by one statement.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub together: bool,
    /// `[lowest, highest]` zoom, all between equally often; or zooms with frequencies: `{ 12 = 1, 14 = 6 }`.
    #[schemars(with = "ZoomsForm")]
    pub zooms: Zooms,
    /// Which tiles: `data` (the tile of a random feature), `uniform` (any tile within the bounds), `{ trace = "file" }`
    /// (`z/x/y` lines or an access log), `{ tiles = "…" }` (the text of such a list), `sessions` (users who pan and
    /// zoom).
    #[schemars(with = "PickerForm")]
    pub picker: Picker,
    /// Table whose features select tiles. Default: the tables of the layers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pick_from: Option<String>,
    /// Columns in the tiles of tables. Default: all; of osm2pgsql's tables those of usual styles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<String>>,
    /// West, south, east, north of the area to choose from, degrees. Default: the bounds of the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounds: Option<[f64; 4]>,
    /// Tiles to choose for each layer and zoom; clients draw among them.
    #[schemars(range(min = 1, max = 100_000))]
    pub tiles_per_zoom: u32,
    /// Leave out polygons of a table smaller than this, square pixels; 0 keeps all.
    pub min_pixels: f64,
    /// The query that makes tiles of tables.
    pub variant: Variant,
    /// How tiles are fetched: `sql`; `tipg` or `martin` (a tile server of the target); `redis` (a cache in front of the
    /// database); or the URL of a web server.
    #[serde(skip_serializing_if = "is_sql")]
    #[schemars(with = "ViaForm", extend("title" = "text", "default" = Via::default()))]
    pub via: Via,
    /// HTTP statuses that mean an empty tile, such as `[404]`; 204 always does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub empty_status: Vec<u16>,
    /// With `via = "redis"`: time to live of a tile in the cache, s. Default: unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 31_622_400))]
    pub cache_ttl_s: Option<u32>,
    /// Memory of the cache, such as `"64MB"`. Other data in this Redis is removed before each run. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub cache_memory: Option<Memory>,
    /// Redis' policy when the cache is full, such as `allkeys-lru`.
    #[serde(skip_serializing_if = "is_usual")]
    #[schemars(with = "String")]
    pub cache_eviction: Eviction,
    /// Share of requests that find their tile in the cache, percent. It stays: missing tiles are not stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub cache_hit_pct: Option<f64>,
    /// Runs start with all tiles in the cache, instead of an empty cache and no warm-up.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cache_warm: bool,
    /// Runs are valid even if a layer has only empty tiles.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub may_be_empty: bool,
    /// Each run asks for every tile once and is timed as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub once: Option<Box<OnceOptions>>,
}

impl Default for TilesOptions {
    fn default() -> Self {
        Self {
            table: None,
            tables: Vec::new(),
            function: None,
            query: None,
            layers: Vec::new(),
            together: false,
            zooms: Zooms::Range([12, 16]),
            picker: Picker::Data,
            pick_from: None,
            columns: None,
            bounds: None,
            tiles_per_zoom: 200,
            min_pixels: 4.0,
            variant: Variant::Modern,
            via: Via::Sql,
            empty_status: Vec::new(),
            cache_ttl_s: None,
            cache_memory: None,
            cache_eviction: Eviction::default(),
            cache_hit_pct: None,
            cache_warm: false,
            may_be_empty: false,
            once: None,
        }
    }
}

fn is_usual(eviction: &Eviction) -> bool {
    *eviction == Eviction::default()
}

fn is_sql(via: &Via) -> bool {
    *via == Via::Sql
}

/// The query that makes tiles of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// `ST_AsMVT` of features that touch the tile, without small polygons.
    #[default]
    Modern,
    /// Without the size filter.
    Unfiltered,
    /// The query of a study of 2021: random boxes instead of tiles.
    Historic,
}

impl Variant {
    /// The option's values.
    pub const NAMES: [&'static str; 3] = ["modern", "unfiltered", "historic"];
}

impl<'de> Deserialize<'de> for Variant {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        match String::deserialize(source)?.as_str() {
            "modern" => Ok(Self::Modern),
            "unfiltered" => Ok(Self::Unfiltered),
            "historic" => Ok(Self::Historic),
            other => Err(serde::de::Error::custom(unknown_word("variant", other, &Self::NAMES))),
        }
    }
}

impl TilesOptions {
    /// Whether each run begins with an empty cache in front of the database, and fills it.
    pub(crate) fn begins_cold(&self) -> bool {
        self.via == Via::Redis && !self.cache_warm && self.cache_hit_pct.is_none()
    }

    /// The sources of the layers, whichever option gave them.
    #[must_use]
    pub fn sources(&self) -> Vec<LayerSource> {
        let tables = self.table.iter().chain(&self.tables).map(|table| LayerSource::Table(table.clone()));
        let functions = self.function.iter().map(|function| LayerSource::function(function));
        let queries = self.query.iter().map(|path| LayerSource::Query(path.clone()));
        let listed = self.layers.iter().map(|layer| LayerSource::of(layer));
        tables.chain(functions).chain(queries).chain(listed).collect()
    }

    /// The files it reads: queries, and the list of tiles.
    #[must_use]
    pub fn files(&self) -> Vec<&Path> {
        let listed = self.layers.iter().map(Path::new).filter(|path| LayerSource::is_file(path));
        let trace = match &self.picker {
            Picker::Trace(path) => Some(path.as_path()),
            Picker::Data | Picker::Uniform | Picker::Tiles(_) | Picker::Sessions(_) => None,
        };
        self.query.iter().map(PathBuf::as_path).chain(listed).chain(trace).collect()
    }

    /// The files that it writes.
    #[must_use]
    pub fn written_files(&self) -> Vec<&Path> {
        self.once.iter().flat_map(|once| &once.mbtiles).map(PathBuf::as_path).collect()
    }

    /// Connections that each client has.
    #[must_use]
    pub fn links(&self) -> usize {
        match &self.picker {
            Picker::Sessions(sessions) => sessions.links.into(),
            Picker::Data | Picker::Uniform | Picker::Trace(_) | Picker::Tiles(_) => 1,
        }
    }

    /// Whether tiles are chosen by the same rule: the sources of layers do not matter if `pick_from` is
    /// given.
    pub(crate) fn chooses_like(&self, other: &Self) -> bool {
        let rule = |options: &Self| Self {
            table: None,
            tables: Vec::new(),
            function: None,
            query: None,
            layers: Vec::new(),
            columns: None,
            min_pixels: 0.0,
            variant: Variant::Modern,
            via: Via::Sql,
            cache_ttl_s: None,
            cache_memory: None,
            cache_eviction: Eviction::default(),
            cache_hit_pct: None,
            cache_warm: false,
            may_be_empty: false,
            once: options.once.as_ref().map(|_| Box::default()),
            ..options.clone()
        };
        let lists = |options: &Self| if options.together { 1 } else { options.sources().len() };
        let historic = |options: &Self| options.variant == Variant::Historic;
        rule(self) == rule(other) && lists(self) == lists(other) && historic(self) == historic(other)
    }

    /// The options without the folders of their files.
    pub(crate) fn portable(&self) -> Self {
        let picker = match &self.picker {
            Picker::Trace(path) => Picker::Trace(file_name(path).into()),
            other => other.clone(),
        };
        let layer = |layer: &String| match LayerSource::is_file(Path::new(layer)) {
            true => file_name(Path::new(layer)),
            false => layer.clone(),
        };
        Self {
            picker,
            query: self.query.as_deref().map(|path| file_name(path).into()),
            layers: self.layers.iter().map(layer).collect(),
            via: self.via.portable(),
            once: self.once.as_ref().map(|once| Box::new(once.without_files())),
            ..self.clone()
        }
    }
}
