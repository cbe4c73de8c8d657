//! The time of the layers inside a tile function: from the plans of its statements, or from each layer alone.

use std::collections::BTreeMap;

use protocol::postgres::sql::{Sql, SqlError};
use spec::{Error, LayerTime, LayerTimeSource, StatementPlan};
use tile::Tile;

use super::alone::FunctionLayers;
use super::layer::TileLayer;
use crate::error;
use crate::explain::{Session, Unexplained, with_rest};

/// How each function is split, by its signature.
pub(super) struct ByLayer {
    alone: BTreeMap<String, FunctionLayers>,
    /// Why something is missing.
    missing: Vec<String>,
}

impl ByLayer {
    /// Asks what the server and the functions of these layers allow.
    pub(super) fn open<'l>(
        sql: &mut dyn Sql,
        session: &mut Session<'_>,
        layers: impl Iterator<Item = &'l TileLayer>,
    ) -> Result<Self, Error> {
        let mut own = Self { alone: BTreeMap::new(), missing: Vec::new() };
        let mut functions: Vec<&TileLayer> = layers.filter(|layer| layer.function.is_some()).collect();
        functions.dedup_by_key(|layer| layer.function.clone());
        if functions.is_empty() {
            return Ok(own);
        }
        or_lost(session.open_nested(sql), "loading auto_explain")?;
        let Some(why) = session.why_no_nested().map(str::to_owned) else { return Ok(own) };
        for layer in functions {
            let signature = layer.function.as_deref().unwrap_or_default();
            let found = FunctionLayers::of(sql, signature);
            if let Some(layers) = or_lost(found.map_err(Unexplained::Server), "reading a function")?.flatten()
            {
                own.alone.insert(signature.to_owned(), layers);
                own.miss(format!(
                    "layers of {} are measured alone, since auto_explain is not available: {why}",
                    layer.shown
                ));
            }
        }
        Ok(own)
    }

    /// Adds the times of layers to the plan of a tile, unless the plan has them.
    pub(super) fn add(
        &mut self,
        sql: &mut dyn Sql,
        session: &Session<'_>,
        plan: &mut StatementPlan,
        (layer, tile, statement): (&TileLayer, Tile, &str),
    ) -> Result<(), Error> {
        let Some(signature) = layer.function.as_deref().filter(|_| plan.layers.is_empty()) else {
            return Ok(());
        };
        let doing = format!("looking at the layers of {}", layer.shown);
        let nested = session.layers(sql, statement, plan.execution_ms);
        if let Some(layers) = or_lost(nested, &doing)?.filter(|layers| !layers.is_empty()) {
            plan.layers = layers;
            return Ok(());
        }
        let Some(alone) = self.alone.get(signature) else { return Ok(()) };
        let source = LayerTimeSource::Alone;
        let mut layers = Vec::new();
        for (name, query) in alone.statements(tile) {
            match session.execution_ms(sql, &query) {
                Ok(Some(ms)) => layers.push(LayerTime { name, ms, source }),
                Ok(None) => {}
                Err(Unexplained::Server(error)) if error.sqlstate.is_none() => {
                    return Err(error::sql_error(doing)(error));
                }
                Err(why) => self.miss(format!("layer {name} of {} alone: {}", layer.shown, first_line(&why))),
            }
        }
        plan.layers = with_rest(layers, plan.execution_ms, source);
        Ok(())
    }

    pub(super) fn missing(self) -> Vec<String> {
        self.missing
    }

    fn miss(&mut self, why: String) {
        if !self.missing.contains(&why) {
            self.missing.push(why);
        }
    }
}

/// `None` for a refusal of the server; an error when the connection is lost.
fn or_lost<T>(found: Result<T, Unexplained>, doing: &str) -> Result<Option<T>, Error> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(Unexplained::Server(error @ SqlError { sqlstate: None, .. })) => {
            Err(error::sql_error(doing)(error))
        }
        Err(_) => Ok(None),
    }
}

fn first_line(why: &Unexplained) -> String {
    let text = why.to_string();
    text.lines().next().unwrap_or_default().trim_start_matches("ERROR:").trim().to_owned()
}
