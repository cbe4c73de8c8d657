//! Where the time of a statement goes: its plan as a server explained it, node by node, with each node's own time.

mod part;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use self::part::Part;

/// A statement of a transaction of the sample, explained outside of the timed part of a run.
///
/// planning and execution are apart; execution = own times of the nodes + serialization + triggers + what is outside of
/// nodes ([`StatementPlan::parts`]). Where functions are told apart, their time is taken out of the nodes that compute them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct StatementPlan {
    pub script: String,
    /// Line of its script, from 1.
    pub line: u32,
    /// Which transaction of the script's sample, from 0; the same number draws the same values in all arms.
    pub draw: u32,
    pub planning_ms: f64,
    /// From the executor's start to its end, with a clock read at each node.
    pub execution_ms: f64,
    /// The same without these clocks: where that is short the execution right after, else the one right before. `None` where
    /// that was not taken.
    pub untimed_ms: Option<f64>,
    /// Making rows into what is sent, from PostgreSQL 17 on; `None` where it was not done at all.
    pub serialization_ms: Option<f64>,
    /// Triggers, as far as they are outside of nodes.
    pub triggers_ms: f64,
    /// Compiling expressions, all processes added up: inside of the nodes that need them first, so no part of its own.
    pub jit_ms: f64,
    /// Own times that were below zero by rounding, and were taken from nodes below instead.
    pub evened_ms: f64,
    /// Time of functions that was measured, and is more than the nodes took that compute them: it is booked nowhere.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub functions_evened_ms: f64,
    /// A node before those below it, the first one at depth 0.
    pub nodes: Vec<PlanNode>,
    /// Functions that the server counted in the execution with clocks, in order of their names; empty where it counts none, or
    /// may not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<FunctionTime>,
}

/// Calls of a function in one execution of a statement; those that differ in their arguments, or their schema, together.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FunctionTime {
    /// Without its schema.
    pub name: String,
    /// By the process that answers: those by workers of a parallel query are not told.
    pub calls: u64,
    /// As the server measured it in that process, without functions that it called in turn.
    pub self_ms: f64,
    /// Where it is booked.
    pub part: Part,
    /// How much is booked there, and so not with the nodes' parts: of what ran in workers too, the mean of all processes. 0
    /// where no node is known to have called it (casts, operators, what planning computes).
    pub booked_ms: f64,
}

fn is_nothing(value: &f64) -> bool {
    *value == 0.0
}

/// A node of a plan. Times and blocks are its own: those of nodes below are not in it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PlanNode {
    pub depth: u32,
    /// `InitPlan 1`, `SubPlan 2`, `CTE x`; empty for what is no plan of its own.
    pub role: String,
    /// As PostgreSQL calls it where it explains as text: `Parallel Seq Scan`, `HashAggregate`.
    pub node_type: String,
    /// Table, function or CTE that is read, with its schema as the server told it; or empty.
    pub relation: String,
    /// Index that is read; or empty.
    pub index: String,
    pub part: Part,
    /// Its share of the time that passed, ms; that of several processes at once is their mean.
    pub own_ms: f64,
    /// Rows that came out, over all loops. A server before PostgreSQL 18 tells whole rows per loop: where there are several,
    /// up to half a row of each loop is missing, or too much.
    pub rows: f64,
    /// How often it was carried out, by all processes together; 0: never.
    pub loops: f64,
    /// Shared, local and temporary blocks found in the server's memory.
    pub hit_blocks: u64,
    /// The same read from elsewhere.
    pub read_blocks: u64,
    pub dirtied_blocks: u64,
    /// Time of reading and writing blocks; `None` where the server does not measure it.
    pub io_ms: Option<f64>,
    /// Functions that it computes itself, in its output and its conditions.
    pub functions: Vec<String>,
    /// How much of its own time is booked with functions, ms; at most [`PlanNode::own_ms`].
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub functions_ms: f64,
}

impl PlanNode {
    /// What it is, without figures: `Index Scan using way_idx on planet_osm_polygon`.
    #[must_use]
    pub fn words(&self) -> String {
        let using = if self.index.is_empty() { String::new() } else { format!(" using {}", self.index) };
        let on = if self.relation.is_empty() { String::new() } else { format!(" on {}", self.relation) };
        format!("{}{using}{on}", self.node_type)
    }
}

impl StatementPlan {
    /// Planning and execution, ms.
    #[must_use]
    pub fn total_ms(&self) -> f64 {
        self.planning_ms + self.execution_ms
    }

    /// Of what planning and execution are made, ms; they add up to [`StatementPlan::total_ms`]. Without those that have
    /// no time and no node.
    #[must_use]
    pub fn parts(&self) -> BTreeMap<Part, f64> {
        let mut parts = BTreeMap::from([(Part::Planning, self.planning_ms)]);
        let mut add = |part, ms| *parts.entry(part).or_insert(0.0) += ms;
        for node in &self.nodes {
            add(node.part, node.own_ms - node.functions_ms);
        }
        for function in self.functions.iter().filter(|function| function.booked_ms > 0.0) {
            add(function.part, function.booked_ms);
        }
        if self.triggers_ms > 0.0 {
            add(Part::Triggers, self.triggers_ms);
        }
        if let Some(ms) = self.serialization_ms {
            add(Part::Serialization, ms);
        }
        let known: f64 = parts.values().sum();
        parts.insert(Part::Outside, (self.total_ms() - known).max(0.0));
        parts
    }

    /// Rows that came into the nodes that compute this aggregate, e.g. `st_asmvt`: those of all of them, over all loops and
    /// processes, rounded as [`PlanNode::rows`] are; `None` where no node computes it.
    #[must_use]
    pub fn rows_into(&self, function: &str) -> Option<f64> {
        // What finalizes takes states from workers, not rows.
        let computes = |node: &PlanNode| {
            node.functions.iter().any(|own| own == function) && !node.node_type.starts_with("Finalize")
        };
        let nodes = (0..self.nodes.len()).filter(|at| computes(&self.nodes[*at]));
        nodes.map(|at| self.rows_below(at)).reduce(|sum, rows| sum + rows)
    }

    /// Rows of the nodes right below one, without those of their own plans (InitPlans, SubPlans, CTEs).
    #[must_use]
    pub fn rows_below(&self, at: usize) -> f64 {
        let depth = self.nodes[at].depth;
        let below = self.nodes[at + 1..].iter().take_while(|node| node.depth > depth);
        below.filter(|node| node.depth == depth + 1 && node.role.is_empty()).map(|node| node.rows).sum()
    }

    /// How far its own times can be wrong because the server tells them per loop and in whole microseconds, ms.
    #[must_use]
    pub fn rounding_ms(&self) -> f64 {
        self.nodes.iter().map(|node| node.loops * ROUNDING_MS).sum()
    }

    /// What its nodes are, line by line and indented, without figures.
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
            nodes: vec![node(Part::Join, 1.0), node(Part::Index, 4.0), node(Part::Index, 2.0)],
            ..StatementPlan::default()
        };
        let wanted = [
            (Part::Planning, 0.5),
            (Part::Index, 6.0),
            (Part::Join, 1.0),
            (Part::Serialization, 1.0),
            (Part::Outside, 2.0),
        ];
        assert_eq!(plan.parts(), BTreeMap::from(wanted));
        assert!((plan.parts().values().sum::<f64>() - plan.total_ms()).abs() < 1e-9);
        assert!((plan.rounding_ms() - 0.15).abs() < 1e-9);
    }

    #[test]
    fn what_functions_take_is_no_part_of_their_nodes() {
        let node = PlanNode { part: Part::Mvt, own_ms: 8.0, functions_ms: 6.0, ..PlanNode::default() };
        let function = |name: &str, booked_ms| FunctionTime {
            name: name.into(),
            part: Part::of_function(name),
            calls: 10,
            self_ms: 4.0,
            booked_ms,
        };
        let functions =
            vec![function("st_asmvtgeom", 4.0), function("st_transform", 2.0), function("box2d", 0.0)];
        let plan =
            StatementPlan { execution_ms: 9.0, nodes: vec![node], functions, ..StatementPlan::default() };
        let wanted = [
            (Part::Planning, 0.0),
            (Part::Geometry, 4.0),
            (Part::Transform, 2.0),
            (Part::Mvt, 2.0),
            (Part::Outside, 1.0),
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
