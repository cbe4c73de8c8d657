//! The layers of a tile in a plan: each is an `ST_AsMVT`, with all nodes below it.

use serde_json::Value;
use spec::{LayerTime, LayerTimeSource};

use super::functions;
use super::kinds::{expressions, relation, text};
use super::own;
use super::tree::Tree;

const MAKES_LAYER: &str = "st_asmvt(";

/// The layers of a plan, in its order: those with one name are added.
pub(super) fn of(tree: &Tree<'_>, times_ms: &[f64], source: LayerTimeSource) -> Vec<LayerTime> {
    let mut layers: Vec<LayerTime> = Vec::new();
    for at in (0..tree.nodes.len()).filter(|at| makes_layer(tree, *at)) {
        // A worker's part lies below the node that finishes it.
        if tree.up(at).skip(1).any(|above| makes_layer(tree, above)) {
            continue;
        }
        let below = below(tree, at);
        let ms = below.clone().map(|at| times_ms[at]).sum();
        let table = || below.map(|at| relation(tree.nodes[at].fields)).find(|name| !name.is_empty());
        let own = expressions(tree.nodes[at].fields).into_iter().find_map(name);
        let name = own.or_else(table).unwrap_or_else(|| format!("layer {}", layers.len() + 1));
        match layers.iter_mut().find(|layer| layer.name == name) {
            Some(layer) => layer.ms += ms,
            None => layers.push(LayerTime { name, ms, source }),
        }
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

    fn layers(plans: &[Value]) -> Vec<(String, f64)> {
        let plan = serde_json::json!({"Query Text": "SELECT", "Plan": {
            "Node Type": "Aggregate", "Actual Total Time": 21.0, "Actual Loops": 1, "Actual Rows": 1,
            "Output": ["string_agg((st_asmvt(ROW(t.g))), ''::bytea)"], "Plans": [{
                "Node Type": "Append", "Actual Total Time": 20.0, "Actual Loops": 1, "Actual Rows": 3,
                "Output": ["(st_asmvt(ROW(t.g)))"], "Plans": plans,
            }],
        }});
        of_nested(&plan).into_iter().map(|layer| (layer.name, layer.ms)).collect()
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
