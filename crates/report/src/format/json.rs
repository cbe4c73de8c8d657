//! A JSON list with one object per row; columns keep their order.

use results::{Table, Value};

use super::{Printer, hex};

pub(super) struct Json;

impl Printer for Json {
    fn print(&self, table: &Table) -> String {
        if table.rows.is_empty() {
            return "[]\n".to_owned();
        }
        let rows: Vec<String> = table.rows.iter().map(|row| object(&table.columns, row)).collect();
        format!("[\n  {}\n]\n", rows.join(",\n  "))
    }
}

fn object(columns: &[String], row: &[Value]) -> String {
    let members: Vec<String> =
        columns.iter().zip(row).map(|(name, value)| format!("{}: {}", string(name), json(value))).collect();
    format!("{{{}}}", members.join(", "))
}

fn json(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Int(number) => number.to_string(),
        // JSON has no NaN: absent instead.
        Value::Real(number) => {
            serde_json::Number::from_f64(*number).map_or("null".to_owned(), |n| n.to_string())
        }
        Value::Text(text) => string(text),
        Value::Blob(bytes) => string(&hex(bytes)),
    }
}

fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
