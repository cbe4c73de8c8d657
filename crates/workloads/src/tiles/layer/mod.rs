//! Layers of tiles: their sources, and the statements that make them.

mod columns;
mod feature_table;
mod function;
mod historic;
mod origin;
mod query;
mod quoted;
mod reads;
mod rows;
mod subquery;
mod table;
mod text;
mod token;

use std::path::Path;

use protocol::postgres::sql::{Sql, SqlError};

pub(super) use self::columns::TileColumns;
pub(super) use self::feature_table::{FeatureTable, WEB_MERCATOR};
use self::historic::Historic;
pub(super) use self::origin::is_of_osm;
use self::table::TableLayer;
use self::text::TileStatement;
use super::options::{TilesOptions, Variant};
use super::source::LayerSource;
use crate::error;
use spec::{Class, Error};
use tile::Tile;

/// How tiles of tables are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Style {
    pub(super) variant: Variant,
    /// Square pixels.
    pub(super) min_pixels: f64,
}

/// The contents of one tile.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct TileLayer {
    /// As the user named it; layers in one tile are joined by ` + `.
    pub(super) shown: String,
    made: TileQuery,
    /// Tables whose features select tiles; of all layers in one tile.
    pub(super) feature_tables: Vec<FeatureTable>,
    pub(super) remarks: Vec<String>,
    /// Signature of the function that makes its tiles.
    pub(super) function: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
enum TileQuery {
    Table(Box<TableLayer>),
    /// Of a file or a function.
    Statement(TileStatement),
    Historic(Historic),
    Together(Vec<TileLayer>),
}

impl Default for TileQuery {
    fn default() -> Self {
        Self::Together(Vec::new())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct QueryFile {
    /// As written.
    pub(super) text: String,
    statement: TileStatement,
}

impl QueryFile {
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let wrong = |problem: String| error::file_error(path, problem);
        let text = spec::given::read_text(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
        let statement = text::read(&text).map_err(wrong)?;
        if let Some(problem) = statement.problem() {
            return Err(wrong(problem.to_owned()));
        }
        Ok(Self { text, statement })
    }
}

/// Checks PostGIS and every source; `files` are the queries among them, in order.
pub(super) fn layers(
    sql: &mut dyn Sql,
    options: &TilesOptions,
    files: &[QueryFile],
) -> Result<Vec<TileLayer>, Error> {
    feature_table::postgis(sql)?;
    let named = match &options.pick_from {
        Some(table) => vec![feature_table::feature_table(sql, table)?],
        None => Vec::new(),
    };
    let mut files = files.iter();
    let mut layers = Vec::new();
    for source in options.sources() {
        let mut layer = match &source {
            LayerSource::Table(name) => table_layer(sql, name, options)?,
            LayerSource::Function(name) => function::layer(sql, name)?,
            LayerSource::Query(_) => {
                let file = files.next().ok_or_else(|| {
                    error::missing_error(
                        format!("{} was not read", source.shown()),
                        "this is a mistake of pgdyno",
                    )
                })?;
                query::layer(sql, &source.shown(), &file.statement)?
            }
        };
        layer.remarks.extend(layer.missing_indexes(sql));
        if !named.is_empty() {
            layer.feature_tables.clone_from(&named);
        }
        layers.push(layer);
    }
    if let Some(wanted) = &options.columns {
        let tables: Vec<_> = layers.iter().filter_map(TileLayer::table).collect();
        if let Some(problem) = columns::problem(wanted, &tables) {
            return Err(Error::new(Class::Missing, problem));
        }
    }
    Ok(if options.together { vec![together(layers)] } else { layers })
}

fn table_layer(sql: &mut dyn Sql, name: &str, options: &TilesOptions) -> Result<TileLayer, Error> {
    let feature_table = feature_table::feature_table(sql, name)?;
    if options.variant == Variant::Historic {
        let historic = Historic::of(sql, &feature_table, options.bounds)?;
        let remarks = vec![historic::SOURCE.to_owned()];
        return Ok(TileLayer {
            shown: name.to_owned(),
            made: TileQuery::Historic(historic),
            feature_tables: vec![feature_table],
            remarks,
            function: None,
        });
    }
    let table = TableLayer::of(sql, &feature_table, options.columns.as_deref())?;
    let remarks = table.remarks(options);
    Ok(TileLayer {
        shown: name.to_owned(),
        made: TileQuery::Table(Box::new(table)),
        feature_tables: vec![feature_table],
        remarks,
        function: None,
    })
}

fn together(layers: Vec<TileLayer>) -> TileLayer {
    let shown: Vec<&str> = layers.iter().map(|layer| layer.shown.as_str()).collect();
    let mut feature_tables: Vec<FeatureTable> = Vec::new();
    for feature_table in layers.iter().flat_map(|layer| &layer.feature_tables) {
        if !feature_tables.contains(feature_table) {
            feature_tables.push(feature_table.clone());
        }
    }
    TileLayer {
        shown: shown.join(" + "),
        remarks: layers.iter().flat_map(|layer| layer.remarks.clone()).collect(),
        feature_tables,
        made: TileQuery::Together(layers),
        function: None,
    }
}

/// Where the zoom of a statement does not matter.
const ANY_ZOOM: u8 = 14;

/// How a tile is named: by parameters of a statement, or by their values.
#[derive(Debug, Clone, Copy)]
enum TileArgument {
    Parameters,
    Tile(Tile),
}

impl TileArgument {
    fn envelope(self) -> String {
        match self {
            Self::Parameters => "ST_TileEnvelope($1, $2, $3)".to_owned(),
            Self::Tile(Tile { z, x, y }) => format!("ST_TileEnvelope({z}, {x}, {y})"),
        }
    }

    fn values(self) -> [String; 3] {
        match self {
            Self::Parameters => ["$1", "$2", "$3"].map(str::to_owned),
            Self::Tile(Tile { z, x, y }) => [z.to_string(), x.to_string(), y.to_string()],
        }
    }
}

impl TileLayer {
    /// A layer that a user's statement makes, of these tables if they are known.
    fn of_statement(shown: &str, statement: TileStatement, feature_tables: Vec<FeatureTable>) -> Self {
        Self {
            shown: shown.to_owned(),
            made: TileQuery::Statement(statement),
            feature_tables,
            ..Self::default()
        }
    }

    #[cfg(test)]
    pub(super) fn of_tables(shown: &str, feature_tables: Vec<FeatureTable>) -> Self {
        Self { shown: shown.to_owned(), feature_tables, ..Self::default() }
    }

    /// The statement at a zoom, with `$1`, `$2`, `$3` for zoom, column and row.
    pub(super) fn prepared(&self, z: u8, style: Style) -> String {
        self.statement(z, style, TileArgument::Parameters)
    }

    /// The statement for one tile.
    pub(super) fn literal(&self, tile: Tile, style: Style) -> String {
        self.statement(tile.z, style, TileArgument::Tile(tile))
    }

    /// If it is made of a table.
    fn table(&self) -> Option<(&FeatureTable, &TileColumns)> {
        match &self.made {
            TileQuery::Table(table) => Some(table.parts()),
            _ => None,
        }
    }

    /// Columns of the tables that pgdyno makes tiles of.
    pub(super) fn columns(&self) -> Vec<&TileColumns> {
        match &self.made {
            TileQuery::Together(layers) => layers.iter().flat_map(Self::columns).collect(),
            _ => self.table().map(|(_, columns)| columns).into_iter().collect(),
        }
    }

    /// Whether a function makes it or a part of it, of tables that are not known.
    fn has_function(&self) -> bool {
        match &self.made {
            TileQuery::Together(layers) => layers.iter().any(Self::has_function),
            _ => self.function.is_some(),
        }
    }

    /// Tables with geometries that its tiles are made of; of a statement by their names in it and in its
    /// functions.
    pub(super) fn reads(&self, sql: &mut dyn Sql) -> Result<Vec<FeatureTable>, SqlError> {
        match &self.made {
            TileQuery::Statement(statement) => {
                let text = statement.with(ANY_ZOOM, &TileArgument::Parameters.values());
                let mut tables = reads::tables_named_in(sql, &text)?;
                let known = |table: &FeatureTable| tables.iter().any(|other| other.table == table.table);
                let others: Vec<FeatureTable> =
                    self.feature_tables.iter().filter(|table| !known(table)).cloned().collect();
                tables.extend(others);
                Ok(tables)
            }
            _ => Ok(self.feature_tables.clone()),
        }
    }

    /// What tables without a spatial index cost a statement; other layers have this among their remarks.
    fn missing_indexes(&self, sql: &mut dyn Sql) -> Vec<String> {
        if !matches!(self.made, TileQuery::Statement(_)) {
            return Vec::new();
        }
        // It is a remark: tiles can be requested without it.
        let tables = self.reads(sql).unwrap_or_default();
        tables.iter().filter_map(|table| table.missing_index(&format!("{} reads it", self.shown))).collect()
    }

    /// Random boxes: there are no tiles to choose.
    pub(super) fn is_historic(&self) -> bool {
        matches!(self.made, TileQuery::Historic(_))
    }

    fn statement(&self, z: u8, style: Style, asked: TileArgument) -> String {
        match &self.made {
            TileQuery::Table(table) => table.statement(z, style, &asked.envelope()),
            TileQuery::Statement(statement) => statement.with(z, &asked.values()),
            TileQuery::Historic(historic) => historic.statement.clone(),
            TileQuery::Together(layers) => {
                let one = |layer: &TileLayer| format!("coalesce(({}), '')", layer.statement(z, style, asked));
                format!("SELECT {}", layers.iter().map(one).collect::<Vec<_>>().join(" || "))
            }
        }
    }

    /// A filter for features that a tile of this zoom would not show; see [`TableLayer::size_filter`].
    pub(super) fn size_filter(&self, feature_table: &FeatureTable, z: u8, style: Style) -> String {
        match &self.made {
            TileQuery::Table(table) if table.is_of(feature_table) => table.size_filter(z, style),
            TileQuery::Together(layers) => {
                let of = layers.iter().find(
                    |layer| matches!(&layer.made, TileQuery::Table(table) if table.is_of(feature_table)),
                );
                of.map(|layer| layer.size_filter(feature_table, z, style)).unwrap_or_default()
            }
            _ => String::new(),
        }
    }
}
