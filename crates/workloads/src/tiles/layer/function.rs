//! A layer made by a function of zoom, column and row, as in tile servers.

use protocol::nearest;
use protocol::postgres::sql::{Sql, SqlError, quote_literal};
use spec::Error;

use super::TileLayer;
use super::feature_table::{as_written, texts};
use crate::error;

/// Accepted types of zoom, column and row.
const NUMBERS: [&str; 4] = ["integer", "bigint", "smallint", "numeric"];

pub(super) fn layer(sql: &mut dyn Sql, name: &str) -> Result<TileLayer, Error> {
    let shown = format!("{name}()");
    let doing = format!("looking at function {shown}");
    let asked = |error: SqlError| error::sql_error(&doing)(error);
    // The server resolves unquoted names: case folding, and the search path.
    let parts = sql
        .rows(&format!(
            "SELECT n.nspname, p.proname, p.oid::regprocedure::text, \
             array_to_string(ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) WITH ORDINALITY AS a (t, k) ORDER BY k), ','), \
             p.pronargdefaults, p.prokind, format_type(p.prorettype, NULL), p.proretset, \
             coalesce((SELECT format_type(o.t, NULL) FROM unnest(p.proallargtypes, p.proargmodes) WITH ORDINALITY AS o (t, m, k) \
                       WHERE o.m IN ('o', 't', 'b') ORDER BY o.k LIMIT 1), '') \
             FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace \
             WHERE (n.nspname, p.proname) IN (SELECT coalesce(i[array_length(i, 1) - 1], n.nspname), i[array_length(i, 1)] \
                                              FROM parse_ident({}) AS i) \
             AND (cardinality(parse_ident({})) > 1 OR pg_function_is_visible(p.oid)) ORDER BY p.pronargs, p.oid",
            quote_literal(name),
            quote_literal(name)
        ))
        .map_err(asked)?;
    let found: Vec<TileFunction> = parts.iter().filter_map(TileFunction::of).collect();
    if found.is_empty() {
        return Err(error::missing_error(
            format!("function {shown} does not exist in this database"),
            hint_for(sql, name).map_err(asked)?,
        ));
    }
    let Some(fitting) = found.iter().find(|function| function.arguments().is_some()) else {
        let known: Vec<&str> = found.iter().map(|function| function.signature.as_str()).collect();
        return Err(error::missing_error(
            format!("{} cannot be asked for a tile", known.join(", ")),
            "a tile function takes zoom, column and row as integers, and a json of its options at most",
        ));
    };
    if let Some(returned) = fitting.wrong_type() {
        return Err(error::missing_error(
            format!("{} returns {returned}, and a tile is bytea", fitting.signature),
            "let it return what ST_AsMVT gives",
        ));
    }
    let statement = super::text::read(&fitting.call(name))
        .map_err(|problem| error::script(format!("{shown}: {problem}")))?;
    let function = Some(fitting.signature.clone());
    Ok(TileLayer { function, ..TileLayer::of_statement(&shown, statement, Vec::new()) })
}

struct TileFunction {
    schema: String,
    name: String,
    signature: String,
    arguments: Vec<String>,
    defaults: usize,
    kind: String,
    returned: String,
    is_set: bool,
    /// Type of its first output column, if any.
    first_column: String,
}

impl TileFunction {
    fn of(row: &Vec<Option<String>>) -> Option<Self> {
        let [schema, name, signature, arguments, defaults, kind, returned, set, first_column] =
            texts(Some(row))?;
        Some(Self {
            schema,
            name,
            signature,
            arguments: arguments.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect(),
            defaults: defaults.parse().unwrap_or(0),
            kind,
            returned,
            is_set: set == "t",
            first_column,
        })
    }

    /// Its arguments; `None` if it is not a tile function.
    fn arguments(&self) -> Option<String> {
        let numbers = self.arguments.get(..3)?;
        if self.kind != "f" || !numbers.iter().all(|of_type| NUMBERS.contains(&of_type.as_str())) {
            return None;
        }
        let places = [":z", ":x", ":y"];
        let cast = numbers.iter().zip(places).map(|(of_type, place)| format!("{place}::{of_type}"));
        let mut given: Vec<String> = cast.collect();
        let rest = &self.arguments[3..];
        match rest {
            _ if rest.len() <= self.defaults => {}
            [options] if options == "json" || options == "jsonb" => given.push(format!("'{{}}'::{options}")),
            _ => return None,
        }
        Some(given.join(", "))
    }

    /// What its rows start with.
    fn gives(&self) -> &str {
        if self.first_column.is_empty() { &self.returned } else { &self.first_column }
    }

    fn wrong_type(&self) -> Option<&str> {
        (self.gives() != "bytea").then(|| self.gives())
    }

    /// One value; of a row the first column. It is named as the user wrote it.
    fn call(&self, written: &str) -> String {
        let function = as_written(written, &self.schema, &self.name);
        let arguments = self.arguments().unwrap_or_default();
        if self.first_column.is_empty() && !self.is_set {
            format!("SELECT {function}({arguments})")
        } else {
            format!("SELECT answer.tile FROM {function}({arguments}) AS answer (tile)")
        }
    }
}

fn hint_for(sql: &mut dyn Sql, name: &str) -> Result<String, SqlError> {
    let functions = sql.rows(
        "SELECT p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace \
         WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND p.pronargs >= 3 AND p.prorettype = 'bytea'::regtype",
    )?;
    let names: Vec<String> = functions.into_iter().filter_map(|mut row| row.pop()?).collect();
    Ok(match nearest(name, names.iter().map(String::as_str)) {
        Some(right) => format!("did you mean {right}()?"),
        None => "make it in prepare.sql, or name its schema".to_owned(),
    })
}
