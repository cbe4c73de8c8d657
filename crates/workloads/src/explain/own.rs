//! The own time of each node: the time it was busy, without the time in nodes that it called.
//!
//! The sum of all own times is the time of the topmost node, except for CTEs that nobody read to their end
//! (those that change rows): they are finished after it, and count in addition.
//!
//! - A node is called by the one above it, and its time is within that one's, even for SubPlans.
//! - CTEs and InitPlans are listed below the topmost node of their query, and run when first needed: a CTE by
//!   its scans, an InitPlan by a node whose expressions name it. Below a Gather, the Gather itself runs them
//!   before it starts workers.
//! - Times per loop are rounded to microseconds: 10,000 loops may be 5 ms off. If the nodes below a node add
//!   up to more than itself, their times are reduced in proportion.

use super::kinds::{expressions, text};
use super::tree::{Node, Tree};

/// Own times of all nodes.
pub(super) struct Own {
    /// Never below 0.
    pub(super) times_ms: Vec<f64>,
    /// Total reduction of nodes below others.
    pub(super) evened_ms: f64,
}

/// Smaller than any reported time.
const NOTHING_MS: f64 = 1e-9;

pub(super) fn of(tree: &Tree<'_>) -> Own {
    let mut times_ms: Vec<f64> = (0..tree.nodes.len()).map(|at| without_called(tree, at)).collect();
    for at in (0..tree.nodes.len()).filter(|at| tree.nodes[*at].is_asked_for()) {
        subtract_from_callers(tree, at, &mut times_ms);
    }
    let evened_ms = even(tree, &mut times_ms);
    Own { times_ms, evened_ms }
}

fn without_called(tree: &Tree<'_>, at: usize) -> f64 {
    let called = tree.below(at).filter(|below| !tree.nodes[*below].is_asked_for());
    tree.nodes[at].passed_ms - called.map(|below| tree.nodes[below].passed_ms).sum::<f64>()
}

/// Takes the time of a CTE or an InitPlan from the nodes that waited for it. Time that none of them can have
/// waited stays on top: it was finished when the topmost node was done.
fn subtract_from_callers(tree: &Tree<'_>, asked_for: usize, times_ms: &mut [f64]) {
    let mut left_ms = tree.nodes[asked_for].passed_ms;
    for asking in callers(tree, asked_for, left_ms, times_ms) {
        let taken = left_ms.min(times_ms[asking]).max(0.0);
        times_ms[asking] -= taken;
        left_ms -= taken;
    }
}

/// The nodes that ask for a CTE or an InitPlan, outside of it.
pub(super) fn asking<'t>(tree: &'t Tree<'_>, asked_for: usize) -> impl Iterator<Item = usize> + 't {
    let reference = Reference::of(&tree.nodes[asked_for]);
    let is_own = move |at: usize| tree.up(at).any(|above| above == asked_for);
    let asks = move |at: &usize| {
        let node = &tree.nodes[*at];
        node.loops > 0.0 && !is_own(*at) && reference.is_in(node)
    };
    (0..tree.nodes.len()).filter(asks)
}

/// The nodes that may have waited, the likeliest first.
fn callers(tree: &Tree<'_>, asked_for: usize, ms: f64, times_ms: &[f64]) -> Vec<usize> {
    let reference = Reference::of(&tree.nodes[asked_for]);
    let within = tree.nodes[asked_for].parent.unwrap_or(0);
    let mut asking: Vec<usize> = asking(tree, asked_for).map(|at| up_to_gather(tree, at, within)).collect();
    // Rows come from below, so the lowest node that can have waited did.
    let long_enough = |at: &usize| times_ms[*at] + NOTHING_MS >= ms;
    asking.sort_by(|one, other| {
        let lower = tree.nodes[*other].depth.cmp(&tree.nodes[*one].depth);
        let longer = times_ms[*other].total_cmp(&times_ms[*one]);
        let likelier = if reference.is_cte() { longer } else { lower };
        long_enough(other).cmp(&long_enough(one)).then(likelier)
    });
    asking.dedup();
    // Without expressions (a server without VERBOSE), its parent is as good a guess as any.
    if asking.is_empty() && !reference.is_cte() {
        asking.push(within);
    }
    asking
}

/// The node, or the topmost Gather above it that is not above the plan's own query.
fn up_to_gather(tree: &Tree<'_>, at: usize, within: usize) -> usize {
    let path: Vec<usize> = tree.up(at).take_while(|above| *above != within).chain([within]).collect();
    path[1..].iter().rev().copied().find(|above| tree.nodes[*above].is_gather()).unwrap_or(at)
}

/// How expressions name a CTE or InitPlan.
enum Reference {
    Cte(String),
    Names(Vec<String>),
}

impl Reference {
    fn of(asked_for: &Node<'_>) -> Self {
        let name = text(asked_for.fields, "Subplan Name");
        if let Some(cte) = name.strip_prefix("CTE ") {
            return Self::Cte(cte.to_owned());
        }
        match name.split_once(" (returns ") {
            // Until 16: `InitPlan 1 (returns $0,$1)`.
            Some((_, returned)) => {
                Self::Names(returned.trim_end_matches(')').split(',').map(str::to_owned).collect())
            }
            None => Self::Names(vec![format!("({name})")]),
        }
    }

    fn is_cte(&self) -> bool {
        matches!(self, Self::Cte(_))
    }

    fn is_in(&self, node: &Node<'_>) -> bool {
        match self {
            Self::Cte(cte) => {
                text(node.fields, "Node Type") == "CTE Scan" && text(node.fields, "CTE Name") == cte
            }
            Self::Names(names) => {
                expressions(node.fields).iter().any(|text| names.iter().any(|name| refers_to(text, name)))
            }
        }
    }
}

/// Whether an expression contains a name: `$1` is not in `$10`.
fn refers_to(expression: &str, name: &str) -> bool {
    expression
        .match_indices(name)
        .any(|(at, _)| !expression[at + name.len()..].starts_with(|next: char| next.is_ascii_digit()))
}

/// Raises negative own times to 0, at the cost of the nodes below, so that the sum stays; returns the total.
fn even(tree: &Tree<'_>, times_ms: &mut [f64]) -> f64 {
    let mut evened_ms = 0.0;
    for at in (0..times_ms.len()).rev().filter(|at| tree.nodes[*at].loops > 0.0) {
        let missing_ms = -times_ms[at];
        if missing_ms <= 0.0 {
            continue;
        }
        let below: Vec<usize> = (at + 1..times_ms.len())
            .take_while(|below| tree.nodes[*below].depth > tree.nodes[at].depth)
            .filter(|below| !is_within_called(tree, *below, at))
            .collect();
        let there_ms: f64 = below.iter().map(|below| times_ms[*below]).sum();
        let kept = if there_ms > missing_ms { 1.0 - missing_ms / there_ms } else { 0.0 };
        below.into_iter().for_each(|below| times_ms[below] *= kept);
        times_ms[at] = 0.0;
        evened_ms += missing_ms;
    }
    evened_ms
}

/// Whether a node belongs to a CTE or InitPlan somewhere below `top`.
fn is_within_called(tree: &Tree<'_>, at: usize, top: usize) -> bool {
    tree.up(at).take_while(|above| *above != top).any(|above| tree.nodes[above].is_asked_for())
}
