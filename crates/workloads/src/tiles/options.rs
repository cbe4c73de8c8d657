//! Options of a tile workload.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize};

use super::once::OnceOptions;
use super::picker::Picker;
use super::source::LayerSource;
use super::via::Via;
use super::zooms::Zooms;
use crate::error::unknown_word;
use crate::jobs::file_name;
use crate::redis::{Eviction, Memory};

/// `tiles = { table = "planet_osm_polygon", zooms = [12, 16], picker = "data" }`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TilesOptions {
    /// The table, `schema.table` or on the search path.
    pub table: Option<String>,
    /// Several tables instead: each is a layer, counted as a separate script.
    pub tables: Vec<String>,
    /// A function `f(z integer, x integer, y integer)` that returns tiles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// An SQL file that returns a tile, with the placeholders `:z`, `:x`, `:y`, `:envelope`, `:xmin`,
    /// `:ymin`, `:xmax`, `:ymax`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<PathBuf>,
    /// Several of these instead, each a layer: a table, `function()` or `file.sql`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<String>,
    /// All layers are in one tile, made by one statement.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub together: bool,
    /// The requested zooms, and their frequencies. 0..=22.
    pub zooms: Zooms,
    pub picker: Picker,
    /// The table whose features select tiles, if layers are not tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pick_from: Option<String>,
    /// Columns of tables that are in tiles, instead of the usual ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<String>>,
    /// West, south, east and north of the area to choose from, degrees; by default the bounds of the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounds: Option<[f64; 4]>,
    /// Tiles chosen for each table and zoom; clients draw among them. 1..=100,000.
    pub tiles_per_zoom: u32,
    /// Polygons smaller than this on the map are left out, in square pixels (of 256 per tile side); 0 keeps
    /// all.
    pub min_pixels: f64,
    /// The query that makes tiles of tables.
    pub variant: Variant,
    /// How tiles are fetched.
    #[serde(skip_serializing_if = "is_sql")]
    pub via: Via,
    /// HTTP statuses of web servers that mean an empty tile, such as 404; 204 always does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub empty_status: Vec<u16>,
    /// With `via = "redis"`: time to live of a tile in the cache, s; unlimited by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_ttl_s: Option<u32>,
    /// Memory of the cache, e.g. `"64MB"`; other data in this Redis are removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_memory: Option<Memory>,
    /// Redis' policy when it is full.
    #[serde(skip_serializing_if = "is_usual")]
    pub cache_eviction: Eviction,
    /// The share of requests that find their tile in the cache, during the whole run: missing tiles are not
    /// stored. 0..=100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_hit_pct: Option<f64>,
    /// Runs begin with all tiles in the cache, instead of an empty one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cache_warm: bool,
    /// Runs are valid even if a layer is empty.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub may_be_empty: bool,
    /// Each run asks for every tile of the zooms and bounds, or of the list, once.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// `ST_AsMVT` over `ST_AsMVTGeom` of features that touch `ST_TileEnvelope`, without small polygons, as in
    /// styles.
    #[default]
    Modern,
    /// Without the size filter: the cost of an unstyled table.
    Unfiltered,
    /// The query of a study of 2021, unchanged except for the table and the box: random boxes instead of
    /// tiles.
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
