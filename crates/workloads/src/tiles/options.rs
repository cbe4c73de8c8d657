//! What a user may write about tiles.

use std::path::PathBuf;

use serde::{Deserialize, Deserializer, Serialize};

use crate::error::WorkloadError;
use crate::jobs::file_name;
use crate::words::unknown_word;

/// `tiles = { table = "planet_osm_polygon", zooms = [12, 16], picker = "data" }`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// The one table tiles are made of, `schema.table` or found on the search path.
    pub table: Option<String>,
    /// Several tables instead: each is a layer, counted as a script of its own.
    pub tables: Vec<String>,
    /// Lowest and highest zoom; all between are asked for equally often. 0..=22.
    #[serde(deserialize_with = "two")]
    pub zooms: [u8; 2],
    /// How tiles are chosen.
    pub picker: Picker,
    /// How many tiles are chosen for each table and zoom; clients draw among them. 1..=100,000.
    pub tiles_per_zoom: u32,
    /// Polygons smaller than this on the map are left out, in square pixels (of 256 per tile side); 0 keeps all.
    pub min_pixels: f64,
    /// Which query.
    pub variant: Variant,
    /// A layer may hold nothing at all: its runs are valid nevertheless.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub may_be_empty: bool,
}

impl Options {
    /// Whether tiles are chosen from the same tables and zooms in the same way.
    pub(crate) fn chooses_like(&self, other: &Self) -> bool {
        let rule = |options: &Self| Self {
            min_pixels: 0.0,
            variant: Variant::Modern,
            may_be_empty: false,
            ..options.clone()
        };
        rule(self) == rule(other)
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            table: None,
            tables: Vec::new(),
            zooms: [12, 16],
            picker: Picker::Data,
            tiles_per_zoom: 200,
            min_pixels: 4.0,
            variant: Variant::Modern,
            may_be_empty: false,
        }
    }
}

/// Exactly two numbers: a list of three would be taken by its first two.
fn two<'de, D: Deserializer<'de>>(source: D) -> Result<[u8; 2], D::Error> {
    let zooms = Vec::<u8>::deserialize(source)?;
    let count = zooms.len();
    zooms.try_into().map_err(|_| serde::de::Error::invalid_length(count, &"an array of length 2"))
}

/// How tiles are chosen.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Picker {
    /// The tile of a random feature: crowded places are asked for more often, no tile is empty.
    #[default]
    Data,
    /// Any tile within the data's bounds, as likely as another; many are empty.
    Uniform,
    /// A list of `z/x/y` lines, asked for in random order with its repetitions.
    Trace(PathBuf),
}

impl Picker {
    /// Words for it; `trace` is written `{ trace = "file" }`.
    pub const NAMES: [&'static str; 3] = ["data", "uniform", "trace"];
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TraceTable {
    trace: PathBuf,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "\"data\", \"uniform\" or { trace = \"file\" }")]
enum PickerForm {
    Word(String),
    Table(TraceTable),
}

impl<'de> Deserialize<'de> for Picker {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        match PickerForm::deserialize(source)? {
            PickerForm::Table(table) => Ok(Self::Trace(table.trace)),
            PickerForm::Word(word) => match word.as_str() {
                "data" => Ok(Self::Data),
                "uniform" => Ok(Self::Uniform),
                "trace" => {
                    Err(serde::de::Error::custom("picker trace needs a file: { trace = \"tiles.txt\" }"))
                }
                other => Err(serde::de::Error::custom(unknown_word("picker", other, &Self::NAMES))),
            },
        }
    }
}

/// Which query makes the tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// `ST_AsMVT` over `ST_AsMVTGeom` of what touches `ST_TileEnvelope`, small polygons left out, as styles do.
    #[default]
    Modern,
    /// The same without the size filter: what an unstyled table costs.
    Unfiltered,
}

impl Variant {
    /// All, as written.
    pub const NAMES: [&'static str; 2] = ["modern", "unfiltered"];
}

impl<'de> Deserialize<'de> for Variant {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        match String::deserialize(source)?.as_str() {
            "modern" => Ok(Self::Modern),
            "unfiltered" => Ok(Self::Unfiltered),
            other => Err(serde::de::Error::custom(unknown_word("variant", other, &Self::NAMES))),
        }
    }
}

impl Options {
    /// The same without the places of its files.
    pub(crate) fn portable(&self) -> Self {
        let picker = match &self.picker {
            Picker::Trace(path) => Picker::Trace(file_name(path).into()),
            other => other.clone(),
        };
        Self { picker, ..self.clone() }
    }

    /// Checks ranges and words.
    ///
    /// # Errors
    /// [`WorkloadError::Option`].
    pub fn validate(&self) -> Result<(), WorkloadError> {
        let wrong = |key: &str, problem: String| Err(WorkloadError::option(format!("tiles.{key}"), problem));
        match (&self.table, self.tables.as_slice()) {
            (None, []) => return wrong("table", "is missing; try table = \"planet_osm_polygon\"".into()),
            (Some(_), [_, ..]) => return wrong("tables", "give table or tables, not both".into()),
            _ => {}
        }
        let [low, high] = self.zooms;
        if low > high || high > 22 {
            return wrong("zooms", format!("[{low}, {high}] is no range within 0..22, lowest first"));
        }
        if !(1..=100_000).contains(&self.tiles_per_zoom) {
            return wrong("tiles_per_zoom", format!("{} is not within 1..100000", self.tiles_per_zoom));
        }
        if !(0.0..=65_536.0).contains(&self.min_pixels) {
            return wrong("min_pixels", format!("{} is not within 0..65536", self.min_pixels));
        }
        Ok(())
    }

    /// The tables, whichever way they were given.
    #[must_use]
    pub fn table_names(&self) -> Vec<&str> {
        self.table.iter().chain(&self.tables).map(String::as_str).collect()
    }
}
