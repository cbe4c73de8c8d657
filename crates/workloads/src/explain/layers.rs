//! The layers of a tile in a plan: each is an `ST_AsMVT`, with all nodes below it, and with the CTEs and InitPlans
//! that only it asks for.

use std::collections::BTreeSet;

use serde_json::Value;
use spec::{LayerTime, LayerTimeSource, OUTSIDE_LAYERS};

use super::functions;
use super::kinds::{expressions, relation, text};
use super::own;
use super::tree::Tree;

const MAKES_LAYER: &str = "st_asmvt(";

/// Less than this share outside of layers is not told.
const NOTICED: f64 = 0.01;
/// From this share on, time outside of a single layer is reported.
const MUCH: f64 = 0.5;

/// The layers of a plan, in its order: those with one name are added.
pub(super) fn of(tree: &Tree<'_>, times_ms: &[f64], source: LayerTimeSource) -> Vec<LayerTime> {
    // A worker's part lies below the node that finishes it.
    let is_topmost = |at: &usize| !tree.up(*at).skip(1).any(|above| makes_layer(tree, above));
    let made: Vec<usize> =
        (0..tree.nodes.len()).filter(|at| makes_layer(tree, *at)).filter(is_topmost).collect();
    let mut owners = Owners { tree, made: &made, known: vec![None; tree.nodes.len()] };
    let mut layers: Vec<LayerTime> = Vec::new();
    for layer in &made {
        let ms =
            (0..tree.nodes.len()).filter(|at| owners.of(*at).iter().eq([layer])).map(|at| times_ms[at]).sum();
        let table =
            || below(tree, *layer).map(|at| relation(tree.nodes[at].fields)).find(|name| !name.is_empty());
        let own = expressions(tree.nodes[*layer].fields).into_iter().find_map(name);
        let name = own.or_else(table).unwrap_or_else(|| format!("layer {}", layers.len() + 1));
        add(&mut layers, LayerTime { name, ms, source });
    }
    layers
}

/// Which layers need a node: the nodes of those layers.
struct Owners<'t, 'v> {
    tree: &'t Tree<'v>,
    made: &'t [usize],
    known: Vec<Option<BTreeSet<usize>>>,
}

impl Owners<'_, '_> {
    fn of(&mut self, at: usize) -> BTreeSet<usize> {
        if let Some(known) = &self.known[at] {
            return known.clone();
        }
        // A recursive CTE asks for itself.
        self.known[at] = Some(BTreeSet::new());
        let tree = self.tree;
        let found =
            match tree.up(at).find(|above| self.made.contains(above) || tree.nodes[*above].is_asked_for()) {
                None => BTreeSet::new(),
                Some(layer) if self.made.contains(&layer) => BTreeSet::from([layer]),
                Some(asked_for) => {
                    let asking: Vec<usize> = own::asking(tree, asked_for).collect();
                    let mut layers = BTreeSet::new();
                    for at in asking {
                        layers.append(&mut self.of(at));
                    }
                    layers
                }
            };
        self.known[at] = Some(found.clone());
        found
    }
}

/// Adds the time of a layer to those of its name.
pub(super) fn add(layers: &mut Vec<LayerTime>, layer: LayerTime) {
    match layers.iter_mut().find(|known| known.name == layer.name) {
        Some(known) => known.ms += layer.ms,
        None => layers.push(layer),
    }
}

/// The layers of a tile that takes `total_ms` in all, with what is outside of them. None where there is nothing to
/// tell apart: without layers, or where one layer is most of the tile.
pub(crate) fn with_rest(
    mut layers: Vec<LayerTime>,
    total_ms: f64,
    source: LayerTimeSource,
) -> Vec<LayerTime> {
    let rest_ms = total_ms - layers.iter().map(|layer| layer.ms).sum::<f64>();
    let is_much = rest_ms > MUCH * total_ms;
    if layers.is_empty() || layers.len() == 1 && !is_much {
        return Vec::new();
    }
    if rest_ms > NOTICED * total_ms {
        layers.push(LayerTime { name: OUTSIDE_LAYERS.to_owned(), ms: rest_ms, source });
    }
    layers
}

/// The layers of a plan that `auto_explain` reports; none of one without layers.
pub(super) fn of_nested(plan: &Value) -> Vec<LayerTime> {
    let Some(tree) = plan.get("Plan").and_then(Tree::of) else { return Vec::new() };
    let own = own::of(&tree);
    of(&tree, &own.times_ms, LayerTimeSource::Nested)
}

/// An aggregate that computes it: the nodes above repeat its expression.
fn makes_layer(tree: &Tree<'_>, at: usize) -> bool {
    let fields = tree.nodes[at].fields;
    text(fields, "Node Type") == "Aggregate"
        && functions::of(&expressions(fields)).iter().any(|name| name.eq_ignore_ascii_case("st_asmvt"))
}

/// The node itself and those below it: they follow it.
fn below(tree: &Tree<'_>, at: usize) -> impl Iterator<Item = usize> + Clone {
    let depth = tree.nodes[at].depth;
    let depths: Vec<u32> = tree.nodes[at + 1..].iter().map(|node| node.depth).collect();
    let count = depths.iter().take_while(|other| **other > depth).count();
    at..=at + count
}

fn find(expression: &str) -> Option<usize> {
    expression.to_ascii_lowercase().find(MAKES_LAYER)
}

/// The constant name in `st_asmvt(row, 'name'::text, …)`; `None` without one.
fn name(expression: &str) -> Option<String> {
    let after = &expression[find(expression)? + MAKES_LAYER.len()..];
    let second = second_argument(after)?.trim();
    let quoted = second.strip_prefix('\'')?;
    let end = quoted.find('\'')?;
    Some(quoted[..end].to_owned())
}

/// The text from the second argument on; `None` if there is one only.
fn second_argument(arguments: &str) -> Option<&str> {
    let (mut depth, mut quoted) = (0_u32, false);
    for (at, letter) in arguments.char_indices() {
        match letter {
            '\'' | '"' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => return Some(&arguments[at + 1..]),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_has_the_name_in_its_function() {
        for (expression, wanted) in [
            ("st_asmvt(ROW(t.a, st_asmvtgeom(t.way, '01'::geometry)), 'roads'::text, 4096)", Some("roads")),
            ("COALESCE(public.ST_AsMVT(t.*, 'water'::text), ''::bytea)", Some("water")),
            ("st_asmvt(ROW(\"a,b\"), $1)", None),
            ("st_asmvt(t.*)", None),
            ("count(*)", None),
        ] {
            assert_eq!(name(expression).as_deref(), wanted, "{expression}");
        }
    }

    fn aggregate(layer: &str, table: &str, [ms, scan_ms]: [f64; 2]) -> Value {
        serde_json::json!({
            "Node Type": "Aggregate", "Actual Total Time": ms, "Actual Loops": 1, "Actual Rows": 1,
            "Output": [format!("st_asmvt(ROW(t.g){layer})")],
            "Plans": [{"Node Type": "Seq Scan", "Relation Name": table, "Output": ["t.g"],
                       "Actual Total Time": scan_ms, "Actual Loops": 1, "Actual Rows": 9}],
        })
    }

    fn union(ctes: &[Value], layers: &[Value], ms: f64) -> Value {
        let append = serde_json::json!({
            "Node Type": "Append", "Actual Total Time": ms - 1.0, "Actual Loops": 1, "Actual Rows": 3,
            "Output": ["(st_asmvt(ROW(t.g)))"], "Plans": layers,
        });
        serde_json::json!({"Query Text": "SELECT", "Plan": {
            "Node Type": "Aggregate", "Actual Total Time": ms, "Actual Loops": 1, "Actual Rows": 1,
            "Output": ["string_agg((st_asmvt(ROW(t.g))), ''::bytea)"],
            "Plans": ctes.iter().chain([&append]).collect::<Vec<_>>(),
        }})
    }

    fn found(plan: &Value) -> Vec<(String, f64)> {
        of_nested(plan).into_iter().map(|layer| (layer.name, layer.ms)).collect()
    }

    fn layers(plans: &[Value]) -> Vec<(String, f64)> {
        found(&union(&[], plans, 21.0))
    }

    fn cte(name: &str, ms: f64) -> Value {
        serde_json::json!({
            "Node Type": "Seq Scan", "Parent Relationship": "InitPlan", "Subplan Name": format!("CTE {name}"),
            "Relation Name": "towns", "Actual Total Time": ms, "Actual Loops": 1, "Actual Rows": 9, "Output": ["g"],
        })
    }

    fn layer_of_cte(layer: &str, of: &str, ms: f64) -> Value {
        serde_json::json!({
            "Node Type": "Aggregate", "Actual Total Time": ms + 1.0, "Actual Loops": 1, "Actual Rows": 1,
            "Output": [format!("st_asmvt(ROW(t.g), '{layer}'::text)")],
            "Plans": [{"Node Type": "CTE Scan", "CTE Name": of, "Output": ["t.g"],
                       "Actual Total Time": ms, "Actual Loops": 1, "Actual Rows": 9}],
        })
    }

    /// The layer that waited for a CTE had none of its time, and another was called the slow one.
    #[test]
    fn a_cte_counts_to_the_only_layer_that_reads_it() {
        let fast = aggregate(", 'paths'::text", "paths", [7.0, 5.0]);
        let plan = union(&[cte("wide", 80.0)], &[layer_of_cte("towns", "wide", 81.0), fast.clone()], 92.0);
        assert_eq!(found(&plan), [("towns".to_owned(), 82.0), ("paths".to_owned(), 7.0)]);
        // Read by both: taking one layer away would not make the tile faster.
        let shared = [layer_of_cte("towns", "wide", 81.0), layer_of_cte("labels", "wide", 2.0), fast];
        let plan = union(&[cte("wide", 80.0)], &shared, 95.0);
        let own = of_nested(&plan);
        let names: Vec<(&str, f64)> = own.iter().map(|layer| (layer.name.as_str(), layer.ms)).collect();
        assert_eq!(names, [("towns", 2.0), ("labels", 3.0), ("paths", 7.0)]);
        let all = with_rest(own, 95.0, LayerTimeSource::Nested);
        assert_eq!(all.last().map(|rest| (rest.name.as_str(), rest.ms)), Some((OUTSIDE_LAYERS, 83.0)));
    }

    #[test]
    fn what_is_outside_of_layers_is_told_where_it_matters() {
        let layer = |ms| LayerTime { name: format!("{ms}"), ms, source: LayerTimeSource::Plan };
        let count = |layers: &[f64], total_ms| {
            with_rest(layers.iter().copied().map(layer).collect(), total_ms, LayerTimeSource::Plan).len()
        };
        assert_eq!(count(&[], 10.0), 0);
        assert_eq!(count(&[9.0], 10.0), 0, "it is the whole tile");
        assert_eq!(count(&[3.0], 10.0), 2);
        assert_eq!(count(&[3.0, 4.0], 10.0), 3);
        assert_eq!(count(&[3.0, 7.0], 10.0), 2);
        // Measured one by one, layers may take longer than the tile.
        assert_eq!(count(&[6.0, 7.0], 10.0), 2);
    }

    #[test]
    fn the_layers_of_a_union_have_their_nodes() {
        let found = layers(&[
            aggregate(", 'roads'::text", "roads", [9.0, 6.0]),
            aggregate("", "lakes", [2.0, 1.0]),
            aggregate(", 'roads'::text", "paths", [1.5, 1.0]),
        ]);
        assert_eq!(found, [("roads".to_owned(), 10.5), ("lakes".to_owned(), 2.0)]);
        assert!(
            layers(&[
                serde_json::json!({"Node Type": "Result", "Actual Total Time": 1.0, "Actual Loops": 1})
            ])
            .is_empty()
        );
        assert!(of_nested(&serde_json::json!({"Plan": {"Node Type": "Result"}})).is_empty());
    }
}
