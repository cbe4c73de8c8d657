//! Where the time of a statement goes: its plan as a server explained it, node by node, with each node's own time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A statement of a transaction of the sample, explained outside of the timed part of a run.
///
/// planning and execution are apart; execution = own times of the nodes + serialization + triggers + what is outside of
/// nodes ([`StatementPlan::parts`]).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct StatementPlan {
    /// Name of its script.
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
    /// A node before those below it, the first one at depth 0.
    pub nodes: Vec<PlanNode>,
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
            add(node.part, node.own_ms);
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

/// Of what the time of a statement is made; what nodes of a plan do is booked under one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Before execution.
    Planning,
    /// Index, index only and bitmap index scans. The first two read the heap too: that cannot be told apart.
    Index,
    /// Bitmap heap and TID scans.
    Heap,
    /// Sequential and sample scans.
    SeqScan,
    /// Scans of functions, CTEs, VALUES, subqueries and foreign tables.
    OtherScan,
    /// Nested loop, hash and merge joins; building a join's hash table; keeping rows for a join's next loop.
    Join,
    /// Sorts, also incremental ones.
    Sort,
    /// Aggregates, groups, windows and DISTINCT.
    Aggregate,
    /// INSERT, UPDATE, DELETE, MERGE, and locking rows.
    Modify,
    /// Gather: starting workers, waiting for them, taking their rows.
    Parallel,
    /// All other nodes.
    #[default]
    Other,
    /// Triggers after the statement.
    Triggers,
    /// Making rows into what is sent.
    Serialization,
    /// Start and end of the executor, and what else is in no node.
    Outside,
}

impl Part {
    /// All, in the order in which they are shown.
    pub const ALL: [Self; 14] = [
        Self::Planning,
        Self::Index,
        Self::Heap,
        Self::SeqScan,
        Self::OtherScan,
        Self::Join,
        Self::Sort,
        Self::Aggregate,
        Self::Modify,
        Self::Parallel,
        Self::Other,
        Self::Triggers,
        Self::Serialization,
        Self::Outside,
    ];

    /// As it is stored, and as columns are named.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Planning => "planning",
            Self::Index => "index",
            Self::Heap => "heap",
            Self::SeqScan => "seq_scan",
            Self::OtherScan => "other_scan",
            Self::Join => "join",
            Self::Sort => "sort",
            Self::Aggregate => "aggregate",
            Self::Modify => "modify",
            Self::Parallel => "parallel",
            Self::Other => "other",
            Self::Triggers => "triggers",
            Self::Serialization => "serialization",
            Self::Outside => "outside",
        }
    }

    /// As it is called for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Planning => "planning",
            Self::Index => "index scans",
            Self::Heap => "heap of bitmap scans",
            Self::SeqScan => "sequential scans",
            Self::OtherScan => "function and CTE scans",
            Self::Join => "joins",
            Self::Sort => "sorts",
            Self::Aggregate => "aggregates",
            Self::Modify => "changing rows",
            Self::Parallel => "workers: start and wait",
            Self::Other => "other nodes",
            Self::Triggers => "triggers",
            Self::Serialization => "serialization",
            Self::Outside => "outside of nodes",
        }
    }
}

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

    #[test]
    fn parts_are_listed_in_their_order() {
        assert!(Part::ALL.is_sorted());
        let names: std::collections::BTreeSet<_> = Part::ALL.iter().map(|part| part.name()).collect();
        assert_eq!(names.len(), Part::ALL.len());
    }
}
