//! Explains a sample of tiles, in the clients' form: prepared, with parameters.

use std::time::{Duration, Instant};

use protocol::postgres::sql::{Sql, quote_identifier};
use spec::{Error, StatementPart as Share, StatementPlan};
use tile::Tile;

use super::by_layer::ByLayer;
use super::guard::{CountedLayer, cheapest_first, not_looked};
use super::layer::Style;
use crate::answers::SAMPLE;
use crate::check_time::CheckTime;
use crate::error;
use crate::explain::{CUSTOM_PLANS, Session, ShortSamples, Unexplained};
use crate::plans::{KeptPlan, SamplePlans};
use crate::workload::TileItem;

/// Tiles of each sample whose functions are split into layers.
const LAYERS: u32 = 4;

/// Explains tiles of each layer and zoom. The connection cannot be used for anything else afterwards.
///
/// # Errors
/// When the connection fails; the server's refusals are part of the result.
pub(super) fn explain(
    sql: &mut dyn Sql,
    parts: &[(CountedLayer<'_>, String)],
    slowest: &[TileItem],
    style: Style,
    time: CheckTime<'_>,
) -> Result<SamplePlans, Error> {
    let failed = error::sql_error("preparing to explain");
    let mut session = match Session::open(sql, time) {
        Ok(session) => session,
        Err(Unexplained::Server(error)) => return Err(failed(error)),
        Err(why) => return Ok(SamplePlans::not(why.to_string())),
    };
    let mut layers = ByLayer::open(sql, &mut session, parts.iter().map(|(part, _)| part.layer))?;
    let mut explained = SamplePlans::default();
    let (mut short, mut left_out) = (ShortSamples::default(), Vec::new());
    let mut in_order: Vec<&(CountedLayer<'_>, String)> = parts.iter().collect();
    cheapest_first(&mut in_order, |(part, _)| part.zoom());
    for (number, (part, script)) in in_order.iter().enumerate() {
        if time.is_over() {
            left_out.push(part);
            continue;
        }
        let share = time.share(in_order.len() - number);
        let name = format!("pgdyno_tile_{number}");
        let Some(first) = part.tiles.first() else { continue };
        let text = part.layer.prepared(first.z, style);
        let prepare = format!("PREPARE {} (integer, integer, integer) AS {text}", quote_identifier(&name));
        if let Err(error) = sql.execute(&prepare) {
            explained.miss(format!("{script}: {error}"));
            continue;
        }
        let before = explained.plans.len();
        let is_cut =
            sample(sql, (&mut session, &mut layers), &mut explained, (script, &name), (part, share, time))?;
        let plans = &explained.plans[before..];
        if plans.is_empty() && is_cut {
            left_out.push(part);
        } else if !plans.is_empty() && (plans.len() as u64) < SAMPLE.min(part.tiles.len() as u64) {
            short.add(script, plans.len() as u64 + SAMPLE.saturating_sub(part.tiles.len() as u64), time);
        }
        if !plans.is_empty() {
            let mean_ms = plans.iter().map(StatementPlan::total_ms).sum::<f64>() / plans.len() as f64;
            time.looked(format!(
                "{script}: {}, {mean_ms:.1} ms on average",
                spec::count(plans.len() as u64, "plan")
            ));
        }
        let slow = slowest.iter().filter(|item| u32::from(item.script) == part.script);
        for TileItem { tile, .. } in slow {
            // A tile of several layers is slow because of one of them: the plans show which.
            let statement = execute_statement(&name, tile);
            match session.explain(sql, &statement) {
                Ok((mut plan, json)) => {
                    layers.add(sql, &session, &mut plan, (part.layer, *tile, &statement))?;
                    explained.kept.push(kept(&part.layer.shown, tile, &plan, json));
                }
                Err(Unexplained::TimeUp) => time.not_looked(format!("slow tile {tile} of {script}")),
                Err(_) => {}
            }
        }
    }
    if let Some(why) = session.why_no_functions() {
        explained.miss(why.to_owned());
    }
    not_looked(&left_out, time);
    if let Some(why) = short.words(time) {
        explained.miss(why);
    }
    layers.missing().into_iter().for_each(|why| explained.miss(why));
    Ok(explained)
}

fn execute_statement(name: &str, tile: &Tile) -> String {
    format!("EXECUTE {}({}, {}, {})", quote_identifier(name), tile.z, tile.x, tile.y)
}

/// The plan of a slow tile, with a summary of its time.
fn kept(layer: &str, tile: &Tile, plan: &StatementPlan, json: String) -> KeptPlan {
    let mut parts: Vec<(Share, f64)> = plan.parts().into_iter().filter(|(_, ms)| *ms > 0.0).collect();
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let named = parts.iter().take(3).map(|(part, ms)| format!("{} {ms:.1} ms", part.words()));
    let mut layers: Vec<&spec::LayerTime> = plan.layers.iter().collect();
    layers.sort_by(|a, b| b.ms.total_cmp(&a.ms));
    let layers = layers.iter().take(3).map(|layer| format!("{} {:.1} ms", layer.name, layer.ms));
    let layers = layers.collect::<Vec<_>>().join(", ");
    let caption = format!(
        "{layer} at {tile}, one of the slowest tiles of the run: {:.1} ms explained, most of it in {}{}",
        plan.total_ms(),
        named.collect::<Vec<_>>().join(", "),
        if layers.is_empty() { String::new() } else { format!("; by layer: {layers}") }
    );
    KeptPlan { name: format!("{layer}/{tile}"), caption, json }
}

/// Tiles of one layer and zoom, until they take their share of the time. Returns whether one took longer than all that is
/// left.
fn sample(
    sql: &mut dyn Sql,
    (session, layers): (&mut Session<'_>, &mut ByLayer),
    explained: &mut SamplePlans,
    (script, name): (&str, &str),
    (part, share, time): (&CountedLayer<'_>, CheckTime<'_>, CheckTime<'_>),
) -> Result<bool, Error> {
    let tiles = &part.tiles;
    // Past the switch to a generic plan, as clients are in a measured run.
    for tile in tiles.iter().cycle().take(CUSTOM_PLANS) {
        if let Err(error) = sql.execute(&format!("EXPLAIN {}", execute_statement(name, tile))) {
            explained.miss(format!("{script}: {error}"));
            return Ok(false);
        }
    }
    let mut last = Duration::ZERO;
    for (draw, tile) in (0..).zip(tiles.iter().take(SAMPLE as usize)) {
        if time.is_over() || draw > 0 && !share.allows(last) {
            break;
        }
        let begun = Instant::now();
        let statement = execute_statement(name, tile);
        match session.explain(sql, &statement) {
            Err(Unexplained::TimeUp) => return Ok(true),
            Ok((mut plan, json)) => {
                (plan.script, plan.line, plan.draw) = (script.to_owned(), 1, draw);
                if draw < LAYERS {
                    layers.add(sql, session, &mut plan, (part.layer, *tile, &statement))?;
                }
                explained.add(plan, json);
            }
            Err(Unexplained::Server(error)) if error.sqlstate.is_none() => {
                return Err(error::sql_error(format!("explaining tile {tile} of {script}"))(error));
            }
            Err(why) => explained.miss(format!("{script}, tile {tile}: {why}")),
        }
        last = begun.elapsed();
    }
    Ok(time.is_over())
}
