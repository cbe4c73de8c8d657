//! The layers of a tile function as statements that make one layer each, from the function's text. It is for
//! servers that do not report the plans inside functions.
//!
//! A layer is a query with `ST_AsMVT`, or a called function that returns a tile. Parameters and variables become
//! columns of a row next to the query, which the planner replaces by their values.

mod body;
mod tokens;

use protocol::postgres::sql::{Sql, SqlError, quote_identifier, quote_literal};
use tile::Tile;

use self::body::{Body, Variable};

/// The layers of a function.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FunctionLayers {
    function: Function,
    body: Body,
    /// Functions that return tiles, with their schema, quoted.
    called: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Function {
    name: String,
    /// Names and types of zoom, column and row.
    arguments: Vec<(String, String)>,
}

impl FunctionLayers {
    /// The layers of this function, by its signature; `None` if it is not in SQL or PL/pgSQL, or makes fewer than two.
    pub(super) fn of(sql: &mut dyn Sql, signature: &str) -> Result<Option<Self>, SqlError> {
        let rows = sql.rows(&format!(
            "SELECT p.proname, CASE WHEN p.prosrc = '' THEN pg_get_functiondef(p.oid) ELSE p.prosrc END, a.k, \
             coalesce(p.proargnames[a.k], ''), format_type(p.proargtypes[a.k - 1], NULL) \
             FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang, generate_series(1, 3) AS a (k) \
             WHERE p.oid = {}::regprocedure AND l.lanname IN ('sql', 'plpgsql') ORDER BY a.k",
            quote_literal(signature)
        ))?;
        let rows: Vec<Vec<String>> =
            rows.into_iter().map(|row| row.into_iter().map(Option::unwrap_or_default).collect()).collect();
        let Some([name, text, ..]) = rows.first().map(Vec::as_slice) else { return Ok(None) };
        let body = Body::read(text);
        let named = |row: &Vec<String>| match &row[3] {
            name if name.is_empty() => (format!("argument_{}", row[2]), row[4].clone()),
            name => (name.clone(), row[4].clone()),
        };
        let function = Function { name: name.clone(), arguments: rows.iter().map(named).collect() };
        let called = if body.layers.is_empty() { called(sql, signature, text)? } else { Vec::new() };
        let layers = Self { function, body, called };
        Ok((layers.body.layers.len().max(layers.called.len()) > 1).then_some(layers))
    }

    /// For each layer its name, and the query that makes it.
    pub(super) fn statements(&self, tile: Tile) -> Vec<(String, String)> {
        let Tile { z, x, y } = tile;
        let called =
            self.called.iter().map(|name| (format!("{name}()"), format!("SELECT {name}({z}, {x}, {y})")));
        let from = self.row(tile);
        let own = self.body.layers.iter().map(|layer| {
            let query = tokens::with_parameters(&layer.query, |number| self.argument(number));
            (layer.name.clone(), format!("SELECT ({query}\n) FROM {from}"))
        });
        called.chain(own).collect()
    }

    fn argument(&self, number: usize) -> Option<String> {
        let (name, _) = self.function.arguments.get(number.checked_sub(1)?)?;
        Some(format!("{}.{}", quote_identifier(&self.function.name), quote_identifier(name)))
    }

    /// One row with the parameters of a tile, and the variables.
    fn row(&self, Tile { z, x, y }: Tile) -> String {
        let values = [z.to_string(), x.to_string(), y.to_string()];
        let arguments = self.function.arguments.iter().zip(values);
        let columns: Vec<String> = arguments
            .map(|((name, of_type), value)| format!("{value}::{of_type} AS {}", quote_identifier(name)))
            .collect();
        let mut row = format!("(SELECT {}) AS {}", columns.join(", "), quote_identifier(&self.function.name));
        for (number, Variable { name, of_type, value }) in self.body.variables.iter().enumerate() {
            let value = tokens::with_parameters(value, |number| self.argument(number));
            let cast = of_type.as_ref().map(|of_type| format!("::{of_type}")).unwrap_or_default();
            row.push_str(&format!(
                " CROSS JOIN LATERAL (SELECT ({value}){cast} AS {}) AS variable_{number}",
                quote_identifier(name)
            ));
        }
        row
    }
}

/// Functions of zoom, column and row that return a tile and are named in this text, in its order.
fn called(sql: &mut dyn Sql, signature: &str, text: &str) -> Result<Vec<String>, SqlError> {
    let rows = sql.rows(&format!(
        "SELECT DISTINCT p.proname, quote_ident(n.nspname) || '.' || quote_ident(p.proname) \
         FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_language l ON l.oid = p.prolang \
         WHERE p.prorettype = 'bytea'::regtype AND NOT p.proretset AND l.lanname IN ('sql', 'plpgsql') \
         AND p.pronargs - p.pronargdefaults <= 3 AND p.pronargs >= 3 AND p.oid <> {}::regprocedure \
         AND strpos(lower({}), lower(p.proname)) > 0",
        quote_literal(signature),
        quote_literal(text)
    ))?;
    let words = tokens::words(text);
    let place = |name: &str| words.iter().position(|word| *word == name.to_lowercase());
    let named = rows.into_iter().filter_map(|row| match &row[..] {
        [Some(name), Some(full)] => Some((place(name)?, full.clone())),
        _ => None,
    });
    let mut named: Vec<(usize, String)> = named.collect();
    named.sort();
    Ok(named.into_iter().map(|(_, full)| full).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sql::FakeSql;

    const TILE: Tile = Tile { z: 9, x: 276, y: 201 };

    fn layers(text: &str, names: [&str; 3], called: &[&[&str]]) -> Option<FunctionLayers> {
        let mut sql = FakeSql::new();
        let row = |k: &'static str, name| ["map", text, k, name, "integer"];
        let rows = [row("1", names[0]), row("2", names[1]), row("3", names[2])];
        sql.answer("prorettype", called);
        sql.answer("FROM pg_proc", &[&rows[0], &rows[1], &rows[2]]);
        FunctionLayers::of(&mut sql, "map(integer,integer,integer)").unwrap()
    }

    #[test]
    fn each_layer_is_asked_for_with_the_values_of_its_tile() {
        let text = "SELECT (SELECT ST_AsMVT(t, 'roads') FROM roads t WHERE r && ST_TileEnvelope(z, $2, y)) \
                    || (SELECT ST_AsMVT(t, 'water') FROM water t)";
        let found = layers(text, ["z", "x", ""], &[]).unwrap().statements(TILE);
        let row =
            "(SELECT 9::integer AS \"z\", 276::integer AS \"x\", 201::integer AS \"argument_3\") AS \"map\"";
        let wanted = [
            (
                "roads".to_owned(),
                format!(
                    "SELECT (SELECT ST_AsMVT(t, 'roads') FROM roads t WHERE r && ST_TileEnvelope(z, \"map\".\"x\", y)\n) FROM {row}"
                ),
            ),
            ("water".to_owned(), format!("SELECT (SELECT ST_AsMVT(t, 'water') FROM water t\n) FROM {row}")),
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn a_function_of_functions_asks_for_each() {
        let called: &[&[&str]] =
            &[&["b_tile", "maps.b_tile"], &["a_tile", "public.a_tile"], &["tile", "public.tile"]];
        let found =
            layers("SELECT a_tile(z, x, y) || maps.B_tile(z, x, y)", ["z", "x", "y"], called).unwrap();
        let wanted = [("public.a_tile()", "public.a_tile"), ("maps.b_tile()", "maps.b_tile")]
            .map(|(shown, name)| (shown.to_owned(), format!("SELECT {name}(9, 276, 201)")));
        assert_eq!(found.statements(TILE), wanted);
        assert_eq!(layers("SELECT a_tile(z, x, y)", ["z", "x", "y"], &called[1..]), None);
        assert_eq!(layers("SELECT ST_AsMVT(t, 'a') FROM t", ["z", "x", "y"], called), None);
    }

    #[test]
    fn variables_are_columns_of_the_row() {
        let text = "DECLARE box geometry := ST_TileEnvelope(z, x, y); mvt bytea; BEGIN \
                    SELECT ST_AsMVT(t, 'a') INTO mvt FROM a t WHERE g && box; \
                    RETURN mvt || (SELECT ST_AsMVT(t, 'b') FROM b t WHERE g && box); END";
        let found = layers(text, ["z", "x", "y"], &[]).unwrap().statements(TILE);
        let tail =
            " CROSS JOIN LATERAL (SELECT (ST_TileEnvelope(z, x, y))::geometry AS \"box\") AS variable_0";
        assert!(found.len() == 2 && found.iter().all(|(_, query)| query.ends_with(tail)), "{found:?}");
        assert!(
            found[0].1.starts_with("SELECT (SELECT ST_AsMVT(t, 'a')  FROM a t WHERE g && box\n) FROM"),
            "{found:?}"
        );
    }
}
