//! JSON Schema of values that have their own readers. A `title` is the kind of value in words, for the reference page.

use std::borrow::Cow;
use std::marker::PhantomData;

use jiff::SignedDuration;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::size::words;
use super::{
    BoundedDuration, Bounds, ChangeStepValue, LengthOrBounds, PartLength, Share, Size, Tables, Whole,
};
use crate::plan::tile_server::TileServerKind;

/// Implements [`JsonSchema`] for a type whose schema is used in place and has no name.
macro_rules! in_place {
    ($([$($generics:tt)*] $type:ty => |$generator:pat_param| $schema:expr;)*) => {
        $(impl<$($generics)*> JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema($generator: &mut SchemaGenerator) -> Schema {
                $schema
            }
        })*
    };
}

/// A value or a list of values.
#[derive(Debug)]
pub struct OneOrMany<T>(PhantomData<T>);
/// A text, a number, `true` or `false`.
#[derive(Debug)]
pub enum Scalar {}
/// Levels of any factor, or a table of factors whose keys have a point.
pub(super) enum Levels {}
pub(super) enum NumberOrText {}
/// Options that another crate reads.
pub(super) enum Options {}
pub(super) enum SlicesValue {}

/// A tile server: its name, or a table.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "its reader is where tile servers are known")]
pub(super) enum TileServerValue {
    Name(TileServerKind),
    Table(TileServerTable),
}

/// A tile server with options.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "its reader is where tile servers are known")]
pub(super) struct TileServerTable {
    /// The program.
    kind: TileServerKind,
    /// Processes (TiPg) or threads (martin). Default: one for each CPU.
    #[schemars(range(min = 1, max = 256))]
    workers: Option<u32>,
    /// Database connections of all workers. Default: as many as clients, at most 50.
    connections: Option<u32>,
    /// martin: tile cache, MB. 0: the database makes every tile.
    #[schemars(extend("default" = 0))]
    cache_mb: Option<u32>,
    /// Path of the program. Needs `--allow-commands`.
    program: Option<String>,
}

fn time(least: u64, most: u64) -> Schema {
    let word = |us: u64| format!("{:#}", SignedDuration::from_micros(us.try_into().unwrap_or(i64::MAX)));
    let title = format!("time, {} to {}", word(least), word(most));
    json_schema!({ "type": "string", "title": title })
}

in_place! {
    [const LEAST: u64, const MOST: u64] Whole<LEAST, MOST> => |_| {
        let mut schema = json_schema!({ "type": "integer", "minimum": LEAST });
        // A larger bound is not useful.
        if MOST <= u64::from(u32::MAX) {
            schema.insert("maximum".to_owned(), MOST.into());
        }
        schema
    };
    [const LEAST: u64, const MOST: u64] BoundedDuration<LEAST, MOST> => |_| time(LEAST, MOST);
    [const LEAST: u64, const MOST: u64] Size<LEAST, MOST> => |_| {
        let title = match MOST {
            u64::MAX => "size".to_owned(),
            _ => format!("size, {} to {}", words(LEAST), words(MOST)),
        };
        json_schema!({ "type": "string", "title": title })
    };
    [] Share => |_| json_schema!({ "type": "string", "title": "share", "pattern": "^ *[0-9.e+-]+ *% *$" });
    [T: JsonSchema] Tables<T> => |generator| {
        json_schema!({ "type": "object", "additionalProperties": generator.subschema_for::<T>() })
    };
    [T: JsonSchema] OneOrMany<T> => |generator| {
        let one = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }] })
    };
    [] Scalar => |_| json_schema!({ "type": ["string", "number", "boolean"] });
    [] Levels => |generator| {
        let levels = generator.subschema_for::<OneOrMany<Scalar>>();
        json_schema!({ "anyOf": [levels, { "type": "array" }, { "type": "object" }], "title": "levels" })
    };
    [] NumberOrText => |_| json_schema!({ "type": ["number", "string"] });
    [] Options => |_| json_schema!({ "type": "object" });
    [] SlicesValue => |_| json_schema!({ "type": ["boolean", "string"], "title": "true, false, or a time" });
    [] ChangeStepValue => |_| json_schema!({
        "title": "SQL, or a command",
        "anyOf": [
            { "type": "string" },
            {
                "type": "object",
                "properties": { "command": { "type": "string", "description": "A command for `/bin/sh`." } },
                "required": ["command"],
                "additionalProperties": false,
            },
        ],
    });
    [] LengthOrBounds => |generator| {
        let either = [generator.subschema_for::<PartLength>(), generator.subschema_for::<Bounds>()];
        let title = either[0].get("title").cloned();
        json_schema!({ "title": title, "anyOf": either })
    };
}
