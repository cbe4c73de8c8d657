//! Where the time of a statement goes: its plan as the server explained it, with each node's own time.

mod layer;
mod part;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use self::layer::{LayerTime, LayerTimeSource, OUTSIDE_LAYERS};
pub use self::part::StatementPart;

/// A statement of a sampled transaction, explained outside of the timed part of a run.
///
/// Planning and execution are separate. Execution = own times of the nodes + serialization + triggers + time
/// outside of nodes ([`StatementPlan::parts`]). Time of functions that the server counts is subtracted from
/// the nodes that call them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct StatementPlan {
    pub script: String,
    /// Line of its script, from 1.
    pub line: u32,
    /// Number of the transaction in the script's sample, from 0; the same number draws the same values in all
    /// arms.
    pub draw: u32,
    pub planning_ms: f64,
    /// Including the clock reads at each node.
    pub execution_ms: f64,
    /// Execution time without these clock reads: for short statements from the next execution, else from the
    /// previous one. `None` if not measured.
    pub untimed_ms: Option<f64>,
    /// Converting rows to the output format, from PostgreSQL 17 on; `None` if not done.
    pub serialization_ms: Option<f64>,
    /// Triggers, where outside of nodes.
    pub triggers_ms: f64,
    /// Compiling expressions, summed over all processes. Contained in the nodes that need them first, so not
    /// a separate part.
    pub jit_ms: f64,
    /// Own times below zero due to rounding; subtracted from child nodes instead.
    pub evened_ms: f64,
    /// Measured time of functions beyond the time of the nodes that call them; booked nowhere.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub functions_evened_ms: f64,
    /// In preorder: a node before its children, the first at depth 0.
    pub nodes: Vec<PlanNode>,
    /// Functions that the server counted in the execution with clocks, sorted by name; empty if it counts
    /// none, or the role may not read them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<FunctionTime>,
    /// Layers of a tile, if it makes several: each with its time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<LayerTime>,
}

/// Calls of a function in one execution of a statement, summed over schemas and argument types.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FunctionTime {
    pub name: String,
    /// In the leader process; the server does not report calls by parallel workers.
    pub calls: u64,
    /// As the server measured it in the leader, without called functions.
    pub self_ms: f64,
    pub part: StatementPart,
    /// Time booked under `part`, and subtracted from the nodes' parts; for a function that also ran in
    /// workers, the mean over all processes. 0 if no node is known to have called it (casts, operators,
    /// planning).
    pub booked_ms: f64,
}

fn is_nothing(value: &f64) -> bool {
    *value == 0.0
}

/// A node of a plan. Times and blocks are its own, without its children's.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PlanNode {
    pub depth: u32,
    /// `InitPlan 1`, `SubPlan 2`, `CTE x`; empty for other nodes.
    pub role: String,
    /// As in PostgreSQL's text format: `Parallel Seq Scan`, `HashAggregate`.
    pub node_type: String,
    /// Table, function or CTE that is read, with its schema if the server reports it; or empty.
    pub relation: String,
    /// Index that is read; or empty.
    pub index: String,
    pub part: StatementPart,
    /// Share of the elapsed time, ms; for parallel processes the mean.
    pub own_ms: f64,
    /// Rows returned over all loops. Before PostgreSQL 18 servers report whole rows per loop: with several
    /// loops, the sum is off by up to half a row per loop.
    pub rows: f64,
    /// Number of executions over all processes; 0: never.
    pub loops: f64,
    /// Shared, local and temporary blocks found in memory by the server.
    pub hit_blocks: u64,
    /// The same kinds of blocks, not found there.
    pub read_blocks: u64,
    pub dirtied_blocks: u64,
    /// Time of reading and writing blocks; `None` if the server does not measure it.
    pub io_ms: Option<f64>,
    /// Functions called in its output and its conditions.
    pub functions: Vec<String>,
    /// Part of the own time that is booked under functions, ms; at most [`PlanNode::own_ms`].
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub functions_ms: f64,
}

impl PlanNode {
    /// The node without figures: `Index Scan using way_idx on planet_osm_polygon`.
    #[must_use]
    pub fn words(&self) -> String {
        let using = if self.index.is_empty() { String::new() } else { format!(" using {}", self.index) };
        let on = if self.relation.is_empty() { String::new() } else { format!(" on {}", self.relation) };
        format!("{}{using}{on}", self.node_type)
    }
}

impl StatementPlan {
    /// Planning plus execution, ms.
    #[must_use]
    pub fn total_ms(&self) -> f64 {
        self.planning_ms + self.execution_ms
    }

    /// The parts of the time, ms; they add up to [`StatementPlan::total_ms`]. Parts without time and node are
    /// left out.
    #[must_use]
    pub fn parts(&self) -> BTreeMap<StatementPart, f64> {
        let mut parts = BTreeMap::from([(StatementPart::Planning, self.planning_ms)]);
        let mut add = |part, ms| *parts.entry(part).or_insert(0.0) += ms;
        for node in &self.nodes {
            add(node.part, node.own_ms - node.functions_ms);
        }
        for function in self.functions.iter().filter(|function| function.booked_ms > 0.0) {
            add(function.part, function.booked_ms);
        }
        if self.triggers_ms > 0.0 {
            add(StatementPart::Triggers, self.triggers_ms);
        }
        if let Some(ms) = self.serialization_ms {
            add(StatementPart::Serialization, ms);
        }
        let known: f64 = parts.values().sum();
        parts.insert(StatementPart::Outside, (self.total_ms() - known).max(0.0));
        parts
    }

    /// Rows into the nodes that compute this aggregate, e.g. `st_asmvt`, summed over nodes, loops and
    /// processes, with the rounding of [`PlanNode::rows`]; `None` if no node computes it.
    #[must_use]
    pub fn rows_into(&self, function: &str) -> Option<f64> {
        // A Finalize node receives states from workers, not rows.
        let computes = |node: &PlanNode| {
            node.functions.iter().any(|own| own == function) && !node.node_type.starts_with("Finalize")
        };
        let nodes = (0..self.nodes.len()).filter(|at| computes(&self.nodes[*at]));
        nodes.map(|at| self.rows_below(at)).reduce(|sum, rows| sum + rows)
    }

    /// Rows of a node's direct children, without its InitPlans, SubPlans and CTEs.
    #[must_use]
    pub fn rows_below(&self, at: usize) -> f64 {
        let depth = self.nodes[at].depth;
        let below = self.nodes[at + 1..].iter().take_while(|node| node.depth > depth);
        below.filter(|node| node.depth == depth + 1 && node.role.is_empty()).map(|node| node.rows).sum()
    }

    /// Largest error of the own times, ms: the server reports them per loop and in whole microseconds.
    #[must_use]
    pub fn rounding_ms(&self) -> f64 {
        self.nodes.iter().map(|node| node.loops * ROUNDING_MS).sum()
    }

    /// One indented line per node, without figures.
    #[must_use]
    pub fn shape(&self) -> Vec<String> {
        let line = |node: &PlanNode| {
            let role = if node.role.is_empty() { String::new() } else { format!("{}: ", node.role) };
            format!("{:indent$}{role}{}", "", node.words(), indent = 2 * node.depth as usize)
        };
        self.nodes.iter().map(line).collect()
    }
}

/// Half of the last digit of a time per loop.
const ROUNDING_MS: f64 = 0.0005;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_planning_and_execution() {
        let node = |part, own_ms| PlanNode { part, own_ms, loops: 100.0, ..PlanNode::default() };
        let plan = StatementPlan {
            planning_ms: 0.5,
            execution_ms: 10.0,
            serialization_ms: Some(1.0),
            nodes: vec![
                node(StatementPart::Join, 1.0),
                node(StatementPart::Index, 4.0),
                node(StatementPart::Index, 2.0),
            ],
            ..StatementPlan::default()
        };
        let wanted = [
            (StatementPart::Planning, 0.5),
            (StatementPart::Index, 6.0),
            (StatementPart::Join, 1.0),
            (StatementPart::Serialization, 1.0),
            (StatementPart::Outside, 2.0),
        ];
        assert_eq!(plan.parts(), BTreeMap::from(wanted));
        assert!((plan.parts().values().sum::<f64>() - plan.total_ms()).abs() < 1e-9);
        assert!((plan.rounding_ms() - 0.15).abs() < 1e-9);
    }

    #[test]
    fn what_functions_take_is_no_part_of_their_nodes() {
        let node =
            PlanNode { part: StatementPart::Mvt, own_ms: 8.0, functions_ms: 6.0, ..PlanNode::default() };
        let function = |name: &str, booked_ms| FunctionTime {
            name: name.into(),
            part: StatementPart::of_function(name),
            calls: 10,
            self_ms: 4.0,
            booked_ms,
        };
        let functions =
            vec![function("st_asmvtgeom", 4.0), function("st_transform", 2.0), function("box2d", 0.0)];
        let plan =
            StatementPlan { execution_ms: 9.0, nodes: vec![node], functions, ..StatementPlan::default() };
        let wanted = [
            (StatementPart::Planning, 0.0),
            (StatementPart::Geometry, 4.0),
            (StatementPart::Transform, 2.0),
            (StatementPart::Mvt, 2.0),
            (StatementPart::Outside, 1.0),
        ];
        assert_eq!(plan.parts(), BTreeMap::from(wanted));
    }

    #[test]
    fn rows_into_an_aggregate_are_those_of_the_nodes_below() {
        let node = |depth, node_type: &str, rows, functions: &[&str]| PlanNode {
            depth,
            rows,
            node_type: node_type.into(),
            functions: functions.iter().map(|name| (*name).to_owned()).collect(),
            ..PlanNode::default()
        };
        let mut plan = StatementPlan {
            nodes: vec![
                node(0, "Aggregate", 1.0, &["st_asmvt", "st_asmvtgeom"]),
                node(1, "Result", 1.0, &[]),
                node(1, "Append", 30.0, &[]),
                node(2, "Index Scan", 10.0, &[]),
                node(2, "Index Scan", 20.0, &[]),
            ],
            ..StatementPlan::default()
        };
        plan.nodes[1].role = "InitPlan 1".into();
        assert_eq!((plan.rows_into("st_asmvt"), plan.rows_into("st_asgeobuf")), (Some(30.0), None));
        plan.nodes = vec![
            node(0, "Append", 2.0, &[]),
            node(1, "Finalize Aggregate", 1.0, &["st_asmvt"]),
            node(2, "Gather", 2.0, &[]),
            node(3, "Partial Aggregate", 2.0, &["st_asmvt"]),
            node(4, "Parallel Seq Scan", 500.0, &[]),
            node(1, "Aggregate", 1.0, &["st_asmvt"]),
            node(2, "Index Scan", 7.0, &[]),
        ];
        assert_eq!(plan.rows_into("st_asmvt"), Some(507.0));
    }

    #[test]
    fn a_shape_has_no_figures() {
        let node = |depth, node_type: &str, relation: &str, index: &str| PlanNode {
            depth,
            node_type: node_type.into(),
            relation: relation.into(),
            index: index.into(),
            own_ms: 3.0,
            ..PlanNode::default()
        };
        let mut nodes =
            vec![node(0, "Aggregate", "", ""), node(1, "Index Scan", "t", "i"), node(1, "Result", "", "")];
        nodes[2].role = "InitPlan 1".into();
        let plan = StatementPlan { nodes, ..StatementPlan::default() };
        assert_eq!(plan.shape(), ["Aggregate", "  Index Scan using i on t", "  InitPlan 1: Result"]);
    }
}
