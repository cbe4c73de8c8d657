//! Parses `EXPLAIN (ANALYZE, FORMAT JSON)` of PostgreSQL 13 to 18, and computes each node's own time.
//!
//! A node's reported time includes the nodes below it, is per loop, and covers all processes of a parallel
//! query; so its own time is computed (`own`). How a server is asked, and for how long, is here too
//! ([`Session`]). The workloads decide what is explained, and when.

mod booking;
mod budget;
mod counted;
mod functions;
mod kinds;
mod layers;
mod nested;
mod own;
mod session;
#[cfg(test)]
mod tests;
mod tree;

use serde_json::Value;
use spec::{LayerTimeSource, PlanNode, StatementPlan};

use self::counted::Calls;
use self::tree::Tree;

pub use self::budget::why_not_explained;
pub(crate) use self::budget::{CUSTOM_PLANS, READ_ONLY, ShortSamples, TIMED_OUT, statement_timeout};
pub(crate) use self::layers::with_rest;
pub use self::session::{Session, Unexplained};

/// Why a text is not an explanation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("EXPLAIN's answer is not understood: {0}")]
pub struct ExplainError(String);

impl ExplainError {
    fn no_counts() -> Self {
        Self("the counters of functions did not come with it".to_owned())
    }
}

/// Parses a server's answer to `EXPLAIN (ANALYZE, FORMAT JSON, …)`; the caller adds script, line and draw.
///
/// BUFFERS, VERBOSE and SERIALIZE add details: without them there are no blocks, only the conditions'
/// functions, and no serialization.
///
/// # Errors
/// When it is not JSON, not of one statement, or was not executed.
pub fn read(json: &str) -> Result<StatementPlan, ExplainError> {
    read_counted(json, None)
}

/// As [`read`], with the counted calls of functions, if any.
fn read_counted(json: &str, counted: Option<&[Calls]>) -> Result<StatementPlan, ExplainError> {
    let whole: Value = serde_json::from_str(json).map_err(|error| ExplainError(error.to_string()))?;
    let statement = whole.get(0).ok_or_else(|| ExplainError("it explains no statement".to_owned()))?;
    let plan = statement.get("Plan").ok_or_else(|| ExplainError("it has no plan".to_owned()))?;
    let missing = |what: &str| ExplainError(format!("{what} is missing: it was not ANALYZEd"));
    let ms = |name: &str| statement.get(name).and_then(Value::as_f64);
    let execution_ms = ms("Execution Time").ok_or_else(|| missing("Execution Time"))?;
    let tree = Tree::of(plan).ok_or_else(|| missing("the time of a node"))?;
    let serialization_ms = number(statement, &["Serialization", "Time"]);
    let fired = statement.get("Triggers").and_then(Value::as_array);
    let fired: f64 = fired.into_iter().flatten().filter_map(|trigger| number(trigger, &["Time"])).sum();
    let own = own::of(&tree);
    let own_ms = own.times_ms.clone();
    let scales = own.times_ms.iter().enumerate().map(|(at, ms)| tree.mean_to_leader(at, *ms));
    let scales: Vec<f64> = scales.collect();
    let outside = execution_ms - own.times_ms.iter().sum::<f64>() - serialization_ms.unwrap_or(0.0);
    let mut plan = StatementPlan {
        planning_ms: ms("Planning Time").unwrap_or(0.0),
        execution_ms,
        serialization_ms,
        // Those that fire before a row is changed are inside the node that changes it.
        triggers_ms: fired.min(outside).max(0.0),
        jit_ms: number(statement, &["JIT", "Timing", "Total"]).unwrap_or(0.0),
        evened_ms: own.evened_ms,
        nodes: tree
            .nodes
            .iter()
            .zip(own.times_ms)
            .enumerate()
            .map(|(at, (node, ms))| PlanNode {
                depth: node.depth,
                role: node.role(),
                node_type: kinds::title(node.fields),
                relation: kinds::relation(node.fields),
                index: kinds::text(node.fields, "Index Name").to_owned(),
                part: kinds::part(node.fields),
                own_ms: ms,
                rows: number(node.fields, &["Actual Rows"]).unwrap_or(0.0) * node.loops,
                loops: node.loops,
                hit_blocks: tree.own_blocks(at, &["Shared Hit Blocks", "Local Hit Blocks"]),
                read_blocks: tree
                    .own_blocks(at, &["Shared Read Blocks", "Local Read Blocks", "Temp Read Blocks"]),
                dirtied_blocks: tree.own_blocks(at, &["Shared Dirtied Blocks", "Local Dirtied Blocks"]),
                io_ms: tree.own_io_ms(at),
                functions: functions::of(&kinds::expressions(node.fields)),
                functions_ms: 0.0,
            })
            .collect(),
        ..StatementPlan::default()
    };
    let layers = layers::of(&tree, &own_ms, LayerTimeSource::Plan);
    plan.layers = layers::with_rest(layers, own_ms.iter().sum(), LayerTimeSource::Plan);
    if let Some(counted) = counted {
        booking::book(&mut plan, counted, &scales);
    }
    Ok(plan)
}

fn number(value: &Value, path: &[&str]) -> Option<f64> {
    path.iter().try_fold(value, |value, name| value.get(name))?.as_f64()
}
