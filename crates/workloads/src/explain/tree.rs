//! The nodes of a plan as a list, and their relations.

use serde_json::Value;

use super::kinds::text;

/// A node in the server's answer.
pub(super) struct Node<'v> {
    pub(super) fields: &'v Value,
    pub(super) parent: Option<usize>,
    pub(super) depth: u32,
    pub(super) loops: f64,
    /// Average number of processes in which it ran.
    pub(super) processes: f64,
    /// Time in which it and the nodes below it were busy, ms.
    pub(super) passed_ms: f64,
}

impl Node<'_> {
    /// The name of the subplan that begins here, if any.
    pub(super) fn role(&self) -> String {
        // Until 16: `InitPlan 1 (returns $0)`.
        let name = text(self.fields, "Subplan Name");
        name.split_once(" (returns").map_or(name, |(name, _)| name).to_owned()
    }

    /// Whether it runs when its result is first needed, perhaps by another node than its parent: CTEs and
    /// plans that do not depend on rows.
    pub(super) fn is_asked_for(&self) -> bool {
        text(self.fields, "Parent Relationship") == "InitPlan"
    }

    pub(super) fn is_gather(&self) -> bool {
        matches!(text(self.fields, "Node Type"), "Gather" | "Gather Merge")
    }
}

/// Each node comes before those below it.
pub(super) struct Tree<'v> {
    pub(super) nodes: Vec<Node<'v>>,
}

impl<'v> Tree<'v> {
    /// `None` when a node has no time: nothing was executed.
    pub(super) fn of(plan: &'v Value) -> Option<Self> {
        let mut tree = Self { nodes: Vec::new() };
        tree.add(plan, None)?;
        Some(tree)
    }

    fn add(&mut self, fields: &'v Value, parent: Option<usize>) -> Option<()> {
        let loops = fields.get("Actual Loops")?.as_f64()?;
        let per_loop_ms = fields.get("Actual Total Time").and_then(Value::as_f64)?;
        let depth = parent.map_or(0, |parent| self.nodes[parent].depth + 1);
        let mut node = Node { fields, parent, depth, loops, processes: 1.0, passed_ms: 0.0 };
        node.processes = parent.map_or(1.0, |parent| self.processes(&node, &self.nodes[parent]));
        // Loops and times are sums over all processes.
        node.passed_ms = per_loop_ms * loops / node.processes;
        let at = self.nodes.len();
        self.nodes.push(node);
        let below = fields.get("Plans").and_then(Value::as_array);
        below.into_iter().flatten().try_for_each(|fields| self.add(fields, Some(at)))
    }

    /// Below a Gather, the processes of each of its loops: the launched workers, and usually the leader.
    fn processes(&self, node: &Node<'_>, parent: &Node<'_>) -> f64 {
        match parent.is_gather() && !node.is_asked_for() && parent.loops > 0.0 {
            true => parent.processes * (node.loops / parent.loops).max(1.0),
            false => parent.processes,
        }
    }

    /// The children of a node, including subplans.
    pub(super) fn below(&self, at: usize) -> impl Iterator<Item = usize> {
        (at + 1..self.nodes.len()).filter(move |below| self.nodes[*below].parent == Some(at))
    }

    /// The node itself, then all its ancestors.
    pub(super) fn up(&self, at: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(at), |at| self.nodes[*at].parent)
    }

    /// A node's own time relative to its time in the leader, if it ran in workers too: functions are counted
    /// in the leader only. 1 if unknown.
    pub(super) fn mean_to_leader(&self, at: usize, own_ms: f64) -> f64 {
        let called = self.below(at).filter(|below| !self.nodes[*below].is_asked_for());
        let leader_ms = self.leader_ms(at) - called.map(|below| self.leader_ms(below)).sum::<f64>();
        match self.nodes[at].processes > 1.0 && leader_ms > 0.0 {
            true => own_ms / leader_ms,
            false => 1.0,
        }
    }

    /// Time in a node and those below it, without the workers' times (which need VERBOSE).
    fn leader_ms(&self, at: usize) -> f64 {
        let node = &self.nodes[at];
        let workers = node.fields.get("Workers").and_then(Value::as_array);
        let ms = |fields: &Value| {
            Some(fields.get("Actual Total Time")?.as_f64()? * fields.get("Actual Loops")?.as_f64()?)
        };
        let of_workers: f64 = workers.into_iter().flatten().filter_map(ms).sum();
        (node.passed_ms * node.processes - of_workers).max(0.0)
    }

    /// Blocks of these names, without those of child nodes. Subplans needed elsewhere are subtracted here,
    /// and not there.
    pub(super) fn own_blocks(&self, at: usize, names: &[&str]) -> u64 {
        let all = |at: usize| -> u64 {
            names.iter().filter_map(|name| self.nodes[at].fields.get(name)?.as_u64()).sum()
        };
        all(at).saturating_sub(self.below(at).map(all).sum())
    }

    /// Time of reading and writing blocks, computed as [`Self::own_blocks`]; `None` where the server does not
    /// report it.
    pub(super) fn own_io_ms(&self, at: usize) -> Option<f64> {
        let all = |at: usize| {
            let times = IO_TIMES.iter().filter_map(|name| self.nodes[at].fields.get(name)?.as_f64());
            times.reduce(|sum, ms| sum + ms)
        };
        let below: f64 = self.below(at).filter_map(all).sum();
        Some((all(at)? - below).max(0.0) / self.nodes[at].processes)
    }
}

/// Before 17 there was one pair for shared and local blocks.
const IO_TIMES: [&str; 8] = [
    "I/O Read Time",
    "I/O Write Time",
    "Shared I/O Read Time",
    "Shared I/O Write Time",
    "Local I/O Read Time",
    "Local I/O Write Time",
    "Temp I/O Read Time",
    "Temp I/O Write Time",
];
