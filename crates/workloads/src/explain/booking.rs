//! Moves the time of functions out of the nodes that called them.
//!
//! The server counts how often and how long a function ran, but not where it was called:
//!
//! - A function that nodes name was called by these nodes, in proportion to their rows.
//! - A function that no node names was called by another function (of a layer written in PL/pgSQL, for
//!   example). It is taken out of the nodes with functions that called others, in proportion.
//! - The rest was called by planning, by a cast or by an operator, and stays where it is.
//!
//! The counters cover the leader process only; of a node that ran in workers too, the same share is taken. No
//! node gives more than its own time.

use spec::{FunctionTime, StatementPart, StatementPlan};

use super::counted::Calls;

/// Aggregates that turn rows into a tile.
const MAKE_TILES: [&str; 3] = ["st_asmvt", "st_asgeobuf", "st_asflatgeobuf"];

/// A share of a function's time, taken out of a node, ms.
struct Share {
    function: usize,
    node: usize,
    ms: f64,
}

/// Assigns the counters of an execution to the plan's nodes. `scales` is for each node its own time relative
/// to its time in the leader.
pub(super) fn book(plan: &mut StatementPlan, counted: &[Calls], scales: &[f64]) {
    let callers: Vec<Vec<(usize, f64)>> = counted.iter().map(|calls| callers(plan, &calls.name)).collect();
    let mut shares = Vec::new();
    // Time that each node's functions spent in others.
    let mut within_ms = vec![0.0; plan.nodes.len()];
    for (function, calls) in counted.iter().enumerate() {
        for (node, part) in &callers[function] {
            shares.push(Share { function, node: *node, ms: calls.self_ms * part });
            within_ms[*node] += (calls.total_ms - calls.self_ms).max(0.0) * part;
        }
    }
    // A scan that filters by an operator calls its function without naming it: operators get what others
    // leave.
    for is_operator in [false, true] {
        let unnamed = (0..counted.len()).filter(|function| {
            callers[*function].is_empty() && counted[*function].is_operator == is_operator
        });
        shares.extend(nested(counted, &unnamed.collect::<Vec<_>>(), &mut within_ms));
    }
    shares.iter_mut().for_each(|share| share.ms *= scales[share.node]);
    within_own_times(plan, &mut shares);
    list_functions(plan, counted, &shares);
    tiles_apart(plan, counted);
}

/// The executed nodes that name a function, and their shares of its calls, which add up to 1.
fn callers(plan: &StatementPlan, name: &str) -> Vec<(usize, f64)> {
    let calls_it = |at: &usize| {
        let node = &plan.nodes[*at];
        node.loops > 0.0 && node.functions.iter().any(|function| function == name)
    };
    let mut found: Vec<usize> = (0..plan.nodes.len()).filter(calls_it).collect();
    // A finalizing node repeats the expression that was computed below.
    let finalizes = |at: &usize| plan.nodes[*at].node_type.starts_with("Finalize");
    if !found.iter().all(finalizes) {
        found.retain(|at| !finalizes(at));
    }
    // An aggregate computes for incoming rows, a scan for its output and for the rows it filters out.
    let weight = |at: &usize| plan.nodes[*at].rows.max(plan.rows_below(*at));
    let all: f64 = found.iter().map(weight).sum();
    let part = |at: &usize| if all > 0.0 { weight(at) / all } else { 1.0 / found.len() as f64 };
    found.iter().map(|at| (*at, part(at))).collect()
}

/// Shares of functions that no node names, out of the time that others spent in functions, which is reduced.
fn nested(counted: &[Calls], unnamed: &[usize], within_ms: &mut [f64]) -> Vec<Share> {
    let called_ms: f64 = unnamed.iter().map(|function| counted[*function].self_ms).sum();
    let room_ms: f64 = within_ms.iter().sum();
    if called_ms <= 0.0 || room_ms <= 0.0 {
        return Vec::new();
    }
    let taken = (room_ms / called_ms).min(1.0);
    let mut shares = Vec::new();
    for (node, room) in within_ms.iter_mut().enumerate().filter(|(_, room)| **room > 0.0) {
        let part = *room / room_ms;
        let of = |function: &usize| counted[*function].self_ms * taken * part;
        shares.extend(unnamed.iter().map(|function| Share { function: *function, node, ms: of(function) }));
        *room = (*room - called_ms * taken * part).max(0.0);
    }
    shares
}

/// Scales shares down to their node's own time.
fn within_own_times(plan: &mut StatementPlan, shares: &mut [Share]) {
    for (at, node) in plan.nodes.iter_mut().enumerate() {
        let of_node = || shares.iter().filter(|share| share.node == at);
        let asked_ms: f64 = of_node().map(|share| share.ms).sum();
        node.functions_ms = asked_ms.min(node.own_ms);
        if asked_ms > node.own_ms {
            plan.functions_evened_ms += asked_ms - node.own_ms;
            let kept = node.own_ms / asked_ms;
            shares.iter_mut().filter(|share| share.node == at).for_each(|share| share.ms *= kept);
        }
    }
}

fn list_functions(plan: &mut StatementPlan, counted: &[Calls], shares: &[Share]) {
    let functions = counted.iter().enumerate().map(|(function, calls)| FunctionTime {
        name: calls.name.clone(),
        calls: calls.calls,
        self_ms: calls.self_ms,
        part: StatementPart::of_function(&calls.name),
        booked_ms: shares.iter().filter(|share| share.function == function).map(|share| share.ms).sum(),
    });
    plan.functions = functions.collect();
}

/// The rest of an aggregate that makes tiles is its own work. Workers are not counted: if they had all rows,
/// functions are still included.
fn tiles_apart(plan: &mut StatementPlan, counted: &[Calls]) {
    let is_counted = |name: &String| counted.iter().any(|calls| calls.name == *name);
    for at in 0..plan.nodes.len() {
        let node = &plan.nodes[at];
        let makes_tiles = |name: &&String| MAKE_TILES.contains(&name.as_str());
        if node.part != StatementPart::Aggregate || !node.functions.iter().any(|name| makes_tiles(&name)) {
            continue;
        }
        let mut others = node.functions.iter().filter(|name| !makes_tiles(name)).peekable();
        if !is_below_gather(plan, at) || others.peek().is_none() || others.any(is_counted) {
            plan.nodes[at].part = StatementPart::Mvt;
        }
    }
}

fn is_below_gather(plan: &StatementPlan, at: usize) -> bool {
    let mut depth = plan.nodes[at].depth;
    for above in plan.nodes[..at].iter().rev() {
        if above.depth < depth {
            depth = above.depth;
            if above.part == StatementPart::Parallel {
                return true;
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use spec::PlanNode;

    use super::*;

    fn node(depth: u32, part: StatementPart, own_ms: f64, rows: f64, functions: &[&str]) -> PlanNode {
        let functions = functions.iter().map(|name| (*name).to_owned()).collect();
        PlanNode { depth, part, own_ms, rows, functions, loops: 1.0, ..PlanNode::default() }
    }

    fn calls(name: &str, total_ms: f64, self_ms: f64) -> Calls {
        Calls { name: name.into(), calls: 10, total_ms, self_ms, is_operator: name.ends_with("overlaps") }
    }

    fn booked(nodes: Vec<PlanNode>, counted: &[Calls]) -> StatementPlan {
        let execution_ms = nodes.iter().map(|node| node.own_ms).sum::<f64>() + 1.0;
        let mut plan = StatementPlan { execution_ms, nodes, ..StatementPlan::default() };
        let scales = vec![1.0; plan.nodes.len()];
        book(&mut plan, counted, &scales);
        let sum: f64 = plan.parts().values().sum();
        assert!((sum - plan.total_ms()).abs() < 1e-9, "{sum} of {}", plan.total_ms());
        let of_nodes: f64 = plan.nodes.iter().map(|node| node.functions_ms).sum();
        let of_functions: f64 = plan.functions.iter().map(|function| function.booked_ms).sum();
        assert!((of_nodes - of_functions).abs() < 1e-9, "{of_nodes} and {of_functions}");
        plan
    }

    fn part(plan: &StatementPlan, part: StatementPart) -> f64 {
        plan.parts().get(&part).copied().unwrap_or(0.0)
    }

    #[test]
    fn a_tile_is_split_by_its_functions_and_an_operator_stays_in_its_scan() {
        let aggregate =
            node(0, StatementPart::Aggregate, 10.0, 1.0, &["st_asmvt", "st_asmvtgeom", "st_transform"]);
        let nodes = vec![aggregate, node(1, StatementPart::SeqScan, 2.0, 100.0, &[])];
        let counted = [
            calls("geometry_overlaps", 0.5, 0.5),
            calls("st_asmvtgeom", 4.0, 4.0),
            calls("st_tileenvelope", 0.25, 0.25),
            calls("st_transform", 3.0, 3.0),
        ];
        let plan = booked(nodes, &counted);
        assert_eq!((part(&plan, StatementPart::Geometry), part(&plan, StatementPart::Transform)), (4.0, 3.0));
        assert_eq!((part(&plan, StatementPart::Mvt), part(&plan, StatementPart::SeqScan)), (3.0, 2.0));
        assert_eq!((part(&plan, StatementPart::Aggregate), plan.functions_evened_ms), (0.0, 0.0));
        let overlaps = &plan.functions[0];
        assert_eq!((overlaps.self_ms, overlaps.booked_ms), (0.5, 0.0));
    }

    #[test]
    fn a_function_of_several_nodes_is_shared_by_rows() {
        let nodes = vec![
            node(0, StatementPart::Aggregate, 8.0, 1.0, &["st_area"]),
            node(1, StatementPart::SeqScan, 8.0, 300.0, &[]),
            node(1, StatementPart::SeqScan, 8.0, 100.0, &["st_area"]),
        ];
        // 400 rows come into the aggregate.
        let plan = booked(nodes, &[calls("st_area", 5.0, 5.0)]);
        let of_nodes: Vec<f64> = plan.nodes.iter().map(|node| node.functions_ms).collect();
        assert_eq!(of_nodes, [4.0, 0.0, 1.0]);
        assert_eq!(plan.nodes[0].part, StatementPart::Aggregate, "no tile");
    }

    #[test]
    fn what_a_function_calls_is_taken_out_of_the_node_that_calls_it() {
        let nodes = vec![
            node(0, StatementPart::Other, 20.0, 1.0, &["layer"]),
            node(1, StatementPart::Sort, 5.0, 1.0, &[]),
        ];
        let counted = [
            calls("geometry_overlaps", 3.0, 3.0),
            calls("layer", 19.0, 6.0),
            calls("st_asmvtgeom", 8.0, 8.0),
            calls("st_transform", 4.0, 4.0),
        ];
        let plan = booked(nodes, &counted);
        assert_eq!(
            (part(&plan, StatementPart::Functions), part(&plan, StatementPart::Transform)),
            (6.0, 4.0)
        );
        // Of the operator's time as much as the layer can have called.
        assert_eq!((part(&plan, StatementPart::Geometry), part(&plan, StatementPart::Other)), (9.0, 1.0));
    }

    #[test]
    fn no_node_gives_more_than_its_own_time() {
        let nodes =
            vec![node(0, StatementPart::Aggregate, 4.0, 1.0, &["st_asmvt", "st_area", "st_transform"])];
        let plan = booked(nodes, &[calls("st_area", 6.0, 6.0), calls("st_transform", 2.0, 2.0)]);
        assert_eq!((part(&plan, StatementPart::Geometry), part(&plan, StatementPart::Transform)), (3.0, 1.0));
        assert_eq!((part(&plan, StatementPart::Mvt), plan.functions_evened_ms), (0.0, 4.0));
        let mut idle = node(0, StatementPart::Aggregate, 0.0, 0.0, &["st_area"]);
        idle.loops = 0.0;
        let plan = booked(vec![idle], &[calls("st_area", 6.0, 6.0)]);
        assert_eq!((plan.functions_evened_ms, plan.functions[0].booked_ms), (0.0, 0.0));
    }

    #[test]
    fn of_a_node_with_workers_as_large_a_share_is_booked_as_in_the_leader() {
        let mut nodes = vec![
            node(0, StatementPart::Aggregate, 1.0, 1.0, &["st_asmvt", "st_asmvtgeom"]),
            node(1, StatementPart::Parallel, 1.0, 3.0, &[]),
            node(2, StatementPart::Aggregate, 8.0, 3.0, &["st_asmvt", "st_asmvtgeom"]),
        ];
        nodes[0].node_type = "Finalize Aggregate".into();
        let mut plan = StatementPlan { execution_ms: 10.0, nodes, ..StatementPlan::default() };
        book(&mut plan, &[calls("st_asmvtgeom", 9.0, 9.0)], &[1.0, 1.0, 0.5]);
        assert_eq!((part(&plan, StatementPart::Geometry), part(&plan, StatementPart::Mvt)), (4.5, 4.5));
        assert_eq!((plan.functions_evened_ms, plan.functions[0].self_ms), (0.0, 9.0));
    }

    #[test]
    fn tiles_of_workers_are_told_apart_where_the_leader_worked_too() {
        let nodes = || {
            vec![
                node(0, StatementPart::Aggregate, 1.0, 1.0, &["st_asmvt"]),
                node(1, StatementPart::Parallel, 1.0, 3.0, &[]),
                node(2, StatementPart::Aggregate, 9.0, 3.0, &["st_asmvt", "st_asmvtgeom"]),
                node(3, StatementPart::SeqScan, 1.0, 500.0, &[]),
            ]
        };
        let plan = booked(nodes(), &[calls("st_asmvtgeom", 6.0, 6.0)]);
        assert_eq!((part(&plan, StatementPart::Mvt), part(&plan, StatementPart::Geometry)), (4.0, 6.0));
        let plan = booked(nodes(), &[]);
        assert_eq!((part(&plan, StatementPart::Mvt), part(&plan, StatementPart::Aggregate)), (1.0, 9.0));
    }
}
