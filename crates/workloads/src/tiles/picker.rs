//! How tiles are chosen.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::error::unknown_word;

/// How tiles are chosen.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Picker {
    /// The tile of a random feature: dense places are requested more often, and no tile is empty.
    #[default]
    Data,
    /// Any tile within the data's bounds, equally likely; many are empty.
    Uniform,
    /// A list of `z/x/y` or `z/x/y N` lines, or the access log of a web server, in random order with its
    /// repetitions.
    Trace(PathBuf),
    /// The text of such a list, which came through a pipe.
    Tiles(String),
    /// Users who look at a map: they begin at a random feature, pan and zoom; a transaction is a view.
    Sessions(Sessions),
}

/// Users who look at a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Sessions {
    /// Width and height of the window, pixels (256 to 8192).
    pub viewport: [u16; 2],
    /// Views of a session.
    #[schemars(range(min = 1, max = 1000))]
    pub views: u16,
    /// Tiles of a view that are requested at once, each over its own connection.
    #[schemars(range(min = 1, max = 64))]
    pub links: u8,
    /// Sessions to generate; clients draw among them.
    #[schemars(range(min = 1, max = 10_000))]
    pub count: u16,
}

impl Default for Sessions {
    /// A small window, and the six connections that browsers open to a host.
    fn default() -> Self {
        Self { viewport: [1024, 768], views: 12, links: 6, count: 100 }
    }
}

impl Sessions {
    /// What is wrong with it: its key and the problem.
    pub(super) fn problem(&self) -> Option<(&'static str, String)> {
        let Self { viewport: [width, height], views, links, count } = *self;
        let out_of = |value: u16, low: u16, high: u16| !(low..=high).contains(&value);
        let wrong = |key, value: u16, low: u16, high: u16| {
            out_of(value, low, high).then(|| (key, format!("{value} is not within {low}..{high}")))
        };
        wrong("picker.sessions.viewport", width, 256, 8192)
            .or_else(|| wrong("picker.sessions.viewport", height, 256, 8192))
            .or_else(|| wrong("picker.sessions.views", views, 1, 1000))
            .or_else(|| wrong("picker.sessions.links", links.into(), 1, 64))
            .or_else(|| wrong("picker.sessions.count", count, 1, 10_000))
    }
}

impl Picker {
    /// Whether tiles are those of a list.
    pub(super) fn is_list(&self) -> bool {
        matches!(self, Self::Trace(_) | Self::Tiles(_))
    }

    /// Option values; `trace` is written `{ trace = "file" }`.
    pub const NAMES: [&'static str; 4] = ["data", "uniform", "trace", "sessions"];
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TraceTable {
    /// A file of `z/x/y` or `z/x/y N` lines, or the access log of a web server; also compressed with gzip.
    trace: PathBuf,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TilesTable {
    /// The text of such a list, instead of its file.
    tiles: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionsTable {
    sessions: Sessions,
}

#[derive(Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "\"data\", \"uniform\", \"sessions\", { trace = \"file\" }, { tiles = \"z/x/y N lines\" } or { sessions = { viewport, views, links, count } }"
)]
pub(super) enum PickerForm {
    Word(String),
    Trace(TraceTable),
    Tiles(TilesTable),
    Sessions(SessionsTable),
}

impl<'de> Deserialize<'de> for Picker {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        match PickerForm::deserialize(source)? {
            PickerForm::Trace(table) => Ok(Self::Trace(table.trace)),
            PickerForm::Tiles(table) => Ok(Self::Tiles(table.tiles)),
            PickerForm::Sessions(table) => Ok(Self::Sessions(table.sessions)),
            PickerForm::Word(word) => match word.as_str() {
                "data" => Ok(Self::Data),
                "uniform" => Ok(Self::Uniform),
                "sessions" => Ok(Self::Sessions(Sessions::default())),
                "trace" => {
                    Err(serde::de::Error::custom("picker trace needs a file: { trace = \"tiles.txt\" }"))
                }
                other => Err(serde::de::Error::custom(unknown_word("picker", other, &Self::NAMES))),
            },
        }
    }
}
