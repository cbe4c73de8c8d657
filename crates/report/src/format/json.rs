//! A JSON list with one object per row, a line each; columns keep their order.

use std::io;

use results::{Table, Value};
use serde::{Serialize, Serializer};

use super::hex;

pub(super) fn print(table: &Table) -> String {
    let rows: Vec<String> = table.rows.iter().map(|row| object(&table.columns, row)).collect();
    if rows.is_empty() { "[]\n".to_owned() } else { format!("[\n  {}\n]\n", rows.join(",\n  ")) }
}

fn object(columns: &[String], row: &[Value]) -> String {
    let mut serializer = serde_json::Serializer::with_formatter(Vec::new(), Spaced);
    let members = columns.iter().zip(row.iter().map(Member));
    serializer.collect_map(members).expect("names are texts, and memory takes all of it");
    String::from_utf8(serializer.into_inner()).expect("JSON is UTF-8")
}

struct Member<'a>(&'a Value);

impl Serialize for Member<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Blob(bytes) => serializer.serialize_str(&hex(bytes)),
            other => other.serialize(serializer),
        }
    }
}

/// `{"a": 1, "b": 2}`.
struct Spaced;

impl serde_json::ser::Formatter for Spaced {
    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}
