//! A JSON list with one object per row, a line each; columns keep their order.

use std::io;

use results::{CellValue, LongTable};
use serde::{Serialize, Serializer};

use super::hex;
use crate::visible;

pub(super) fn write(table: &LongTable<'_>, out: &mut dyn FnMut(&str)) {
    let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    let mut is_first = true;
    table.each(|row| {
        out(if std::mem::take(&mut is_first) { "[\n  " } else { ",\n  " });
        out(&object(&names, row));
    });
    out(if is_first { "[]\n" } else { "\n]\n" });
}

pub(crate) fn document(data: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(data).expect("names are texts, numbers are finite");
    visible::json(&text).into_owned() + "\n"
}

fn object(columns: &[&str], row: &[CellValue]) -> String {
    let mut serializer = serde_json::Serializer::with_formatter(Vec::new(), Spaced);
    let members = columns.iter().zip(row.iter().map(Member));
    serializer.collect_map(members).expect("names are texts, and memory takes all of it");
    let text = String::from_utf8(serializer.into_inner()).expect("JSON is UTF-8");
    visible::json(&text).into_owned()
}

struct Member<'a>(&'a CellValue);

impl Serialize for Member<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            CellValue::Blob(bytes) => serializer.serialize_str(&hex(bytes)),
            other => other.serialize(serializer),
        }
    }
}

struct Spaced;

impl serde_json::ser::Formatter for Spaced {
    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use results::Table;

    use super::super::{TableFormat, print};
    use super::*;

    proptest! {
        #[test]
        fn what_is_escaped_has_the_same_value(name in "\\PC{0,5}|[\\x00-\\x9f\u{2000}-\u{206f}\u{e0001}]{0,6}", text in "[\"\\\\\\x00-\\x9f\u{202e}a\u{feff}]{0,9}") {
            let mut table = Table::new([&name]);
            table.push(vec![text.as_str().into()]);
            let printed = print(&table, TableFormat::Json);
            prop_assert_eq!(printed.lines().count(), 3);
            prop_assert!(!printed.contains(|c| c != '\n' && visible::is_hostile(c)), "{:?}", printed);
            let wanted = serde_json::json!([{ name: text }]);
            prop_assert_eq!(&serde_json::from_str::<serde_json::Value>(&printed).unwrap(), &wanted);
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&document(&wanted)).unwrap(), wanted);
        }
    }
}
