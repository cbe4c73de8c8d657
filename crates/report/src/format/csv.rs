//! Comma-separated values, RFC 4180: CRLF, quotes doubled.

use results::{Table, Value};

use super::hex;

pub(super) fn print(table: &Table) -> String {
    let mut out = line(table.columns.iter().map(|name| quoted(name)));
    for row in &table.rows {
        out.push_str(&line(row.iter().map(field)));
    }
    out
}

fn line(fields: impl Iterator<Item = String>) -> String {
    format!("{}\r\n", fields.collect::<Vec<_>>().join(","))
}

fn field(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Int(number) => number.to_string(),
        // What is not a number is an empty field, which spreadsheets and pandas read as missing.
        Value::Real(number) => {
            if number.is_finite() {
                number.to_string()
            } else {
                String::new()
            }
        }
        Value::Text(text) => quoted(text),
        Value::Blob(bytes) => hex(bytes),
        Value::Data(data) => quoted(&data.to_string()),
    }
}

fn quoted(text: &str) -> String {
    if text.is_empty() || text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
