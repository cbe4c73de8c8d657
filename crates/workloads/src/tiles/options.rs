//! What a user may write about tiles.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize};

use super::picker::Picker;
use super::source::Source;
use super::via::Via;
use super::zooms::Zooms;
use crate::jobs::file_name;
use crate::redis::{Eviction, Memory};
use crate::words::unknown_word;

/// `tiles = { table = "planet_osm_polygon", zooms = [12, 16], picker = "data" }`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// The one table tiles are made of, `schema.table` or found on the search path.
    pub table: Option<String>,
    /// Several tables instead: each is a layer, counted as its own script.
    pub tables: Vec<String>,
    /// A function `f(z integer, x integer, y integer)` that returns tiles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// An SQL file that returns a tile; `:z`, `:x`, `:y`, `:envelope`, `:xmin`, `:ymin`, `:xmax`, `:ymax` stand for what is
    /// asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<PathBuf>,
    /// Several of these instead, each a layer: a table, `function()` or `file.sql`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<String>,
    /// All layers are in one tile, made by one statement.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub together: bool,
    /// Which zooms are asked for, and how often. 0..=22.
    pub zooms: Zooms,
    /// How tiles are chosen.
    pub picker: Picker,
    /// The table whose features tiles are chosen by, where layers are no tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pick_from: Option<String>,
    /// West, south, east and north of what tiles are chosen from, degrees; else the bounds of the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounds: Option<[f64; 4]>,
    /// How many tiles are chosen for each table and zoom; clients draw among them. 1..=100,000.
    pub tiles_per_zoom: u32,
    /// Polygons smaller than this on the map are left out, in square pixels (of 256 per tile side); 0 keeps all.
    pub min_pixels: f64,
    /// Which query makes tiles of tables.
    pub variant: Variant,
    /// By which way tiles are fetched.
    #[serde(skip_serializing_if = "is_sql")]
    pub via: Via,
    /// With `via = "redis"`: how long a tile stays in the cache, s; for ever without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_ttl_s: Option<u32>,
    /// Memory that the cache may take, e.g. `"64MB"`; what else is in this Redis goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_memory: Option<Memory>,
    /// What goes when that is full: a policy of Redis.
    #[serde(skip_serializing_if = "is_usual")]
    pub cache_eviction: Eviction,
    /// The share of requests that find their tile in the cache, all through the run: what is not there is not put there. 0..=100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_hit_pct: Option<f64>,
    /// Runs begin with all tiles in the cache, not with an empty one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cache_warm: bool,
    /// A layer may hold nothing at all: its runs are valid nevertheless.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub may_be_empty: bool,
}

impl Default for Options {
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
            bounds: None,
            tiles_per_zoom: 200,
            min_pixels: 4.0,
            variant: Variant::Modern,
            via: Via::Sql,
            cache_ttl_s: None,
            cache_memory: None,
            cache_eviction: Eviction::default(),
            cache_hit_pct: None,
            cache_warm: false,
            may_be_empty: false,
        }
    }
}

fn is_usual(eviction: &Eviction) -> bool {
    *eviction == Eviction::default()
}

fn is_sql(via: &Via) -> bool {
    *via == Via::Sql
}

/// Which query makes the tiles of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// `ST_AsMVT` over `ST_AsMVTGeom` of what touches `ST_TileEnvelope`, small polygons left out, as styles do.
    #[default]
    Modern,
    /// The same without the size filter: what an unstyled table costs.
    Unfiltered,
    /// The query of a study of 2021, word for word except for the table and the box: random boxes instead of tiles.
    Historic,
}

impl Variant {
    /// All, as written.
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

impl Options {
    /// Whether each run begins with an empty cache in front of the database, and fills it.
    pub(crate) fn begins_cold(&self) -> bool {
        self.via == Via::Redis && !self.cache_warm && self.cache_hit_pct.is_none()
    }

    /// What each layer is made of, whichever way it was given.
    #[must_use]
    pub fn sources(&self) -> Vec<Source> {
        let tables = self.table.iter().chain(&self.tables).map(|table| Source::Table(table.clone()));
        let functions = self.function.iter().map(|function| Source::function(function));
        let queries = self.query.iter().map(|path| Source::Query(path.clone()));
        let listed = self.layers.iter().map(|layer| Source::of(layer));
        tables.chain(functions).chain(queries).chain(listed).collect()
    }

    /// The files it reads: queries, and the list of tiles.
    #[must_use]
    pub fn files(&self) -> Vec<&Path> {
        let listed = self.layers.iter().map(Path::new).filter(|path| Source::is_file(path));
        let trace = match &self.picker {
            Picker::Trace(path) => Some(path.as_path()),
            Picker::Data | Picker::Uniform | Picker::Sessions(_) => None,
        };
        self.query.iter().map(PathBuf::as_path).chain(listed).chain(trace).collect()
    }

    /// Connections that each client has.
    #[must_use]
    pub fn links(&self) -> usize {
        match &self.picker {
            Picker::Sessions(sessions) => sessions.links.into(),
            Picker::Data | Picker::Uniform | Picker::Trace(_) => 1,
        }
    }

    /// Whether tiles are chosen by the same rule: what a layer is made of does not matter where it says what they are
    /// chosen from.
    pub(crate) fn chooses_like(&self, other: &Self) -> bool {
        let rule = |options: &Self| Self {
            table: None,
            tables: Vec::new(),
            function: None,
            query: None,
            layers: Vec::new(),
            min_pixels: 0.0,
            variant: Variant::Modern,
            via: Via::Sql,
            cache_ttl_s: None,
            cache_memory: None,
            cache_eviction: Eviction::default(),
            cache_hit_pct: None,
            cache_warm: false,
            may_be_empty: false,
            ..options.clone()
        };
        let lists = |options: &Self| if options.together { 1 } else { options.sources().len() };
        let historic = |options: &Self| options.variant == Variant::Historic;
        rule(self) == rule(other) && lists(self) == lists(other) && historic(self) == historic(other)
    }

    /// The same without the places of its files.
    pub(crate) fn portable(&self) -> Self {
        let picker = match &self.picker {
            Picker::Trace(path) => Picker::Trace(file_name(path).into()),
            other => other.clone(),
        };
        let layer = |layer: &String| match Source::is_file(Path::new(layer)) {
            true => file_name(Path::new(layer)),
            false => layer.clone(),
        };
        Self {
            picker,
            query: self.query.as_deref().map(|path| file_name(path).into()),
            layers: self.layers.iter().map(layer).collect(),
            via: self.via.portable(),
            ..self.clone()
        }
    }
}
