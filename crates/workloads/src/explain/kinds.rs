//! A node's title, relation, part of the time, and expressions.

use serde_json::Value;
use spec::StatementPart;

/// A text field of a node; empty if missing.
pub(super) fn text<'v>(fields: &'v Value, name: &str) -> &'v str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn part(fields: &Value) -> StatementPart {
    match text(fields, "Node Type") {
        "Index Scan" | "Index Only Scan" | "Bitmap Index Scan" | "BitmapAnd" | "BitmapOr" => {
            StatementPart::Index
        }
        "Bitmap Heap Scan" | "Tid Scan" | "Tid Range Scan" => StatementPart::Heap,
        "Seq Scan" | "Sample Scan" => StatementPart::SeqScan,
        "Nested Loop" | "Hash Join" | "Merge Join" | "Hash" | "Materialize" | "Memoize" => {
            StatementPart::Join
        }
        "Sort" | "Incremental Sort" => StatementPart::Sort,
        "Aggregate" | "Group" | "WindowAgg" | "Unique" | "SetOp" => StatementPart::Aggregate,
        "ModifyTable" | "LockRows" => StatementPart::Modify,
        "Gather" | "Gather Merge" => StatementPart::Parallel,
        scan if scan.ends_with(" Scan") => StatementPart::OtherScan,
        _ => StatementPart::Other,
    }
}

/// PostgreSQL's title in the text format.
pub(super) fn title(fields: &Value) -> String {
    let node = text(fields, "Node Type");
    let strategy = text(fields, "Strategy");
    let named = match node {
        "Aggregate" => match strategy {
            "Sorted" => "GroupAggregate".to_owned(),
            "Hashed" => "HashAggregate".to_owned(),
            "Mixed" => "MixedAggregate".to_owned(),
            _ => node.to_owned(),
        },
        "SetOp" if strategy == "Hashed" => "HashSetOp".to_owned(),
        "ModifyTable" => text(fields, "Operation").to_owned(),
        "Custom Scan" => format!("Custom Scan ({})", text(fields, "Custom Plan Provider")),
        "Index Scan" | "Index Only Scan" if text(fields, "Scan Direction") == "Backward" => {
            format!("{node} Backward")
        }
        "Nested Loop" | "Hash Join" | "Merge Join" => join_kind(node, text(fields, "Join Type")),
        _ => node.to_owned(),
    };
    let partly = match text(fields, "Partial Mode") {
        mode @ ("Partial" | "Finalize") => format!("{mode} "),
        _ => String::new(),
    };
    let parallel = if fields.get("Parallel Aware") == Some(&Value::Bool(true)) { "Parallel " } else { "" };
    format!("{parallel}{partly}{named}")
}

/// `Hash Left Join`, `Nested Loop Semi Join`; an inner join has no word.
fn join_kind(node: &str, kind: &str) -> String {
    match (kind, node.strip_suffix(" Join")) {
        ("Inner" | "", _) => node.to_owned(),
        (kind, Some(way)) => format!("{way} {kind} Join"),
        (kind, None) => format!("{node} {kind} Join"),
    }
}

/// What it reads or changes, with a schema other than the usual.
pub(super) fn relation(fields: &Value) -> String {
    const NAMES: [&str; 5] =
        ["Relation Name", "Function Name", "CTE Name", "Table Function Name", "Tuplestore Name"];
    let name = NAMES.iter().map(|name| text(fields, name)).find(|name| !name.is_empty()).unwrap_or_default();
    match text(fields, "Schema") {
        schema if schema.is_empty() || schema == "public" || schema == "pg_catalog" => name.to_owned(),
        // Another one for each session.
        schema if schema.starts_with("pg_temp") => format!("pg_temp.{name}"),
        schema => format!("{schema}.{name}"),
    }
}

/// Its output (with VERBOSE only), conditions, sort and group keys.
pub(super) fn expressions(fields: &Value) -> Vec<&str> {
    let of_node = fields.as_object().into_iter().flatten().filter(|(name, _)| is_expression(name));
    let texts = of_node.flat_map(|(_, value)| match value {
        Value::String(text) => vec![text.as_str()],
        Value::Array(texts) => texts.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    });
    texts.collect()
}

fn is_expression(name: &str) -> bool {
    const NAMES: [&str; 10] = [
        "Output",
        "Order By",
        "Sort Key",
        "Presorted Key",
        "Group Key",
        "Cache Key",
        "Function Call",
        "Window",
        "Run Condition",
        "Repeatable Seed",
    ];
    NAMES.contains(&name)
        || name.ends_with("Cond")
        || name.ends_with("Filter")
        || name.ends_with("Parameters")
}
